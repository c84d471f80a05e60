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

// A long cumulative sum is one of runs of powers of two: 128 elements are in 8 of them.
// CHECK-LABEL: func.func @long_windows
func.func @long_windows(%x: tensor<128xf32>) -> tensor<128xf32> {
  // CHECK-NOT: dgc.reduce_window
  // CHECK-COUNT-7: dgc.add
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[127, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 128>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<128xf32>, tensor<f32>) -> tensor<128xf32>
  return %0 : tensor<128xf32>
}

// Dilations, and an initial value that takes part in the padding as well.
// CHECK-LABEL: func.func @dilated_windows
// CHECK-SAME: (%[[X:.*]]: tensor<6xf32>, %[[INIT:.*]]: tensor<f32>)
func.func @dilated_windows(%x: tensor<6xf32>, %init: tensor<f32>) -> tensor<4xf32> {
  // CHECK: %[[PADDED:.*]] = dgc.pad %[[X]], %[[INIT]] low [1] high [1] : tensor<6xf32>, tensor<f32>
  // CHECK-DAG: dgc.slice %[[PADDED]] from [0] to [4]
  // CHECK-DAG: dgc.slice %[[PADDED]] from [0] to [6]
  // CHECK-DAG: dgc.slice %[[PADDED]] from [2] to [8]
  // CHECK: %[[TWO:.*]] = dgc.multiply
  // CHECK: %[[THREE:.*]] = dgc.multiply
  // CHECK: %[[ALL:.*]] = dgc.broadcast_in_dim %[[INIT]] dims [] to [4]
  // CHECK: dgc.multiply %[[ALL]], %[[THREE]]
  %0 = "stablehlo.reduce_window"(%x, %init) <{padding = dense<[[1, 1]]> : tensor<1x2xi64>, window_dilations = array<i64: 2>, window_dimensions = array<i64: 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.multiply %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<6xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Any region combines neighbours, in rounds.
// CHECK-LABEL: func.func @any_region
// CHECK-SAME: (%[[X:.*]]: tensor<3xi32>, %[[INIT:.*]]: tensor<i32>)
func.func @any_region(%x: tensor<3xi32>, %init: tensor<i32>) -> tensor<i32> {
  // CHECK: dgc.slice %[[X]] from [0] to [2] strides [2]
  // CHECK: dgc.slice %[[X]] from [1] to [2] strides [2]
  // CHECK: dgc.xor
  // CHECK: dgc.slice %[[X]] from [2] to [3]
  // CHECK: dgc.xor
  // CHECK: dgc.xor %[[INIT]]
  %0 = stablehlo.reduce(%x init: %init) applies stablehlo.xor across dimensions = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
  return %0 : tensor<i32>
}

// The element that is selected in each window is known by its number.
// CHECK-LABEL: func.func @smallest_elements
func.func @smallest_elements(%x: tensor<6xf32>, %s: tensor<3xf32>) -> tensor<6xf32> {
  // CHECK: dgc.compare le
  // CHECK: %[[PLACE:.*]] = dgc.select {{.*}} : tensor<3xi1>, tensor<3xi32>, tensor<3xi32>
  // CHECK: dgc.scatter_add %[[PLACE]], %{{.*}} dim 0 size 6
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %zero) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<6xf32>, tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
