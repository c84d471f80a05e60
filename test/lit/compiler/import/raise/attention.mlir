// Attention as JAX and flax print it.
// RUN: dgc-opt %s --split-input-file --dgc-inline-imported --stablehlo-to-dgc --dgc-raise-imported | FileCheck %s

// jax.nn.dot_product_attention
// CHECK-LABEL: func.func public @main
// CHECK: %[[Y:.*]] = dgc.attention %{{.*}}, %{{.*}}, %{{.*}} heads 3 scale 0.35355{{.*}} : tensor<2x6x24xf32>
// CHECK-NEXT: %[[Z:.*]] = dgc.reshape %[[Y]] to [2, 6, 3, 8]
// CHECK-NEXT: return %[[Z]]
module {
  func.func public @main(%arg0: tensor<2x6x3x8xf32>, %arg1: tensor<2x6x3x8xf32>, %arg2: tensor<2x6x3x8xf32>) -> (tensor<2x6x3x8xf32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x6x3x8xf32>) -> tensor<2x6x3x1x8xf32>
    %1 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x1x8xf32>, tensor<2x6x3x8xf32>) -> tensor<2x3x6x1x6xf32>
    %cst = stablehlo.constant dense<0.353553385> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x6x1x6xf32>
    %3 = stablehlo.multiply %1, %2 : tensor<2x3x6x1x6xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<2x3x6x1x6xf32>, tensor<f32>) -> tensor<2x3x6x1xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x6x1xf32>
    %6 = stablehlo.maximum %5, %4 : tensor<2x3x6x1xf32>
    %7 = stablehlo.transpose %6, dims = [3, 0, 1, 2] : (tensor<2x3x6x1xf32>) -> tensor<1x2x3x6xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %9 = stablehlo.transpose %3, dims = [3, 0, 1, 2, 4] : (tensor<2x3x6x1x6xf32>) -> tensor<1x2x3x6x6xf32>
    %10 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %11 = stablehlo.subtract %9, %10 : tensor<1x2x3x6x6xf32>
    %12 = stablehlo.exponential %11 : tensor<1x2x3x6x6xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.reduce(%12 init: %cst_2) applies stablehlo.add across dimensions = [4] : (tensor<1x2x3x6x6xf32>, tensor<f32>) -> tensor<1x2x3x6xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %16 = stablehlo.divide %12, %15 : tensor<1x2x3x6x6xf32>
    %17 = stablehlo.dot_general %arg2, %16, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xf32>, tensor<1x2x3x6x6xf32>) -> tensor<2x3x8x1x6xf32>
    %18 = stablehlo.transpose %17, dims = [3, 0, 4, 1, 2] : (tensor<2x3x8x1x6xf32>) -> tensor<1x2x6x3x8xf32>
    %19 = stablehlo.transpose %18, dims = [1, 2, 3, 0, 4] : (tensor<1x2x6x3x8xf32>) -> tensor<2x6x3x1x8xf32>
    %20 = stablehlo.reshape %19 : (tensor<2x6x3x1x8xf32>) -> tensor<2x6x3x8xf32>
    return %20 : tensor<2x6x3x8xf32>
  }
}

// -----

// Causal.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.attention %{{.*}}, %{{.*}}, %{{.*}} heads 3 causal scale 0.35355
// CHECK-NEXT: dgc.reshape
// CHECK-NEXT: return
module {
  func.func public @main(%arg0: tensor<2x6x3x8xf32>, %arg1: tensor<2x6x3x8xf32>, %arg2: tensor<2x6x3x8xf32>) -> (tensor<2x6x3x8xf32>) {
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
    %10 = call @_where(%9, %3, %cst_1) : (tensor<2x3x6x6xi1>, tensor<2x3x6x1x6xf32>, tensor<f32>) -> tensor<1x2x3x6x6xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %11 = stablehlo.reduce(%10 init: %cst_2) applies stablehlo.maximum across dimensions = [4] : (tensor<1x2x3x6x6xf32>, tensor<f32>) -> tensor<1x2x3x6xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x2x3x6xf32>
    %13 = stablehlo.maximum %12, %11 : tensor<1x2x3x6xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %16 = stablehlo.subtract %10, %15 : tensor<1x2x3x6x6xf32>
    %17 = stablehlo.exponential %16 : tensor<1x2x3x6x6xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst_4) applies stablehlo.add across dimensions = [4] : (tensor<1x2x3x6x6xf32>, tensor<f32>) -> tensor<1x2x3x6xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %21 = stablehlo.divide %17, %20 : tensor<1x2x3x6x6xf32>
    %22 = stablehlo.dot_general %arg2, %21, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xf32>, tensor<1x2x3x6x6xf32>) -> tensor<2x3x8x1x6xf32>
    %23 = stablehlo.transpose %22, dims = [3, 0, 4, 1, 2] : (tensor<2x3x8x1x6xf32>) -> tensor<1x2x6x3x8xf32>
    %24 = stablehlo.transpose %23, dims = [1, 2, 3, 0, 4] : (tensor<1x2x6x3x8xf32>) -> tensor<2x6x3x1x8xf32>
    %25 = stablehlo.reshape %24 : (tensor<2x6x3x1x8xf32>) -> tensor<2x6x3x8xf32>
    return %25 : tensor<2x6x3x8xf32>
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
  func.func private @_where(%arg0: tensor<2x3x6x6xi1>, %arg1: tensor<2x3x6x1x6xf32>, %arg2: tensor<f32>) -> tensor<1x2x3x6x6xf32> {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2, 3, 4] : (tensor<2x3x6x6xi1>) -> tensor<1x2x3x6x6xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [1, 2, 3, 4] : (tensor<2x3x6x6xf32>) -> tensor<1x2x3x6x6xf32>
    %3 = stablehlo.transpose %arg1, dims = [3, 0, 1, 2, 4] : (tensor<2x3x6x1x6xf32>) -> tensor<1x2x3x6x6xf32>
    %4 = stablehlo.select %1, %3, %2 : tensor<1x2x3x6x6xi1>, tensor<1x2x3x6x6xf32>
    return %4 : tensor<1x2x3x6x6xf32>
  }
}

// -----

// A mask of truth values.
// CHECK-LABEL: func.func public @main
// CHECK: %[[M:.*]] = dgc.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x1x6x6xi1>, tensor<2x1x6x6xf32>
// CHECK-NEXT: dgc.attention %{{.*}}, %{{.*}}, %{{.*}} mask %[[M]] heads 3 scale 0.35355
module {
  func.func public @main(%arg0: tensor<2x6x3x8xf32>, %arg1: tensor<2x6x3x8xf32>, %arg2: tensor<2x6x3x8xf32>, %arg3: tensor<2x1x6x6xi1>) -> (tensor<2x6x3x8xf32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x6x3x8xf32>) -> tensor<2x6x3x1x8xf32>
    %1 = stablehlo.broadcast_in_dim %arg3, dims = [0, 1, 3, 4] : (tensor<2x1x6x6xi1>) -> tensor<2x1x1x6x6xi1>
    %2 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x1x8xf32>, tensor<2x6x3x8xf32>) -> tensor<2x3x6x1x6xf32>
    %cst = stablehlo.constant dense<0.353553385> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x6x1x6xf32>
    %4 = stablehlo.multiply %2, %3 : tensor<2x3x6x1x6xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<2x3x6x6xi1>
    %6 = stablehlo.broadcast_in_dim %5, dims = [1, 2, 3, 4] : (tensor<2x3x6x6xi1>) -> tensor<1x2x3x6x6xi1>
    %7 = stablehlo.transpose %1, dims = [2, 0, 1, 3, 4] : (tensor<2x1x1x6x6xi1>) -> tensor<1x2x1x6x6xi1>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3, 4] : (tensor<1x2x1x6x6xi1>) -> tensor<1x2x3x6x6xi1>
    %9 = stablehlo.and %6, %8 : tensor<1x2x3x6x6xi1>
    %cst_0 = stablehlo.constant dense<-2.38197633E+38> : tensor<f32>
    %10 = call @_where(%9, %4, %cst_0) : (tensor<1x2x3x6x6xi1>, tensor<2x3x6x1x6xf32>, tensor<f32>) -> tensor<1x2x3x6x6xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %11 = stablehlo.reduce(%10 init: %cst_1) applies stablehlo.maximum across dimensions = [4] : (tensor<1x2x3x6x6xf32>, tensor<f32>) -> tensor<1x2x3x6xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1x2x3x6xf32>
    %13 = stablehlo.maximum %12, %11 : tensor<1x2x3x6xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %16 = stablehlo.subtract %10, %15 : tensor<1x2x3x6x6xf32>
    %17 = stablehlo.exponential %16 : tensor<1x2x3x6x6xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst_3) applies stablehlo.add across dimensions = [4] : (tensor<1x2x3x6x6xf32>, tensor<f32>) -> tensor<1x2x3x6xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %21 = stablehlo.divide %17, %20 : tensor<1x2x3x6x6xf32>
    %22 = stablehlo.dot_general %arg2, %21, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xf32>, tensor<1x2x3x6x6xf32>) -> tensor<2x3x8x1x6xf32>
    %23 = stablehlo.transpose %22, dims = [3, 0, 4, 1, 2] : (tensor<2x3x8x1x6xf32>) -> tensor<1x2x6x3x8xf32>
    %24 = stablehlo.transpose %23, dims = [1, 2, 3, 0, 4] : (tensor<1x2x6x3x8xf32>) -> tensor<2x6x3x1x8xf32>
    %25 = stablehlo.reshape %24 : (tensor<2x6x3x1x8xf32>) -> tensor<2x6x3x8xf32>
    return %25 : tensor<2x6x3x8xf32>
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

// What is added to the scores.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.attention %{{.*}}, %{{.*}}, %{{.*}} mask %arg3 heads 3 scale 0.35355
module {
  func.func public @main(%arg0: tensor<2x6x3x8xf32>, %arg1: tensor<2x6x3x8xf32>, %arg2: tensor<2x6x3x8xf32>, %arg3: tensor<2x3x6x6xf32>) -> (tensor<2x6x3x8xf32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x6x3x8xf32>) -> tensor<2x6x3x1x8xf32>
    %1 = stablehlo.reshape %arg3 : (tensor<2x3x6x6xf32>) -> tensor<2x3x1x6x6xf32>
    %2 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x1x8xf32>, tensor<2x6x3x8xf32>) -> tensor<2x3x6x1x6xf32>
    %cst = stablehlo.constant dense<0.353553385> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x6x1x6xf32>
    %4 = stablehlo.multiply %2, %3 : tensor<2x3x6x1x6xf32>
    %5 = stablehlo.transpose %4, dims = [3, 0, 1, 2, 4] : (tensor<2x3x6x1x6xf32>) -> tensor<1x2x3x6x6xf32>
    %6 = stablehlo.transpose %1, dims = [2, 0, 1, 3, 4] : (tensor<2x3x1x6x6xf32>) -> tensor<1x2x3x6x6xf32>
    %7 = stablehlo.add %5, %6 : tensor<1x2x3x6x6xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<1x2x3x6x6xf32>, tensor<f32>) -> tensor<1x2x3x6xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x2x3x6xf32>
    %10 = stablehlo.maximum %9, %8 : tensor<1x2x3x6xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %13 = stablehlo.subtract %7, %12 : tensor<1x2x3x6x6xf32>
    %14 = stablehlo.exponential %13 : tensor<1x2x3x6x6xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.reduce(%14 init: %cst_2) applies stablehlo.add across dimensions = [4] : (tensor<1x2x3x6x6xf32>, tensor<f32>) -> tensor<1x2x3x6xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %18 = stablehlo.divide %14, %17 : tensor<1x2x3x6x6xf32>
    %19 = stablehlo.dot_general %arg2, %18, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xf32>, tensor<1x2x3x6x6xf32>) -> tensor<2x3x8x1x6xf32>
    %20 = stablehlo.transpose %19, dims = [3, 0, 4, 1, 2] : (tensor<2x3x8x1x6xf32>) -> tensor<1x2x6x3x8xf32>
    %21 = stablehlo.transpose %20, dims = [1, 2, 3, 0, 4] : (tensor<1x2x6x3x8xf32>) -> tensor<2x6x3x1x8xf32>
    %22 = stablehlo.reshape %21 : (tensor<2x6x3x1x8xf32>) -> tensor<2x6x3x8xf32>
    return %22 : tensor<2x6x3x8xf32>
  }
}

// -----

// Heads of the query share those of the key.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.attention %{{.*}}, %{{.*}}, %{{.*}} heads 4 kv_heads 2 causal scale 0.35355
module {
  func.func public @main(%arg0: tensor<2x6x4x8xf32>, %arg1: tensor<2x6x2x8xf32>, %arg2: tensor<2x6x2x8xf32>) -> (tensor<2x6x4x8xf32>) {
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
    %10 = call @_where(%9, %3, %cst_1) : (tensor<2x2x6x6xi1>, tensor<2x2x6x2x6xf32>, tensor<f32>) -> tensor<2x2x2x6x6xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %11 = stablehlo.reduce(%10 init: %cst_2) applies stablehlo.maximum across dimensions = [4] : (tensor<2x2x2x6x6xf32>, tensor<f32>) -> tensor<2x2x2x6xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x2x2x6xf32>
    %13 = stablehlo.maximum %12, %11 : tensor<2x2x2x6xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<2x2x2x6xf32>) -> tensor<2x2x2x6x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3, 4] : (tensor<2x2x2x6x1xf32>) -> tensor<2x2x2x6x6xf32>
    %16 = stablehlo.subtract %10, %15 : tensor<2x2x2x6x6xf32>
    %17 = stablehlo.exponential %16 : tensor<2x2x2x6x6xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst_4) applies stablehlo.add across dimensions = [4] : (tensor<2x2x2x6x6xf32>, tensor<f32>) -> tensor<2x2x2x6xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<2x2x2x6xf32>) -> tensor<2x2x2x6x1xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3, 4] : (tensor<2x2x2x6x1xf32>) -> tensor<2x2x2x6x6xf32>
    %21 = stablehlo.divide %17, %20 : tensor<2x2x2x6x6xf32>
    %22 = stablehlo.dot_general %arg2, %21, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x6x2x8xf32>, tensor<2x2x2x6x6xf32>) -> tensor<2x2x8x2x6xf32>
    %23 = stablehlo.transpose %22, dims = [3, 0, 4, 1, 2] : (tensor<2x2x8x2x6xf32>) -> tensor<2x2x6x2x8xf32>
    %24 = stablehlo.transpose %23, dims = [1, 2, 3, 0, 4] : (tensor<2x2x6x2x8xf32>) -> tensor<2x6x2x2x8xf32>
    %25 = stablehlo.reshape %24 : (tensor<2x6x2x2x8xf32>) -> tensor<2x6x4x8xf32>
    return %25 : tensor<2x6x4x8xf32>
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
  func.func private @_where(%arg0: tensor<2x2x6x6xi1>, %arg1: tensor<2x2x6x2x6xf32>, %arg2: tensor<f32>) -> tensor<2x2x2x6x6xf32> {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<2x2x6x6xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2, 3, 4] : (tensor<2x2x6x6xi1>) -> tensor<2x2x2x6x6xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [1, 2, 3, 4] : (tensor<2x2x6x6xf32>) -> tensor<2x2x2x6x6xf32>
    %3 = stablehlo.transpose %arg1, dims = [3, 0, 1, 2, 4] : (tensor<2x2x6x2x6xf32>) -> tensor<2x2x2x6x6xf32>
    %4 = stablehlo.select %1, %3, %2 : tensor<2x2x2x6x6xi1>, tensor<2x2x2x6x6xf32>
    return %4 : tensor<2x2x2x6x6xf32>
  }
}

// -----

// Keys of another sequence.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.attention %{{.*}}, %{{.*}}, %{{.*}} heads 3 scale 0.35355{{.*}} : tensor<2x6x24xf32>, tensor<2x7x24xf32>, tensor<2x7x24xf32>
module {
  func.func public @main(%arg0: tensor<2x6x3x8xf32>, %arg1: tensor<2x7x3x8xf32>, %arg2: tensor<2x7x3x8xf32>) -> (tensor<2x6x3x8xf32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x6x3x8xf32>) -> tensor<2x6x3x1x8xf32>
    %1 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x1x8xf32>, tensor<2x7x3x8xf32>) -> tensor<2x3x6x1x7xf32>
    %cst = stablehlo.constant dense<0.353553385> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x6x1x7xf32>
    %3 = stablehlo.multiply %1, %2 : tensor<2x3x6x1x7xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<2x3x6x1x7xf32>, tensor<f32>) -> tensor<2x3x6x1xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x6x1xf32>
    %6 = stablehlo.maximum %5, %4 : tensor<2x3x6x1xf32>
    %7 = stablehlo.transpose %6, dims = [3, 0, 1, 2] : (tensor<2x3x6x1xf32>) -> tensor<1x2x3x6xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %9 = stablehlo.transpose %3, dims = [3, 0, 1, 2, 4] : (tensor<2x3x6x1x7xf32>) -> tensor<1x2x3x6x7xf32>
    %10 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x7xf32>
    %11 = stablehlo.subtract %9, %10 : tensor<1x2x3x6x7xf32>
    %12 = stablehlo.exponential %11 : tensor<1x2x3x6x7xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.reduce(%12 init: %cst_2) applies stablehlo.add across dimensions = [4] : (tensor<1x2x3x6x7xf32>, tensor<f32>) -> tensor<1x2x3x6xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x7xf32>
    %16 = stablehlo.divide %12, %15 : tensor<1x2x3x6x7xf32>
    %17 = stablehlo.dot_general %arg2, %16, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x7x3x8xf32>, tensor<1x2x3x6x7xf32>) -> tensor<2x3x8x1x6xf32>
    %18 = stablehlo.transpose %17, dims = [3, 0, 4, 1, 2] : (tensor<2x3x8x1x6xf32>) -> tensor<1x2x6x3x8xf32>
    %19 = stablehlo.transpose %18, dims = [1, 2, 3, 0, 4] : (tensor<1x2x6x3x8xf32>) -> tensor<2x6x3x1x8xf32>
    %20 = stablehlo.reshape %19 : (tensor<2x6x3x1x8xf32>) -> tensor<2x6x3x8xf32>
    return %20 : tensor<2x6x3x8xf32>
  }
}

// -----

// Heads in front of places, and a mask of floats that is compared with 0.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.attention %{{.*}}, %{{.*}}, %{{.*}} heads 3 causal scale 0.30
module {
  func.func public @main(%arg0: tensor<2x3x6x8xf32>, %arg1: tensor<2x3x6x8xf32>, %arg2: tensor<2x3x6x8xf32>) -> (tensor<2x3x6x8xf32>) {
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
    %7 = call @_where(%6, %cst_2, %4) : (tensor<6x6xi1>, tensor<f32>, tensor<2x3x6x6xf32>) -> tensor<2x3x6x6xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_3) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %cst_4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %10 = stablehlo.maximum %9, %8 : tensor<2x3x6xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %13 = stablehlo.subtract %7, %12 : tensor<2x3x6x6xf32>
    %14 = stablehlo.exponential %13 : tensor<2x3x6x6xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.reduce(%14 init: %cst_5) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %18 = stablehlo.divide %14, %17 : tensor<2x3x6x6xf32>
    %19 = stablehlo.dot_general %18, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6x6xf32>, tensor<2x3x6x8xf32>) -> tensor<2x3x6x8xf32>
    return %19 : tensor<2x3x6x8xf32>
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
  func.func private @_where(%arg0: tensor<6x6xi1>, %arg1: tensor<f32>, %arg2: tensor<2x3x6x6xf32>) -> tensor<2x3x6x6xf32> {
    %0 = stablehlo.convert %arg1 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<6x6xi1>) -> tensor<2x3x6x6xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %3 = stablehlo.select %1, %2, %arg2 : tensor<2x3x6x6xi1>, tensor<2x3x6x6xf32>
    return %3 : tensor<2x3x6x6xf32>
  }
}

// -----

// flax.linen.MultiHeadDotProductAttention, which scales the query.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.attention %{{.*}}, %{{.*}}, %{{.*}} heads 2 scale 1.0 : tensor<2x6x8xf32>
module {
  func.func public @main(%arg0: tensor<2x4xf32>, %arg1: tensor<8x2x4xf32>, %arg2: tensor<8xf32>, %arg3: tensor<2x4x8xf32>, %arg4: tensor<2x4xf32>, %arg5: tensor<8x2x4xf32>, %arg6: tensor<2x4xf32>, %arg7: tensor<8x2x4xf32>, %arg8: tensor<2x6x8xf32>) -> (tensor<2x6x8xf32>) {
    %0 = stablehlo.dot_general %arg8, %arg5, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x6x8xf32>, tensor<8x2x4xf32>) -> tensor<2x6x2x4xf32>
    %1 = stablehlo.reshape %arg4 : (tensor<2x4xf32>) -> tensor<1x1x2x4xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2, 3] : (tensor<1x1x2x4xf32>) -> tensor<2x6x2x4xf32>
    %3 = stablehlo.add %0, %2 : tensor<2x6x2x4xf32>
    %4 = stablehlo.dot_general %arg8, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x6x8xf32>, tensor<8x2x4xf32>) -> tensor<2x6x2x4xf32>
    %5 = stablehlo.reshape %arg0 : (tensor<2x4xf32>) -> tensor<1x1x2x4xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2, 3] : (tensor<1x1x2x4xf32>) -> tensor<2x6x2x4xf32>
    %7 = stablehlo.add %4, %6 : tensor<2x6x2x4xf32>
    %8 = stablehlo.dot_general %arg8, %arg7, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x6x8xf32>, tensor<8x2x4xf32>) -> tensor<2x6x2x4xf32>
    %9 = stablehlo.reshape %arg6 : (tensor<2x4xf32>) -> tensor<1x1x2x4xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<1x1x2x4xf32>) -> tensor<2x6x2x4xf32>
    %11 = stablehlo.add %8, %10 : tensor<2x6x2x4xf32>
    %cst = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %12 = stablehlo.sqrt %cst : tensor<f32>
    %13 = stablehlo.convert %12 : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<2x6x2x4xf32>
    %15 = stablehlo.divide %3, %14 : tensor<2x6x2x4xf32>
    %16 = stablehlo.dot_general %15, %7, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x2x4xf32>, tensor<2x6x2x4xf32>) -> tensor<2x2x6x6xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %17 = stablehlo.reduce(%16 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x2x6x6xf32>, tensor<f32>) -> tensor<2x2x6xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x2x6xf32>
    %19 = stablehlo.maximum %18, %17 : tensor<2x2x6xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2] : (tensor<2x2x6xf32>) -> tensor<2x2x6x1xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2, 3] : (tensor<2x2x6x1xf32>) -> tensor<2x2x6x6xf32>
    %22 = stablehlo.subtract %16, %21 : tensor<2x2x6x6xf32>
    %23 = stablehlo.exponential %22 : tensor<2x2x6x6xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %24 = stablehlo.reduce(%23 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<2x2x6x6xf32>, tensor<f32>) -> tensor<2x2x6xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2] : (tensor<2x2x6xf32>) -> tensor<2x2x6x1xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2, 3] : (tensor<2x2x6x1xf32>) -> tensor<2x2x6x6xf32>
    %27 = stablehlo.divide %23, %26 : tensor<2x2x6x6xf32>
    %28 = stablehlo.dot_general %11, %27, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x2x4xf32>, tensor<2x2x6x6xf32>) -> tensor<2x2x4x6xf32>
    %29 = stablehlo.transpose %28, dims = [0, 3, 1, 2] : (tensor<2x2x4x6xf32>) -> tensor<2x6x2x4xf32>
    %30 = stablehlo.dot_general %29, %arg3, contracting_dims = [2, 3] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x6x2x4xf32>, tensor<2x4x8xf32>) -> tensor<2x6x8xf32>
    %31 = stablehlo.reshape %arg2 : (tensor<8xf32>) -> tensor<1x1x8xf32>
    %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2] : (tensor<1x1x8xf32>) -> tensor<2x6x8xf32>
    %33 = stablehlo.add %30, %32 : tensor<2x6x8xf32>
    return %33 : tensor<2x6x8xf32>
  }
}

// -----

// A place sees those before it alone, and the first one none.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.attention %{{.*}} mask %{{.*}} heads 3 scale 1.0
module {
  func.func public @main(%arg0: tensor<2x6x3x8xf32>, %arg1: tensor<2x6x3x8xf32>, %arg2: tensor<2x6x3x8xf32>) -> (tensor<2x6x3x8xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>) -> tensor<2x3x6x6xf32>
    %1 = stablehlo.iota dim = 0 : tensor<6xi32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<6xi32>) -> tensor<1x6xi32>
    %4 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<6x1xi32>) -> tensor<6x6xi32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x6xi32>) -> tensor<6x6xi32>
    %6 = stablehlo.compare GT, %4, %5, SIGNED : (tensor<6x6xi32>, tensor<6x6xi32>) -> tensor<6x6xi1>
    %cst = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %7 = call @_where(%6, %0, %cst) : (tensor<6x6xi1>, tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6x6xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %10 = stablehlo.maximum %9, %8 : tensor<2x3x6xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %13 = stablehlo.subtract %7, %12 : tensor<2x3x6x6xf32>
    %14 = stablehlo.exponential %13 : tensor<2x3x6x6xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.reduce(%14 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %18 = stablehlo.divide %14, %17 : tensor<2x3x6x6xf32>
    %19 = stablehlo.dot_general %arg2, %18, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xf32>, tensor<2x3x6x6xf32>) -> tensor<2x3x8x6xf32>
    %20 = stablehlo.transpose %19, dims = [0, 3, 1, 2] : (tensor<2x3x8x6xf32>) -> tensor<2x6x3x8xf32>
    return %20 : tensor<2x6x3x8xf32>
  }
  func.func private @_where(%arg0: tensor<6x6xi1>, %arg1: tensor<2x3x6x6xf32>, %arg2: tensor<f32>) -> tensor<2x3x6x6xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<6x6xi1>) -> tensor<2x3x6x6xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x3x6x6xi1>, tensor<2x3x6x6xf32>
    return %3 : tensor<2x3x6x6xf32>
  }
}

// -----

// Weights along the places of the query.
// CHECK-LABEL: func.func public @main
// CHECK-NOT: dgc.attention
// CHECK: return
module {
  func.func public @main(%arg0: tensor<2x6x3x8xf32>, %arg1: tensor<2x6x3x8xf32>, %arg2: tensor<2x6x3x8xf32>) -> (tensor<2x6x3x8xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>) -> tensor<2x3x6x6xf32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %3 = stablehlo.maximum %2, %1 : tensor<2x3x6xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 3] : (tensor<2x3x6xf32>) -> tensor<2x3x1x6xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3] : (tensor<2x3x1x6xf32>) -> tensor<2x3x6x6xf32>
    %6 = stablehlo.subtract %0, %5 : tensor<2x3x6x6xf32>
    %7 = stablehlo.exponential %6 : tensor<2x3x6x6xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 3] : (tensor<2x3x6xf32>) -> tensor<2x3x1x6xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<2x3x1x6xf32>) -> tensor<2x3x6x6xf32>
    %11 = stablehlo.divide %7, %10 : tensor<2x3x6x6xf32>
    %12 = stablehlo.dot_general %arg2, %11, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xf32>, tensor<2x3x6x6xf32>) -> tensor<2x3x8x6xf32>
    %13 = stablehlo.transpose %12, dims = [0, 3, 1, 2] : (tensor<2x3x8x6xf32>) -> tensor<2x6x3x8xf32>
    return %13 : tensor<2x6x3x8xf32>
  }
}

// -----

// The examples are added up.
// CHECK-LABEL: func.func public @main
// CHECK-NOT: dgc.attention
// CHECK: return
module {
  func.func public @main(%arg0: tensor<2x6x3x8xf32>, %arg1: tensor<2x6x3x8xf32>, %arg2: tensor<2x6x3x8xf32>) -> (tensor<6x3x8xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>) -> tensor<2x3x6x6xf32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %3 = stablehlo.maximum %2, %1 : tensor<2x3x6xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %6 = stablehlo.subtract %0, %5 : tensor<2x3x6x6xf32>
    %7 = stablehlo.exponential %6 : tensor<2x3x6x6xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %11 = stablehlo.divide %7, %10 : tensor<2x3x6x6xf32>
    %12 = stablehlo.dot_general %arg2, %11, batching_dims = [2] x [1], contracting_dims = [0, 1] x [0, 3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xf32>, tensor<2x3x6x6xf32>) -> tensor<3x8x6xf32>
    %13 = stablehlo.transpose %12, dims = [2, 0, 1] : (tensor<3x8x6xf32>) -> tensor<6x3x8xf32>
    return %13 : tensor<6x3x8xf32>
  }
}

// -----

// What hides a score is a number that others have as well.
// CHECK-LABEL: func.func public @main
// CHECK-NOT: dgc.attention
// CHECK: return
module {
  func.func public @main(%arg0: tensor<2x6x3x8xf32>, %arg1: tensor<2x6x3x8xf32>, %arg2: tensor<2x6x3x8xf32>) -> (tensor<2x6x3x8xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>) -> tensor<2x3x6x6xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<6x6xi1>
    %2 = call @tril(%1) : (tensor<6x6xi1>) -> tensor<6x6xi1>
    %cst = stablehlo.constant dense<-1.000000e+01> : tensor<f32>
    %3 = call @_where(%2, %0, %cst) : (tensor<6x6xi1>, tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6x6xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %6 = stablehlo.maximum %5, %4 : tensor<2x3x6xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %9 = stablehlo.subtract %3, %8 : tensor<2x3x6x6xf32>
    %10 = stablehlo.exponential %9 : tensor<2x3x6x6xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%10 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %14 = stablehlo.divide %10, %13 : tensor<2x3x6x6xf32>
    %15 = stablehlo.dot_general %arg2, %14, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xf32>, tensor<2x3x6x6xf32>) -> tensor<2x3x8x6xf32>
    %16 = stablehlo.transpose %15, dims = [0, 3, 1, 2] : (tensor<2x3x8x6xf32>) -> tensor<2x6x3x8xf32>
    return %16 : tensor<2x6x3x8xf32>
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
  func.func private @_where(%arg0: tensor<6x6xi1>, %arg1: tensor<2x3x6x6xf32>, %arg2: tensor<f32>) -> tensor<2x3x6x6xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<6x6xi1>) -> tensor<2x3x6x6xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x3x6x6xi1>, tensor<2x3x6x6xf32>
    return %3 : tensor<2x3x6x6xf32>
  }
}

// -----

// The weights are a result.
// CHECK-LABEL: func.func public @main
// CHECK-NOT: dgc.attention
// CHECK: return
module {
  func.func public @main(%arg0: tensor<2x6x3x8xf32>, %arg1: tensor<2x6x3x8xf32>, %arg2: tensor<2x6x3x8xf32>) -> (tensor<2x6x3x8xf32>, tensor<2x3x6x6xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xf32>, tensor<2x6x3x8xf32>) -> tensor<2x3x6x6xf32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3x6xf32>
    %3 = stablehlo.maximum %2, %1 : tensor<2x3x6xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %6 = stablehlo.subtract %0, %5 : tensor<2x3x6x6xf32>
    %7 = stablehlo.exponential %6 : tensor<2x3x6x6xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.add across dimensions = [3] : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<2x3x6xf32>) -> tensor<2x3x6x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<2x3x6x1xf32>) -> tensor<2x3x6x6xf32>
    %11 = stablehlo.divide %7, %10 : tensor<2x3x6x6xf32>
    %12 = stablehlo.dot_general %arg2, %11, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xf32>, tensor<2x3x6x6xf32>) -> tensor<2x3x8x6xf32>
    %13 = stablehlo.transpose %12, dims = [0, 3, 1, 2] : (tensor<2x3x8x6xf32>) -> tensor<2x6x3x8xf32>
    return %13, %11 : tensor<2x6x3x8xf32>, tensor<2x3x6x6xf32>
  }
}

// -----

// Of 16 bits, with scores of 32.
// CHECK-LABEL: func.func public @main
// CHECK: dgc.attention %{{.*}}, %{{.*}}, %{{.*}} heads 3 causal scale 0.35355{{.*}} : tensor<2x6x24xbf16>
module {
  func.func public @main(%arg0: tensor<2x6x3x8xbf16>, %arg1: tensor<2x6x3x8xbf16>, %arg2: tensor<2x6x3x8xbf16>) -> (tensor<2x6x3x8xbf16>) {
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
    %10 = call @_where(%9, %3, %cst_1) : (tensor<2x3x6x6xi1>, tensor<2x3x6x1x6xf32>, tensor<f32>) -> tensor<1x2x3x6x6xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %11 = stablehlo.reduce(%10 init: %cst_2) applies stablehlo.maximum across dimensions = [4] : (tensor<1x2x3x6x6xf32>, tensor<f32>) -> tensor<1x2x3x6xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x2x3x6xf32>
    %13 = stablehlo.maximum %12, %11 : tensor<1x2x3x6xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %16 = stablehlo.subtract %10, %15 : tensor<1x2x3x6x6xf32>
    %17 = stablehlo.exponential %16 : tensor<1x2x3x6x6xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst_4) applies stablehlo.add across dimensions = [4] : (tensor<1x2x3x6x6xf32>, tensor<f32>) -> tensor<1x2x3x6xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %21 = stablehlo.divide %17, %20 : tensor<1x2x3x6x6xf32>
    %22 = stablehlo.convert %21 : (tensor<1x2x3x6x6xf32>) -> tensor<1x2x3x6x6xbf16>
    %23 = stablehlo.dot_general %arg2, %22, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xbf16>, tensor<1x2x3x6x6xbf16>) -> tensor<2x3x8x1x6xbf16>
    %24 = stablehlo.transpose %23, dims = [3, 0, 4, 1, 2] : (tensor<2x3x8x1x6xbf16>) -> tensor<1x2x6x3x8xbf16>
    %25 = stablehlo.transpose %24, dims = [1, 2, 3, 0, 4] : (tensor<1x2x6x3x8xbf16>) -> tensor<2x6x3x1x8xbf16>
    %26 = stablehlo.reshape %25 : (tensor<2x6x3x1x8xbf16>) -> tensor<2x6x3x8xbf16>
    return %26 : tensor<2x6x3x8xbf16>
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
  func.func private @_where(%arg0: tensor<2x3x6x6xi1>, %arg1: tensor<2x3x6x1x6xf32>, %arg2: tensor<f32>) -> tensor<1x2x3x6x6xf32> {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2, 3, 4] : (tensor<2x3x6x6xi1>) -> tensor<1x2x3x6x6xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [1, 2, 3, 4] : (tensor<2x3x6x6xf32>) -> tensor<1x2x3x6x6xf32>
    %3 = stablehlo.transpose %arg1, dims = [3, 0, 1, 2, 4] : (tensor<2x3x6x1x6xf32>) -> tensor<1x2x3x6x6xf32>
    %4 = stablehlo.select %1, %3, %2 : tensor<1x2x3x6x6xi1>, tensor<1x2x3x6x6xf32>
    return %4 : tensor<1x2x3x6x6xf32>
  }
}

// -----

// Queries and keys of another type of 16 bits than the values.
// CHECK-LABEL: func.func public @main
// CHECK-NOT: dgc.attention
// CHECK: return
module {
  func.func public @main(%arg0: tensor<2x6x3x8xf16>, %arg1: tensor<2x6x3x8xf16>, %arg2: tensor<2x6x3x8xbf16>) -> (tensor<2x6x3x8xbf16>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x6x3x8xf16>) -> tensor<2x6x3x1x8xf16>
    %1 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x1x8xf16>, tensor<2x6x3x8xf16>) -> tensor<2x3x6x1x6xf32>
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
    %10 = call @_where(%9, %3, %cst_1) : (tensor<2x3x6x6xi1>, tensor<2x3x6x1x6xf32>, tensor<f32>) -> tensor<1x2x3x6x6xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %11 = stablehlo.reduce(%10 init: %cst_2) applies stablehlo.maximum across dimensions = [4] : (tensor<1x2x3x6x6xf32>, tensor<f32>) -> tensor<1x2x3x6xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x2x3x6xf32>
    %13 = stablehlo.maximum %12, %11 : tensor<1x2x3x6xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %16 = stablehlo.subtract %10, %15 : tensor<1x2x3x6x6xf32>
    %17 = stablehlo.exponential %16 : tensor<1x2x3x6x6xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst_4) applies stablehlo.add across dimensions = [4] : (tensor<1x2x3x6x6xf32>, tensor<f32>) -> tensor<1x2x3x6xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<1x2x3x6xf32>) -> tensor<1x2x3x6x1xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x6x1xf32>) -> tensor<1x2x3x6x6xf32>
    %21 = stablehlo.divide %17, %20 : tensor<1x2x3x6x6xf32>
    %22 = stablehlo.convert %21 : (tensor<1x2x3x6x6xf32>) -> tensor<1x2x3x6x6xbf16>
    %23 = stablehlo.dot_general %arg2, %22, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x6x3x8xbf16>, tensor<1x2x3x6x6xbf16>) -> tensor<2x3x8x1x6xbf16>
    %24 = stablehlo.transpose %23, dims = [3, 0, 4, 1, 2] : (tensor<2x3x8x1x6xbf16>) -> tensor<1x2x6x3x8xbf16>
    %25 = stablehlo.transpose %24, dims = [1, 2, 3, 0, 4] : (tensor<1x2x6x3x8xbf16>) -> tensor<2x6x3x1x8xbf16>
    %26 = stablehlo.reshape %25 : (tensor<2x6x3x1x8xbf16>) -> tensor<2x6x3x8xbf16>
    return %26 : tensor<2x6x3x8xbf16>
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
  func.func private @_where(%arg0: tensor<2x3x6x6xi1>, %arg1: tensor<2x3x6x1x6xf32>, %arg2: tensor<f32>) -> tensor<1x2x3x6x6xf32> {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<2x3x6x6xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2, 3, 4] : (tensor<2x3x6x6xi1>) -> tensor<1x2x3x6x6xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [1, 2, 3, 4] : (tensor<2x3x6x6xf32>) -> tensor<1x2x3x6x6xf32>
    %3 = stablehlo.transpose %arg1, dims = [3, 0, 1, 2, 4] : (tensor<2x3x6x1x6xf32>) -> tensor<1x2x3x6x6xf32>
    %4 = stablehlo.select %1, %3, %2 : tensor<1x2x3x6x6xi1>, tensor<1x2x3x6x6xf32>
    return %4 : tensor<1x2x3x6x6xf32>
  }
}
