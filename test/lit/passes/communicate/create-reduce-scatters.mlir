// RUN: dgc-opt %s -dgc-create-reduce-scatters | FileCheck %s

dist.mesh @mesh <a = 2, b = 2>

// Each device uses its part.
// CHECK-LABEL: func.func @part(
// CHECK-SAME: %[[X:.*]]: tensor<8x6xf32>
func.func @part(%x: tensor<8x6xf32>) -> (tensor<8x3xf32>, tensor<8x3xf32>) {
  // CHECK: %[[R:.*]] = dist.reduce_scatter sum %[[X]] dim 1 over @mesh ["a"] origin "why" : tensor<8x6xf32> to tensor<8x3xf32>
  %0 = dist.all_reduce sum %x over @mesh ["a"] origin "why" : tensor<8x6xf32>
  %i = dist.axis_index @mesh ["a"]
  // CHECK-NOT: dist.slice
  %1 = dist.slice %0 at %i dim 1 parts 2 : tensor<8x6xf32>
  %j = dist.axis_index @mesh ["a"]
  %2 = dist.slice %0 at %j dim 1 parts 2 : tensor<8x6xf32>
  // CHECK: return %[[R]], %[[R]]
  return %1, %2 : tensor<8x3xf32>, tensor<8x3xf32>
}

// The rest of the axes is combined for the part only.
// CHECK-LABEL: func.func @some_axes(
func.func @some_axes(%x: tensor<8x6xf32>) -> tensor<4x6xf32> {
  // CHECK: %[[R:.*]] = dist.reduce_scatter sum %{{.*}} dim 0 over @mesh ["b"] : tensor<8x6xf32> to tensor<4x6xf32>
  // CHECK: dist.all_reduce sum %[[R]] over @mesh ["a"] : tensor<4x6xf32>
  %0 = dist.all_reduce sum %x over @mesh ["a", "b"] : tensor<8x6xf32>
  %i = dist.axis_index @mesh ["b"]
  %1 = dist.slice %0 at %i dim 0 parts 2 : tensor<8x6xf32>
  return %1 : tensor<4x6xf32>
}

// Needed whole as well; in other parts; along another axis; a part by another number: these stay.
// CHECK-LABEL: func.func @stays(
// CHECK-NOT: dist.reduce_scatter
func.func @stays(%x: tensor<8xf32>, %k: tensor<i64>) -> (tensor<8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %i = dist.axis_index @mesh ["a"]
  %j = dist.axis_index @mesh ["b"]
  %0 = dist.all_reduce sum %x over @mesh ["a"] : tensor<8xf32>
  %1 = dist.slice %0 at %i dim 0 parts 2 : tensor<8xf32>
  %2 = dist.all_reduce max %x over @mesh ["a"] : tensor<8xf32>
  %3 = dist.slice %2 at %j dim 0 parts 2 : tensor<8xf32>
  %4 = dist.all_reduce min %x over @mesh ["a"] : tensor<8xf32>
  %5 = dist.slice %4 at %k dim 0 parts 2 : tensor<8xf32>
  return %0, %1, %3, %5 : tensor<8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
