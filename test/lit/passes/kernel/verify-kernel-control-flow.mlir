// RUN: dgc-opt %s -verify-diagnostics -dgc-verify-kernel=control-flow=false

func.func @loop(%p: tensor<i1>) -> tensor<i1> {
  // expected-error @+1 {{is decided when the program runs, and devices of this target cannot do that yet: compile for CPUs (--target=cpu), let loops count from one constant to another, and choose with dgc.select}}
  %0 = dgc.while (%a = %p) : tensor<i1> {
    dgc.condition %a : tensor<i1>
  } do {
    dgc.yield %a : tensor<i1>
  }
  return %0 : tensor<i1>
}
