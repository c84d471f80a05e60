// RUN: dgc-opt %s -dgc-simplify-collectives | FileCheck %s

dist.mesh @mesh <one = 1, two = 2>

// Groups of one device, and permutes in which each sends to itself.
// CHECK-LABEL: func.func @nothing(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>
func.func @nothing(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: return %[[X]], %[[Y]], %[[X]], %[[X]], %[[X]]
  %0:2 = dist.all_reduce sum %x, %y over @mesh ["one"] : tensor<4xf32>, tensor<4xf32>
  %1 = dist.all_gather %x dim 0 over @mesh ["one"] : tensor<4xf32> to tensor<4xf32>
  %2 = dist.all_to_all %x split 0 concat 0 over @mesh ["one"] : tensor<4xf32> to tensor<4xf32>
  %3 = dist.permute %x targets [0, 1] over @mesh ["two"] : tensor<4xf32> to tensor<4xf32>
  return %0#0, %0#1, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A sum of one addend is no longer partial.
// CHECK-LABEL: func.func @partial(
func.func @partial(%x: tensor<8x4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[S:.*]] = dgc.reduce sum %{{.*}} dims [0] : tensor<8x4xf32>
  // CHECK-NEXT: return %[[S]] : tensor<4xf32>
  %0 = dgc.reduce sum %x dims [0] {dgc.encodings = [#dist.partial<sum, @mesh ["one"]>]} : tensor<8x4xf32>
  %1 = dist.all_reduce sum %0 over @mesh ["one"] : tensor<4xf32, #dist.partial<sum, @mesh ["one"]>>
  return %1 : tensor<4xf32>
}

// Two devices, another target, and a device that gets zeros.
// CHECK-LABEL: func.func @something(
func.func @something(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: dist.all_reduce
  %0 = dist.all_reduce sum %x over @mesh ["one", "two"] : tensor<4xf32>
  // CHECK: dist.permute
  %1 = dist.permute %x targets [1, 0] over @mesh ["two"] : tensor<4xf32> to tensor<4xf32>
  // CHECK: dist.permute
  %2 = dist.permute %x targets [-1] over @mesh ["one"] : tensor<4xf32> to tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
