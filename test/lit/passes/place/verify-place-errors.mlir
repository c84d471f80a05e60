// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-verify-place

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{is still placed by name: 'dist.device' remains after the phase place}}
  %0 = dgc.exponential %x {dist.device = #dist.device<"/job:worker/task:0/cpu:0">} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{is still placed by name: 'dist.colocate' remains after the phase place}}
  %0 = dgc.exponential %x {dist.colocate = "a"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{argument 0 is still placed by name: 'dist.colocate' remains after the phase place}}
func.func @f(%x: tensor<4xf32> {dist.colocate = "a"}) {
  return
}

// -----

// One variable has one place.
dgc.state @w weight zeros rng 0 : tensor<4xf32>
func.func @train(%w: tensor<4xf32> {dgc.state = @w, dist.stage = 0}) {
  return
}
// expected-error @+1 {{has the state @w on stage 1, and train on stage 0}}
func.func @evaluate(%w: tensor<4xf32> {dgc.state = @w, dist.stage = 1}) {
  return
}
