// RUN: dgc-opt %s --stablehlo-to-dgc | FileCheck %s

// Ops that take a shape become those that have it, where the result has no open sizes.

// CHECK-LABEL: func.func @shapes
// CHECK-SAME:    (%[[X:.*]]: tensor<4x1xf32>, %[[S:.*]]: tensor<f32>, %[[Y:.*]]: tensor<3x4xf32>)
// CHECK-NEXT:    dgc.broadcast_in_dim %[[X]] dims [1, 2] to [2, 4, 8]
// CHECK-NEXT:    dgc.reshape %[[X]] to [2, 2]
// CHECK-NEXT:    dgc.pad %[[Y]], %[[S]] low [1, -1] high [1, 2] interior [1, 0]
// CHECK-NEXT:    dgc.slice %[[Y]] from [1, 0] to [3, 4] strides [1, 2]
// CHECK-NEXT:    dgc.iota dim 1 : tensor<2x3xi32>
// CHECK-NEXT:    return
func.func @shapes(%x: tensor<4x1xf32>, %s: tensor<f32>, %y: tensor<3x4xf32>) -> (tensor<2x4x8xf32>, tensor<2x2xf32>, tensor<7x5xf32>, tensor<2x2xf32>, tensor<2x3xi32>) {
  %n = stablehlo.constant dense<[2, 4, 8]> : tensor<3xi32>
  %0 = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [1, 2] : (tensor<4x1xf32>, tensor<3xi32>) -> tensor<2x4x8xf32>
  // The shape may be made of constants.
  %two = stablehlo.constant dense<2> : tensor<1xi64>
  %d = stablehlo.get_dimension_size %x, dim = 0 : (tensor<4x1xf32>) -> tensor<i32>
  %d2 = stablehlo.constant dense<2> : tensor<i32>
  %h = stablehlo.divide %d, %d2 : tensor<i32>
  %h1 = stablehlo.reshape %h : (tensor<i32>) -> tensor<1xi32>
  %w1 = stablehlo.convert %h1 : (tensor<1xi32>) -> tensor<1xi64>
  %shape = stablehlo.concatenate %w1, %two, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %1 = stablehlo.dynamic_reshape %x, %shape : (tensor<4x1xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  %low = stablehlo.constant dense<[1, -1]> : tensor<2xi64>
  %high = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %in = stablehlo.constant dense<[1, 0]> : tensor<2xi64>
  %2 = stablehlo.dynamic_pad %y, %s, %low, %high, %in : (tensor<3x4xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<7x5xf32>
  %from = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
  %to = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %by = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %3 = stablehlo.real_dynamic_slice %y, %from, %to, %by : (tensor<3x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x2xf32>
  %is = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  %4 = stablehlo.dynamic_iota %is, dim = 1 : (tensor<2xi64>) -> tensor<2x3xi32>
  return %0, %1, %2, %3, %4 : tensor<2x4x8xf32>, tensor<2x2xf32>, tensor<7x5xf32>, tensor<2x2xf32>, tensor<2x3xi32>
}

// The type of the result says the shape where the operand is not known.

// CHECK-LABEL: func.func @given
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>, %{{.*}}: tensor<2xi32>)
// CHECK-NEXT:    dgc.reshape %[[X]] to [2, 2]
func.func @given(%x: tensor<4xf32>, %n: tensor<2xi32>) -> tensor<2x2xf32> {
  %0 = stablehlo.dynamic_reshape %x, %n : (tensor<4xf32>, tensor<2xi32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// CHECK-LABEL: func.func @places
// CHECK-SAME:    (%[[X:.*]]: tensor<6x4xf32>, %[[I:.*]]: tensor<3xi32>, %[[V:.*]]: tensor<1x8x8x2xf32>, %[[W:.*]]: tensor<3x3x2x4xf32>)
// CHECK-DAG:     dgc.gather %[[X]], %{{.*}} dim 0
// CHECK-DAG:     dgc.convolution %[[V]], %[[W]] {{.*}} padding {{\[}}[1, 1], [0, 2]]
func.func @places(%x: tensor<6x4xf32>, %i: tensor<3xi32>, %v: tensor<1x8x8x2xf32>, %w: tensor<3x3x2x4xf32>) -> (tensor<3x4xf32>, tensor<1x8x8x4xf32>) {
  %n = stablehlo.constant dense<[1, 4]> : tensor<2xi32>
  %0 = "stablehlo.dynamic_gather"(%x, %i, %n) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<6x4xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<3x4xf32>
  %p = stablehlo.constant dense<[[1, 1], [0, 2]]> : tensor<2x2xi32>
  %1 = "stablehlo.dynamic_conv"(%v, %w, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x2xf32>, tensor<3x3x2x4xf32>, tensor<2x2xi32>) -> tensor<1x8x8x4xf32>
  return %0, %1 : tensor<3x4xf32>, tensor<1x8x8x4xf32>
}

// With complex numbers it is the same.

// CHECK-LABEL: func.func @complex
// CHECK-COUNT-2: dgc.broadcast_in_dim %{{.*}} dims [1] to [3, 4] : tensor<4xf32>
func.func @complex(%z: tensor<4xcomplex<f32>>) -> tensor<3x4xcomplex<f32>> {
  %n = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %0 = stablehlo.dynamic_broadcast_in_dim %z, %n, dims = [1] : (tensor<4xcomplex<f32>>, tensor<2xi32>) -> tensor<3x4xcomplex<f32>>
  return %0 : tensor<3x4xcomplex<f32>>
}
