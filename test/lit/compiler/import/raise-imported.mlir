// RUN: dgc-opt %s --dgc-raise-imported | FileCheck %s

// The gradient of a weight, as automatic differentiation writes it.
// CHECK-LABEL: func.func @weight_gradient
// CHECK-SAME: (%[[G:.*]]: tensor<128x10xf32>, %[[X:.*]]: tensor<128x512xf32>)
// CHECK-NEXT: %[[Z:.*]] = dgc.dot_general %[[X]], %[[G]] contract [0] x [0]
// CHECK-NEXT: return %[[Z]] : tensor<512x10xf32>
func.func @weight_gradient(%g: tensor<128x10xf32>, %x: tensor<128x512xf32>) -> tensor<512x10xf32> {
  %0 = dgc.dot_general %g, %x contract [0] x [0] : tensor<128x10xf32>, tensor<128x512xf32>
  %1 = dgc.transpose %0 permutation [1, 0] : tensor<10x512xf32>
  return %1 : tensor<512x10xf32>
}

// With a batch, and two free dimensions on one side.
// CHECK-LABEL: func.func @batch
// CHECK-SAME: (%[[A:.*]]: tensor<2x3x4x5xf32>, %[[B:.*]]: tensor<5x7x2xf32>)
// CHECK-NEXT: %[[Z:.*]] = dgc.dot_general %[[B]], %[[A]] batch [2] x [0] contract [0] x [3]
// CHECK-NEXT: return %[[Z]] : tensor<2x7x3x4xf32>
func.func @batch(%a: tensor<2x3x4x5xf32>, %b: tensor<5x7x2xf32>) -> tensor<2x7x3x4xf32> {
  %0 = dgc.dot_general %a, %b batch [0] x [2] contract [3] x [0] : tensor<2x3x4x5xf32>, tensor<5x7x2xf32>
  %1 = dgc.transpose %0 permutation [0, 3, 1, 2] : tensor<2x3x4x7xf32>
  return %1 : tensor<2x7x3x4xf32>
}

// Another order of the dimensions, and a product that is needed as it is.
// CHECK-LABEL: func.func @stays
// CHECK-NEXT: dgc.dot_general
// CHECK-NEXT: dgc.transpose %{{.*}} permutation [0, 1, 3, 2]
// CHECK-NEXT: dgc.dot_general
// CHECK-NEXT: dgc.transpose %{{.*}} permutation [1, 0]
// CHECK-NEXT: return
func.func @stays(%a: tensor<2x3x4x5xf32>, %b: tensor<5x7x2xf32>, %x: tensor<8x4xf32>, %y: tensor<4x6xf32>)
    -> (tensor<2x3x7x4xf32>, tensor<8x6xf32>, tensor<6x8xf32>) {
  %0 = dgc.dot_general %a, %b batch [0] x [2] contract [3] x [0] : tensor<2x3x4x5xf32>, tensor<5x7x2xf32>
  %1 = dgc.transpose %0 permutation [0, 1, 3, 2] : tensor<2x3x4x7xf32>
  %2 = dgc.dot_general %x, %y contract [1] x [0] : tensor<8x4xf32>, tensor<4x6xf32>
  %3 = dgc.transpose %2 permutation [1, 0] : tensor<8x6xf32>
  return %1, %2, %3 : tensor<2x3x7x4xf32>, tensor<8x6xf32>, tensor<6x8xf32>
}

// Dimensions of one element are not reduced.
// CHECK-LABEL: func.func @units
// CHECK-SAME: (%[[X:.*]]: tensor<1x4x1x8xf32>)
// CHECK-NEXT: %[[V:.*]] = dgc.reshape %[[X]] to [4, 8]
// CHECK-NEXT: %[[S:.*]] = dgc.reduce sum %[[V]] dims [0]
// CHECK-NEXT: %[[M:.*]] = dgc.reshape %[[X]] to [4, 1, 8]
// CHECK-NEXT: return %[[S]], %[[M]]
func.func @units(%x: tensor<1x4x1x8xf32>) -> (tensor<8xf32>, tensor<4x1x8xf32>) {
  %0 = dgc.reduce sum %x dims [0, 1, 2] : tensor<1x4x1x8xf32>
  %1 = dgc.reduce max %x dims [0] : tensor<1x4x1x8xf32>
  return %0, %1 : tensor<8xf32>, tensor<4x1x8xf32>
}
