// RUN: dgc-opt %s -split-input-file -dgc-flatten-collectives | FileCheck %s

dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @gather(
// CHECK-SAME: %[[X:.*]]: tensor<3x4xf32>
func.func @gather(%x: tensor<3x4xf32>) -> tensor<3x8xf32> {
  // CHECK: %[[G:.*]] = dist.all_gather %[[X]] dim 0 over @mesh ["data"] origin "why" : tensor<3x4xf32> to tensor<6x4xf32>
  // CHECK: %[[S:.*]] = dgc.reshape %[[G]] to [2, 3, 4]
  // CHECK: %[[T:.*]] = dgc.transpose %[[S]] permutation [1, 0, 2]
  // CHECK: %[[R:.*]] = dgc.reshape %[[T]] to [3, 8]
  // CHECK: return %[[R]]
  %0 = dist.all_gather %x dim 1 over @mesh ["data"] origin "why" : tensor<3x4xf32> to tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}

// -----

// The parts along dimension 1 are brought to the front first.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @scatter(
func.func @scatter(%x: tensor<3x8xf32>) -> tensor<3x4xf32> {
  // CHECK: %[[S:.*]] = dgc.reshape %{{.*}} to [3, 2, 4]
  // CHECK: %[[T:.*]] = dgc.transpose %[[S]] permutation [1, 0, 2]
  // CHECK: %[[M:.*]] = dgc.reshape %[[T]] to [6, 4]
  // CHECK: %[[R:.*]] = dist.reduce_scatter sum %[[M]] dim 0 over @mesh ["data"] : tensor<6x4xf32> to tensor<3x4xf32>
  // CHECK: return %[[R]]
  %0 = dist.reduce_scatter sum %x dim 1 over @mesh ["data"] : tensor<3x8xf32> to tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @exchange(
func.func @exchange(%x: tensor<6x4xf32>) -> tensor<3x8xf32> {
  // The parts along dimension 0 are whole ranges already.
  // CHECK: %[[E:.*]] = dist.all_to_all %{{.*}} split 0 concat 0 over @mesh ["data"] : tensor<6x4xf32> to tensor<6x4xf32>
  // CHECK: %[[S:.*]] = dgc.reshape %[[E]] to [2, 3, 4]
  // CHECK: %[[T:.*]] = dgc.transpose %[[S]] permutation [1, 0, 2]
  // CHECK: dgc.reshape %[[T]] to [3, 8]
  %0 = dist.all_to_all %x split 0 concat 1 over @mesh ["data"] : tensor<6x4xf32> to tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}

// -----

// Dimension 0 is left alone.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @flat(
// CHECK-NEXT: dist.all_gather
// CHECK-NEXT: return
func.func @flat(%x: tensor<3x4xf32>) -> tensor<6x4xf32> {
  %0 = dist.all_gather %x dim 0 over @mesh ["data"] : tensor<3x4xf32> to tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}
