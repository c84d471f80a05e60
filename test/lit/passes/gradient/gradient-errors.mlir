// RUN: dgc-opt %s --dgc-gradient --split-input-file --verify-diagnostics

// expected-note @+1 {{the value to differentiate by}}
func.func @no_gradient(%x: tensor<4xf32>, %dy: tensor<3xf32>) -> tensor<3xf32> {
  %s = dgc.sine %dy : tensor<3xf32>
  // expected-error @+1 {{'dgc.max_pool_grad' op has no gradient, but the loss depends through it on a value to differentiate by}}
  %dx = dgc.max_pool_grad %x, %s window [2] : tensor<4xf32>, tensor<3xf32>
  %n = dgc.negate %dx : tensor<4xf32>
  %loss = dgc.reduce sum %n dims [0] : tensor<4xf32>
  // expected-note @+1 {{the value flows argument #1 -> dgc.sine -> dgc.max_pool_grad -> dgc.negate -> dgc.reduce -> loss; only ops that have a gradient may be on this way}}
  %g = dgc.gradient %loss wrt %dy : tensor<f32>, tensor<3xf32>
  return %g : tensor<3xf32>
}

// -----

// The op without gradient is not on the way from %x, so nothing is wrong.
func.func @not_on_the_way(%x: tensor<4xf32>, %dy: tensor<3xf32>) -> tensor<4xf32> {
  %dx = dgc.max_pool_grad %dy, %dy window [1] : tensor<3xf32>
  %s = dgc.sine %x : tensor<4xf32>
  %loss = dgc.reduce sum %s dims [0] : tensor<4xf32>
  %g = dgc.gradient %loss wrt %x : tensor<f32>, tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

func.func @other_block(%x: tensor<f32>, %n: index) {
  %zero = arith.constant 0 : index
  scf.for %i = %zero to %n step %n {
    // expected-error @+1 {{'dgc.gradient' op and its loss must be in the same block}}
    %g = dgc.gradient %x wrt %x : tensor<f32>, tensor<f32>
  }
  return
}

// -----

func.func @not_a_scalar(%x: tensor<4xf32>) {
  // expected-error @+1 {{'dgc.gradient' op operand #0 must be 0D tensor of}}
  %g = dgc.gradient %x wrt %x : tensor<4xf32>, tensor<4xf32>
  return
}
