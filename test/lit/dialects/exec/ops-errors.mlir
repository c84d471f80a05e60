// RUN: dgc-opt %s -split-input-file -verify-diagnostics

func.func @shapes(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>) {
  // expected-error @+1 {{has shapes that do not fit: 'tensor<4x8xf32>' times 'tensor<16x8xf32>' gives 'tensor<4x16xf32>'}}
  %0 = exec.matmul %a, %b : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @bias(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %bias: tensor<4xf32>) {
  // expected-error @+1 {{has a bias of type 'tensor<4xf32>'; it needs 16 elements}}
  %0 = exec.matmul %a, %b bias(%bias : tensor<4xf32>) : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return
}

// -----

// expected-error @+1 {{post op 'relu' takes no argument}}
func.func private @post_op() attributes {x = #exec.post_op<relu, 0>}

// -----

// expected-error @+1 {{post op 'add' needs an argument, as in <add, 0>}}
func.func private @post_op() attributes {x = #exec.post_op<add>}

// -----

func.func @post_op_argument(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @+1 {{names argument 0, but there are only 0}}
  %0 = exec.matmul %a, %b post_ops [#exec.post_op<add, 0>] : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @nothing_written(%a: tensor<4xf32>) {
  // expected-error @+1 {{writes nothing}}
  exec.launch @k(%a) : (tensor<4xf32>) -> ()
  return
}
func.func private @k(tensor<4xf32>)

// -----

func.func @no_kernel(%a: tensor<4xf32>) {
  // expected-error @+1 {{launches @k, which is no function here}}
  %0 = exec.launch @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @inplace(%a: tensor<4xf32>) {
  // expected-error @+1 {{`inplace` names operand 1 of 1}}
  %0 = exec.launch @k(%a) {inplace = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func private @k(tensor<4xf32>) -> tensor<4xf32>

// -----

func.func @convolution(%x: tensor<2x8x8x3xf32>, %w: tensor<3x3x3x5xf32>) {
  // expected-error @+1 {{has shapes that do not fit}}
  %0 = exec.convolution forward %x, %w strides [1, 1] padding [1, 1] [0, 0] dilation [1, 1]
      : tensor<2x8x8x3xf32>, tensor<3x3x3x5xf32> -> tensor<2x6x6x5xf32>
  return
}

// -----

func.func @pool(%x: tensor<2x8x8x3xf32>) {
  // expected-error @+1 {{has 2 spatial dimensions, but a window attribute with 1}}
  %0 = exec.pool max_forward(%x) window [2] strides [2, 2] padding [0, 0] [0, 0]
      : (tensor<2x8x8x3xf32>) -> tensor<2x4x4x3xf32>
  return
}

// -----

exec.program @views {
  %x = exec.buffer private "x" : memref<8xf32>
  // expected-error @+1 {{ends at byte 48 of a buffer of 32}}
  %v = exec.view %x at 16 : memref<8xf32> to memref<8xf32>
}

// -----

exec.program @collectives {
  %x = exec.buffer shared "x" : memref<8xf32>
  %y = exec.buffer shared "y" : memref<8xf64>
  // expected-error @+1 {{mixes element types 'f32' and 'f64'}}
  exec.collective all_gather sum axes [0] order 0 %x to %y : memref<8xf32> to memref<8xf64>
}

// -----

exec.program @padding {
  %x = exec.buffer shared "x" : memref<8xf32>
  // expected-error @+1 {{has 9 elements of padding; expected 0 to 8, the elements of its first buffer}}
  exec.collective all_reduce sum axes [0] order 0 %x to %x padding 9 : memref<8xf32> to memref<8xf32>
}

// -----

exec.program @permuted {
  %x = exec.buffer shared "x" : memref<8xf32>
  // expected-error @+1 {{has 2 buffers; permute takes one}}
  exec.collective permute sum axes [0] order 0 %x, %x to %x, %x permutation [1, 0] : memref<8xf32>, memref<8xf32> to memref<8xf32>, memref<8xf32>
}

// -----

func.func @update(%x: tensor<10x2xf32>, %u: tensor<2x3xf32>, %i: tensor<i32>) -> tensor<10x2xf32> {
  // expected-error @+1 {{has shapes that do not fit}}
  %0 = exec.update_slice %x, %u at %i dim 0 : tensor<10x2xf32>, tensor<2x3xf32>, tensor<i32> -> tensor<10x2xf32>
  return %0 : tensor<10x2xf32>
}

// -----

func.func @scatter(%i: tensor<3xi32>, %u: tensor<4x2xf32>) -> tensor<10x2xf32> {
  // expected-error @+1 {{has shapes that do not fit}}
  %0 = exec.scatter_add %i, %u dim 0 : tensor<3xi32>, tensor<4x2xf32> -> tensor<10x2xf32>
  return %0 : tensor<10x2xf32>
}

// -----

func.func @attention(%q: tensor<2x5x16xbf16>, %k: tensor<2x7x16xbf16>) {
  // expected-error @+1 {{takes query, key and value and gives a result and logarithms}}
  %y = exec.attention(%q, %k, %k) heads 2 scale 0.5
      : (tensor<2x5x16xbf16>, tensor<2x7x16xbf16>, tensor<2x7x16xbf16>) -> tensor<2x5x16xbf16>
  return
}

// -----

func.func @attention(%q: tensor<2x5x16xbf16>, %k: tensor<2x7x16xbf16>) {
  // expected-error @+1 {{has shapes that do not fit 2 heads}}
  %y, %l = exec.attention(%q, %k, %k) heads 2 scale 0.5
      : (tensor<2x5x16xbf16>, tensor<2x7x16xbf16>, tensor<2x7x16xbf16>) -> (tensor<2x5x16xbf16>, tensor<2x5x2xf32>)
  return
}

// -----

func.func @results(%a: tensor<8x16xbf16>, %b: tensor<16x24xbf16>) {
  // expected-error @+1 {{gives 1 results; it has to give 2}}
  %0 = exec.matmul %a, %b post_ops [#exec.post_op<relu>] keep_aux
      : tensor<8x16xbf16>, tensor<16x24xbf16> -> tensor<8x24xbf16>
  return
}

// -----

func.func @mask(%a: tensor<8x16xbf16>, %b: tensor<16x24xbf16>) {
  // expected-error @+1 {{keeps 'tensor<8x3xui8>' for the gradient; it has to be of type 'tensor<8x16xui8>'}}
  %0:2 = exec.matmul %a, %b post_ops [#exec.post_op<relu>] keep_aux
      : tensor<8x16xbf16>, tensor<16x24xbf16> -> tensor<8x24xbf16>, tensor<8x3xui8>
  return
}

// -----

func.func @mask_argument(%a: tensor<8x16xbf16>, %b: tensor<16x24xbf16>, %m: tensor<8x24xbf16>) {
  // expected-error @+1 {{has the gradient of relu with a mask of type 'tensor<8x24xbf16>'; it needs 'tensor<8x16xui8>'}}
  %0 = exec.matmul %a, %b args(%m : tensor<8x24xbf16>) post_ops [#exec.post_op<relu_grad, 0>]
      : tensor<8x16xbf16>, tensor<16x24xbf16> -> tensor<8x24xbf16>
  return
}

// -----

func.func @keeps_nothing(%a: tensor<8x16xbf16>, %b: tensor<16x24xbf16>) {
  // expected-error @+1 {{keeps what a gradient needs, and has no post op relu or gelu_tanh alone}}
  %0:2 = exec.matmul %a, %b keep_aux : tensor<8x16xbf16>, tensor<16x24xbf16> -> tensor<8x24xbf16>, tensor<8x24xbf16>
  return
}

// -----

func.func @sum_of_result(%a: tensor<8x16xbf16>, %b: tensor<16x24xbf16>) {
  // expected-error @+1 {{that of the result goes with relu_grad or gelu_tanh_grad, that of an operand with nothing else}}
  %0:2 = exec.matmul %a, %b bias_gradient result
      : tensor<8x16xbf16>, tensor<16x24xbf16> -> tensor<8x24xbf16>, tensor<24xbf16>
  return
}

// -----

func.func @sum_of_operand(%a: tensor<8x16xbf16>, %b: tensor<16x24xbf16>) {
  // expected-error @+1 {{has a gradient of a bias of type 'tensor<24xbf16>'; it needs 8 elements of 'bf16'}}
  %0:2 = exec.matmul %a, %b bias_gradient a
      : tensor<8x16xbf16>, tensor<16x24xbf16> -> tensor<8x24xbf16>, tensor<24xbf16>
  return
}

// -----

func.func @batch(%a: tensor<2x8x16xbf16>, %b: tensor<2x16x24xbf16>) {
  // expected-error @+1 {{has parts of gradients, which only a single product of 16 bits that is not strided can have}}
  %0:2 = exec.matmul %a, %b post_ops [#exec.post_op<gelu_tanh>] keep_aux
      : tensor<2x8x16xbf16>, tensor<2x16x24xbf16> -> tensor<2x8x24xbf16>, tensor<2x8x24xbf16>
  return
}

// -----

func.func @element(%a: tensor<8x16xf32>, %b: tensor<16x24xf32>) {
  // expected-error @+1 {{has parts of gradients, which only a single product of 16 bits that is not strided can have}}
  %0:2 = exec.matmul %a, %b post_ops [#exec.post_op<gelu_tanh>] keep_aux
      : tensor<8x16xf32>, tensor<16x24xf32> -> tensor<8x24xf32>, tensor<8x24xf32>
  return
}

// -----

func.func @two_gradients(%a: tensor<8x16xbf16>, %b: tensor<16x24xbf16>, %x: tensor<8x24xbf16>, %m: tensor<8x16xui8>) {
  // expected-error @+1 {{has the gradient of an activation, which goes with no bias and no other post op}}
  %0 = exec.matmul %a, %b args(%x, %m : tensor<8x24xbf16>, tensor<8x16xui8>)
      post_ops [#exec.post_op<gelu_tanh_grad, 0>, #exec.post_op<relu_grad, 1>]
      : tensor<8x16xbf16>, tensor<16x24xbf16> -> tensor<8x24xbf16>
  return
}

// -----

func.func @gelu_of_channels(%a: tensor<8x16xbf16>, %b: tensor<16x24xbf16>, %x: tensor<24xbf16>) {
  // expected-error @+1 {{has the gradient of gelu at 'tensor<24xbf16>'; it needs the shape of the result}}
  %0 = exec.matmul %a, %b args(%x : tensor<24xbf16>) post_ops [#exec.post_op<gelu_tanh_grad, 0>]
      : tensor<8x16xbf16>, tensor<16x24xbf16> -> tensor<8x24xbf16>
  return
}

// -----

exec.program @both {
  %x = exec.buffer private "x" : memref<4x8xf32>
  %y = exec.buffer private "y" : memref<8x16xf32>
  %z = exec.buffer private "z" : memref<4x16xf32>
  // expected-error @+1 {{has results and `outs`: a step on tensors has results, a step on buffers has outs}}
  %0 = exec.matmul %x, %y outs(%z : memref<4x16xf32>) : memref<4x8xf32>, memref<8x16xf32> -> tensor<4x16xf32>
}

// -----

func.func @mixes(%x: memref<4x8xf32>, %y: tensor<8x16xf32>) {
  // expected-error @+1 {{mixes tensors and buffers: operand of type 'memref<4x8xf32>'}}
  %0 = exec.matmul %x, %y : memref<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @addend(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %c: tensor<4xf32>) {
  // expected-error @+1 {{post op argument of type 'tensor<4xf32>' has neither the shape of the result 'tensor<4x16xf32>' nor one element per channel}}
  %0 = exec.matmul %a, %b args(%c : tensor<4xf32>) post_ops [#exec.post_op<add, 0>]
      : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @inplace_of_one(%a: tensor<4xf32>) {
  // expected-error @+1 {{`inplace` has 2 entries for 1 results}}
  %0 = exec.launch @k(%a) {inplace = array<i64: 0, -1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func private @k(tensor<4xf32>) -> tensor<4xf32>

// -----

func.func @other_kernel(%a: tensor<4xf32>) {
  // expected-error @+1 {{passes 1 inputs and takes 1 results, but @k has 2 and 1}}
  %0 = exec.launch @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func private @k(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// -----

func.func @convolution_of_rows(%x: tensor<2x3xf32>, %w: tensor<3x5xf32>) {
  // expected-error @+1 {{needs src, weights and dst of equal rank, at least 3}}
  %0 = exec.convolution forward %x, %w strides [] padding [] [] dilation [] : tensor<2x3xf32>, tensor<3x5xf32> -> tensor<2x5xf32>
  return
}

// -----

func.func @convolution_window(%x: tensor<2x8x8x3xf32>, %w: tensor<3x3x3x5xf32>) {
  // expected-error @+1 {{has 2 spatial dimensions, but a window attribute with 1}}
  %0 = exec.convolution forward %x, %w strides [1] padding [0, 0] [0, 0] dilation [1, 1]
      : tensor<2x8x8x3xf32>, tensor<3x3x3x5xf32> -> tensor<2x6x6x5xf32>
  return
}

// -----

func.func @pool_operands(%x: tensor<2x8x8x3xf32>) {
  // expected-error @+1 {{takes 2 operands and gives one result for max_backward}}
  %0 = exec.pool max_backward(%x) window [2, 2] strides [2, 2] padding [0, 0] [0, 0]
      : (tensor<2x8x8x3xf32>) -> tensor<2x4x4x3xf32>
  return
}

// -----

func.func @pool_rank(%x: tensor<2x8xf32>) {
  // expected-error @+1 {{needs src and dst of equal rank, at least 3: 'tensor<2x8xf32>', 'tensor<2x4xf32>'}}
  %0 = exec.pool max_forward(%x) window [] strides [] padding [] [] : (tensor<2x8xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @pool_shapes(%x: tensor<2x8x8x3xf32>) {
  // expected-error @+1 {{has shapes that do not fit: src 'tensor<2x8x8x3xf32>', dst 'tensor<2x5x4x3xf32>'}}
  %0 = exec.pool max_forward(%x) window [2, 2] strides [2, 2] padding [0, 0] [0, 0]
      : (tensor<2x8x8x3xf32>) -> tensor<2x5x4x3xf32>
  return
}
