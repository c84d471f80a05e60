// RUN: dgc-opt %s --dgc-check-numerics --verify-diagnostics

// expected-error @+1 {{has an output "check_numerics", which is the name of what --check-numerics finds: give it another name, or compile without that option}}
func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {dgc.output = "check_numerics"}) {
  %y = dgc.log %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
