// RUN: dgc-opt %s | dgc-opt | FileCheck %s

// Steps on tensors have results.
// CHECK-LABEL: func.func @tensors
func.func @tensors(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>, %bias: tensor<16xf32>) -> tensor<4x16xf32> {
  // CHECK: exec.matmul %{{.*}}, %{{.*}} bias(%{{.*}} : tensor<16xf32>) post_ops [#exec.post_op<relu>] {transpose_b}
  // CHECK-SAME: : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %0 = exec.matmul %a, %b bias(%bias : tensor<16xf32>) post_ops [#exec.post_op<relu>] {transpose_b}
      : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  // CHECK: exec.launch @kernels::@k(%{{.*}}) {inplace = array<i64: 0>} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = exec.launch @kernels::@k(%0) {inplace = array<i64: 0>} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}
module @kernels {
  func.func @k(%a: tensor<4x16xf32>) -> tensor<4x16xf32> {
    return %a : tensor<4x16xf32>
  }
}

// What products on GPUs give to gradients.
// CHECK-LABEL: func.func @gradient_parts
func.func @gradient_parts(%a: tensor<8x16xbf16>, %b: tensor<16x136xbf16>, %m: tensor<8x32xui8>, %d: tensor<8x136xbf16>) {
  // CHECK: exec.matmul %{{.*}}, %{{.*}} post_ops [#exec.post_op<relu>] keep_aux : {{.*}} -> tensor<8x136xbf16>, tensor<8x32xui8>
  %0:2 = exec.matmul %a, %b post_ops [#exec.post_op<relu>] keep_aux
      : tensor<8x16xbf16>, tensor<16x136xbf16> -> tensor<8x136xbf16>, tensor<8x32xui8>
  // CHECK: exec.matmul {{.*}} args(%{{.*}} : tensor<8x32xui8>) post_ops [#exec.post_op<relu_grad, 0>] bias_gradient result :
  %1:2 = exec.matmul %a, %b args(%m : tensor<8x32xui8>) post_ops [#exec.post_op<relu_grad, 0>] bias_gradient result
      : tensor<8x16xbf16>, tensor<16x136xbf16> -> tensor<8x136xbf16>, tensor<136xbf16>
  // CHECK: exec.matmul {{.*}} bias_gradient b {transpose_a} :
  %2:2 = exec.matmul %a, %d bias_gradient b {transpose_a}
      : tensor<8x16xbf16>, tensor<8x136xbf16> -> tensor<16x136xbf16>, tensor<136xbf16>
  // CHECK: exec.matmul {{.*}} bias_gradient a {transpose_a} : {{.*}} -> tensor<16x136xbf16>, tensor<16xbf16>
  %3:2 = exec.matmul %a, %d bias_gradient a {transpose_a}
      : tensor<8x16xbf16>, tensor<8x136xbf16> -> tensor<16x136xbf16>, tensor<16xbf16>
  return
}

// CHECK-LABEL: func.func @convolutions
func.func @convolutions(%x: tensor<2x8x8x3xf32>, %w: tensor<3x3x3x5xf32>, %g: tensor<2x6x6x5xf32>) {
  // CHECK: exec.convolution forward
  %0 = exec.convolution forward %x, %w strides [1, 1] padding [0, 0] [0, 0] dilation [1, 1]
      : tensor<2x8x8x3xf32>, tensor<3x3x3x5xf32> -> tensor<2x6x6x5xf32>
  // CHECK: exec.convolution backward_data
  %1 = exec.convolution backward_data %g, %w strides [1, 1] padding [0, 0] [0, 0] dilation [1, 1]
      : tensor<2x6x6x5xf32>, tensor<3x3x3x5xf32> -> tensor<2x8x8x3xf32>
  // CHECK: exec.convolution backward_weights {{.*}} -> tensor<3x3x3x5xf32>{{$}}
  %2 = exec.convolution backward_weights %x, %g strides [1, 1] padding [0, 0] [0, 0] dilation [1, 1]
      : tensor<2x8x8x3xf32>, tensor<2x6x6x5xf32> -> tensor<3x3x3x5xf32>
  // CHECK: exec.pool max_forward(%{{.*}}) window [2, 2] strides [2, 2] padding [0, 0] [0, 0]
  %3 = exec.pool max_forward(%g) window [2, 2] strides [2, 2] padding [0, 0] [0, 0]
      : (tensor<2x6x6x5xf32>) -> tensor<2x3x3x5xf32>
  return
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x5x16xbf16>, %k: tensor<2x7x16xbf16>, %v: tensor<2x7x32xbf16>) {
  // CHECK: exec.attention(%{{.*}}, %{{.*}}, %{{.*}}) heads 2 scale 5.000000e-01 :
  %y, %l = exec.attention(%q, %k, %v) heads 2 scale 0.5
      : (tensor<2x5x16xbf16>, tensor<2x7x16xbf16>, tensor<2x7x32xbf16>) -> (tensor<2x5x32xbf16>, tensor<2x2x5xf32>)
  // CHECK: exec.attention backward(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) heads 2 scale 5.000000e-01 :
  %g:3 = exec.attention backward(%q, %k, %v, %y, %l, %y) heads 2 scale 0.5
      : (tensor<2x5x16xbf16>, tensor<2x7x16xbf16>, tensor<2x7x32xbf16>, tensor<2x5x32xbf16>, tensor<2x2x5xf32>,
         tensor<2x5x32xbf16>) -> (tensor<2x5x16xbf16>, tensor<2x7x16xbf16>, tensor<2x7x32xbf16>)
  return
}

// Steps on buffers have outs.
// CHECK-LABEL: exec.variable @w at 0 : memref<8xf32> of tensor<8xf32> state {role = "weight"}
exec.variable @w at 0 : memref<8xf32> of tensor<8xf32> state {role = "weight"}
// CHECK: exec.program @train
exec.program @train {
  // CHECK: exec.get_variable @w : memref<8xf32>
  %w = exec.get_variable @w : memref<8xf32>
  // CHECK: exec.buffer private at 64 "x" : memref<8xf32>
  %x = exec.buffer private at 64 "x" : memref<8xf32>
  // CHECK: exec.buffer shared "g" : memref<8xf32>
  %g = exec.buffer shared "g" : memref<8xf32>
  // CHECK: exec.view %{{.*}} at 16 : memref<8xf32> to memref<4xf32>
  %v = exec.view %g at 16 : memref<8xf32> to memref<4xf32>
  // CHECK: exec.input "x" "data" %{{.*}} : memref<8xf32> of tensor<16xf32> batch_dim 0
  exec.input "x" "data" %x : memref<8xf32> of tensor<16xf32> batch_dim 0
  // CHECK: exec.copy
  exec.copy %x to %g : memref<8xf32>
  // CHECK: exec.fill %{{.*}} with 5.000000e-01 : memref<8xf32>
  exec.fill %g with 0.5 : memref<8xf32>
  // CHECK: exec.buffer private at 128 "i" : memref<i32>
  %i = exec.buffer private at 128 "i" : memref<i32>
  // CHECK: exec.update_slice %{{.*}}, %{{.*}} at %{{.*}} dim 0 outs(%{{.*}} : memref<8xf32>) : memref<8xf32>, memref<4xf32>, memref<i32>
  exec.update_slice %x, %v at %i dim 0 outs(%x : memref<8xf32>) : memref<8xf32>, memref<4xf32>, memref<i32>
  // CHECK: exec.collective all_reduce sum axes [0] order 0 %{{.*}} to %{{.*}} origin "gradient of w"
  exec.collective all_reduce sum axes [0] order 0 %g to %g origin "gradient of w" : memref<8xf32> to memref<8xf32>
  // CHECK: exec.collective all_reduce sum axes [0] order 0 %{{.*}} to %{{.*}} padding 3 : memref<8xf32>
  exec.collective all_reduce sum axes [0] order 0 %g to %g padding 3 : memref<8xf32> to memref<8xf32>
  // CHECK: exec.collective async all_reduce sum axes [0] order 1 %{{.*}}, %{{.*}} to %{{.*}}, %{{.*}} : memref<8xf32>, memref<8xf32> to memref<8xf32>, memref<8xf32>
  exec.collective async all_reduce sum axes [0] order 1 %g, %g to %g, %g : memref<8xf32>, memref<8xf32> to memref<8xf32>, memref<8xf32>
  // CHECK: exec.wait 1 for %{{.*}} : memref<8xf32>
  exec.wait 1 for %g : memref<8xf32>
  exec.output "loss" "loss" %v : memref<4xf32> of tensor<4xf32>
}
