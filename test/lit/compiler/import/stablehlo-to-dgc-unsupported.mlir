// RUN: dgc-opt %s --stablehlo-to-dgc --verify-diagnostics

// All that dgc has no equivalent for is said at once.

// expected-error @+1 {{dgc has no equivalent for 5 ops of this program}}
module {
  func.func @main(%x: tensor<4x4xf32>, %z: tensor<4xcomplex<f32>>) -> tensor<4x4xf32> {
    // expected-note @+1 {{1 x 'stablehlo.cholesky'}}
    %0 = stablehlo.cholesky %x, lower = true : tensor<4x4xf32>
    // expected-note @+1 {{2 x 'stablehlo.custom_call' of @my_target; the first is here}}
    %1 = stablehlo.custom_call @my_target(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = stablehlo.custom_call @my_target(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    // expected-note @+1 {{1 x 'stablehlo.fft': complex numbers}}
    %3 = "stablehlo.fft"(%z) <{fft_length = array<i64: 4>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    // expected-note @+1 {{1 x 'stablehlo.unheard_of'}}
    %4 = "stablehlo.unheard_of"(%2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = stablehlo.add %4, %4 : tensor<4x4xf32>
    return %5 : tensor<4x4xf32>
  }
}
