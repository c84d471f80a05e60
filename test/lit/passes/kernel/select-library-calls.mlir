// RUN: dgc-opt %s -split-input-file -dgc-select-library-calls -canonicalize | FileCheck %s
// RUN: dgc-opt %s -split-input-file -dgc-select-library-calls=library=nvidia -canonicalize | FileCheck %s --check-prefix=CUDA

// A dense layer is one call, with a bias; relu is left to kernels, as that of oneDNN makes zeros of NaNs. Its gradient compares
// the value behind relu, so that the one before is not needed any more.

// CHECK-LABEL: func.func @dense
// CHECK-SAME:    (%[[X:.+]]: tensor<8x4xf32>, %[[W:.+]]: tensor<4x5xf32>, %[[B:.+]]: tensor<5xf32>)
// CHECK:         %[[Y:.+]] = exec.matmul %[[X]], %[[W]] bias(%[[B]] : tensor<5xf32>) :
// CHECK:         %[[R:.+]] = dgc.maximum %[[Y]], %{{.+}}
// CHECK:         dgc.compare gt %[[R]], %{{.+}}
func.func @dense(%x: tensor<8x4xf32>, %w: tensor<4x5xf32>, %b: tensor<5xf32>) -> (tensor<8x5xf32>, tensor<8x5xi1>) {
  %zero = dgc.constant dense<0.0> : tensor<8x5xf32>
  %0 = dgc.dot_general %x, %w contract [1] x [0] : tensor<8x4xf32>, tensor<4x5xf32>
  %1 = dgc.broadcast_in_dim %b dims [1] to [8, 5] : tensor<5xf32>
  %2 = dgc.add %0, %1 : tensor<8x5xf32>
  %3 = dgc.maximum %2, %zero : tensor<8x5xf32>
  %4 = dgc.compare gt %2, %zero : tensor<8x5xf32>
  return %3, %4 : tensor<8x5xf32>, tensor<8x5xi1>
}

// -----

// The two products of its gradient take transposed operands as they are stored.

// CHECK-LABEL: func.func @transposed
// CHECK-SAME:    (%[[X:.+]]: tensor<8x4xf32>, %[[W:.+]]: tensor<4x5xf32>, %[[D:.+]]: tensor<8x5xf32>)
// CHECK:         exec.matmul %[[X]], %[[D]] {transpose_a} : tensor<8x4xf32>, tensor<8x5xf32> -> tensor<4x5xf32>
// CHECK:         exec.matmul %[[D]], %[[W]] {transpose_b} : tensor<8x5xf32>, tensor<4x5xf32> -> tensor<8x4xf32>
// CHECK:         exec.matmul %[[D]], %[[W]] {transpose_b} : tensor<8x5xf32>, tensor<4x5xf32> -> tensor<8x4xf32>
// CHECK-NOT:     dgc.transpose
func.func @transposed(%x: tensor<8x4xf32>, %w: tensor<4x5xf32>, %d: tensor<8x5xf32>)
    -> (tensor<4x5xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = dgc.dot_general %x, %d contract [0] x [0] : tensor<8x4xf32>, tensor<8x5xf32>
  %1 = dgc.dot_general %d, %w contract [1] x [1] : tensor<8x5xf32>, tensor<4x5xf32>
  %t = dgc.transpose %w permutation [1, 0] : tensor<4x5xf32>
  %2 = dgc.dot_general %d, %t contract [1] x [0] : tensor<8x5xf32>, tensor<5x4xf32>
  return %0, %1, %2 : tensor<4x5xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// Neighbouring dimensions are taken together; batch dimensions stay.

// CHECK-LABEL: func.func @grouped
// CHECK:         exec.matmul %{{.+}}, %{{.+}} : tensor<2x12x8xf32>, tensor<2x8x5xf32> -> tensor<2x12x5xf32>
// CHECK:         dgc.reshape %{{.+}} to [2, 3, 4, 5]
func.func @grouped(%x: tensor<2x3x4x8xf32>, %w: tensor<2x8x5xf32>) -> tensor<2x3x4x5xf32> {
  %0 = dgc.dot_general %x, %w batch [0] x [0] contract [3] x [1] : tensor<2x3x4x8xf32>, tensor<2x8x5xf32>
  return %0 : tensor<2x3x4x5xf32>
}

// -----

// A bias behind a reshape that keeps the channels.

// CHECK-LABEL: func.func @dense_of_tokens
// CHECK-SAME:    (%[[X:.+]]: tensor<2x3x4xf32>, %[[W:.+]]: tensor<4x5xf32>, %[[B:.+]]: tensor<5xf32>)
// CHECK:         %[[R:.+]] = dgc.reshape %[[X]] to [6, 4]
// CHECK:         %[[Y:.+]] = exec.matmul %[[R]], %[[W]] bias(%[[B]] : tensor<5xf32>)
// CHECK:         dgc.reshape %[[Y]] to [2, 3, 5]
// CHECK-NOT:     dgc.add
func.func @dense_of_tokens(%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %b: tensor<5xf32>) -> tensor<2x3x5xf32> {
  %0 = dgc.dot_general %x, %w contract [2] x [0] : tensor<2x3x4xf32>, tensor<4x5xf32>
  %1 = dgc.broadcast_in_dim %b dims [2] to [2, 3, 5] : tensor<5xf32>
  %2 = dgc.add %0, %1 : tensor<2x3x5xf32>
  return %2 : tensor<2x3x5xf32>
}

// -----

// Heads are multiplied where they lie, and the result is stored in the order in which it is needed: no transpose is left.

// CHECK-LABEL: func.func @heads
// CHECK-SAME:    (%[[Q:.+]]: tensor<2x3x4x5xf32>, %[[K:.+]]: tensor<2x6x4x5xf32>, %[[V:.+]]: tensor<2x6x4x7xf32>)
// CHECK:         %[[S:.+]] = exec.matmul %[[Q]], %[[K]] {a_order = array<i64: 0, 2, 1, 3>, b_order = array<i64: 0, 2, 3, 1>} : tensor<2x3x4x5xf32>, tensor<2x6x4x5xf32> -> tensor<2x4x3x6xf32>
// CHECK:         %[[M:.+]] = exec.matmul %[[S]], %[[V]] {b_order = array<i64: 0, 2, 1, 3>, order = array<i64: 0, 2, 1, 3>} : tensor<2x4x3x6xf32>, tensor<2x6x4x7xf32> -> tensor<2x3x4x7xf32>
// CHECK:         dgc.reshape %[[M]] to [2, 3, 28]
// CHECK-NOT:     dgc.transpose
func.func @heads(%q: tensor<2x3x4x5xf32>, %k: tensor<2x6x4x5xf32>, %v: tensor<2x6x4x7xf32>) -> tensor<2x3x28xf32> {
  %0 = dgc.dot_general %q, %k batch [0, 2] x [0, 2] contract [3] x [3] : tensor<2x3x4x5xf32>, tensor<2x6x4x5xf32>
  %1 = dgc.dot_general %0, %v batch [0, 1] x [0, 2] contract [3] x [1] : tensor<2x4x3x6xf32>, tensor<2x6x4x7xf32>
  %2 = dgc.transpose %1 permutation [0, 2, 1, 3] : tensor<2x4x3x7xf32>
  %3 = dgc.reshape %2 to [2, 3, 28] : tensor<2x3x4x7xf32>
  return %3 : tensor<2x3x28xf32>
}

// -----

// Not the library's: f64, integers, and rows and columns that are interleaved. The value before relu is needed: no post op.

// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: dgc.dot_general
// CHECK:         exec.matmul %{{.+}}, %{{.+}} :
// CHECK:         dgc.maximum
func.func @others(%a: tensor<8x4xf64>, %b: tensor<8x4xi32>, %c: tensor<8x4x3xf32>, %d: tensor<4x4xf32>)
    -> (tensor<8x8xf64>, tensor<8x8xi32>, tensor<8x3x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %zero = dgc.constant dense<0.0> : tensor<4x4xf32>
  %0 = dgc.dot_general %a, %a contract [1] x [1] : tensor<8x4xf64>
  %1 = dgc.dot_general %b, %b contract [1] x [1] : tensor<8x4xi32>
  %2 = dgc.dot_general %c, %d contract [1] x [0] : tensor<8x4x3xf32>, tensor<4x4xf32>
  %3 = dgc.dot_general %d, %d contract [1] x [0] : tensor<4x4xf32>
  %4 = dgc.maximum %3, %zero : tensor<4x4xf32>
  return %0, %1, %2, %3, %4 : tensor<8x8xf64>, tensor<8x8xi32>, tensor<8x3x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A convolution with bias, a max pool, and their gradients; the gradient of the bias is left to kernels, as which op
// would have it depends on the others, and with it the order of its sum.

// CHECK-LABEL: func.func @convolution
// CHECK:         exec.convolution forward %{{.+}}, %{{.+}} bias(%{{.+}} : tensor<32xf32>) strides [1, 1] padding [0, 0] [0, 0] dilation [1, 1] :
// CHECK:         dgc.maximum
// CHECK:         exec.pool max_forward(%{{.+}}) window [2, 2] strides [2, 2]
// CHECK:         exec.pool max_backward(%{{.+}}, %{{.+}}) window [2, 2] strides [2, 2]
// CHECK:         exec.convolution backward_weights %{{.+}}, %{{.+}} -> tensor<3x3x1x32xf32>{{$}}
// CHECK:         dgc.reduce sum
// CHECK:         exec.convolution backward_data

// Products for GPUs, above: those of `dense` and `heads` are calls of cuBLASLt as well.

// CUDA-LABEL:  func.func @dense(
// CUDA:          exec.matmul %{{.+}}, %{{.+}} bias(%{{.+}} : tensor<5xf32>) post_ops [#exec.post_op<relu>]
// CUDA-LABEL:  func.func @heads
// CUDA:          exec.matmul {{.*}}a_order = array<i64: 0, 2, 1, 3>

// cuDNN's weights have their outputs first: they are transposed once for forward and backward, and their gradient is
// transposed back. The gradient of the bias and the pools are left to kernels.

// CUDA-LABEL:  func.func @convolution
// CUDA:          %[[W:.+]] = dgc.transpose %{{.+}} permutation [3, 0, 1, 2] : tensor<3x3x1x32xf32>
// CUDA:          exec.convolution forward %{{.+}}, %[[W]] bias(%{{.+}} : tensor<32xf32>) strides [1, 1] padding [0, 0] [0, 0] dilation [1, 1] post_ops [#exec.post_op<relu>] {weights_out_first}
// CUDA:          dgc.reduce_window max
// CUDA:          %[[D:.+]] = exec.convolution backward_weights {{.*}} {weights_out_first} : {{.*}} -> tensor<32x3x3x1xf32>
// CUDA:          %[[G:.+]] = dgc.transpose %[[D]] permutation [1, 2, 3, 0]
// CUDA:          %[[B:.+]] = dgc.reduce sum
// CUDA:          %[[X:.+]] = exec.convolution backward_data %{{.+}}, %[[W]] {{.*}} {weights_out_first}
// CUDA:          return %{{.+}}, %[[G]], %[[B]], %[[X]]
func.func @convolution(%x: tensor<8x28x28x1xf32>, %w: tensor<3x3x1x32xf32>, %b: tensor<32xf32>, %d: tensor<8x13x13x32xf32>)
    -> (tensor<8x13x13x32xf32>, tensor<3x3x1x32xf32>, tensor<32xf32>, tensor<8x28x28x1xf32>) {
  %zero = dgc.constant dense<0.0> : tensor<8x26x26x32xf32>
  %0 = dgc.convolution %x, %w : tensor<8x28x28x1xf32>, tensor<3x3x1x32xf32>
  %1 = dgc.broadcast_in_dim %b dims [3] to [8, 26, 26, 32] : tensor<32xf32>
  %2 = dgc.add %0, %1 : tensor<8x26x26x32xf32>
  %3 = dgc.maximum %2, %zero : tensor<8x26x26x32xf32>
  %4 = dgc.reduce_window max %3 window [1, 2, 2, 1] strides [1, 2, 2, 1] : tensor<8x26x26x32xf32>
  %5 = dgc.max_pool_grad %3, %d window [1, 2, 2, 1] strides [1, 2, 2, 1] : tensor<8x26x26x32xf32>, tensor<8x13x13x32xf32>
  %6 = dgc.convolution_weight_grad %x, %5 kernel_size [3, 3] : tensor<8x28x28x1xf32>, tensor<8x26x26x32xf32>
  %7 = dgc.reduce sum %5 dims [0, 1, 2] : tensor<8x26x26x32xf32>
  %8 = dgc.convolution_input_grad %5, %w input_size [28, 28] : tensor<8x26x26x32xf32>, tensor<3x3x1x32xf32>
  return %4, %6, %7, %8 : tensor<8x13x13x32xf32>, tensor<3x3x1x32xf32>, tensor<32xf32>, tensor<8x28x28x1xf32>
}

// -----

// The library dilates no input, and pools no channels.

// CUDA-LABEL:  func.func @unsupported
// CUDA-NOT:      exec.
// CUDA:          return
// CHECK-LABEL: func.func @unsupported
// CHECK-NOT:     exec.
// CHECK:         return
func.func @unsupported(%x: tensor<8x9x9x2xf32>, %w: tensor<3x3x2x4xf32>) -> (tensor<8x15x15x4xf32>, tensor<8x9x9x1xf32>) {
  %0 = dgc.convolution %x, %w lhs_dilation [2, 2] : tensor<8x9x9x2xf32>, tensor<3x3x2x4xf32>
  %1 = dgc.reduce_window max %x window [1, 1, 1, 2] : tensor<8x9x9x2xf32>
  return %0, %1 : tensor<8x15x15x4xf32>, tensor<8x9x9x1xf32>
}

// -----

// An average pool is a sum over windows and a division.

// CHECK-LABEL: func.func @average
// CHECK-NEXT:    %[[P:.+]] = exec.pool avg_forward(%{{.+}}) window [2, 2] strides [2, 2] padding [0, 0] [0, 0] {count_include_pad}
// CHECK-NEXT:    return %[[P]]
func.func @average(%x: tensor<8x4x4x3xf32>) -> tensor<8x2x2x3xf32> {
  %four = dgc.constant dense<4.0> : tensor<8x2x2x3xf32>
  %0 = dgc.reduce_window sum %x window [1, 2, 2, 1] strides [1, 2, 2, 1] : tensor<8x4x4x3xf32>
  %1 = dgc.divide %0, %four : tensor<8x2x2x3xf32>
  return %1 : tensor<8x2x2x3xf32>
}

// -----

// The library multiplies by the inverse, which is rounded where the number of elements is no power of 2: a product with
// that inverse is its average, a division is another number.

// CHECK-LABEL: func.func @average_of_nine
// CHECK-NEXT:    %[[P:.+]] = exec.pool avg_forward(%{{.+}}) window [3, 3] strides [3, 3]
// CHECK-NEXT:    return %[[P]]
func.func @average_of_nine(%x: tensor<8x6x6x3xf32>) -> tensor<8x2x2x3xf32> {
  %ninth = dgc.constant dense<0.111111111> : tensor<8x2x2x3xf32>
  %0 = dgc.reduce_window sum %x window [1, 3, 3, 1] strides [1, 3, 3, 1] : tensor<8x6x6x3xf32>
  %1 = dgc.multiply %0, %ninth : tensor<8x2x2x3xf32>
  return %1 : tensor<8x2x2x3xf32>
}

// CHECK-LABEL: func.func @divided_by_nine
// CHECK-NOT:     exec.pool
// CHECK:         dgc.divide
func.func @divided_by_nine(%x: tensor<8x6x6x3xf32>) -> tensor<8x2x2x3xf32> {
  %nine = dgc.constant dense<9.0> : tensor<8x2x2x3xf32>
  %0 = dgc.reduce_window sum %x window [1, 3, 3, 1] strides [1, 3, 3, 1] : tensor<8x6x6x3xf32>
  %1 = dgc.divide %0, %nine : tensor<8x2x2x3xf32>
  return %1 : tensor<8x2x2x3xf32>
}

// -----

// A sum with a tensor that is there is a post op; one with what a kernel computes, or for a kernel, is left to that.

// CHECK-LABEL: func.func @sums
// CHECK:         exec.matmul %{{.+}}, %{{.+}} args(%{{.+}} : tensor<4x4xf32>) post_ops [#exec.post_op<add, 0>]
// CHECK:         %[[P:.+]] = exec.matmul %{{.+}}, %{{.+}} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
// CHECK:         dgc.add %{{.+}}, %[[P]]
func.func @sums(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = dgc.dot_general %a, %b contract [1] x [0] : tensor<4x4xf32>
  %1 = dgc.add %0, %b : tensor<4x4xf32>
  %2 = dgc.dot_general %b, %b contract [1] x [0] : tensor<4x4xf32>
  %3 = dgc.multiply %a, %a : tensor<4x4xf32>
  %4 = dgc.add %3, %2 : tensor<4x4xf32>
  return %1, %4 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Floats of 16 bits are multiplied by the library, too. A batch that is the last dimension in memory is not for cuBLASLt.

// CHECK-LABEL: func.func @batch_last
// CHECK:         exec.matmul {{.*}} : tensor<4x5x2xbf16>, tensor<5x6x2xbf16> -> tensor<2x4x6xbf16>
func.func @batch_last(%a: tensor<4x5x2xbf16>, %b: tensor<5x6x2xbf16>) -> tensor<2x4x6xbf16> {
  %0 = dgc.dot_general %a, %b batch [2] x [2] contract [1] x [0] : tensor<4x5x2xbf16>, tensor<5x6x2xbf16>
  return %0 : tensor<2x4x6xbf16>
}

// -----

// cuBLASLt has relu behind a bias, and nothing else: tanh stays, and so do pools.

// CHECK-LABEL: func.func @for_gpus
// CHECK:         exec.matmul %{{.+}} post_ops [#exec.post_op<tanh>]
// CUDA-LABEL:  func.func @batch_last
// CUDA-NOT:      exec.matmul
// CUDA-LABEL:  func.func @for_gpus
// CUDA:          %[[Y:.+]] = exec.matmul %{{.+}}, %{{.+}} bias(%{{.+}} : tensor<5xf32>) : tensor<8x4xf32>
// CUDA:          dgc.tanh %[[Y]]
func.func @for_gpus(%x: tensor<8x4xf32>, %w: tensor<4x5xf32>, %b: tensor<5xf32>) -> tensor<8x5xf32> {
  %0 = dgc.dot_general %x, %w contract [1] x [0] : tensor<8x4xf32>, tensor<4x5xf32>
  %1 = dgc.broadcast_in_dim %b dims [1] to [8, 5] : tensor<5xf32>
  %2 = dgc.add %0, %1 : tensor<8x5xf32>
  %3 = dgc.tanh %2 : tensor<8x5xf32>
  return %3 : tensor<8x5xf32>
}

// -----

// Sums of slices are a call of the CPU's device alone.

// CHECK-LABEL: func.func @slices
// CHECK:         exec.scatter_add
// CUDA-LABEL:  func.func @slices
// CUDA-NOT:      exec.scatter_add
func.func @slices(%i: tensor<6xi32>, %u: tensor<6x4xf32>) -> tensor<9x4xf32> {
  %0 = dgc.scatter_add %i, %u dim 0 size 9 : tensor<6xi32>, tensor<6x4xf32>
  return %0 : tensor<9x4xf32>
}

// -----

// CHECK-LABEL: func.func @place
// CHECK:         exec.update_slice %{{.*}}, %{{.*}} at %{{.*}} dim 0 : tensor<9x4xf32>, tensor<1x4xf32>, tensor<i32> -> tensor<9x4xf32>
// CUDA-LABEL:  func.func @place
// CUDA:          exec.update_slice
func.func @place(%x: tensor<9x4xf32>, %u: tensor<1x4xf32>, %i: tensor<i32>) -> tensor<9x4xf32> {
  %0 = dgc.dynamic_update_slice %x, %u at %i dim 0 : tensor<9x4xf32>, tensor<1x4xf32>, tensor<i32>
  return %0 : tensor<9x4xf32>
}

// -----

// cuDNN has relu behind a bias alone; it has 16 bits, too. Of f64 there is none.

// CUDA-LABEL:  func.func @bare
// CUDA:          %[[Y:.+]] = exec.convolution forward {{.*}}groups 2 {weights_out_first} : tensor<2x8x8x4xf16>
// CUDA:          dgc.maximum %[[Y]]
// CUDA:          dgc.convolution {{.*}}f64
// CHECK-LABEL: func.func @bare
// CHECK-NOT:     exec.
func.func @bare(%x: tensor<2x8x8x4xf16>, %w: tensor<3x3x2x6xf16>, %a: tensor<2x8x8x4xf64>, %b: tensor<3x3x4x6xf64>)
    -> (tensor<2x6x6x6xf16>, tensor<2x6x6x6xf64>) {
  %zero = dgc.constant dense<0.0> : tensor<2x6x6x6xf16>
  %0 = dgc.convolution %x, %w groups 2 : tensor<2x8x8x4xf16>, tensor<3x3x2x6xf16>
  %1 = dgc.maximum %0, %zero : tensor<2x6x6x6xf16>
  %2 = dgc.convolution %a, %b : tensor<2x8x8x4xf64>, tensor<3x3x4x6xf64>
  return %1, %2 : tensor<2x6x6x6xf16>, tensor<2x6x6x6xf64>
}
