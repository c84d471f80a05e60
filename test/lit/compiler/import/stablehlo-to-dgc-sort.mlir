// RUN: dgc-opt %s --stablehlo-to-dgc | FileCheck %s

// Four elements are sorted in three stages; in each, every one is compared with another one.
// CHECK-LABEL: func.func @sort
// CHECK-SAME: (%[[X:.*]]: tensor<3x4xi32>)
func.func @sort(%x: tensor<3x4xi32>) -> tensor<3x4xi32> {
  // CHECK: %[[OTHER:.*]] = dgc.gather %[[X]], %{{.*}} dim 1 : tensor<3x4xi32>, tensor<4xi32>
  // CHECK: %[[A:.*]] = dgc.select %{{.*}}, %[[OTHER]], %[[X]]
  // CHECK: %[[B:.*]] = dgc.select %{{.*}}, %[[X]], %[[OTHER]]
  // CHECK: %[[SWAPS:.*]] = dgc.compare lt %[[A]], %[[B]]
  // CHECK: %[[Y:.*]] = dgc.select %[[SWAPS]], %[[OTHER]], %[[X]]
  // CHECK: %[[STORED:.*]] = dgc.reduce_window max %[[Y]] window [1, 1]
  // CHECK: dgc.gather %[[STORED]]
  // CHECK: dgc.gather
  // CHECK-NOT: dgc.gather
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<3x4xi32>) -> tensor<3x4xi32>
  return %0 : tensor<3x4xi32>
}

// Equal elements keep their order, and what makes the size a power of two is last: their places are compared.
// CHECK-LABEL: func.func @stable
func.func @stable(%x: tensor<3xf32>, %y: tensor<3xi32>) -> (tensor<3xf32>, tensor<3xi32>) {
  // CHECK: %[[PLACES:.*]] = dgc.iota dim 0 : tensor<4xi32>
  // CHECK: %[[BEFORE:.*]] = dgc.compare lt %{{.*}}, %{{.*}} : tensor<4xi32>
  // CHECK: dgc.bitcast_convert %{{.*}} to i32 : tensor<4xf32>
  // CHECK: dgc.slice %{{.*}} from [0] to [3] : tensor<4xf32>
  // CHECK: dgc.slice %{{.*}} from [0] to [3] : tensor<4xi32>
  %0:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %1 = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<3xf32>, tensor<3xi32>) -> (tensor<3xf32>, tensor<3xi32>)
  return %0#0, %0#1 : tensor<3xf32>, tensor<3xi32>
}
