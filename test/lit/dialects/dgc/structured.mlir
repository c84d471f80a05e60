// RUN: dgc-opt %s | FileCheck %s
// RUN: dgc-opt %s --mlir-print-op-generic | dgc-opt | FileCheck %s

// The types of results follow from operands and attributes: functions return them, so they are checked.

// CHECK-LABEL: func @reduce
func.func @reduce(%x: tensor<4x8x2xf32>, %p: tensor<4xi1>, %u: tensor<4x8xui8>) -> (tensor<8xf32>, tensor<i1>, tensor<8xui8>) {
  // CHECK: dgc.reduce sum %{{.*}} dims [0, 2] : tensor<4x8x2xf32>
  %0 = dgc.reduce sum %x dims [0, 2] : tensor<4x8x2xf32>
  // CHECK: dgc.reduce and %{{.*}} dims [0] : tensor<4xi1>
  %1 = dgc.reduce and %p dims [0] : tensor<4xi1>
  // CHECK: dgc.reduce max %{{.*}} dims [0] : tensor<4x8xui8>
  %2 = dgc.reduce max %u dims [0] : tensor<4x8xui8>
  return %0, %1, %2 : tensor<8xf32>, tensor<i1>, tensor<8xui8>
}

// CHECK-LABEL: func @dot
func.func @dot(%x: tensor<4x8xf32>, %w: tensor<8x5xf32>, %a: tensor<2x4x3x8xf32>, %b: tensor<2x3x8x6xf32>)
    -> (tensor<4x5xf32>, tensor<2x3x4x6xf32>, tensor<4x8x8x5xf32>) {
  // CHECK: dgc.dot_general %{{.*}}, %{{.*}} contract [1] x [0] : tensor<4x8xf32>, tensor<8x5xf32>
  %0 = dgc.dot_general %x, %w contract [1] x [0] : tensor<4x8xf32>, tensor<8x5xf32>
  // CHECK: dgc.dot_general %{{.*}}, %{{.*}} batch [0, 2] x [0, 1] contract [3] x [2] : tensor<2x4x3x8xf32>, tensor<2x3x8x6xf32>
  %1 = dgc.dot_general %a, %b batch [0, 2] x [0, 1] contract [3] x [2] : tensor<2x4x3x8xf32>, tensor<2x3x8x6xf32>
  // CHECK: dgc.dot_general %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8x5xf32>
  %2 = dgc.dot_general %x, %w : tensor<4x8xf32>, tensor<8x5xf32>
  return %0, %1, %2 : tensor<4x5xf32>, tensor<2x3x4x6xf32>, tensor<4x8x8x5xf32>
}

// CHECK-LABEL: func @convolution
func.func @convolution(%x: tensor<8x28x30x6xf32>, %w: tensor<3x5x2x9xf32>) -> (tensor<8x14x30x9xf32>, tensor<8x28x30x6xf32>, tensor<3x5x2x9xf32>) {
  // CHECK: dgc.convolution %{{.*}}, %{{.*}} strides [2, 1] padding {{\[\[}}1, 0], [4, 4]] dilation [1, 2] groups 3 : tensor<8x28x30x6xf32>, tensor<3x5x2x9xf32>
  %0 = dgc.convolution %x, %w strides [2, 1] padding [[1, 0], [4, 4]] dilation [1, 2] groups 3 : tensor<8x28x30x6xf32>, tensor<3x5x2x9xf32>
  // CHECK: dgc.convolution_input_grad %{{.*}}, %{{.*}} input_size [28, 30] strides [2, 1]
  %1 = dgc.convolution_input_grad %0, %w input_size [28, 30] strides [2, 1] padding [[1, 0], [4, 4]] dilation [1, 2] groups 3 : tensor<8x14x30x9xf32>, tensor<3x5x2x9xf32>
  // CHECK: dgc.convolution_weight_grad %{{.*}}, %{{.*}} kernel_size [3, 5] strides [2, 1]
  %2 = dgc.convolution_weight_grad %x, %0 kernel_size [3, 5] strides [2, 1] padding [[1, 0], [4, 4]] dilation [1, 2] groups 3 : tensor<8x28x30x6xf32>, tensor<8x14x30x9xf32>
  return %0, %1, %2 : tensor<8x14x30x9xf32>, tensor<8x28x30x6xf32>, tensor<3x5x2x9xf32>
}

// CHECK-LABEL: func @window
func.func @window(%x: tensor<8x27x28x6xf32>) -> (tensor<8x14x14x6xf32>, tensor<8x27x28x6xf32>) {
  // CHECK: dgc.reduce_window max %{{.*}} window [1, 2, 2, 1] strides [1, 2, 2, 1] padding {{\[\[}}0, 0], [0, 1], [0, 0], [0, 0]] : tensor<8x27x28x6xf32>
  %0 = dgc.reduce_window max %x window [1, 2, 2, 1] strides [1, 2, 2, 1] padding [[0, 0], [0, 1], [0, 0], [0, 0]] : tensor<8x27x28x6xf32>
  // CHECK: dgc.max_pool_grad %{{.*}}, %{{.*}} window [1, 2, 2, 1]
  %1 = dgc.max_pool_grad %x, %0 window [1, 2, 2, 1] strides [1, 2, 2, 1] padding [[0, 0], [0, 1], [0, 0], [0, 0]] : tensor<8x27x28x6xf32>, tensor<8x14x14x6xf32>
  return %0, %1 : tensor<8x14x14x6xf32>, tensor<8x27x28x6xf32>
}

// CHECK-LABEL: func @random
func.func @random(%seed: tensor<i64>, %step: tensor<i64>) -> (tensor<4x5xui32>, tensor<4x5xui64>) {
  // CHECK: dgc.rng_bit_generator %{{.*}}, %{{.*}} id 3 : tensor<4x5xui32>
  %0 = dgc.rng_bit_generator %seed, %step id 3 : tensor<4x5xui32>
  // CHECK: dgc.rng_bit_generator %{{.*}}, %{{.*}} id 3 at(%{{.*}}, %{{.*}}) in [8, 5] : tensor<4x5xui64>
  %1 = dgc.rng_bit_generator %seed, %step id 3 at (%step, %step) in [8, 5] : tensor<4x5xui64>
  return %0, %1 : tensor<4x5xui32>, tensor<4x5xui64>
}

// CHECK-LABEL: func @gradient
func.func @gradient(%loss: tensor<f32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  // CHECK: dgc.gradient %{{.*}} wrt %{{.*}}, %{{.*}} : tensor<f32>, tensor<4x8xf32>, tensor<8xf32>
  %g:2 = dgc.gradient %loss wrt %w, %b : tensor<f32>, tensor<4x8xf32>, tensor<8xf32>
  return %g#0, %g#1 : tensor<4x8xf32>, tensor<8xf32>
}

// As it is written in a model: no types.
// CHECK-LABEL: func @untyped
func.func @untyped(%x: !dgc.untyped, %w: !dgc.untyped) -> !dgc.untyped {
  // CHECK: dgc.dot_general %{{.*}}, %{{.*}} contract [1] x [0]{{ *$}}
  %0 = dgc.dot_general %x, %w contract [1] x [0]
  // CHECK: dgc.reduce sum %{{.*}} dims [0]{{ *$}}
  %1 = dgc.reduce sum %0 dims [0]
  return %1 : !dgc.untyped
}
