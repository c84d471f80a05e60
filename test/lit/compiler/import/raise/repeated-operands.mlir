// Operands that are repeated: one scale for all features, keys for all heads, a gradient that is the same everywhere.
// RUN: dgc-opt %s --split-input-file --dgc-inline-imported --stablehlo-to-dgc --dgc-raise-imported | FileCheck %s

// A scale that is a number.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.rms_norm
module {
  func.func public @main(%arg0: tensor<4x8xf32>, %arg1: tensor<f32>) -> (tensor<4x8xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %1 = stablehlo.multiply %arg0, %0 : tensor<4x8xf32>
    %2 = stablehlo.multiply %arg0, %arg0 : tensor<4x8xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.reduce(%2 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32>
    %cst_0 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x1xf32>
    %6 = stablehlo.divide %4, %5 : tensor<4x1xf32>
    %cst_1 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x1xf32>
    %8 = stablehlo.add %6, %7 : tensor<4x1xf32>
    %9 = stablehlo.rsqrt %8 : tensor<4x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x8xf32>
    %11 = stablehlo.multiply %1, %10 : tensor<4x8xf32>
    return %11 : tensor<4x8xf32>
  }
}

// -----

// An offset that is a number.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.layer_norm
module {
  func.func public @main(%arg0: tensor<4x8xf32>, %arg1: tensor<f32>) -> (tensor<4x8xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32>
    %cst_0 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<4x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x8xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<4x8xf32>
    %6 = stablehlo.multiply %5, %5 : tensor<4x8xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32>
    %cst_2 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x1xf32>
    %10 = stablehlo.divide %8, %9 : tensor<4x1xf32>
    %cst_3 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x1xf32>
    %12 = stablehlo.add %10, %11 : tensor<4x1xf32>
    %13 = stablehlo.sqrt %12 : tensor<4x1xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x8xf32>
    %15 = stablehlo.divide %5, %14 : tensor<4x8xf32>
    %16 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %17 = stablehlo.add %15, %16 : tensor<4x8xf32>
    return %17 : tensor<4x8xf32>
  }
}

// -----

// Keys and values for four heads each.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.attention
module {
  func.func public @main(%arg0: tensor<2x6x4x8xf32>, %arg1: tensor<2x6x1x8xf32>, %arg2: tensor<2x6x1x8xf32>) -> (tensor<2x6x4x8xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1, 2, 4] : (tensor<2x6x1x8xf32>) -> tensor<2x6x1x4x8xf32>
    %1 = stablehlo.reshape %0 : (tensor<2x6x1x4x8xf32>) -> tensor<2x6x4x8xf32>
    %2 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2, 4] : (tensor<2x6x1x8xf32>) -> tensor<2x6x1x4x8xf32>
    %3 = stablehlo.reshape %2 : (tensor<2x6x1x4x8xf32>) -> tensor<2x6x4x8xf32>
    %4 = stablehlo.reshape %arg0 : (tensor<2x6x4x8xf32>) -> tensor<2x6x4x1x8xf32>
    %5 = stablehlo.dot_general %4, %1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x4x1x8xf32>, tensor<2x6x4x8xf32>) -> tensor<2x4x6x1x6xf32>
    %cst = stablehlo.constant dense<0.353553385> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x6x1x6xf32>
    %7 = stablehlo.multiply %5, %6 : tensor<2x4x6x1x6xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<2x4x6x1x6xf32>, tensor<f32>) -> tensor<2x4x6x1xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x4x6x1xf32>
    %10 = stablehlo.maximum %9, %8 : tensor<2x4x6x1xf32>
    %11 = stablehlo.transpose %10, dims = [3, 0, 1, 2] : (tensor<2x4x6x1xf32>) -> tensor<1x2x4x6xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2, 3] : (tensor<1x2x4x6xf32>) -> tensor<1x2x4x6x1xf32>
    %13 = stablehlo.transpose %7, dims = [3, 0, 1, 2, 4] : (tensor<2x4x6x1x6xf32>) -> tensor<1x2x4x6x6xf32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3, 4] : (tensor<1x2x4x6x1xf32>) -> tensor<1x2x4x6x6xf32>
    %15 = stablehlo.subtract %13, %14 : tensor<1x2x4x6x6xf32>
    %16 = stablehlo.exponential %15 : tensor<1x2x4x6x6xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %17 = stablehlo.reduce(%16 init: %cst_2) applies stablehlo.add across dimensions = [4] : (tensor<1x2x4x6x6xf32>, tensor<f32>) -> tensor<1x2x4x6xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<1x2x4x6xf32>) -> tensor<1x2x4x6x1xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3, 4] : (tensor<1x2x4x6x1xf32>) -> tensor<1x2x4x6x6xf32>
    %20 = stablehlo.divide %16, %19 : tensor<1x2x4x6x6xf32>
    %21 = stablehlo.dot_general %3, %20, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x6x4x8xf32>, tensor<1x2x4x6x6xf32>) -> tensor<2x4x8x1x6xf32>
    %22 = stablehlo.transpose %21, dims = [3, 0, 4, 1, 2] : (tensor<2x4x8x1x6xf32>) -> tensor<1x2x6x4x8xf32>
    %23 = stablehlo.transpose %22, dims = [1, 2, 3, 0, 4] : (tensor<1x2x6x4x8xf32>) -> tensor<2x6x4x1x8xf32>
    %24 = stablehlo.reshape %23 : (tensor<2x6x4x1x8xf32>) -> tensor<2x6x4x8xf32>
    return %24 : tensor<2x6x4x8xf32>
  }
}

// -----

// The same keys for all examples.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.attention
module {
  func.func public @main(%arg0: tensor<2x3x6x8xf32>, %arg1: tensor<3x6x8xf32>, %arg2: tensor<2x3x6x8xf32>) -> (tensor<2x3x6x8xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2, 3] : (tensor<3x6x8xf32>) -> tensor<1x3x6x8xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2, 3] : (tensor<1x3x6x8xf32>) -> tensor<2x3x6x8xf32>
    %2 = stablehlo.dot_general %arg0, %1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x6xf32>
    %cst = stablehlo.constant dense<3.000000e-01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %4 = stablehlo.multiply %2, %3 : tensor<2x3x6x6xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %5 = stablehlo.reduce(%4 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %7 = stablehlo.maximum %6, %5 : tensor<2x3x6xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %10 = stablehlo.subtract %4, %9 : tensor<2x3x6x6xf32>
    %11 = stablehlo.exponential %10 : tensor<2x3x6x6xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.reduce(%11 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %15 = stablehlo.divide %11, %14 : tensor<2x3x6x6xf32>
    %16 = stablehlo.dot_general %15, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x6xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x8xf32>
    return %16 : tensor<2x3x6x8xf32>
  }
}

// -----

// The same value at all places.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.attention
module {
  func.func public @main(%arg0: tensor<2x3x6x8xf32>, %arg1: tensor<2x3x6x8xf32>, %arg2: tensor<2x3x8xf32>) -> (tensor<2x3x6x8xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 3] : (tensor<2x3x8xf32>) -> tensor<2x3x1x8xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2, 3] : (tensor<2x3x1x8xf32>) -> tensor<2x3x6x8xf32>
    %2 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x6xf32>
    %cst = stablehlo.constant dense<3.000000e-01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %4 = stablehlo.multiply %2, %3 : tensor<2x3x6x6xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %5 = stablehlo.reduce(%4 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %7 = stablehlo.maximum %6, %5 : tensor<2x3x6xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %10 = stablehlo.subtract %4, %9 : tensor<2x3x6x6xf32>
    %11 = stablehlo.exponential %10 : tensor<2x3x6x6xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.reduce(%11 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %15 = stablehlo.divide %11, %14 : tensor<2x3x6x6xf32>
    %16 = stablehlo.dot_general %15, %1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x6xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x8xf32>
    return %16 : tensor<2x3x6x8xf32>
  }
}

// -----

// The same query at all places.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.attention
module {
  func.func public @main(%arg0: tensor<2x3x8xf32>, %arg1: tensor<2x3x6x8xf32>, %arg2: tensor<2x3x6x8xf32>) -> (tensor<2x3x6x8xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 3] : (tensor<2x3x8xf32>) -> tensor<2x3x1x8xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2, 3] : (tensor<2x3x1x8xf32>) -> tensor<2x3x6x8xf32>
    %2 = stablehlo.dot_general %1, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x6xf32>
    %cst = stablehlo.constant dense<3.000000e-01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %4 = stablehlo.multiply %2, %3 : tensor<2x3x6x6xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %5 = stablehlo.reduce(%4 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %7 = stablehlo.maximum %6, %5 : tensor<2x3x6xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %10 = stablehlo.subtract %4, %9 : tensor<2x3x6x6xf32>
    %11 = stablehlo.exponential %10 : tensor<2x3x6x6xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.reduce(%11 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %15 = stablehlo.divide %11, %14 : tensor<2x3x6x6xf32>
    %16 = stablehlo.dot_general %15, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x6xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x8xf32>
    return %16 : tensor<2x3x6x8xf32>
  }
}

// -----

// The gradient of a sum.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.gradient
module {
  func.func public @main(%arg0: tensor<2x3x6x8xf32>, %arg1: tensor<2x3x6x8xf32>, %arg2: tensor<2x3x6x8xf32>) -> (tensor<f32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x6xf32>
    %cst = stablehlo.constant dense<3.000000e-01> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<2x3x6x6xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %3 = stablehlo.reduce(%2 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %4 = stablehlo.reshape %3 : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %6 = stablehlo.compare EQ, %2, %5, FLOAT : (tensor<2x3x6x6xf32>, tensor<2x3x6x6xf32>) -> tensor<2x3x6x6xi1>
    %7 = stablehlo.convert %6 : (tensor<2x3x6x6xi1>) -> tensor<2x3x6x6xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %10 = stablehlo.maximum %9, %3 : tensor<2x3x6xf32>
    %11 = stablehlo.compare EQ, %3, %10, FLOAT : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xi1>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %14 = stablehlo.select %11, %12, %13 : tensor<2x3x6xi1>, tensor<2x3x6xf32>
    %cst_5 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %16 = stablehlo.compare EQ, %15, %10, FLOAT : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xi1>
    %cst_6 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %19 = stablehlo.select %16, %17, %18 : tensor<2x3x6xi1>, tensor<2x3x6xf32>
    %20 = stablehlo.divide %14, %19 : tensor<2x3x6xf32>
    %21 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %23 = stablehlo.subtract %2, %22 : tensor<2x3x6x6xf32>
    %24 = stablehlo.exponential %23 : tensor<2x3x6x6xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.reduce(%24 init: %cst_8) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %28 = stablehlo.divide %24, %27 : tensor<2x3x6x6xf32>
    %29 = stablehlo.multiply %26, %26 : tensor<2x3x6x1xf32>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<2x3x6x1xf32>
    %31 = stablehlo.divide %30, %29 : tensor<2x3x6x1xf32>
    %32 = stablehlo.dot_general %28, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x6xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x8xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %33 = stablehlo.reduce(%32 init: %cst_10) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<2x3x6x8xf32>, tensor<f32>) -> tensor<f32>
    %cst_11 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %34 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<2x3x6x8xf32>
    %35 = stablehlo.dot_general %34, %28, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x8xf32>, tensor<2x3x6x6xf32>) -> tensor<2x3x8x6xf32>
    %36 = stablehlo.transpose %35, dims = [0, 1, 3, 2] : (tensor<2x3x8x6xf32>) -> tensor<2x3x6x8xf32>
    %37 = stablehlo.dot_general %34, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x6xf32>
    %38 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %39 = stablehlo.multiply %37, %38 : tensor<2x3x6x6xf32>
    %40 = stablehlo.multiply %39, %24 : tensor<2x3x6x6xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %41 = stablehlo.reduce(%40 init: %cst_12) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %42 = stablehlo.reshape %41 : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %43 = stablehlo.negate %42 : tensor<2x3x6x1xf32>
    %44 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %45 = stablehlo.divide %37, %44 : tensor<2x3x6x6xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %46 = stablehlo.reduce(%43 init: %cst_13) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x1xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x6xf32>
    %48 = stablehlo.add %45, %47 : tensor<2x3x6x6xf32>
    %49 = stablehlo.multiply %48, %24 : tensor<2x3x6x6xf32>
    %cst_14 = stablehlo.constant dense<3.000000e-01> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %51 = stablehlo.multiply %49, %50 : tensor<2x3x6x6xf32>
    %52 = stablehlo.dot_general %51, %arg0, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x6xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x8xf32>
    %53 = stablehlo.dot_general %51, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x6xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x8xf32>
    return %33, %53, %52, %36 : tensor<f32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>
  }
}

// -----

// The gradient of a mean over heads.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.gradient
module {
  func.func public @main(%arg0: tensor<2x3x6x8xf32>, %arg1: tensor<2x3x6x8xf32>, %arg2: tensor<2x3x6x8xf32>, %arg3: tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x6xf32>
    %cst = stablehlo.constant dense<3.000000e-01> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<2x3x6x6xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %3 = stablehlo.reduce(%2 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %4 = stablehlo.reshape %3 : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %6 = stablehlo.compare EQ, %2, %5, FLOAT : (tensor<2x3x6x6xf32>, tensor<2x3x6x6xf32>) -> tensor<2x3x6x6xi1>
    %7 = stablehlo.convert %6 : (tensor<2x3x6x6xi1>) -> tensor<2x3x6x6xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %10 = stablehlo.maximum %9, %3 : tensor<2x3x6xf32>
    %11 = stablehlo.compare EQ, %3, %10, FLOAT : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xi1>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %14 = stablehlo.select %11, %12, %13 : tensor<2x3x6xi1>, tensor<2x3x6xf32>
    %cst_5 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %16 = stablehlo.compare EQ, %15, %10, FLOAT : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xi1>
    %cst_6 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %19 = stablehlo.select %16, %17, %18 : tensor<2x3x6xi1>, tensor<2x3x6xf32>
    %20 = stablehlo.divide %14, %19 : tensor<2x3x6xf32>
    %21 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %23 = stablehlo.subtract %2, %22 : tensor<2x3x6x6xf32>
    %24 = stablehlo.exponential %23 : tensor<2x3x6x6xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.reduce(%24 init: %cst_8) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %28 = stablehlo.divide %24, %27 : tensor<2x3x6x6xf32>
    %29 = stablehlo.multiply %26, %26 : tensor<2x3x6x1xf32>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<2x3x6x1xf32>
    %31 = stablehlo.divide %30, %29 : tensor<2x3x6x1xf32>
    %32 = stablehlo.dot_general %28, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x6xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x8xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %33 = stablehlo.reduce(%32 init: %cst_10) applies stablehlo.add across dimensions = [2] : (tensor<2x3x6x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
    %cst_11 = stablehlo.constant dense<6.000000e+00> : tensor<f32>
    %34 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<2x3x8xf32>
    %35 = stablehlo.divide %33, %34 : tensor<2x3x8xf32>
    %cst_12 = stablehlo.constant dense<6.000000e+00> : tensor<f32>
    %36 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<2x3x8xf32>
    %37 = stablehlo.divide %arg3, %36 : tensor<2x3x8xf32>
    %38 = stablehlo.broadcast_in_dim %37, dims = [0, 1, 3] : (tensor<2x3x8xf32>) -> tensor<2x3x6x8xf32>
    %39 = stablehlo.dot_general %38, %28, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x8xf32>, tensor<2x3x6x6xf32>) -> tensor<2x3x8x6xf32>
    %40 = stablehlo.transpose %39, dims = [0, 1, 3, 2] : (tensor<2x3x8x6xf32>) -> tensor<2x3x6x8xf32>
    %41 = stablehlo.dot_general %38, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x6xf32>
    %42 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %43 = stablehlo.multiply %41, %42 : tensor<2x3x6x6xf32>
    %44 = stablehlo.multiply %43, %24 : tensor<2x3x6x6xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %45 = stablehlo.reduce(%44 init: %cst_13) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %46 = stablehlo.reshape %45 : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %47 = stablehlo.negate %46 : tensor<2x3x6x1xf32>
    %48 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %49 = stablehlo.divide %41, %48 : tensor<2x3x6x6xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %50 = stablehlo.reduce(%47 init: %cst_14) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x1xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %51 = stablehlo.broadcast_in_dim %50, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x6xf32>
    %52 = stablehlo.add %49, %51 : tensor<2x3x6x6xf32>
    %53 = stablehlo.multiply %52, %24 : tensor<2x3x6x6xf32>
    %cst_15 = stablehlo.constant dense<3.000000e-01> : tensor<f32>
    %54 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %55 = stablehlo.multiply %53, %54 : tensor<2x3x6x6xf32>
    %56 = stablehlo.dot_general %55, %arg0, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x6xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x8xf32>
    %57 = stablehlo.dot_general %55, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x6xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x8xf32>
    return %35, %57, %56, %40 : tensor<2x3x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>
  }
}

// -----

// A mask that is causal and hides more is one mask.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.attention %{{.*}} mask %{{.*}} heads
module {
  func.func public @main(%arg0: tensor<2x6x3x8xf32>, %arg1: tensor<2x6x3x8xf32>, %arg2: tensor<2x6x3x8xf32>, %arg3: tensor<2x6xi1>) -> (tensor<2x6x3x8xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg3, dims = [0, 3] : (tensor<2x6xi1>) -> tensor<2x1x1x6xi1>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2, 3] : (tensor<2x1x1x6xi1>) -> tensor<2x3x6x6xi1>
    %2 = stablehlo.reshape %arg0 : (tensor<2x6x3x8xf32>) -> tensor<2x6x3x1x8xf32>
    %3 = stablehlo.reshape %1 : (tensor<2x3x6x6xi1>) -> tensor<2x3x1x6x6xi1>
    %4 = stablehlo.dot_general %2, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x1x8xf32>, tensor<2x6x3x8xf32>) -> tensor<2x3x6x1x6xf32>
    %cst = stablehlo.constant dense<0.353553385> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x6x1x6xf32>
    %6 = stablehlo.multiply %4, %5 : tensor<2x3x6x1x6xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %7 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<2x3x6x6xi1>
    %8 = stablehlo.broadcast_in_dim %7, dims = [1, 2, 3, 4] : (tensor<2x3x6x6xi1>) -> tensor<1x2x3x6x6xi1>
    %9 = stablehlo.transpose %3, dims = [2, 0, 1, 3, 4] : (tensor<2x3x1x6x6xi1>) -> tensor<1x2x3x6x6xi1>
    %10 = stablehlo.and %8, %9 : tensor<1x2x3x6x6xi1>
    %c_0 = stablehlo.constant dense<true> : tensor<i1>
    %11 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<6x6xi1>
    %12 = call @tril(%11) : (tensor<6x6xi1>) -> tensor<6x6xi1>
    %13 = stablehlo.broadcast_in_dim %12, dims = [2, 3] : (tensor<6x6xi1>) -> tensor<1x1x6x6xi1>
    %14 = stablehlo.broadcast_in_dim %13, dims = [1, 2, 3, 4] : (tensor<1x1x6x6xi1>) -> tensor<1x1x1x6x6xi1>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3, 4] : (tensor<1x1x1x6x6xi1>) -> tensor<1x2x3x6x6xi1>
    %16 = stablehlo.and %10, %15 : tensor<1x2x3x6x6xi1>
    %cst_1 = stablehlo.constant dense<-2.38197633E+38> : tensor<f32>
    %17 = call @_where(%16, %6, %cst_1) : (tensor<1x2x3x6x6xi1>, tensor<2x3x6x1x6xf32>, tensor<f32>) -> tensor<1x2x3x6x6xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst_2) applies stablehlo.maximum across dimensions = [4] : (tensor<1x2x3x6x6xf32>, tensor<f32>) -> tensor<1x2x3x6xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x2x3x6xf32>
    %20 = stablehlo.maximum %19, %18 : tensor<1x2x3x6xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %23 = stablehlo.subtract %17, %22 : tensor<1x2x3x6x6xf32>
    %24 = stablehlo.exponential %23 : tensor<1x2x3x6x6xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.reduce(%24 init: %cst_4) applies stablehlo.add across dimensions = [4] : (tensor<1x2x3x6x6xf32>, tensor<f32>) -> tensor<1x2x3x6xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %28 = stablehlo.divide %24, %27 : tensor<1x2x3x6x6xf32>
    %29 = stablehlo.dot_general %arg2, %28, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xf32>, tensor<1x2x3x6x6xf32>) -> tensor<2x3x8x1x6xf32>
    %30 = stablehlo.transpose %29, dims = [3, 0, 4, 1, 2] : (tensor<2x3x8x1x6xf32>) -> tensor<1x2x6x3x8xf32>
    %31 = stablehlo.transpose %30, dims = [1, 2, 3, 0, 4] : (tensor<1x2x6x3x8xf32>) -> tensor<2x6x3x1x8xf32>
    %32 = stablehlo.reshape %31 : (tensor<2x6x3x1x8xf32>) -> tensor<2x6x3x8xf32>
    return %32 : tensor<2x6x3x8xf32>
  }
  func.func private @tril(%arg0: tensor<6x6xi1>) -> tensor<6x6xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<6x6xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<6x6xi32>
    %2 = stablehlo.add %0, %1 : tensor<6x6xi32>
    %3 = stablehlo.iota dim = 1 : tensor<6x6xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<6x6xi32>, tensor<6x6xi32>) -> tensor<6x6xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<6x6xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<6x6xi1>, tensor<6x6xi1>
    return %6 : tensor<6x6xi1>
  }
  func.func private @_where(%arg0: tensor<1x2x3x6x6xi1>, %arg1: tensor<2x3x6x1x6xf32>, %arg2: tensor<f32>) -> tensor<1x2x3x6x6xf32> {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [1, 2, 3, 4] : (tensor<2x3x6x6xf32>) -> tensor<1x2x3x6x6xf32>
    %2 = stablehlo.transpose %arg1, dims = [3, 0, 1, 2, 4] : (tensor<2x3x6x1x6xf32>) -> tensor<1x2x3x6x6xf32>
    %3 = stablehlo.select %arg0, %2, %1 : tensor<1x2x3x6x6xi1>, tensor<1x2x3x6x6xf32>
    return %3 : tensor<1x2x3x6x6xf32>
  }
}

// -----

// More queries than keys.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.attention %{{.*}} mask
module {
  func.func public @main(%arg0: tensor<2x3x6x8xf32>, %arg1: tensor<2x3x4x8xf32>, %arg2: tensor<2x3x4x8xf32>) -> (tensor<2x3x6x8xf32>) {
    %0 = stablehlo.iota dim = 0 : tensor<6xi32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %c = stablehlo.constant dense<-2> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<6x1xi32>
    %3 = stablehlo.add %1, %2 : tensor<6x1xi32>
    %4 = stablehlo.iota dim = 0 : tensor<4xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [1] : (tensor<4xi32>) -> tensor<1x4xi32>
    %6 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<6x1xi32>) -> tensor<6x4xi32>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<1x4xi32>) -> tensor<6x4xi32>
    %8 = stablehlo.compare GE, %6, %7, SIGNED : (tensor<6x4xi32>, tensor<6x4xi32>) -> tensor<6x4xi1>
    %9 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x8xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x6x4xf32>
    %cst = stablehlo.constant dense<3.000000e-01> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x6x4xf32>
    %11 = stablehlo.multiply %9, %10 : tensor<2x3x6x4xf32>
    %cst_0 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %12 = call @_where(%8, %11, %cst_0) : (tensor<6x4xi1>, tensor<2x3x6x4xf32>, tensor<f32>) -> tensor<2x3x6x4xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %13 = stablehlo.reduce(%12 init: %cst_1) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x6x4xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %15 = stablehlo.maximum %14, %13 : tensor<2x3x6xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x4xf32>
    %18 = stablehlo.subtract %12, %17 : tensor<2x3x6x4xf32>
    %19 = stablehlo.exponential %18 : tensor<2x3x6x4xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.reduce(%19 init: %cst_3) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x4xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x4xf32>
    %23 = stablehlo.divide %19, %22 : tensor<2x3x6x4xf32>
    %24 = stablehlo.dot_general %23, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x4xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x6x8xf32>
    return %24 : tensor<2x3x6x8xf32>
  }
  func.func private @_where(%arg0: tensor<6x4xi1>, %arg1: tensor<2x3x6x4xf32>, %arg2: tensor<f32>) -> tensor<2x3x6x4xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<6x4xi1>) -> tensor<2x3x6x4xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x3x6x4xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x3x6x4xi1>, tensor<2x3x6x4xf32>
    return %3 : tensor<2x3x6x4xf32>
  }
}
