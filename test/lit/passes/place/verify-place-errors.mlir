// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-verify-place

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{is still placed by name: 'dist.device' is left behind the phase place}}
  %0 = dgc.exponential %x {dist.device = #dist.device<"/job:worker/task:0/cpu:0">} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{is still placed by name: 'dist.colocate' is left behind the phase place}}
  %0 = dgc.exponential %x {dist.colocate = "a"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{argument 0 is still placed by name: 'dist.colocate' is left behind the phase place}}
func.func @f(%x: tensor<4xf32> {dist.colocate = "a"}) {
  return
}
