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
