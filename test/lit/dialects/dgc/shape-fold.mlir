// RUN: dgc-opt %s -canonicalize -split-input-file | FileCheck %s

// What moves nothing disappears.
// CHECK-LABEL: func @identities
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>,
func.func @identities(%x: tensor<4x8xf32>, %s: tensor<f32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>,
    tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = dgc.broadcast_in_dim %x dims [0, 1] to [4, 8] : tensor<4x8xf32>
  %1 = dgc.concatenate %x dim 0 : tensor<4x8xf32>
  %2 = dgc.pad %x, %s low [0, 0] high [0, 0] : tensor<4x8xf32>, tensor<f32>
  %3 = dgc.reshape %x to [4, -1] : tensor<4x8xf32>
  %4 = dgc.reverse %x dims [] : tensor<4x8xf32>
  %5 = dgc.slice %x from [0, 0] to [4, 8] : tensor<4x8xf32>
  %6 = dgc.transpose %x permutation [0, 1] : tensor<4x8xf32>
  // CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
  return %0, %1, %2, %3, %4, %5, %6 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>,
    tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Two of a kind are one, or none.
// CHECK-LABEL: func @pairs
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
func.func @pairs(%x: tensor<2x3x4xf32>) -> (tensor<3x4x2xf32>, tensor<2x3x4xf32>, tensor<24xf32>, tensor<2x3x4xf32>) {
  // CHECK: %[[T:.*]] = dgc.transpose %[[X]] permutation [1, 2, 0]
  %0 = dgc.transpose %x permutation [2, 0, 1] : tensor<2x3x4xf32>
  %1 = dgc.transpose %0 permutation [2, 0, 1] : tensor<4x2x3xf32>
  %2 = dgc.transpose %1 permutation [2, 0, 1] : tensor<3x4x2xf32>
  // CHECK: %[[R:.*]] = dgc.reshape %[[X]] to [24]
  %3 = dgc.reshape %x to [6, 4] : tensor<2x3x4xf32>
  %4 = dgc.reshape %3 to [-1] : tensor<6x4xf32>
  %5 = dgc.reverse %x dims [0, 2] : tensor<2x3x4xf32>
  %6 = dgc.reverse %5 dims [0, 2] : tensor<2x3x4xf32>
  // CHECK: return %[[T]], %[[X]], %[[R]], %[[X]]
  return %1, %2, %4, %6 : tensor<3x4x2xf32>, tensor<2x3x4xf32>, tensor<24xf32>, tensor<2x3x4xf32>
}

// -----

// A part of a part, with the steps of both, and a part that has no elements. What is repeated twice is repeated once.
// CHECK-LABEL: func @parts
// CHECK-SAME: (%[[X:.*]]: tensor<20x6xf32>, %[[Y:.*]]: tensor<3x1xf32>)
func.func @parts(%x: tensor<20x6xf32>, %y: tensor<3x1xf32>)
    -> (tensor<2x3xf32>, tensor<4x2xf32>, tensor<0x4xf32>, tensor<2x3x5x4xf32>) {
  // CHECK-DAG: %[[A:.*]] = dgc.slice %[[X]] from [5, 2] to [18, 5] strides [9, 1]
  // CHECK-DAG: %[[B:.*]] = dgc.slice %[[X]] from [3, 2] to [7, 4] :
  // CHECK-DAG: %[[C:.*]] = dgc.slice %[[X]] from [8, 1] to [8, 5] strides [3, 1]
  // CHECK-DAG: %[[D:.*]] = dgc.broadcast_in_dim %[[Y]] dims [1, 3] to [2, 3, 5, 4]
  %0 = dgc.slice %x from [2, 1] to [18, 6] strides [3, 1] : tensor<20x6xf32>
  %1 = dgc.slice %0 from [1, 1] to [6, 4] strides [3, 1] : tensor<6x5xf32>
  %2 = dgc.slice %x from [2, 1] to [8, 5] : tensor<20x6xf32>
  %3 = dgc.slice %2 from [1, 1] to [5, 3] : tensor<6x4xf32>
  %4 = dgc.slice %x from [2, 1] to [18, 5] strides [3, 1] : tensor<20x6xf32>
  %5 = dgc.slice %4 from [2, 0] to [2, 4] : tensor<6x4xf32>
  %6 = dgc.broadcast_in_dim %y dims [0, 1] to [3, 4] : tensor<3x1xf32>
  %7 = dgc.broadcast_in_dim %6 dims [1, 3] to [2, 3, 5, 4] : tensor<3x4xf32>
  // CHECK: return %[[A]], %[[B]], %[[C]], %[[D]]
  return %1, %3, %5, %7 : tensor<2x3xf32>, tensor<4x2xf32>, tensor<0x4xf32>, tensor<2x3x5x4xf32>
}

// -----

// Another stage gets the small part, and not what it is a part of.
// CHECK-LABEL: func @stages
func.func @stages(%x: tensor<8xf32>) -> tensor<2xf32> {
  // CHECK-NEXT: %[[A:.*]] = dgc.slice %{{.*}} from [0] to [4]
  // CHECK-NEXT: dgc.slice %[[A]]
  %0 = dgc.slice %x from [0] to [4] {dist.stage = 0 : i64} : tensor<8xf32>
  %1 = dgc.slice %0 from [1] to [3] {dist.stage = 1 : i64} : tensor<4xf32>
  return %1 : tensor<2xf32>
}

// -----

// Constants that are the same everywhere stay so; a reshape keeps any constant.
// CHECK-LABEL: func @constants
func.func @constants() -> (tensor<4x8xf32>, tensor<3x2xi32>, tensor<5xf32>) {
  %s = dgc.constant dense<2.0> : tensor<f32>
  %0 = dgc.broadcast_in_dim %s dims [] to [4, 8] : tensor<f32>
  %c = dgc.constant dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32>
  %1 = dgc.reshape %c to [3, 2] : tensor<6xi32>
  %t = dgc.constant dense<2.0> : tensor<2xf32>
  %2 = dgc.pad %t, %s low [1] high [2] : tensor<2xf32>, tensor<f32>
  // CHECK-DAG: dgc.constant dense<2.000000e+00> : tensor<4x8xf32>
  // CHECK-DAG: dgc.constant dense<{{\[}}[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  // CHECK-DAG: dgc.constant dense<2.000000e+00> : tensor<5xf32>
  // CHECK-NOT: dgc.{{broadcast|reshape|pad}}
  return %0, %1, %2 : tensor<4x8xf32>, tensor<3x2xi32>, tensor<5xf32>
}

// -----

// Not so: another reversal, other sizes, types that are not known yet.
// CHECK-LABEL: func @kept
func.func @kept(%x: tensor<2x2xf32>, %u: !dgc.untyped) -> (tensor<2x2xf32>, tensor<2x2xf32>, !dgc.untyped) {
  // CHECK: dgc.reverse
  // CHECK: dgc.reverse
  %0 = dgc.reverse %x dims [0] : tensor<2x2xf32>
  %1 = dgc.reverse %0 dims [1] : tensor<2x2xf32>
  // CHECK: dgc.transpose
  %2 = dgc.transpose %x permutation [1, 0] : tensor<2x2xf32>
  // CHECK: dgc.reshape
  %3 = dgc.reshape %u to [4, 4]
  return %1, %2, %3 : tensor<2x2xf32>, tensor<2x2xf32>, !dgc.untyped
}
