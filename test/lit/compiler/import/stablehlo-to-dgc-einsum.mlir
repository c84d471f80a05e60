// RUN: dgc-opt %s --stablehlo-to-dgc | FileCheck %s

// A letter of both operands is contracted, or a batch where the result has it; one that is there twice in an operand is its
// diagonal. What one operand has alone is added up before. Dimensions of '...' with one element are repeated.

// CHECK-LABEL: func.func @einsums
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<8x2xf32>, %[[Z:.*]]: tensor<2x3x3xf32>, %[[U:.*]]: tensor<5x4x8xf32>, %[[V:.*]]: tensor<1x8x2xf32>)
// CHECK:         %[[P:.*]] = dgc.dot_general %[[X]], %[[Y]] contract [1] x [0]
// CHECK:         dgc.transpose %[[P]] permutation [1, 0]
// CHECK:         %[[ON:.*]] = dgc.compare eq
// CHECK:         %[[D:.*]] = dgc.select %[[ON]], %[[Z]],
// CHECK:         %[[E:.*]] = dgc.reduce sum %[[D]] dims [2]
// CHECK:         dgc.reduce sum %[[E]] dims [1]
// CHECK:         %[[W:.*]] = dgc.reshape %[[V]] to [8, 2]
// CHECK:         %[[Q:.*]] = dgc.dot_general %[[U]], %[[W]] contract [2] x [0]
// CHECK:         dgc.transpose %[[Q]] permutation [0, 2, 1]
// CHECK:         dgc.reduce sum %[[X]] dims [0]
func.func @einsums(%x: tensor<4x8xf32>, %y: tensor<8x2xf32>, %z: tensor<2x3x3xf32>, %u: tensor<5x4x8xf32>, %v: tensor<1x8x2xf32>) -> (tensor<2x4xf32>, tensor<2xf32>, tensor<5x2x4xf32>, tensor<8xf32>) {
  %0 = stablehlo.einsum %x, %y, config = "ab,bc->ca" : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<2x4xf32>
  %1 = stablehlo.unary_einsum %z, config = "iaa->i" : (tensor<2x3x3xf32>) -> tensor<2xf32>
  %2 = stablehlo.einsum %u, %v, config = "...ab,...bc->...ca" : (tensor<5x4x8xf32>, tensor<1x8x2xf32>) -> tensor<5x2x4xf32>
  %3 = stablehlo.unary_einsum %x, config = "ab->b" : (tensor<4x8xf32>) -> tensor<8xf32>
  return %0, %1, %2, %3 : tensor<2x4xf32>, tensor<2xf32>, tensor<5x2x4xf32>, tensor<8xf32>
}

// Indices choose slices in place of the dimension, each example of its own with batch dimensions.

// CHECK-LABEL: func.func @select
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8x2xf32>, %[[I:.*]]: tensor<3xi32>)
// CHECK:         dgc.gather %[[X]], %{{.*}} dim 1
func.func @select(%x: tensor<4x8x2xf32>, %i: tensor<3xi32>) -> tensor<4x3x2xf32> {
  %0 = stablehlo.torch_index_select %x, %i, dim = 1, batch_dims = 0 : (tensor<4x8x2xf32>, tensor<3xi32>) -> tensor<4x3x2xf32>
  return %0 : tensor<4x3x2xf32>
}
