// RUN: dgc-opt %s --stablehlo-to-dgc | FileCheck %s

// CHECK-LABEL: func.func @reduce
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[C:.*]]: tensor<f32>)
func.func @reduce(%x: tensor<4x8xf32>, %c: tensor<f32>) -> (tensor<4xf32>, tensor<8xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  // CHECK: %[[SUM:.*]] = dgc.reduce sum %[[X]] dims [1]
  // CHECK: %[[MAX:.*]] = dgc.reduce max %[[X]] dims [0]
  // What is not the identity is combined with the result.
  // CHECK: %[[PRODUCT:.*]] = dgc.reduce product %[[X]] dims [0, 1]
  // CHECK: %[[ALL:.*]] = dgc.multiply %[[PRODUCT]], %[[C]]
  // CHECK: return %[[SUM]], %[[MAX]], %[[ALL]]
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = stablehlo.reduce(%x init: %c) applies stablehlo.multiply across dimensions = [1, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1, %2 : tensor<4xf32>, tensor<8xf32>, tensor<f32>
}

// The largest element, and the first of its indices.
// CHECK-LABEL: func.func @argmax
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>)
func.func @argmax(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xi32>) {
  // CHECK: %[[INDEX:.*]] = dgc.iota dim 1 : tensor<4x8xi32>
  // CHECK: %[[MAX:.*]] = dgc.reduce max %[[X]] dims [1]
  // CHECK: %[[WIDE:.*]] = dgc.broadcast_in_dim %[[MAX]] dims [0] to [4, 8]
  // CHECK: dgc.compare eq %[[X]], %[[WIDE]]
  // CHECK: %[[FIRST:.*]] = dgc.reduce min %{{.*}} dims [1] : tensor<4x8xi32>
  // CHECK: return %[[MAX]], %[[FIRST]]
  %i = stablehlo.iota dim = 1 : tensor<4x8xi32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%x init: %lowest), (%i init: %zero) across dimensions = [1] : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    reducer(%p: tensor<f32>, %q: tensor<f32>) (%r: tensor<i32>, %s: tensor<i32>) {
      %1 = stablehlo.compare GT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.compare NE, %p, %p, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.or %1, %2 : tensor<i1>
      %4 = stablehlo.compare EQ, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %5 = stablehlo.compare LT, %r, %s, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %6 = stablehlo.and %4, %5 : tensor<i1>
      %7 = stablehlo.or %3, %6 : tensor<i1>
      %8 = stablehlo.select %3, %p, %q : tensor<i1>, tensor<f32>
      %9 = stablehlo.select %7, %r, %s : tensor<i1>, tensor<i32>
      stablehlo.return %8, %9 : tensor<f32>, tensor<i32>
    }
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xi32>
}

// A cumulative sum.
// CHECK-LABEL: func.func @windows
func.func @windows(%x: tensor<8x3xf32>) -> tensor<8x3xf32> {
  // CHECK: dgc.reduce_window sum %{{.*}} window [8, 1] strides [1, 1] padding {{\[}}[7, 0], [0, 0]] : tensor<8x3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{base_dilations = array<i64: 1, 1>, padding = dense<[[7, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 8, 1>, window_strides = array<i64: 1, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8x3xf32>, tensor<f32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}
