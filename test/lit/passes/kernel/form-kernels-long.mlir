// RUN: dgc-opt %s -dgc-form-kernels | FileCheck %s

// Sums of neighbours, again and again: the code of one kernel would have an op for each of the 4096 elements.

// CHECK-LABEL: func.func @pairs
// CHECK-COUNT-2: exec.launch @kernels
// CHECK-NOT:     exec.launch
// CHECK:         return
func.func @pairs(%x: tensor<4096xf32>) -> tensor<1xf32> {
  %a0 = dgc.slice %x from [0] to [4096] strides [2] : tensor<4096xf32>
  %b0 = dgc.slice %x from [1] to [4096] strides [2] : tensor<4096xf32>
  %s0 = dgc.add %a0, %b0 : tensor<2048xf32>
  %a1 = dgc.slice %s0 from [0] to [2048] strides [2] : tensor<2048xf32>
  %b1 = dgc.slice %s0 from [1] to [2048] strides [2] : tensor<2048xf32>
  %s1 = dgc.add %a1, %b1 : tensor<1024xf32>
  %a2 = dgc.slice %s1 from [0] to [1024] strides [2] : tensor<1024xf32>
  %b2 = dgc.slice %s1 from [1] to [1024] strides [2] : tensor<1024xf32>
  %s2 = dgc.add %a2, %b2 : tensor<512xf32>
  %a3 = dgc.slice %s2 from [0] to [512] strides [2] : tensor<512xf32>
  %b3 = dgc.slice %s2 from [1] to [512] strides [2] : tensor<512xf32>
  %s3 = dgc.add %a3, %b3 : tensor<256xf32>
  %a4 = dgc.slice %s3 from [0] to [256] strides [2] : tensor<256xf32>
  %b4 = dgc.slice %s3 from [1] to [256] strides [2] : tensor<256xf32>
  %s4 = dgc.add %a4, %b4 : tensor<128xf32>
  %a5 = dgc.slice %s4 from [0] to [128] strides [2] : tensor<128xf32>
  %b5 = dgc.slice %s4 from [1] to [128] strides [2] : tensor<128xf32>
  %s5 = dgc.add %a5, %b5 : tensor<64xf32>
  %a6 = dgc.slice %s5 from [0] to [64] strides [2] : tensor<64xf32>
  %b6 = dgc.slice %s5 from [1] to [64] strides [2] : tensor<64xf32>
  %s6 = dgc.add %a6, %b6 : tensor<32xf32>
  %a7 = dgc.slice %s6 from [0] to [32] strides [2] : tensor<32xf32>
  %b7 = dgc.slice %s6 from [1] to [32] strides [2] : tensor<32xf32>
  %s7 = dgc.add %a7, %b7 : tensor<16xf32>
  %a8 = dgc.slice %s7 from [0] to [16] strides [2] : tensor<16xf32>
  %b8 = dgc.slice %s7 from [1] to [16] strides [2] : tensor<16xf32>
  %s8 = dgc.add %a8, %b8 : tensor<8xf32>
  %a9 = dgc.slice %s8 from [0] to [8] strides [2] : tensor<8xf32>
  %b9 = dgc.slice %s8 from [1] to [8] strides [2] : tensor<8xf32>
  %s9 = dgc.add %a9, %b9 : tensor<4xf32>
  %a10 = dgc.slice %s9 from [0] to [4] strides [2] : tensor<4xf32>
  %b10 = dgc.slice %s9 from [1] to [4] strides [2] : tensor<4xf32>
  %s10 = dgc.add %a10, %b10 : tensor<2xf32>
  %a11 = dgc.slice %s10 from [0] to [2] strides [2] : tensor<2xf32>
  %b11 = dgc.slice %s10 from [1] to [2] strides [2] : tensor<2xf32>
  %s11 = dgc.add %a11, %b11 : tensor<1xf32>
  return %s11 : tensor<1xf32>
}
