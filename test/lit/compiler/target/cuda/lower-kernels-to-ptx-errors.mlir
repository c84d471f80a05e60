// RUN: env DGC_PTXAS=none dgc-opt --dgc-lower-kernels-to-ptx -split-input-file -verify-diagnostics %s

// There is no library for f64 on a GPU.
func.func @k(%x: tensor<8xf64>) -> tensor<8xf64> {
  // expected-error @below {{of 'f64' cannot be computed on a GPU: there is no library for it; use f32, or compile for the CPU}}
  %0 = dgc.tanh %x : tensor<8xf64>
  return %0 : tensor<8xf64>
}
