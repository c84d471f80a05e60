// Attention with its gradient as JAX prints them.
// RUN: dgc-opt %s --split-input-file --dgc-inline-imported --stablehlo-to-dgc --dgc-raise-imported | FileCheck %s

// By einsum.
// CHECK-LABEL: func.func public @main
// CHECK: %[[Y:.*]] = dgc.attention %[[Q:.*]], %[[K:.*]], %[[V:.*]] heads 3 causal scale 0.35355
// CHECK: %[[D:.*]] = dgc.stop_gradient
// CHECK-NEXT: %[[P:.*]] = dgc.multiply %[[Y]], %[[D]]
// CHECK-NEXT: %[[S:.*]] = dgc.reduce sum %[[P]] dims [0, 1, 2]
// CHECK-NEXT: %[[G:.*]]:3 = dgc.gradient %[[S]] wrt %[[Q]], %[[K]], %[[V]]
// CHECK-NOT: dgc.exponential
// CHECK: return
module {
  func.func public @main(%arg0: tensor<2x6x3x8xf32>, %arg1: tensor<2x6x3x8xf32>, %arg2: tensor<2x6x3x8xf32>, %arg3: tensor<2x6x3x8xf32>) -> (tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>) -> tensor<2x3x6x6xf32>
    %cst = stablehlo.constant dense<2.82842708> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %2 = stablehlo.divide %0, %1 : tensor<2x3x6x6xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<6x6xi1>
    %4 = call @tril(%3) : (tensor<6x6xi1>) -> tensor<6x6xi1>
    %cst_0 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %5:2 = call @_where(%4, %2, %cst_0) : (tensor<6x6xi1>, tensor<2x3x6x6xf32>, tensor<f32>) -> (tensor<2x3x6x6xf32>, tensor<2x3x6x6xi1>)
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %6 = stablehlo.reduce(%5#0 init: %cst_1) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %8 = stablehlo.maximum %7, %6 : tensor<2x3x6xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %11 = stablehlo.subtract %5#0, %10 : tensor<2x3x6x6xf32>
    %12 = stablehlo.exponential %11 : tensor<2x3x6x6xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.reduce(%12 init: %cst_3) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %16 = stablehlo.divide %12, %15 : tensor<2x3x6x6xf32>
    %17 = stablehlo.multiply %14, %14 : tensor<2x3x6x1xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x3x6x1xf32>
    %19 = stablehlo.divide %18, %17 : tensor<2x3x6x1xf32>
    %20 = stablehlo.dot_general %arg2, %16, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xf32>, tensor<2x3x6x6xf32>) -> tensor<2x3x8x6xf32>
    %21 = stablehlo.transpose %20, dims = [0, 3, 1, 2] : (tensor<2x3x8x6xf32>) -> tensor<2x6x3x8xf32>
    %22 = stablehlo.transpose %arg3, dims = [0, 2, 3, 1] : (tensor<2x6x3x8xf32>) -> tensor<2x3x8x6xf32>
    %23 = stablehlo.dot_general %22, %arg2, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x6xf32>, tensor<2x6x3x8xf32>) -> tensor<2x3x6x6xf32>
    %24 = stablehlo.dot_general %22, %16, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x6xf32>, tensor<2x3x6x6xf32>) -> tensor<2x3x8x6xf32>
    %25 = stablehlo.transpose %24, dims = [0, 3, 1, 2] : (tensor<2x3x8x6xf32>) -> tensor<2x6x3x8xf32>
    %26 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %27 = stablehlo.multiply %23, %26 : tensor<2x3x6x6xf32>
    %28 = stablehlo.multiply %27, %12 : tensor<2x3x6x6xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %29 = stablehlo.reduce(%28 init: %cst_5) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %30 = stablehlo.reshape %29 : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %31 = stablehlo.negate %30 : tensor<2x3x6x1xf32>
    %32 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %33 = stablehlo.divide %23, %32 : tensor<2x3x6x6xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %34 = stablehlo.reduce(%31 init: %cst_6) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x1xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %35 = stablehlo.broadcast_in_dim %34, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x6xf32>
    %36 = stablehlo.add %33, %35 : tensor<2x3x6x6xf32>
    %37 = stablehlo.multiply %36, %12 : tensor<2x3x6x6xf32>
    %38 = call @_where_0(%5#1, %37) : (tensor<2x3x6x6xi1>, tensor<2x3x6x6xf32>) -> tensor<2x3x6x6xf32>
    %cst_7 = stablehlo.constant dense<2.82842708> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %40 = stablehlo.divide %38, %39 : tensor<2x3x6x6xf32>
    %41 = stablehlo.dot_general %40, %arg0, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x6xf32>, tensor<2x6x3x8xf32>) -> tensor<2x3x6x8xf32>
    %42 = stablehlo.transpose %41, dims = [0, 2, 1, 3] : (tensor<2x3x6x8xf32>) -> tensor<2x6x3x8xf32>
    %43 = stablehlo.dot_general %40, %arg1, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x6xf32>, tensor<2x6x3x8xf32>) -> tensor<2x3x6x8xf32>
    %44 = stablehlo.transpose %43, dims = [0, 2, 1, 3] : (tensor<2x3x6x8xf32>) -> tensor<2x6x3x8xf32>
    return %21, %44, %42, %25 : tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>
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
  func.func private @_where(%arg0: tensor<6x6xi1>, %arg1: tensor<2x3x6x6xf32>, %arg2: tensor<f32>) -> (tensor<2x3x6x6xf32>, tensor<2x3x6x6xi1>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<6x6xi1>) -> tensor<2x3x6x6xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x3x6x6xi1>, tensor<2x3x6x6xf32>
    return %3, %1 : tensor<2x3x6x6xf32>, tensor<2x3x6x6xi1>
  }
  func.func private @_where_0(%arg0: tensor<2x3x6x6xi1>, %arg1: tensor<2x3x6x6xf32>) -> tensor<2x3x6x6xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<2x3x6x6xi1>, tensor<2x3x6x6xf32>
    return %1 : tensor<2x3x6x6xf32>
  }
}

// -----

// jax.nn.dot_product_attention
// CHECK-LABEL: func.func public @main
// CHECK: dgc.attention %{{.*}} heads 3 causal
// CHECK: dgc.gradient
// CHECK-NOT: dgc.exponential
// CHECK: return
module {
  func.func public @main(%arg0: tensor<2x6x3x8xf32>, %arg1: tensor<2x6x3x8xf32>, %arg2: tensor<2x6x3x8xf32>, %arg3: tensor<2x6x3x8xf32>) -> (tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x6x3x8xf32>) -> tensor<2x6x3x1x8xf32>
    %1 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x1x8xf32>, tensor<2x6x3x8xf32>) -> tensor<2x3x6x1x6xf32>
    %cst = stablehlo.constant dense<0.353553385> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x6x1x6xf32>
    %3 = stablehlo.multiply %1, %2 : tensor<2x3x6x1x6xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<2x3x6x6xi1>
    %c_0 = stablehlo.constant dense<true> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<6x6xi1>
    %6 = call @tril(%5) : (tensor<6x6xi1>) -> tensor<6x6xi1>
    %7 = stablehlo.broadcast_in_dim %6, dims = [2, 3] : (tensor<6x6xi1>) -> tensor<1x1x6x6xi1>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3] : (tensor<1x1x6x6xi1>) -> tensor<2x3x6x6xi1>
    %9 = stablehlo.and %4, %8 : tensor<2x3x6x6xi1>
    %cst_1 = stablehlo.constant dense<-2.38197633E+38> : tensor<f32>
    %10:2 = call @_where(%9, %3, %cst_1) : (tensor<2x3x6x6xi1>, tensor<2x3x6x1x6xf32>, tensor<f32>) -> (tensor<1x2x3x6x6xf32>, tensor<1x2x3x6x6xi1>)
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %11 = stablehlo.reduce(%10#0 init: %cst_2) applies stablehlo.maximum across dimensions = [4] : (tensor<1x2x3x6x6xf32>, tensor<f32>) -> tensor<1x2x3x6xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x2x3x6xf32>
    %13 = stablehlo.maximum %12, %11 : tensor<1x2x3x6xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %16 = stablehlo.subtract %10#0, %15 : tensor<1x2x3x6x6xf32>
    %17 = stablehlo.exponential %16 : tensor<1x2x3x6x6xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst_4) applies stablehlo.add across dimensions = [4] : (tensor<1x2x3x6x6xf32>, tensor<f32>) -> tensor<1x2x3x6xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %21 = stablehlo.divide %17, %20 : tensor<1x2x3x6x6xf32>
    %22 = stablehlo.multiply %19, %19 : tensor<1x2x3x6x1xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<1x2x3x6x1xf32>
    %24 = stablehlo.divide %23, %22 : tensor<1x2x3x6x1xf32>
    %25 = stablehlo.dot_general %arg2, %21, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xf32>, tensor<1x2x3x6x6xf32>) -> tensor<2x3x8x1x6xf32>
    %26 = stablehlo.transpose %25, dims = [3, 0, 4, 1, 2] : (tensor<2x3x8x1x6xf32>) -> tensor<1x2x6x3x8xf32>
    %27 = stablehlo.transpose %26, dims = [1, 2, 3, 0, 4] : (tensor<1x2x6x3x8xf32>) -> tensor<2x6x3x1x8xf32>
    %28 = stablehlo.reshape %27 : (tensor<2x6x3x1x8xf32>) -> tensor<2x6x3x8xf32>
    %29 = stablehlo.reshape %arg3 : (tensor<2x6x3x8xf32>) -> tensor<2x6x3x1x8xf32>
    %30 = stablehlo.transpose %29, dims = [3, 0, 1, 2, 4] : (tensor<2x6x3x1x8xf32>) -> tensor<1x2x6x3x8xf32>
    %31 = stablehlo.transpose %30, dims = [1, 3, 4, 0, 2] : (tensor<1x2x6x3x8xf32>) -> tensor<2x3x8x1x6xf32>
    %32 = stablehlo.dot_general %31, %arg2, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x1x6xf32>, tensor<2x6x3x8xf32>) -> tensor<2x3x1x6x6xf32>
    %33 = stablehlo.transpose %32, dims = [2, 0, 1, 3, 4] : (tensor<2x3x1x6x6xf32>) -> tensor<1x2x3x6x6xf32>
    %34 = stablehlo.dot_general %31, %21, batching_dims = [0, 1] x [1, 2], contracting_dims = [3, 4] x [0, 3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x1x6xf32>, tensor<1x2x3x6x6xf32>) -> tensor<2x3x8x6xf32>
    %35 = stablehlo.transpose %34, dims = [0, 3, 1, 2] : (tensor<2x3x8x6xf32>) -> tensor<2x6x3x8xf32>
    %36 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %37 = stablehlo.multiply %33, %36 : tensor<1x2x3x6x6xf32>
    %38 = stablehlo.multiply %37, %17 : tensor<1x2x3x6x6xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %39 = stablehlo.reduce(%38 init: %cst_6) applies stablehlo.add across dimensions = [4] : (tensor<1x2x3x6x6xf32>, tensor<f32>) -> tensor<1x2x3x6xf32>
    %40 = stablehlo.reshape %39 : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %41 = stablehlo.negate %40 : tensor<1x2x3x6x1xf32>
    %42 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %43 = stablehlo.divide %33, %42 : tensor<1x2x3x6x6xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %44 = stablehlo.reduce(%41 init: %cst_7) applies stablehlo.add across dimensions = [0, 4] : (tensor<1x2x3x6x1xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [1, 2, 3] : (tensor<2x3x6xf32>) -> tensor<1x2x3x6xf32>
    %46 = stablehlo.broadcast_in_dim %45, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x6xf32>
    %47 = stablehlo.add %43, %46 : tensor<1x2x3x6x6xf32>
    %48 = stablehlo.multiply %47, %17 : tensor<1x2x3x6x6xf32>
    %49 = call @_where_0(%10#1, %48) : (tensor<1x2x3x6x6xi1>, tensor<1x2x3x6x6xf32>) -> tensor<2x3x6x1x6xf32>
    %cst_8 = stablehlo.constant dense<0.353553385> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x3x6x1x6xf32>
    %51 = stablehlo.multiply %49, %50 : tensor<2x3x6x1x6xf32>
    %52 = stablehlo.dot_general %51, %0, batching_dims = [0, 1] x [0, 2], contracting_dims = [2, 3] x [1, 3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x1x6xf32>, tensor<2x6x3x1x8xf32>) -> tensor<2x3x6x8xf32>
    %53 = stablehlo.transpose %52, dims = [0, 2, 1, 3] : (tensor<2x3x6x8xf32>) -> tensor<2x6x3x8xf32>
    %54 = stablehlo.dot_general %51, %arg1, batching_dims = [0, 1] x [0, 2], contracting_dims = [4] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x1x6xf32>, tensor<2x6x3x8xf32>) -> tensor<2x3x6x1x8xf32>
    %55 = stablehlo.transpose %54, dims = [0, 2, 1, 3, 4] : (tensor<2x3x6x1x8xf32>) -> tensor<2x6x3x1x8xf32>
    %56 = stablehlo.reshape %55 : (tensor<2x6x3x1x8xf32>) -> tensor<2x6x3x8xf32>
    return %28, %56, %53, %35 : tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>
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
  func.func private @_where(%arg0: tensor<2x3x6x6xi1>, %arg1: tensor<2x3x6x1x6xf32>, %arg2: tensor<f32>) -> (tensor<1x2x3x6x6xf32>, tensor<1x2x3x6x6xi1>) {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2, 3, 4] : (tensor<2x3x6x6xi1>) -> tensor<1x2x3x6x6xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [1, 2, 3, 4] : (tensor<2x3x6x6xf32>) -> tensor<1x2x3x6x6xf32>
    %3 = stablehlo.transpose %arg1, dims = [3, 0, 1, 2, 4] : (tensor<2x3x6x1x6xf32>) -> tensor<1x2x3x6x6xf32>
    %4 = stablehlo.select %1, %3, %2 : tensor<1x2x3x6x6xi1>, tensor<1x2x3x6x6xf32>
    return %4, %1 : tensor<1x2x3x6x6xf32>, tensor<1x2x3x6x6xi1>
  }
  func.func private @_where_0(%arg0: tensor<1x2x3x6x6xi1>, %arg1: tensor<1x2x3x6x6xf32>) -> tensor<2x3x6x1x6xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x2x3x6x6xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<1x2x3x6x6xi1>, tensor<1x2x3x6x6xf32>
    %2 = stablehlo.transpose %1, dims = [1, 2, 3, 0, 4] : (tensor<1x2x3x6x6xf32>) -> tensor<2x3x6x1x6xf32>
    return %2 : tensor<2x3x6x1x6xf32>
  }
}

// -----

// Heads of the query share those of the key.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.attention %{{.*}} heads 4 kv_heads 2 causal
// CHECK: dgc.gradient
// CHECK-NOT: dgc.exponential
// CHECK: return
module {
  func.func public @main(%arg0: tensor<2x6x4x8xf32>, %arg1: tensor<2x6x2x8xf32>, %arg2: tensor<2x6x2x8xf32>, %arg3: tensor<2x6x4x8xf32>) -> (tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x6x4x8xf32>) -> tensor<2x6x2x2x8xf32>
    %1 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x2x2x8xf32>, tensor<2x6x2x8xf32>) -> tensor<2x2x6x2x6xf32>
    %cst = stablehlo.constant dense<0.353553385> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x2x6x2x6xf32>
    %3 = stablehlo.multiply %1, %2 : tensor<2x2x6x2x6xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<2x2x6x6xi1>
    %c_0 = stablehlo.constant dense<true> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<6x6xi1>
    %6 = call @tril(%5) : (tensor<6x6xi1>) -> tensor<6x6xi1>
    %7 = stablehlo.broadcast_in_dim %6, dims = [2, 3] : (tensor<6x6xi1>) -> tensor<1x1x6x6xi1>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3] : (tensor<1x1x6x6xi1>) -> tensor<2x2x6x6xi1>
    %9 = stablehlo.and %4, %8 : tensor<2x2x6x6xi1>
    %cst_1 = stablehlo.constant dense<-2.38197633E+38> : tensor<f32>
    %10:2 = call @_where(%9, %3, %cst_1) : (tensor<2x2x6x6xi1>, tensor<2x2x6x2x6xf32>, tensor<f32>) -> (tensor<2x2x2x6x6xf32>, tensor<2x2x2x6x6xi1>)
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %11 = stablehlo.reduce(%10#0 init: %cst_2) applies stablehlo.maximum across dimensions = [4] : (tensor<2x2x2x6x6xf32>, tensor<f32>) -> tensor<2x2x2x6xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x2x2x6xf32>
    %13 = stablehlo.maximum %12, %11 : tensor<2x2x2x6xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<2x2x2x6xf32>) -> tensor<2x2x2x6x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3, 4] : (tensor<2x2x2x6x1xf32>) -> tensor<2x2x2x6x6xf32>
    %16 = stablehlo.subtract %10#0, %15 : tensor<2x2x2x6x6xf32>
    %17 = stablehlo.exponential %16 : tensor<2x2x2x6x6xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst_4) applies stablehlo.add across dimensions = [4] : (tensor<2x2x2x6x6xf32>, tensor<f32>) -> tensor<2x2x2x6xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<2x2x2x6xf32>) -> tensor<2x2x2x6x1xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3, 4] : (tensor<2x2x2x6x1xf32>) -> tensor<2x2x2x6x6xf32>
    %21 = stablehlo.divide %17, %20 : tensor<2x2x2x6x6xf32>
    %22 = stablehlo.multiply %19, %19 : tensor<2x2x2x6x1xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x2x2x6x1xf32>
    %24 = stablehlo.divide %23, %22 : tensor<2x2x2x6x1xf32>
    %25 = stablehlo.dot_general %arg2, %21, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x6x2x8xf32>, tensor<2x2x2x6x6xf32>) -> tensor<2x2x8x2x6xf32>
    %26 = stablehlo.transpose %25, dims = [3, 0, 4, 1, 2] : (tensor<2x2x8x2x6xf32>) -> tensor<2x2x6x2x8xf32>
    %27 = stablehlo.transpose %26, dims = [1, 2, 3, 0, 4] : (tensor<2x2x6x2x8xf32>) -> tensor<2x6x2x2x8xf32>
    %28 = stablehlo.reshape %27 : (tensor<2x6x2x2x8xf32>) -> tensor<2x6x4x8xf32>
    %29 = stablehlo.reshape %arg3 : (tensor<2x6x4x8xf32>) -> tensor<2x6x2x2x8xf32>
    %30 = stablehlo.transpose %29, dims = [3, 0, 1, 2, 4] : (tensor<2x6x2x2x8xf32>) -> tensor<2x2x6x2x8xf32>
    %31 = stablehlo.transpose %30, dims = [1, 3, 4, 0, 2] : (tensor<2x2x6x2x8xf32>) -> tensor<2x2x8x2x6xf32>
    %32 = stablehlo.dot_general %31, %arg2, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x2x8x2x6xf32>, tensor<2x6x2x8xf32>) -> tensor<2x2x2x6x6xf32>
    %33 = stablehlo.transpose %32, dims = [2, 0, 1, 3, 4] : (tensor<2x2x2x6x6xf32>) -> tensor<2x2x2x6x6xf32>
    %34 = stablehlo.dot_general %31, %21, batching_dims = [0, 1] x [1, 2], contracting_dims = [3, 4] x [0, 3], precision = [DEFAULT, DEFAULT] : (tensor<2x2x8x2x6xf32>, tensor<2x2x2x6x6xf32>) -> tensor<2x2x8x6xf32>
    %35 = stablehlo.transpose %34, dims = [0, 3, 1, 2] : (tensor<2x2x8x6xf32>) -> tensor<2x6x2x8xf32>
    %36 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3, 4] : (tensor<2x2x2x6x1xf32>) -> tensor<2x2x2x6x6xf32>
    %37 = stablehlo.multiply %33, %36 : tensor<2x2x2x6x6xf32>
    %38 = stablehlo.multiply %37, %17 : tensor<2x2x2x6x6xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %39 = stablehlo.reduce(%38 init: %cst_6) applies stablehlo.add across dimensions = [4] : (tensor<2x2x2x6x6xf32>, tensor<f32>) -> tensor<2x2x2x6xf32>
    %40 = stablehlo.reshape %39 : (tensor<2x2x2x6xf32>) -> tensor<2x2x2x6x1xf32>
    %41 = stablehlo.negate %40 : tensor<2x2x2x6x1xf32>
    %42 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3, 4] : (tensor<2x2x2x6x1xf32>) -> tensor<2x2x2x6x6xf32>
    %43 = stablehlo.divide %33, %42 : tensor<2x2x2x6x6xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %44 = stablehlo.reduce(%41 init: %cst_7) applies stablehlo.add across dimensions = [4] : (tensor<2x2x2x6x1xf32>, tensor<f32>) -> tensor<2x2x2x6xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1, 2, 3] : (tensor<2x2x2x6xf32>) -> tensor<2x2x2x6x6xf32>
    %46 = stablehlo.add %43, %45 : tensor<2x2x2x6x6xf32>
    %47 = stablehlo.multiply %46, %17 : tensor<2x2x2x6x6xf32>
    %48 = call @_where_0(%10#1, %47) : (tensor<2x2x2x6x6xi1>, tensor<2x2x2x6x6xf32>) -> tensor<2x2x6x2x6xf32>
    %cst_8 = stablehlo.constant dense<0.353553385> : tensor<f32>
    %49 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x2x6x2x6xf32>
    %50 = stablehlo.multiply %48, %49 : tensor<2x2x6x2x6xf32>
    %51 = stablehlo.dot_general %50, %0, batching_dims = [0, 1] x [0, 2], contracting_dims = [2, 3] x [1, 3], precision = [DEFAULT, DEFAULT] : (tensor<2x2x6x2x6xf32>, tensor<2x6x2x2x8xf32>) -> tensor<2x2x6x8xf32>
    %52 = stablehlo.transpose %51, dims = [0, 2, 1, 3] : (tensor<2x2x6x8xf32>) -> tensor<2x6x2x8xf32>
    %53 = stablehlo.dot_general %50, %arg1, batching_dims = [0, 1] x [0, 2], contracting_dims = [4] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x2x6x2x6xf32>, tensor<2x6x2x8xf32>) -> tensor<2x2x6x2x8xf32>
    %54 = stablehlo.transpose %53, dims = [0, 2, 1, 3, 4] : (tensor<2x2x6x2x8xf32>) -> tensor<2x6x2x2x8xf32>
    %55 = stablehlo.reshape %54 : (tensor<2x6x2x2x8xf32>) -> tensor<2x6x4x8xf32>
    return %28, %55, %52, %35 : tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32>
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
  func.func private @_where(%arg0: tensor<2x2x6x6xi1>, %arg1: tensor<2x2x6x2x6xf32>, %arg2: tensor<f32>) -> (tensor<2x2x2x6x6xf32>, tensor<2x2x2x6x6xi1>) {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<2x2x6x6xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2, 3, 4] : (tensor<2x2x6x6xi1>) -> tensor<2x2x2x6x6xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [1, 2, 3, 4] : (tensor<2x2x6x6xf32>) -> tensor<2x2x2x6x6xf32>
    %3 = stablehlo.transpose %arg1, dims = [3, 0, 1, 2, 4] : (tensor<2x2x6x2x6xf32>) -> tensor<2x2x2x6x6xf32>
    %4 = stablehlo.select %1, %3, %2 : tensor<2x2x2x6x6xi1>, tensor<2x2x2x6x6xf32>
    return %4, %1 : tensor<2x2x2x6x6xf32>, tensor<2x2x2x6x6xi1>
  }
  func.func private @_where_0(%arg0: tensor<2x2x2x6x6xi1>, %arg1: tensor<2x2x2x6x6xf32>) -> tensor<2x2x6x2x6xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x2x2x6x6xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<2x2x2x6x6xi1>, tensor<2x2x2x6x6xf32>
    %2 = stablehlo.transpose %1, dims = [1, 2, 3, 0, 4] : (tensor<2x2x2x6x6xf32>) -> tensor<2x2x6x2x6xf32>
    return %2 : tensor<2x2x6x2x6xf32>
  }
}

// -----

// Heads in front of places.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.attention %{{.*}} heads 3 causal
// CHECK: dgc.gradient
// CHECK-NOT: dgc.exponential
// CHECK: return
module {
  func.func public @main(%arg0: tensor<2x3x6x8xf32>, %arg1: tensor<2x3x6x8xf32>, %arg2: tensor<2x3x6x8xf32>, %arg3: tensor<2x3x6x8xf32>) -> (tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x6xf32>
    %1 = call @tril(%0) : (tensor<6x6xf32>) -> tensor<6x6xf32>
    %2 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x6xf32>
    %cst_0 = stablehlo.constant dense<3.000000e-01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %4 = stablehlo.multiply %2, %3 : tensor<2x3x6x6xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<6x6xf32>
    %6 = stablehlo.compare EQ, %1, %5, FLOAT : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xi1>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %7:2 = call @_where(%6, %cst_2, %4) : (tensor<6x6xi1>, tensor<f32>, tensor<2x3x6x6xf32>) -> (tensor<2x3x6x6xf32>, tensor<2x3x6x6xi1>)
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %8 = stablehlo.reduce(%7#0 init: %cst_3) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %cst_4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %10 = stablehlo.maximum %9, %8 : tensor<2x3x6xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %13 = stablehlo.subtract %7#0, %12 : tensor<2x3x6x6xf32>
    %14 = stablehlo.exponential %13 : tensor<2x3x6x6xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.reduce(%14 init: %cst_5) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %18 = stablehlo.divide %14, %17 : tensor<2x3x6x6xf32>
    %19 = stablehlo.multiply %16, %16 : tensor<2x3x6x1xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x3x6x1xf32>
    %21 = stablehlo.divide %20, %19 : tensor<2x3x6x1xf32>
    %22 = stablehlo.dot_general %18, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x6xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x8xf32>
    %23 = stablehlo.dot_general %arg3, %18, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x8xf32>, tensor<2x3x6x6xf32>) -> tensor<2x3x8x6xf32>
    %24 = stablehlo.transpose %23, dims = [0, 1, 3, 2] : (tensor<2x3x8x6xf32>) -> tensor<2x3x6x8xf32>
    %25 = stablehlo.dot_general %arg3, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x6xf32>
    %26 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %27 = stablehlo.multiply %25, %26 : tensor<2x3x6x6xf32>
    %28 = stablehlo.multiply %27, %14 : tensor<2x3x6x6xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %29 = stablehlo.reduce(%28 init: %cst_7) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %30 = stablehlo.reshape %29 : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %31 = stablehlo.negate %30 : tensor<2x3x6x1xf32>
    %32 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %33 = stablehlo.divide %25, %32 : tensor<2x3x6x6xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %34 = stablehlo.reduce(%31 init: %cst_8) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x1xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %35 = stablehlo.broadcast_in_dim %34, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x6xf32>
    %36 = stablehlo.add %33, %35 : tensor<2x3x6x6xf32>
    %37 = stablehlo.multiply %36, %14 : tensor<2x3x6x6xf32>
    %38 = call @_where_0(%7#1, %37) : (tensor<2x3x6x6xi1>, tensor<2x3x6x6xf32>) -> tensor<2x3x6x6xf32>
    %cst_9 = stablehlo.constant dense<3.000000e-01> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %40 = stablehlo.multiply %38, %39 : tensor<2x3x6x6xf32>
    %41 = stablehlo.dot_general %40, %arg0, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x6xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x8xf32>
    %42 = stablehlo.dot_general %40, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x6xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x8xf32>
    return %22, %42, %41, %24 : tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>
  }
  func.func private @tril(%arg0: tensor<6x6xf32>) -> tensor<6x6xf32> {
    %0 = stablehlo.iota dim = 0 : tensor<6x6xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<6x6xi32>
    %2 = stablehlo.add %0, %1 : tensor<6x6xi32>
    %3 = stablehlo.iota dim = 1 : tensor<6x6xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<6x6xi32>, tensor<6x6xi32>) -> tensor<6x6xi1>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x6xf32>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<6x6xi1>, tensor<6x6xf32>
    return %6 : tensor<6x6xf32>
  }
  func.func private @_where(%arg0: tensor<6x6xi1>, %arg1: tensor<f32>, %arg2: tensor<2x3x6x6xf32>) -> (tensor<2x3x6x6xf32>, tensor<2x3x6x6xi1>) {
    %0 = stablehlo.convert %arg1 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<6x6xi1>) -> tensor<2x3x6x6xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %3 = stablehlo.select %1, %2, %arg2 : tensor<2x3x6x6xi1>, tensor<2x3x6x6xf32>
    return %3, %1 : tensor<2x3x6x6xf32>, tensor<2x3x6x6xi1>
  }
  func.func private @_where_0(%arg0: tensor<2x3x6x6xi1>, %arg1: tensor<2x3x6x6xf32>) -> tensor<2x3x6x6xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %1 = stablehlo.select %arg0, %0, %arg1 : tensor<2x3x6x6xi1>, tensor<2x3x6x6xf32>
    return %1 : tensor<2x3x6x6xf32>
  }
}

// -----

// One of the three gradients is not there.
// CHECK-LABEL: func.func public @main
// CHECK-NOT: dgc.attention
// CHECK-NOT: dgc.gradient
// CHECK: return
module {
  func.func public @main(%arg0: tensor<2x6x3x8xf32>, %arg1: tensor<2x6x3x8xf32>, %arg2: tensor<2x6x3x8xf32>, %arg3: tensor<2x6x3x8xf32>) -> (tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>) -> tensor<2x3x6x6xf32>
    %cst = stablehlo.constant dense<2.82842708> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %2 = stablehlo.divide %0, %1 : tensor<2x3x6x6xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<6x6xi1>
    %4 = call @tril(%3) : (tensor<6x6xi1>) -> tensor<6x6xi1>
    %cst_0 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %5:2 = call @_where(%4, %2, %cst_0) : (tensor<6x6xi1>, tensor<2x3x6x6xf32>, tensor<f32>) -> (tensor<2x3x6x6xf32>, tensor<2x3x6x6xi1>)
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %6 = stablehlo.reduce(%5#0 init: %cst_1) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %8 = stablehlo.maximum %7, %6 : tensor<2x3x6xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %11 = stablehlo.subtract %5#0, %10 : tensor<2x3x6x6xf32>
    %12 = stablehlo.exponential %11 : tensor<2x3x6x6xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.reduce(%12 init: %cst_3) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %16 = stablehlo.divide %12, %15 : tensor<2x3x6x6xf32>
    %17 = stablehlo.multiply %14, %14 : tensor<2x3x6x1xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x3x6x1xf32>
    %19 = stablehlo.divide %18, %17 : tensor<2x3x6x1xf32>
    %20 = stablehlo.dot_general %arg2, %16, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xf32>, tensor<2x3x6x6xf32>) -> tensor<2x3x8x6xf32>
    %21 = stablehlo.transpose %20, dims = [0, 3, 1, 2] : (tensor<2x3x8x6xf32>) -> tensor<2x6x3x8xf32>
    %22 = stablehlo.transpose %arg3, dims = [0, 2, 3, 1] : (tensor<2x6x3x8xf32>) -> tensor<2x3x8x6xf32>
    %23 = stablehlo.dot_general %22, %arg2, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x6xf32>, tensor<2x6x3x8xf32>) -> tensor<2x3x6x6xf32>
    %24 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %25 = stablehlo.multiply %23, %24 : tensor<2x3x6x6xf32>
    %26 = stablehlo.multiply %25, %12 : tensor<2x3x6x6xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %27 = stablehlo.reduce(%26 init: %cst_5) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %28 = stablehlo.reshape %27 : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %29 = stablehlo.negate %28 : tensor<2x3x6x1xf32>
    %30 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %31 = stablehlo.divide %23, %30 : tensor<2x3x6x6xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %32 = stablehlo.reduce(%29 init: %cst_6) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x1xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x6xf32>
    %34 = stablehlo.add %31, %33 : tensor<2x3x6x6xf32>
    %35 = stablehlo.multiply %34, %12 : tensor<2x3x6x6xf32>
    %36 = call @_where_0(%5#1, %35) : (tensor<2x3x6x6xi1>, tensor<2x3x6x6xf32>) -> tensor<2x3x6x6xf32>
    %cst_7 = stablehlo.constant dense<2.82842708> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %38 = stablehlo.divide %36, %37 : tensor<2x3x6x6xf32>
    %39 = stablehlo.dot_general %38, %arg0, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x6xf32>, tensor<2x6x3x8xf32>) -> tensor<2x3x6x8xf32>
    %40 = stablehlo.transpose %39, dims = [0, 2, 1, 3] : (tensor<2x3x6x8xf32>) -> tensor<2x6x3x8xf32>
    %41 = stablehlo.dot_general %38, %arg1, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x6xf32>, tensor<2x6x3x8xf32>) -> tensor<2x3x6x8xf32>
    %42 = stablehlo.transpose %41, dims = [0, 2, 1, 3] : (tensor<2x3x6x8xf32>) -> tensor<2x6x3x8xf32>
    return %21, %42, %40 : tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>
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
  func.func private @_where(%arg0: tensor<6x6xi1>, %arg1: tensor<2x3x6x6xf32>, %arg2: tensor<f32>) -> (tensor<2x3x6x6xf32>, tensor<2x3x6x6xi1>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<6x6xi1>) -> tensor<2x3x6x6xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x3x6x6xi1>, tensor<2x3x6x6xf32>
    return %3, %1 : tensor<2x3x6x6xf32>, tensor<2x3x6x6xi1>
  }
  func.func private @_where_0(%arg0: tensor<2x3x6x6xi1>, %arg1: tensor<2x3x6x6xf32>) -> tensor<2x3x6x6xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<2x3x6x6xi1>, tensor<2x3x6x6xf32>
    return %1 : tensor<2x3x6x6xf32>
  }
}

// -----

// Of 16 bits, with scores of 32.
// CHECK-LABEL: func.func public @main
// CHECK: %[[Y:.*]] = dgc.attention %{{.*}} heads 3 causal scale 0.35355{{.*}} : tensor<2x6x24xbf16>
// CHECK: dgc.gradient %{{.*}} : tensor<bf16>, tensor<2x6x24xbf16>
// CHECK-NOT: dgc.exponential
// CHECK: return
module {
  func.func public @main(%arg0: tensor<2x6x3x8xbf16>, %arg1: tensor<2x6x3x8xbf16>, %arg2: tensor<2x6x3x8xbf16>, %arg3: tensor<2x6x3x8xbf16>) -> (tensor<2x6x3x8xbf16>, tensor<2x6x3x8xbf16>, tensor<2x6x3x8xbf16>, tensor<2x6x3x8xbf16>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x6x3x8xbf16>) -> tensor<2x6x3x1x8xbf16>
    %1 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x6x3x1x8xbf16>, tensor<2x6x3x8xbf16>) -> tensor<2x3x6x1x6xf32>
    %cst = stablehlo.constant dense<0.353553385> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x6x1x6xf32>
    %3 = stablehlo.multiply %1, %2 : tensor<2x3x6x1x6xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<2x3x6x6xi1>
    %c_0 = stablehlo.constant dense<true> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<6x6xi1>
    %6 = call @tril(%5) : (tensor<6x6xi1>) -> tensor<6x6xi1>
    %7 = stablehlo.broadcast_in_dim %6, dims = [2, 3] : (tensor<6x6xi1>) -> tensor<1x1x6x6xi1>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3] : (tensor<1x1x6x6xi1>) -> tensor<2x3x6x6xi1>
    %9 = stablehlo.and %4, %8 : tensor<2x3x6x6xi1>
    %cst_1 = stablehlo.constant dense<-2.38197633E+38> : tensor<f32>
    %10:2 = call @_where(%9, %3, %cst_1) : (tensor<2x3x6x6xi1>, tensor<2x3x6x1x6xf32>, tensor<f32>) -> (tensor<1x2x3x6x6xf32>, tensor<1x2x3x6x6xi1>)
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %11 = stablehlo.reduce(%10#0 init: %cst_2) applies stablehlo.maximum across dimensions = [4] : (tensor<1x2x3x6x6xf32>, tensor<f32>) -> tensor<1x2x3x6xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x2x3x6xf32>
    %13 = stablehlo.maximum %12, %11 : tensor<1x2x3x6xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %16 = stablehlo.subtract %10#0, %15 : tensor<1x2x3x6x6xf32>
    %17 = stablehlo.exponential %16 : tensor<1x2x3x6x6xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst_4) applies stablehlo.add across dimensions = [4] : (tensor<1x2x3x6x6xf32>, tensor<f32>) -> tensor<1x2x3x6xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %21 = stablehlo.divide %17, %20 : tensor<1x2x3x6x6xf32>
    %22 = stablehlo.multiply %19, %19 : tensor<1x2x3x6x1xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<1x2x3x6x1xf32>
    %24 = stablehlo.divide %23, %22 : tensor<1x2x3x6x1xf32>
    %25 = stablehlo.convert %21 : (tensor<1x2x3x6x6xf32>) -> tensor<1x2x3x6x6xbf16>
    %26 = stablehlo.dot_general %arg2, %25, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xbf16>, tensor<1x2x3x6x6xbf16>) -> tensor<2x3x8x1x6xbf16>
    %27 = stablehlo.transpose %26, dims = [3, 0, 4, 1, 2] : (tensor<2x3x8x1x6xbf16>) -> tensor<1x2x6x3x8xbf16>
    %28 = stablehlo.transpose %27, dims = [1, 2, 3, 0, 4] : (tensor<1x2x6x3x8xbf16>) -> tensor<2x6x3x1x8xbf16>
    %29 = stablehlo.reshape %28 : (tensor<2x6x3x1x8xbf16>) -> tensor<2x6x3x8xbf16>
    %30 = stablehlo.reshape %arg3 : (tensor<2x6x3x8xbf16>) -> tensor<2x6x3x1x8xbf16>
    %31 = stablehlo.transpose %30, dims = [3, 0, 1, 2, 4] : (tensor<2x6x3x1x8xbf16>) -> tensor<1x2x6x3x8xbf16>
    %32 = stablehlo.transpose %31, dims = [1, 3, 4, 0, 2] : (tensor<1x2x6x3x8xbf16>) -> tensor<2x3x8x1x6xbf16>
    %33 = stablehlo.dot_general %32, %arg2, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x1x6xbf16>, tensor<2x6x3x8xbf16>) -> tensor<2x3x1x6x6xbf16>
    %34 = stablehlo.transpose %33, dims = [2, 0, 1, 3, 4] : (tensor<2x3x1x6x6xbf16>) -> tensor<1x2x3x6x6xbf16>
    %35 = stablehlo.dot_general %32, %25, batching_dims = [0, 1] x [1, 2], contracting_dims = [3, 4] x [0, 3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x8x1x6xbf16>, tensor<1x2x3x6x6xbf16>) -> tensor<2x3x8x6xbf16>
    %36 = stablehlo.transpose %35, dims = [0, 3, 1, 2] : (tensor<2x3x8x6xbf16>) -> tensor<2x6x3x8xbf16>
    %37 = stablehlo.convert %34 : (tensor<1x2x3x6x6xbf16>) -> tensor<1x2x3x6x6xf32>
    %38 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %39 = stablehlo.multiply %37, %38 : tensor<1x2x3x6x6xf32>
    %40 = stablehlo.multiply %39, %17 : tensor<1x2x3x6x6xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %41 = stablehlo.reduce(%40 init: %cst_6) applies stablehlo.add across dimensions = [4] : (tensor<1x2x3x6x6xf32>, tensor<f32>) -> tensor<1x2x3x6xf32>
    %42 = stablehlo.reshape %41 : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %43 = stablehlo.negate %42 : tensor<1x2x3x6x1xf32>
    %44 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %45 = stablehlo.divide %37, %44 : tensor<1x2x3x6x6xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %46 = stablehlo.reduce(%43 init: %cst_7) applies stablehlo.add across dimensions = [0, 4] : (tensor<1x2x3x6x1xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [1, 2, 3] : (tensor<2x3x6xf32>) -> tensor<1x2x3x6xf32>
    %48 = stablehlo.broadcast_in_dim %47, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x6xf32>
    %49 = stablehlo.add %45, %48 : tensor<1x2x3x6x6xf32>
    %50 = stablehlo.multiply %49, %17 : tensor<1x2x3x6x6xf32>
    %51 = call @_where_0(%10#1, %50) : (tensor<1x2x3x6x6xi1>, tensor<1x2x3x6x6xf32>) -> tensor<2x3x6x1x6xf32>
    %cst_8 = stablehlo.constant dense<0.353553385> : tensor<f32>
    %52 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x3x6x1x6xf32>
    %53 = stablehlo.multiply %51, %52 : tensor<2x3x6x1x6xf32>
    %54 = stablehlo.dot_general %53, %0, batching_dims = [0, 1] x [0, 2], contracting_dims = [2, 3] x [1, 3], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3x6x1x6xf32>, tensor<2x6x3x1x8xbf16>) -> tensor<2x3x6x8xf32>
    %55 = stablehlo.transpose %54, dims = [0, 2, 1, 3] : (tensor<2x3x6x8xf32>) -> tensor<2x6x3x8xf32>
    %56 = stablehlo.convert %55 : (tensor<2x6x3x8xf32>) -> tensor<2x6x3x8xbf16>
    %57 = stablehlo.dot_general %53, %arg1, batching_dims = [0, 1] x [0, 2], contracting_dims = [4] x [1], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3x6x1x6xf32>, tensor<2x6x3x8xbf16>) -> tensor<2x3x6x1x8xf32>
    %58 = stablehlo.transpose %57, dims = [0, 2, 1, 3, 4] : (tensor<2x3x6x1x8xf32>) -> tensor<2x6x3x1x8xf32>
    %59 = stablehlo.convert %58 : (tensor<2x6x3x1x8xf32>) -> tensor<2x6x3x1x8xbf16>
    %60 = stablehlo.reshape %59 : (tensor<2x6x3x1x8xbf16>) -> tensor<2x6x3x8xbf16>
    return %29, %60, %56, %36 : tensor<2x6x3x8xbf16>, tensor<2x6x3x8xbf16>, tensor<2x6x3x8xbf16>, tensor<2x6x3x8xbf16>
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
  func.func private @_where(%arg0: tensor<2x3x6x6xi1>, %arg1: tensor<2x3x6x1x6xf32>, %arg2: tensor<f32>) -> (tensor<1x2x3x6x6xf32>, tensor<1x2x3x6x6xi1>) {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2, 3, 4] : (tensor<2x3x6x6xi1>) -> tensor<1x2x3x6x6xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [1, 2, 3, 4] : (tensor<2x3x6x6xf32>) -> tensor<1x2x3x6x6xf32>
    %3 = stablehlo.transpose %arg1, dims = [3, 0, 1, 2, 4] : (tensor<2x3x6x1x6xf32>) -> tensor<1x2x3x6x6xf32>
    %4 = stablehlo.select %1, %3, %2 : tensor<1x2x3x6x6xi1>, tensor<1x2x3x6x6xf32>
    return %4, %1 : tensor<1x2x3x6x6xf32>, tensor<1x2x3x6x6xi1>
  }
  func.func private @_where_0(%arg0: tensor<1x2x3x6x6xi1>, %arg1: tensor<1x2x3x6x6xf32>) -> tensor<2x3x6x1x6xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x2x3x6x6xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<1x2x3x6x6xi1>, tensor<1x2x3x6x6xf32>
    %2 = stablehlo.transpose %1, dims = [1, 2, 3, 0, 4] : (tensor<1x2x3x6x6xf32>) -> tensor<2x3x6x1x6xf32>
    return %2 : tensor<2x3x6x1x6xf32>
  }
}
