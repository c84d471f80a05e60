// RUN: dgc-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'dgc.reduce' op dims has dimension 2, but the tensor has rank 2}}
  %0 = dgc.reduce sum %x dims [2] : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'dgc.reduce' op dims must be ascending}}
  %0 = dgc.reduce sum %x dims [1, 0] : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'dgc.reduce' op and takes integers or i1, but the elements are 'f32'}}
  %0 = dgc.reduce and %x dims [0] : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{'dgc.reduce' op sum takes numbers, but the elements are i1; use 'and' or 'or', or convert them}}
  %0 = dgc.reduce sum %x dims [0] : tensor<4xi1>
  return
}

// -----

func.func @f(%x: memref<4xf32>) {
  // expected-error @+1 {{'dgc.reduce' op needs tensors of static shape, but operand #0 is 'memref<4xf32>'}}
  %0 = dgc.reduce sum %x dims [0] : memref<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %w: tensor<7x5xf32>) {
  // expected-error @+1 {{'dgc.dot_general' op contracted dimension 1 of the left operand ('tensor<4x8xf32>') has size 8, but dimension 0 of the right operand ('tensor<7x5xf32>') has size 7; they must be equal}}
  %0 = dgc.dot_general %x, %w contract [1] x [0] : tensor<4x8xf32>, tensor<7x5xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x5xf64>) {
  // expected-error @+1 {{'dgc.dot_general' op multiplies 'f32' with 'f64'; convert one of them, the element types must be equal}}
  %0 = dgc.dot_general %x, %w contract [1] x [0] : tensor<4x8xf32>, tensor<8x5xf64>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'dgc.dot_general' op the left operand has dimension 1 twice}}
  %0 = dgc.dot_general %x, %x batch [1] x [1] contract [1] x [0] : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'dgc.dot_general' op has 1 contracted dimensions on the left and 2 on the right; they must be pairs}}
  %0 = dgc.dot_general %x, %x contract [1] x [0, 1] : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<8x28x28x3xf32>, %w: tensor<3x3x1x32xf32>) {
  // expected-error @+1 {{'dgc.convolution' op the weights ('tensor<3x3x1x32xf32>') are for 1 input channels, but the input ('tensor<8x28x28x3xf32>') has 3}}
  %0 = dgc.convolution %x, %w : tensor<8x28x28x3xf32>, tensor<3x3x1x32xf32>
  return
}

// -----

func.func @f(%x: tensor<8x2x28x3xf32>, %w: tensor<3x3x3x32xf32>) {
  // expected-error @+1 {{'dgc.convolution' op the window covers 3 elements of dimension 0, which has only 2 with its padding; use a smaller window or more padding}}
  %0 = dgc.convolution %x, %w : tensor<8x2x28x3xf32>, tensor<3x3x3x32xf32>
  return
}

// -----

func.func @f(%x: tensor<8x28x28x3xf32>, %w: tensor<3x3x3x32xf32>) {
  // expected-error @+1 {{'dgc.convolution' op strides has 3 entries where there are 2 dimensions to slide over; give one for each, or leave it out}}
  %0 = dgc.convolution %x, %w strides [1, 1, 1] : tensor<8x28x28x3xf32>, tensor<3x3x3x32xf32>
  return
}

// -----

func.func @f(%x: tensor<8x28x28x3xf32>, %w: tensor<3x3x3x32xf32>) {
  // expected-error @+1 {{'dgc.convolution' op padding must be at least 0 everywhere, but has -1}}
  %0 = dgc.convolution %x, %w padding [[0, 0], [-1, 0]] : tensor<8x28x28x3xf32>, tensor<3x3x3x32xf32>
  return
}

// -----

func.func @f(%x: tensor<8x28x28x4xf32>, %w: tensor<3x3x2x9xf32>) {
  // expected-error @+1 {{'dgc.convolution' op: 2 groups do not divide 4 input channels and 9 output channels evenly}}
  %0 = dgc.convolution %x, %w groups 2 : tensor<8x28x28x4xf32>, tensor<3x3x2x9xf32>
  return
}

// -----

func.func @f(%dy: tensor<8x26x26x32xf32>, %w: tensor<3x3x1x32xf32>) {
  // expected-error @+1 {{'dgc.convolution_input_grad' op spatial dimension 1 of the result gradient ('tensor<8x26x26x32xf32>') has size 26, but the result of the convolution has size 28 there}}
  %0 = dgc.convolution_input_grad %dy, %w input_size [28, 30] : tensor<8x26x26x32xf32>, tensor<3x3x1x32xf32>
  return
}

// -----

func.func @f(%x: tensor<8x26x26x32xf32>) {
  // expected-error @+1 {{'dgc.reduce_window' op the window has 2 dimensions where there are 4 to slide over}}
  %0 = dgc.reduce_window max %x window [2, 2] : tensor<8x26x26x32xf32>
  return
}

// -----

func.func @f(%x: tensor<8x26x26x32xf32>) {
  // expected-error @+1 {{'dgc.reduce_window' op pads dimension 1 by [2, 0], which must be less than its window of 2}}
  %0 = dgc.reduce_window max %x window [1, 2, 2, 1] padding [[0, 0], [2, 0], [0, 0], [0, 0]] : tensor<8x26x26x32xf32>
  return
}

// -----

func.func @f(%x: tensor<8x26xf32>) {
  // expected-error @+1 {{'dgc.reduce_window' op combines windows by sum, max or min, not by product}}
  %0 = dgc.reduce_window product %x window [1, 2] : tensor<8x26xf32>
  return
}

// -----

func.func @f(%x: tensor<8x26xf32>, %dy: tensor<8x26xf32>) {
  // expected-error @+1 {{'dgc.max_pool_grad' op the result gradient is 'tensor<8x26xf32>', but the result of the pool over 'tensor<8x26xf32>' is 'tensor<8x25xf32>'}}
  %0 = dgc.max_pool_grad %x, %dy window [1, 2] : tensor<8x26xf32>
  return
}

// -----

func.func @f(%s: tensor<i64>) {
  // expected-error @+1 {{'dgc.rng_bit_generator' op has 1 offsets and a global shape of rank 2; for the result 'tensor<4x5xui32>' it needs 2 of both}}
  %0 = dgc.rng_bit_generator %s, %s id 3 at (%s) in [8, 5] : tensor<4x5xui32>
  return
}

// -----

func.func @f(%s: tensor<i64>) {
  // expected-error @+1 {{'dgc.rng_bit_generator' op computes 4 elements of dimension 0, which has only 3 in the whole tensor}}
  %0 = dgc.rng_bit_generator %s, %s id 3 at (%s, %s) in [3, 5] : tensor<4x5xui32>
  return
}

// -----

func.func @f(%x: tensor<8x28x28x3xf32>, %w: tensor<3x3x3x32xf32>) {
  // expected-error @+1 {{expected '['}}
  %0 = dgc.convolution %x, %w padding [1, 1] : tensor<8x28x28x3xf32>, tensor<3x3x3x32xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expected a reduction: sum, product, max, min, and or or, not 'mean'; a mean of n elements is their sum, multiplied by 1 / n (dgc.multiply %sum, 0.25), and the mean over the batch is part of losses (dgc.mean_squared_error, dgc.cross_entropy)}}
  %0 = dgc.reduce mean %x dims [0] : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expected a reduction: sum, product, max, min, and or or, not 'avg'}}
  %0 = dgc.reduce_window avg %x window [1, 2] : tensor<4x8xf32>
  return
}
