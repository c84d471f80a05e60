// RUN: dgc-opt %s --split-input-file --dgc-split-long-products=max-length=16 | FileCheck %s
// RUN: dgc-opt %s --split-input-file --dgc-split-long-products=max-length=16 --dgc-select-library-calls=library=nvidia --cse | FileCheck %s --check-prefix=CALL
// RUN: dgc-opt %s --split-input-file --dgc-split-long-products | FileCheck %s --check-prefix=DEFAULT
// RUN: not dgc-opt %s --split-input-file --dgc-split-long-products=max-length=3 2>&1 | FileCheck %s --check-prefix=OPTION
// DEFAULT-NOT: dgc.reduce
// OPTION: error: max-length=3: at least 4 terms are needed

// The gradient of weights: batch and tokens are one sum, and chunks are batches of one call.

// CHECK-LABEL: func.func @gradient_of_weights
// CHECK-SAME:    (%[[X:.+]]: tensor<4x12x5xf32>, %[[D:.+]]: tensor<4x12x7xf32>)
// CHECK-DAG:     %[[A:.+]] = dgc.reshape %[[X]] to [3, 16, 5]
// CHECK-DAG:     %[[B:.+]] = dgc.reshape %[[D]] to [3, 16, 7]
// CHECK:         %[[P:.+]] = dgc.dot_general %[[A]], %[[B]] batch [0] x [0] contract [1] x [1]
// CHECK:         %[[S:.+]] = dgc.reduce sum %[[P]] dims [0] : tensor<3x5x7xf32>
// CHECK:         return %[[S]]
// CALL-LABEL: func.func @gradient_of_weights
// CALL:         exec.matmul %{{.+}}, %{{.+}} {transpose_a} : tensor<3x16x5xf32>, tensor<3x16x7xf32> -> tensor<3x5x7xf32>
// CALL-NOT:     exec.matmul
// CALL:         return
func.func @gradient_of_weights(%x: tensor<4x12x5xf32>, %d: tensor<4x12x7xf32>) -> tensor<5x7xf32> {
  %0 = dgc.dot_general %x, %d contract [0, 1] x [0, 1] : tensor<4x12x5xf32>, tensor<4x12x7xf32>
  return %0 : tensor<5x7xf32>
}

// -----

// The sum of a left operand is along its rows: the call gets strides, and nothing is copied. What would be a part of
// the call is behind the sum of the chunks.

// CHECK-LABEL: func.func @dense
// CHECK-SAME:    (%[[X:.+]]: tensor<2x9x40xf32>, %[[W:.+]]: tensor<40x11xf32>, %[[BIAS:.+]]: tensor<11xf32>)
// CHECK-DAG:     %[[A:.+]] = dgc.reshape %[[X]] to [18, 5, 8]
// CHECK-DAG:     %[[B:.+]] = dgc.reshape %[[W]] to [5, 8, 11]
// CHECK:         %[[P:.+]] = dgc.dot_general %[[A]], %[[B]] batch [1] x [0] contract [2] x [1]
// CHECK:         %[[R:.+]] = dgc.reshape %[[P]] to [5, 2, 9, 11]
// CHECK:         %[[S:.+]] = dgc.reduce sum %[[R]] dims [0] : tensor<5x2x9x11xf32>
// CHECK:         dgc.add %[[S]]
// CALL-LABEL: func.func @dense
// CALL:         exec.matmul %{{.+}}, %{{.+}} {a_order = array<i64: 1, 0, 2>} : tensor<18x5x8xf32>, tensor<5x8x11xf32> -> tensor<5x18x11xf32>
// CALL-NOT:     {{exec.matmul|dgc.transpose}}
// CALL:         return
func.func @dense(%x: tensor<2x9x40xf32>, %w: tensor<40x11xf32>, %bias: tensor<11xf32>) -> tensor<2x9x11xf32> {
  %zero = dgc.constant dense<0.0> : tensor<2x9x11xf32>
  %0 = dgc.dot_general %x, %w contract [2] x [0] : tensor<2x9x40xf32>, tensor<40x11xf32>
  %1 = dgc.broadcast_in_dim %bias dims [2] to [2, 9, 11] : tensor<11xf32>
  %2 = dgc.add %0, %1 : tensor<2x9x11xf32>
  %3 = dgc.maximum %2, %zero : tensor<2x9x11xf32>
  return %3 : tensor<2x9x11xf32>
}

// -----

// Transposes that the call does itself stay in it.

// CHECK-LABEL: func.func @transposed
// CHECK-SAME:    (%[[X:.+]]: tensor<32x5xf32>, %[[Y:.+]]: tensor<7x32xf32>)
// CHECK-DAG:     %[[A:.+]] = dgc.reshape %[[X]] to [2, 16, 5]
// CHECK-DAG:     %[[B:.+]] = dgc.reshape %[[Y]] to [7, 2, 16]
// CHECK:         dgc.dot_general %[[A]], %[[B]] batch [0] x [1] contract [1] x [2]
// CALL-LABEL: func.func @transposed
// CALL-NOT:     dgc.transpose
// CALL:         exec.matmul %{{.+}}, %{{.+}} {a_order = array<i64: 0, 2, 1>, b_order = array<i64: 1, 2, 0>} : tensor<2x16x5xf32>, tensor<7x2x16xf32> -> tensor<2x5x7xf32>
// CALL-NOT:     {{exec.matmul|dgc.transpose}}
// CALL:         return
func.func @transposed(%x: tensor<32x5xf32>, %y: tensor<7x32xf32>) -> tensor<5x7xf32> {
  %0 = dgc.transpose %x permutation [1, 0] : tensor<32x5xf32>
  %1 = dgc.transpose %y permutation [1, 0] : tensor<7x32xf32>
  %2 = dgc.dot_general %0, %1 contract [1] x [0] : tensor<5x32xf32>, tensor<32x7xf32>
  return %2 : tensor<5x7xf32>
}

// -----

// Heads of an attention keep their batch; the chunks come behind it.

// CHECK-LABEL: func.func @heads
// CHECK:         %[[P:.+]] = dgc.dot_general %{{.+}}, %{{.+}} batch [0, 1, 3] x [0, 3, 1] contract [4] x [2] : tensor<2x3x6x2x16xf32>, tensor<2x2x16x3x5xf32>
// CHECK:         dgc.reduce sum %[[P]] dims [2] : tensor<2x3x2x6x5xf32>
// CALL-LABEL: func.func @heads
// CALL:         exec.matmul
// CALL-NOT:     exec.matmul
// CALL:         return
func.func @heads(%s: tensor<2x3x6x32xf32>, %v: tensor<2x32x3x5xf32>) -> tensor<2x3x6x5xf32> {
  %0 = dgc.dot_general %s, %v batch [0, 1] x [0, 2] contract [3] x [1] : tensor<2x3x6x32xf32>, tensor<2x32x3x5xf32>
  return %0 : tensor<2x3x6x5xf32>
}

// -----

// 37 terms have no divisor: zeros make them three chunks of 16, which are aligned to 16 bytes.

// CHECK-LABEL: func.func @padded
// CHECK-SAME:    (%[[X:.+]]: tensor<37x5xf32>, %[[D:.+]]: tensor<7x37xf32>)
// CHECK-DAG:     %[[XP:.+]] = dgc.pad %[[X]], %{{.+}} low [0, 0] high [11, 0]
// CHECK-DAG:     %[[A:.+]] = dgc.reshape %[[XP]] to [3, 16, 5]
// CHECK-DAG:     %[[DP:.+]] = dgc.pad %[[D]], %{{.+}} low [0, 0] high [0, 11]
// CHECK-DAG:     %[[B:.+]] = dgc.reshape %[[DP]] to [7, 3, 16]
// CHECK:         dgc.dot_general %[[A]], %[[B]] batch [0] x [1] contract [1] x [2]
func.func @padded(%x: tensor<37x5xf32>, %d: tensor<7x37xf32>) -> tensor<5x7xf32> {
  %0 = dgc.dot_general %x, %d contract [0] x [1] : tensor<37x5xf32>, tensor<7x37xf32>
  return %0 : tensor<5x7xf32>
}

// -----

// A vector gets a dimension for the matrix that it is. Chunks of 15 are not aligned, but need no zeros.

// CHECK-LABEL: func.func @vectors
// CHECK-SAME:    (%[[X:.+]]: tensor<45xf32>, %[[Y:.+]]: tensor<3x45xf32>)
// CHECK-DAG:     %[[A:.+]] = dgc.reshape %[[X]] to [3, 1, 15]
// CHECK-DAG:     %[[B:.+]] = dgc.reshape %[[Y]] to [3, 3, 15]
// CHECK:         %[[P:.+]] = dgc.dot_general %[[A]], %[[B]] batch [0] x [1] contract [2] x [2]
// CHECK:         %[[R:.+]] = dgc.reshape %[[P]] to [3, 3]
// CHECK:         dgc.reduce sum %[[R]] dims [0]
// CHECK:         %[[Q:.+]] = dgc.dot_general %{{.+}}, %{{.+}} batch [0] x [0] contract [2] x [2] : tensor<3x1x15xf32>
func.func @vectors(%x: tensor<45xf32>, %y: tensor<3x45xf32>) -> (tensor<3xf32>, tensor<f32>) {
  %0 = dgc.dot_general %x, %y contract [0] x [1] : tensor<45xf32>, tensor<3x45xf32>
  %1 = dgc.dot_general %x, %x contract [0] x [0] : tensor<45xf32>, tensor<45xf32>
  return %0, %1 : tensor<3xf32>, tensor<f32>
}

// -----

// The results of two chunks have the size of the operands: three, as 48 terms want, would be larger.

// CHECK-LABEL: func.func @large_result
// CHECK:         dgc.dot_general %{{.+}}, %{{.+}} batch [1] x [0] contract [2] x [1] : tensor<48x2x24xf32>, tensor<2x24x48xf32>
// CHECK:         dgc.reduce sum %{{.+}} dims [0] : tensor<2x48x48xf32>
func.func @large_result(%x: tensor<48x48xf32>, %y: tensor<48x48xf32>) -> tensor<48x48xf32> {
  %0 = dgc.dot_general %x, %y contract [1] x [0] : tensor<48x48xf32>, tensor<48x48xf32>
  return %0 : tensor<48x48xf32>
}

// -----

// The micro-batch and the mark of a partial sum stay with the result.

dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @partial
// CHECK:         %[[P:.+]] = dgc.dot_general %{{.+}}, %{{.+}} batch [0] x [0] contract [1] x [1] {dgc.microbatch = 1 : i64} :
// CHECK:         %[[S:.+]] = dgc.reduce sum %[[P]] dims [0] {dgc.encodings = [#dist.partial<sum, @mesh ["data"]>], dgc.microbatch = 1 : i64} : tensor<2x5x7xf32>
// CHECK:         return %[[S]] : tensor<5x7xf32, #dist.partial<sum, @mesh ["data"]>>
func.func @partial(%x: tensor<32x5xf32>, %d: tensor<32x7xf32>) -> tensor<5x7xf32, #dist.partial<sum, @mesh ["data"]>> {
  %0 = dgc.dot_general %x, %d contract [0] x [0] {dgc.encodings = [#dist.partial<sum, @mesh ["data"]>], dgc.microbatch = 1 : i64} : tensor<32x5xf32>, tensor<32x7xf32>
  return %0 : tensor<5x7xf32, #dist.partial<sum, @mesh ["data"]>>
}

// -----

// As they were: a sum that is short, results that are larger than the operands, 16 bits, integers, and dimensions that
// the library does not take, which kernels add up.

// CHECK-LABEL: func.func @unchanged
// CHECK-NOT:     dgc.reshape
// CHECK-NOT:     dgc.reduce
// CHECK:         return
func.func @unchanged(%a: tensor<16x5xf32>, %b: tensor<20x50xf32>, %c: tensor<64x5xbf16>, %d: tensor<64x5xi32>,
                     %e: tensor<8x5x8xf32>)
    -> (tensor<5x5xf32>, tensor<50x50xf32>, tensor<5x5xbf16>, tensor<5x5xi32>, tensor<5x5xf32>) {
  %0 = dgc.dot_general %a, %a contract [0] x [0] : tensor<16x5xf32>, tensor<16x5xf32>
  %1 = dgc.dot_general %b, %b contract [0] x [0] : tensor<20x50xf32>, tensor<20x50xf32>
  %2 = dgc.dot_general %c, %c contract [0] x [0] : tensor<64x5xbf16>, tensor<64x5xbf16>
  %3 = dgc.dot_general %d, %d contract [0] x [0] : tensor<64x5xi32>, tensor<64x5xi32>
  %4 = dgc.dot_general %e, %e contract [0, 2] x [0, 2] : tensor<8x5x8xf32>, tensor<8x5x8xf32>
  return %0, %1, %2, %3, %4 : tensor<5x5xf32>, tensor<50x50xf32>, tensor<5x5xbf16>, tensor<5x5xi32>, tensor<5x5xf32>
}

// -----

// Nor what is rounded to TF32.

module attributes {dgc.tf32} {
  // CHECK-LABEL: func.func @tf32
  // CHECK-NOT:     dgc.reduce
  // CHECK:         return
  func.func @tf32(%x: tensor<64x5xf32>) -> tensor<5x5xf32> {
    %0 = dgc.dot_general %x, %x contract [0] x [0] : tensor<64x5xf32>, tensor<64x5xf32>
    return %0 : tensor<5x5xf32>
  }
}

// -----

// Nor what parameter servers on CPUs compute.

dist.mesh @ps0 <data = 1> {dist.device = #dist.device<"cpu:0">}
// CHECK-LABEL: func.func @servers
// CHECK-NOT:     dgc.reduce
// CHECK:         return
func.func @servers(%x: tensor<64x5xf32>) -> tensor<5x5xf32> attributes {dist.mesh = @ps0} {
  %0 = dgc.dot_general %x, %x contract [0] x [0] : tensor<64x5xf32>, tensor<64x5xf32>
  return %0 : tensor<5x5xf32>
}
