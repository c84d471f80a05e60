// RUN: dgc-opt %s -dgc-cse-collectives | FileCheck %s

dist.mesh @mesh <a = 2, b = 2>

// The same for two reasons: once, with both.
// CHECK-LABEL: func.func @twice(
func.func @twice(%x: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK: %[[G:.*]] = dist.all_gather %{{.*}} dim 0 over @mesh ["a"] origin "one", "two" : tensor<4xf32> to tensor<8xf32>
  // CHECK-NOT: dist.all_gather
  %0 = dist.all_gather %x dim 0 over @mesh ["a"] origin "one" : tensor<4xf32> to tensor<8xf32>
  %1 = dist.all_gather %x dim 0 over @mesh ["a"] origin "two" : tensor<4xf32> to tensor<8xf32>
  %2 = dist.all_gather %x dim 0 over @mesh ["a"] origin "one" : tensor<4xf32> to tensor<8xf32>
  // CHECK: return %[[G]], %[[G]], %[[G]]
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// Not the same: other axes, another kind, another value, another order of the axes.
// CHECK-LABEL: func.func @different(
func.func @different(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // CHECK-COUNT-6: dist.all_
  %0 = dist.all_reduce sum %x over @mesh ["a"] : tensor<4xf32>
  %1 = dist.all_reduce sum %x over @mesh ["b"] : tensor<4xf32>
  %2 = dist.all_reduce max %x over @mesh ["a"] : tensor<4xf32>
  %3 = dist.all_reduce sum %y over @mesh ["a"] : tensor<4xf32>
  %4 = dist.all_gather %x dim 0 over @mesh ["a", "b"] : tensor<4xf32> to tensor<16xf32>
  %5 = dist.all_gather %x dim 0 over @mesh ["b", "a"] : tensor<4xf32> to tensor<16xf32>
  return
}

// In a loop, too.
// CHECK-LABEL: func.func @loop(
func.func @loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[S:.*]] = dist.all_reduce sum
  // CHECK-NOT: dist.all_reduce
  // CHECK: dgc.add %[[S]], %[[S]]
  %0 = dgc.scan (%h = %x) count 3 : tensor<4xf32> -> tensor<4xf32> {
    %a = dist.all_reduce sum %h over @mesh ["a"] : tensor<4xf32>
    %b = dist.all_reduce sum %h over @mesh ["a"] : tensor<4xf32>
    %c = dgc.add %a, %b : tensor<4xf32>
    dgc.yield %c : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
