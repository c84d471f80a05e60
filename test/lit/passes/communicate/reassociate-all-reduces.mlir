// RUN: dgc-opt %s -dgc-reassociate-all-reduces | FileCheck %s

dist.mesh @mesh <a = 2, b = 2>

// Two all-reduces in one sum become one, whatever stands between them.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[R:.*]]: tensor<4xf32>, %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>
func.func @chain(%r: tensor<4xf32>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[XY:.*]] = dgc.add %[[X]], %[[Y]]
  // CHECK-NEXT: %[[A:.*]] = dist.all_reduce sum %[[XY]] over @mesh ["a"] origin "one", "two" : tensor<4xf32>
  // CHECK-NEXT: %[[T:.*]] = dgc.add %[[R]], %[[A]]
  // CHECK-NEXT: return %[[T]]
  %0 = dist.all_reduce sum %x over @mesh ["a"] origin "one" : tensor<4xf32>
  %1 = dgc.add %r, %0 : tensor<4xf32>
  %2 = dist.all_reduce sum %y over @mesh ["a"] origin "two" : tensor<4xf32>
  %3 = dgc.add %1, %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}

// What is partial stays partial in the sum.
// CHECK-LABEL: func.func @partial(
func.func @partial(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = dgc.dot_general %x, %y contract [0] x [0] {dgc.encodings = [#dist.partial<sum, @mesh ["a"]>]} : tensor<4x4xf32>, tensor<4x4xf32>
  %1 = dgc.dot_general %y, %x contract [0] x [0] {dgc.encodings = [#dist.partial<sum, @mesh ["a"]>]} : tensor<4x4xf32>, tensor<4x4xf32>
  // CHECK: %[[S:.*]] = dgc.add {{.*}} {dgc.encodings = [#dist.partial<sum, @mesh ["a"]>]}
  // CHECK: dist.all_reduce sum %[[S]] over @mesh ["a"] : tensor<4x4xf32, #dist.partial<sum, @mesh ["a"]>>
  %2 = dist.all_reduce sum %0 over @mesh ["a"] : tensor<4x4xf32, #dist.partial<sum, @mesh ["a"]>>
  %3 = dist.all_reduce sum %1 over @mesh ["a"] : tensor<4x4xf32, #dist.partial<sum, @mesh ["a"]>>
  %4 = dgc.add %2, %3 : tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// Other axes, another kind, and one that is needed by itself stay.
// CHECK-LABEL: func.func @stays(
func.func @stays(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-COUNT-6: dist.all_reduce
  %0 = dist.all_reduce sum %x over @mesh ["a"] : tensor<4xf32>
  %1 = dist.all_reduce sum %y over @mesh ["b"] : tensor<4xf32>
  %2 = dgc.add %0, %1 : tensor<4xf32>
  %3 = dist.all_reduce max %x over @mesh ["a"] : tensor<4xf32>
  %4 = dist.all_reduce max %y over @mesh ["a"] : tensor<4xf32>
  %5 = dgc.add %3, %4 : tensor<4xf32>
  %6 = dist.all_reduce sum %y over @mesh ["a"] : tensor<4xf32>
  %7 = dist.all_reduce sum %2 over @mesh ["a"] : tensor<4xf32>
  %8 = dgc.add %6, %7 : tensor<4xf32>
  return %2, %5, %6, %8 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
