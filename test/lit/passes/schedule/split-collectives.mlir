// RUN: dgc-opt %s -dgc-split-collectives | FileCheck %s

// What used the results uses those of the end; one that has an end, and a send, stay as they are.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @split(
// CHECK-SAME: %[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<f32>
func.func @split(%a: tensor<4xf32>, %b: tensor<f32>) -> (tensor<4xf32>, tensor<f32>, tensor<8xf32>) {
  // CHECK: %[[S:.*]]:2 = dist.all_reduce sum %[[A]], %[[B]] over @mesh ["data"] : tensor<4xf32>, tensor<f32>
  // CHECK: %[[R:.*]]:2 = dist.done %[[S]]#0, %[[S]]#1 : tensor<4xf32>, tensor<f32>
  // CHECK: %[[E:.*]] = dgc.exponential %[[R]]#0
  %0:2 = dist.all_reduce sum %a, %b over @mesh ["data"] : tensor<4xf32>, tensor<f32>
  %1 = dgc.exponential %0#0 : tensor<4xf32>
  // CHECK: %[[T:.*]] = dist.all_gather %[[A]]
  // CHECK-NEXT: %[[G:.*]] = dist.done %[[T]] : tensor<8xf32>
  // CHECK-NOT: dist.done
  // CHECK: return %[[E]], %[[R]]#1, %[[G]]
  %2 = dist.all_gather %a dim 0 over @mesh ["data"] : tensor<4xf32> to tensor<8xf32>
  %3 = dist.done %2 : tensor<8xf32>
  return %1, %0#1, %3 : tensor<4xf32>, tensor<f32>, tensor<8xf32>
}

// A round of a loop waits for what it communicates.
// CHECK-LABEL: func.func @loop(
// CHECK-NOT: dist.done
// CHECK: return
func.func @loop(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dgc.scan (%h = %a) count 3 : tensor<4xf32> -> tensor<4xf32> {
    %s = dist.all_reduce sum %h over @mesh ["data"] : tensor<4xf32>
    dgc.yield %s : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @none(
// CHECK-NOT: dist.done
func.func @none(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
