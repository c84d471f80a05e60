// RUN: dgc-opt %s -canonicalize -split-input-file | FileCheck %s

// Groups of one device, and permutes in which each sends to itself.
dist.mesh @mesh <one = 1, two = 2>
// CHECK-LABEL: func.func @nothing(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>
func.func @nothing(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
    tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:2 = dist.all_reduce sum %x, %y over @mesh ["one"] : tensor<4xf32>, tensor<4xf32>
  %1 = dist.all_gather %x dim 0 over @mesh ["one"] : tensor<4xf32> to tensor<4xf32>
  %2 = dist.reduce_scatter sum %x dim 0 over @mesh ["one"] : tensor<4xf32> to tensor<4xf32>
  %3 = dist.all_to_all %x split 0 concat 0 over @mesh ["one"] : tensor<4xf32> to tensor<4xf32>
  %4 = dist.broadcast %y root 0 over @mesh ["one"] : tensor<4xf32> to tensor<4xf32>
  %5 = dist.permute %x targets [0, 1] over @mesh ["two"] : tensor<4xf32> to tensor<4xf32>
  // CHECK-NEXT: return %[[X]], %[[Y]], %[[X]], %[[X]], %[[X]], %[[Y]], %[[X]]
  return %0#0, %0#1, %1, %2, %3, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
    tensor<4xf32>, tensor<4xf32>
}

// -----

// The one part there is, at the one position there is.
dist.mesh @mesh <one = 1, two = 2>
// CHECK-LABEL: func.func @whole(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[K:.*]]: tensor<i64>
func.func @whole(%x: tensor<4xf32>, %k: tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<i64>) {
  // CHECK-NEXT: %[[ZERO:.*]] = dgc.constant dense<0> : tensor<i64>
  %i = dist.axis_index @mesh ["one"]
  %0 = dist.slice %x at %i dim 0 parts 1 : tensor<4xf32>
  %1 = dist.dynamic_slice %x from %k dim 0 size 4 : tensor<4xf32>
  // CHECK-NEXT: return %[[X]], %[[X]], %[[ZERO]]
  return %0, %1, %i : tensor<4xf32>, tensor<4xf32>, tensor<i64>
}

// -----

// A value that is where it should be.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @reshards(
func.func @reshards(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  // CHECK-NEXT: %[[A:.*]] = dist.reshard
  // CHECK-NEXT: %[[B:.*]] = dist.reshard %[[A]]
  // CHECK-NEXT: return %[[A]], %[[B]]
  %0 = dist.reshard %x to <@mesh, [{"data"}, {}]> : tensor<8x4xf32>
  %1 = dist.reshard %0 to <@mesh, [{"data"}, {}]> because "dgc.add" : tensor<8x4xf32>
  %2 = dist.reshard %1 to <@mesh, [{}, {"data"}]> : tensor<8x4xf32>
  return %1, %2 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// Not so: two devices, another target, a device that gets zeros, a sum that the type says is partial, and a collective
// whose end is apart from it.
dist.mesh @mesh <one = 1, two = 2>
// CHECK-LABEL: func.func @something(
func.func @something(%x: tensor<4xf32>, %p: tensor<4xf32, #dist.partial<sum, @mesh ["one"]>>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<i64>) {
  // CHECK-COUNT-2: dist.all_reduce
  %0 = dist.all_reduce sum %x over @mesh ["one", "two"] : tensor<4xf32>
  %1 = dist.all_reduce sum %p over @mesh ["one"] : tensor<4xf32, #dist.partial<sum, @mesh ["one"]>>
  // CHECK-COUNT-2: dist.permute
  %2 = dist.permute %x targets [1, 0] over @mesh ["two"] : tensor<4xf32> to tensor<4xf32>
  %3 = dist.permute %x targets [-1] over @mesh ["one"] : tensor<4xf32> to tensor<4xf32>
  // CHECK: dist.all_reduce
  // CHECK: dist.done
  %4 = dist.all_reduce sum %x over @mesh ["one"] : tensor<4xf32>
  %5 = dist.done %4 : tensor<4xf32>
  // CHECK: dist.axis_index
  %6 = dist.axis_index @mesh ["one", "two"]
  return %0, %1, %2, %3, %5, %6 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<i64>
}
