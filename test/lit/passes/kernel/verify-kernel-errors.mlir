// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-verify-kernel

// Constants, and reshapes, which are views, may be left.
func.func @fine(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  %0 = dgc.reshape %x to [2, 2] : tensor<4xf32>
  return %0 : tensor<2x2xf32>
}

// -----

func.func @computes(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{computes outside of kernels and library calls, after the phase kernel}}
  %0 = dgc.exponential %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Loops are left as they are, and kernels are formed in them.
func.func @loop(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = dgc.while (%a = %p, %b = %x) : tensor<i1>, tensor<4xf32> {
    dgc.condition %a : tensor<i1>
  } do {
    // expected-error @+1 {{computes outside of kernels and library calls, after the phase kernel}}
    %1 = dgc.exponential %b : tensor<4xf32>
    dgc.yield %a, %1 : tensor<i1>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}
