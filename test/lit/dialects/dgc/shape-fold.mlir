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
