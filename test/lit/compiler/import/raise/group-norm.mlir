// Group and instance normalization as flax and JAX print them.
// RUN: dgc-opt %s --split-input-file --dgc-inline-imported --stablehlo-to-dgc --dgc-raise-imported | FileCheck %s

// flax.linen.GroupNorm
// CHECK-LABEL: func.func public @main
// CHECK-NEXT: dgc.group_norm %arg2, %arg1, %arg0 groups 4 epsilon 9.99{{.*}}e-07
// CHECK-NEXT: return
module {
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<2x5x5x8xf32>) -> (tensor<2x5x5x8xf32>) {
    %0 = stablehlo.reshape %arg2 : (tensor<2x5x5x8xf32>) -> tensor<2x5x5x4x2xf32>
    %1 = chlo.square %0 : tensor<2x5x5x4x2xf32> -> tensor<2x5x5x4x2xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1, 2, 4] : (tensor<2x5x5x4x2xf32>, tensor<f32>) -> tensor<2x4xf32>
    %cst_0 = stablehlo.constant dense<5.000000e+01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %4 = stablehlo.divide %2, %3 : tensor<2x4xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.reduce(%1 init: %cst_1) applies stablehlo.add across dimensions = [1, 2, 4] : (tensor<2x5x5x4x2xf32>, tensor<f32>) -> tensor<2x4xf32>
    %cst_2 = stablehlo.constant dense<5.000000e+01> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %7 = stablehlo.divide %5, %6 : tensor<2x4xf32>
    %8 = chlo.square %4 : tensor<2x4xf32> -> tensor<2x4xf32>
    %9 = stablehlo.subtract %7, %8 : tensor<2x4xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %11 = stablehlo.maximum %10, %9 : tensor<2x4xf32>
    %12 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x2xf32>
    %13 = stablehlo.reshape %12 : (tensor<2x4x2xf32>) -> tensor<2x8xf32>
    %14 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x2xf32>
    %15 = stablehlo.reshape %14 : (tensor<2x4x2xf32>) -> tensor<2x8xf32>
    %16 = stablehlo.broadcast_in_dim %13, dims = [0, 3] : (tensor<2x8xf32>) -> tensor<2x1x1x8xf32>
    %17 = stablehlo.broadcast_in_dim %15, dims = [0, 3] : (tensor<2x8xf32>) -> tensor<2x1x1x8xf32>
    %18 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<2x1x1x8xf32>) -> tensor<2x5x5x8xf32>
    %19 = stablehlo.subtract %arg2, %18 : tensor<2x5x5x8xf32>
    %cst_4 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x1x1x8xf32>
    %21 = stablehlo.add %17, %20 : tensor<2x1x1x8xf32>
    %22 = stablehlo.rsqrt %21 : tensor<2x1x1x8xf32>
    %23 = stablehlo.reshape %arg1 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<2x1x1x8xf32>
    %25 = stablehlo.multiply %22, %24 : tensor<2x1x1x8xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2, 3] : (tensor<2x1x1x8xf32>) -> tensor<2x5x5x8xf32>
    %27 = stablehlo.multiply %19, %26 : tensor<2x5x5x8xf32>
    %28 = stablehlo.reshape %arg0 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<2x5x5x8xf32>
    %30 = stablehlo.add %27, %29 : tensor<2x5x5x8xf32>
    return %30 : tensor<2x5x5x8xf32>
  }
}

// -----

// As it is written by hand.
// CHECK-LABEL: func.func public @main
// CHECK-NEXT: dgc.group_norm %arg0, %arg1, %arg2 groups 4 epsilon 9.99{{.*}}e-06
// CHECK-NEXT: return
module {
  func.func public @main(%arg0: tensor<2x5x5x8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> (tensor<2x5x5x8xf32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x5x5x8xf32>) -> tensor<2x5x5x4x2xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1, 2, 4] : (tensor<2x5x5x4x2xf32>, tensor<f32>) -> tensor<2x4xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 3] : (tensor<2x4xf32>) -> tensor<2x1x1x4x1xf32>
    %cst_0 = stablehlo.constant dense<5.000000e+01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x1x1x4x1xf32>
    %4 = stablehlo.divide %2, %3 : tensor<2x1x1x4x1xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %5 = call @_var(%0, %c) : (tensor<2x5x5x4x2xf32>, tensor<i32>) -> tensor<2x1x1x4x1xf32>
    %6 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3, 4] : (tensor<2x1x1x4x1xf32>) -> tensor<2x5x5x4x2xf32>
    %7 = stablehlo.subtract %0, %6 : tensor<2x5x5x4x2xf32>
    %cst_1 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x1x1x4x1xf32>
    %9 = stablehlo.add %5, %8 : tensor<2x1x1x4x1xf32>
    %10 = stablehlo.sqrt %9 : tensor<2x1x1x4x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2, 3, 4] : (tensor<2x1x1x4x1xf32>) -> tensor<2x5x5x4x2xf32>
    %12 = stablehlo.divide %7, %11 : tensor<2x5x5x4x2xf32>
    %13 = stablehlo.reshape %12 : (tensor<2x5x5x4x2xf32>) -> tensor<2x5x5x8xf32>
    %14 = stablehlo.broadcast_in_dim %arg1, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<2x5x5x8xf32>
    %16 = stablehlo.multiply %13, %15 : tensor<2x5x5x8xf32>
    %17 = stablehlo.broadcast_in_dim %arg2, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<2x5x5x8xf32>
    %19 = stablehlo.add %16, %18 : tensor<2x5x5x8xf32>
    return %19 : tensor<2x5x5x8xf32>
  }
  func.func private @_var(%arg0: tensor<2x5x5x4x2xf32>, %arg1: tensor<i32>) -> tensor<2x1x1x4x1xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [1, 2, 4] : (tensor<2x5x5x4x2xf32>, tensor<f32>) -> tensor<2x4xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 3] : (tensor<2x4xf32>) -> tensor<2x1x1x4x1xf32>
    %cst_0 = stablehlo.constant dense<5.000000e+01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x1x1x4x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<2x1x1x4x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 3, 4] : (tensor<2x1x1x4x1xf32>) -> tensor<2x5x5x4x2xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<2x5x5x4x2xf32>
    %6 = chlo.square %5 : tensor<2x5x5x4x2xf32> -> tensor<2x5x5x4x2xf32>
    %7 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %cst_1 = stablehlo.constant dense<5.000000e+01> : tensor<f32>
    %8 = stablehlo.subtract %cst_1, %7 : tensor<f32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%6 init: %cst_2) applies stablehlo.add across dimensions = [1, 2, 4] : (tensor<2x5x5x4x2xf32>, tensor<f32>) -> tensor<2x4xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 3] : (tensor<2x4xf32>) -> tensor<2x1x1x4x1xf32>
    %11 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<2x1x1x4x1xf32>
    %12 = stablehlo.divide %10, %11 : tensor<2x1x1x4x1xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.compare GT, %8, %cst_3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_4 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = call @_where(%13, %12, %cst_4) : (tensor<i1>, tensor<2x1x1x4x1xf32>, tensor<f32>) -> tensor<2x1x1x4x1xf32>
    return %14 : tensor<2x1x1x4x1xf32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<2x1x1x4x1xf32>, %arg2: tensor<f32>) -> tensor<2x1x1x4x1xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x1x1x4x1xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<2x1x1x4x1xf32>
    return %2 : tensor<2x1x1x4x1xf32>
  }
}

// -----

// Each channel for itself.
// CHECK-LABEL: func.func public @main
// CHECK-NEXT: dgc.instance_norm %arg0, %arg1, %arg2 epsilon 9.99{{.*}}e-06
// CHECK-NEXT: return
module {
  func.func public @main(%arg0: tensor<2x5x5x8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> (tensor<2x5x5x8xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x5x5x8xf32>, tensor<f32>) -> tensor<2x8xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 3] : (tensor<2x8xf32>) -> tensor<2x1x1x8xf32>
    %cst_0 = stablehlo.constant dense<2.500000e+01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x1x1x8xf32>
    %3 = stablehlo.divide %1, %2 : tensor<2x1x1x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %4 = call @_var(%arg0, %c) : (tensor<2x5x5x8xf32>, tensor<i32>) -> tensor<2x1x1x8xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 3] : (tensor<2x1x1x8xf32>) -> tensor<2x5x5x8xf32>
    %6 = stablehlo.subtract %arg0, %5 : tensor<2x5x5x8xf32>
    %cst_1 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x1x1x8xf32>
    %8 = stablehlo.add %4, %7 : tensor<2x1x1x8xf32>
    %9 = stablehlo.sqrt %8 : tensor<2x1x1x8xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<2x1x1x8xf32>) -> tensor<2x5x5x8xf32>
    %11 = stablehlo.divide %6, %10 : tensor<2x5x5x8xf32>
    %12 = stablehlo.broadcast_in_dim %arg1, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<2x5x5x8xf32>
    %14 = stablehlo.multiply %11, %13 : tensor<2x5x5x8xf32>
    %15 = stablehlo.broadcast_in_dim %arg2, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<2x5x5x8xf32>
    %17 = stablehlo.add %14, %16 : tensor<2x5x5x8xf32>
    return %17 : tensor<2x5x5x8xf32>
  }
  func.func private @_var(%arg0: tensor<2x5x5x8xf32>, %arg1: tensor<i32>) -> tensor<2x1x1x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x5x5x8xf32>, tensor<f32>) -> tensor<2x8xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 3] : (tensor<2x8xf32>) -> tensor<2x1x1x8xf32>
    %cst_0 = stablehlo.constant dense<2.500000e+01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x1x1x8xf32>
    %3 = stablehlo.divide %1, %2 : tensor<2x1x1x8xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 3] : (tensor<2x1x1x8xf32>) -> tensor<2x5x5x8xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<2x5x5x8xf32>
    %6 = chlo.square %5 : tensor<2x5x5x8xf32> -> tensor<2x5x5x8xf32>
    %7 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %cst_1 = stablehlo.constant dense<2.500000e+01> : tensor<f32>
    %8 = stablehlo.subtract %cst_1, %7 : tensor<f32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%6 init: %cst_2) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x5x5x8xf32>, tensor<f32>) -> tensor<2x8xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 3] : (tensor<2x8xf32>) -> tensor<2x1x1x8xf32>
    %11 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<2x1x1x8xf32>
    %12 = stablehlo.divide %10, %11 : tensor<2x1x1x8xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.compare GT, %8, %cst_3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_4 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = call @_where(%13, %12, %cst_4) : (tensor<i1>, tensor<2x1x1x8xf32>, tensor<f32>) -> tensor<2x1x1x8xf32>
    return %14 : tensor<2x1x1x8xf32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<2x1x1x8xf32>, %arg2: tensor<f32>) -> tensor<2x1x1x8xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x1x1x8xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<2x1x1x8xf32>
    return %2 : tensor<2x1x1x8xf32>
  }
}

// -----

// Over the examples as well.
// CHECK-LABEL: func.func public @main
// CHECK-NOT: dgc.{{group|instance|layer}}_norm
// CHECK: return
module {
  func.func public @main(%arg0: tensor<2x5x5x8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> (tensor<2x5x5x8xf32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x5x5x8xf32>) -> tensor<2x5x5x4x2xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2, 4] : (tensor<2x5x5x4x2xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [3] : (tensor<4xf32>) -> tensor<1x1x1x4x1xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+02> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x1x1x4x1xf32>
    %4 = stablehlo.divide %2, %3 : tensor<1x1x1x4x1xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %5 = call @_var(%0, %c) : (tensor<2x5x5x4x2xf32>, tensor<i32>) -> tensor<1x1x1x4x1xf32>
    %6 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3, 4] : (tensor<1x1x1x4x1xf32>) -> tensor<2x5x5x4x2xf32>
    %7 = stablehlo.subtract %0, %6 : tensor<2x5x5x4x2xf32>
    %cst_1 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x1x1x4x1xf32>
    %9 = stablehlo.add %5, %8 : tensor<1x1x1x4x1xf32>
    %10 = stablehlo.sqrt %9 : tensor<1x1x1x4x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2, 3, 4] : (tensor<1x1x1x4x1xf32>) -> tensor<2x5x5x4x2xf32>
    %12 = stablehlo.divide %7, %11 : tensor<2x5x5x4x2xf32>
    %13 = stablehlo.reshape %12 : (tensor<2x5x5x4x2xf32>) -> tensor<2x5x5x8xf32>
    %14 = stablehlo.broadcast_in_dim %arg1, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<2x5x5x8xf32>
    %16 = stablehlo.multiply %13, %15 : tensor<2x5x5x8xf32>
    %17 = stablehlo.broadcast_in_dim %arg2, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<2x5x5x8xf32>
    %19 = stablehlo.add %16, %18 : tensor<2x5x5x8xf32>
    return %19 : tensor<2x5x5x8xf32>
  }
  func.func private @_var(%arg0: tensor<2x5x5x4x2xf32>, %arg1: tensor<i32>) -> tensor<1x1x1x4x1xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2, 4] : (tensor<2x5x5x4x2xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [3] : (tensor<4xf32>) -> tensor<1x1x1x4x1xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+02> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x1x1x4x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<1x1x1x4x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 3, 4] : (tensor<1x1x1x4x1xf32>) -> tensor<2x5x5x4x2xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<2x5x5x4x2xf32>
    %6 = chlo.square %5 : tensor<2x5x5x4x2xf32> -> tensor<2x5x5x4x2xf32>
    %7 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %cst_1 = stablehlo.constant dense<1.000000e+02> : tensor<f32>
    %8 = stablehlo.subtract %cst_1, %7 : tensor<f32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%6 init: %cst_2) applies stablehlo.add across dimensions = [0, 1, 2, 4] : (tensor<2x5x5x4x2xf32>, tensor<f32>) -> tensor<4xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [3] : (tensor<4xf32>) -> tensor<1x1x1x4x1xf32>
    %11 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<1x1x1x4x1xf32>
    %12 = stablehlo.divide %10, %11 : tensor<1x1x1x4x1xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.compare GT, %8, %cst_3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_4 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = call @_where(%13, %12, %cst_4) : (tensor<i1>, tensor<1x1x1x4x1xf32>, tensor<f32>) -> tensor<1x1x1x4x1xf32>
    return %14 : tensor<1x1x1x4x1xf32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<1x1x1x4x1xf32>, %arg2: tensor<f32>) -> tensor<1x1x1x4x1xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<1x1x1x4x1xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<1x1x1x4x1xf32>
    return %2 : tensor<1x1x1x4x1xf32>
  }
}

// -----

// Each place for itself: a normalization along the last dimension of the groups.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.layer_norm %{{.*}} : tensor<2x5x5x4x2xf32>
// CHECK-NOT: dgc.group_norm
// CHECK: return
module {
  func.func public @main(%arg0: tensor<2x5x5x8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> (tensor<2x5x5x8xf32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x5x5x8xf32>) -> tensor<2x5x5x4x2xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<2x5x5x4x2xf32>, tensor<f32>) -> tensor<2x5x5x4xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2, 3] : (tensor<2x5x5x4xf32>) -> tensor<2x5x5x4x1xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x5x5x4x1xf32>
    %4 = stablehlo.divide %2, %3 : tensor<2x5x5x4x1xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %5 = call @_var(%0, %c) : (tensor<2x5x5x4x2xf32>, tensor<i32>) -> tensor<2x5x5x4x1xf32>
    %6 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3, 4] : (tensor<2x5x5x4x1xf32>) -> tensor<2x5x5x4x2xf32>
    %7 = stablehlo.subtract %0, %6 : tensor<2x5x5x4x2xf32>
    %cst_1 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x5x5x4x1xf32>
    %9 = stablehlo.add %5, %8 : tensor<2x5x5x4x1xf32>
    %10 = stablehlo.sqrt %9 : tensor<2x5x5x4x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2, 3, 4] : (tensor<2x5x5x4x1xf32>) -> tensor<2x5x5x4x2xf32>
    %12 = stablehlo.divide %7, %11 : tensor<2x5x5x4x2xf32>
    %13 = stablehlo.reshape %12 : (tensor<2x5x5x4x2xf32>) -> tensor<2x5x5x8xf32>
    %14 = stablehlo.broadcast_in_dim %arg1, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<2x5x5x8xf32>
    %16 = stablehlo.multiply %13, %15 : tensor<2x5x5x8xf32>
    %17 = stablehlo.broadcast_in_dim %arg2, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<2x5x5x8xf32>
    %19 = stablehlo.add %16, %18 : tensor<2x5x5x8xf32>
    return %19 : tensor<2x5x5x8xf32>
  }
  func.func private @_var(%arg0: tensor<2x5x5x4x2xf32>, %arg1: tensor<i32>) -> tensor<2x5x5x4x1xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<2x5x5x4x2xf32>, tensor<f32>) -> tensor<2x5x5x4xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2, 3] : (tensor<2x5x5x4xf32>) -> tensor<2x5x5x4x1xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x5x5x4x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<2x5x5x4x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 3, 4] : (tensor<2x5x5x4x1xf32>) -> tensor<2x5x5x4x2xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<2x5x5x4x2xf32>
    %6 = chlo.square %5 : tensor<2x5x5x4x2xf32> -> tensor<2x5x5x4x2xf32>
    %7 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %8 = stablehlo.subtract %cst_1, %7 : tensor<f32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%6 init: %cst_2) applies stablehlo.add across dimensions = [4] : (tensor<2x5x5x4x2xf32>, tensor<f32>) -> tensor<2x5x5x4xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<2x5x5x4xf32>) -> tensor<2x5x5x4x1xf32>
    %11 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<2x5x5x4x1xf32>
    %12 = stablehlo.divide %10, %11 : tensor<2x5x5x4x1xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.compare GT, %8, %cst_3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_4 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = call @_where(%13, %12, %cst_4) : (tensor<i1>, tensor<2x5x5x4x1xf32>, tensor<f32>) -> tensor<2x5x5x4x1xf32>
    return %14 : tensor<2x5x5x4x1xf32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<2x5x5x4x1xf32>, %arg2: tensor<f32>) -> tensor<2x5x5x4x1xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x5x5x4x1xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<2x5x5x4x1xf32>
    return %2 : tensor<2x5x5x4x1xf32>
  }
}
