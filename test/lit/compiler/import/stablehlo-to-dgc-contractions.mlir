// RUN: dgc-opt %s --stablehlo-to-dgc | FileCheck %s

// CHECK-LABEL: func.func @products
// CHECK-SAME: (%[[X:.*]]: tensor<2x4x8xf32>, %[[Y:.*]]: tensor<2x8x5xf32>, %[[A:.*]]: tensor<4x8xi8>, %[[B:.*]]: tensor<8x5xi8>)
func.func @products(%x: tensor<2x4x8xf32>, %y: tensor<2x8x5xf32>, %a: tensor<4x8xi8>, %b: tensor<8x5xi8>) -> (tensor<2x4x5xf32>, tensor<4x5xi32>) {
  // CHECK: dgc.dot_general %[[X]], %[[Y]] batch [0] x [0] contract [2] x [1]
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x8xf32>, tensor<2x8x5xf32>) -> tensor<2x4x5xf32>
  // Products are added up in the type of the result.
  // CHECK: %[[A32:.*]] = dgc.convert %[[A]] to i32
  // CHECK: %[[B32:.*]] = dgc.convert %[[B]] to i32
  // CHECK: dgc.dot_general %[[A32]], %[[B32]] contract [1] x [0]
  %1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xi8>, tensor<8x5xi8>) -> tensor<4x5xi32>
  return %0, %1 : tensor<2x4x5xf32>, tensor<4x5xi32>
}

// CHECK-LABEL: func.func @convolution
// CHECK-SAME: (%[[X:.*]]: tensor<4x12x12x8xf32>, %[[W:.*]]: tensor<3x3x8x16xf32>)
func.func @convolution(%x: tensor<4x12x12x8xf32>, %w: tensor<3x3x8x16xf32>) -> tensor<4x6x6x16xf32> {
  // CHECK-NEXT: dgc.convolution %[[X]], %[[W]] strides [2, 2] padding {{\[}}[0, 1], [0, 1]]
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x12x12x8xf32>, tensor<3x3x8x16xf32>) -> tensor<4x6x6x16xf32>
  return %0 : tensor<4x6x6x16xf32>
}

// The gradient of the weights: a convolution over the batch. The last row of the input, which no window reached, is not padded.
// CHECK-LABEL: func.func @weight_gradient
// CHECK-SAME: (%[[X:.*]]: tensor<4x6x6x8xf32>, %[[Y:.*]]: tensor<4x3x6x16xf32>)
func.func @weight_gradient(%x: tensor<4x6x6x8xf32>, %y: tensor<4x3x6x16xf32>) -> tensor<2x3x8x16xf32> {
  // CHECK-NEXT: dgc.convolution_weight_grad %[[X]], %[[Y]] kernel_size [2, 3] strides [2, 1] padding {{\[}}[0, 0], [1, 1]] dilation [1, 1]
  %0 = stablehlo.convolution(%x, %y) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[0, 0], [1, 1]], rhs_dilate = [2, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x6x6x8xf32>, tensor<4x3x6x16xf32>) -> tensor<2x3x8x16xf32>
  return %0 : tensor<2x3x8x16xf32>
}

// Not one: with a dilated input it is a convolution of transposed operands.
// CHECK-LABEL: func.func @dilated_input
func.func @dilated_input(%x: tensor<4x6x6x8xf32>, %y: tensor<4x6x6x16xf32>) -> tensor<6x6x8x16xf32> {
  // CHECK-NEXT: %[[X:.*]] = dgc.transpose %{{.*}} permutation [3, 1, 2, 0]
  // CHECK-NEXT: %[[Y:.*]] = dgc.transpose %{{.*}} permutation [1, 2, 0, 3]
  // CHECK-NEXT: %[[Z:.*]] = dgc.convolution %[[X]], %[[Y]]
  // CHECK-NEXT: dgc.transpose %[[Z]] permutation [1, 2, 0, 3]
  %0 = stablehlo.convolution(%x, %y) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {lhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x6x6x8xf32>, tensor<4x6x6x16xf32>) -> tensor<6x6x8x16xf32>
  return %0 : tensor<6x6x8x16xf32>
}

// The gradient of the input: the reversed weights, from filters to channels.
// CHECK-LABEL: func.func @input_gradient
// CHECK-SAME: (%[[Y:.*]]: tensor<4x3x6x16xf32>, %[[W:.*]]: tensor<2x3x8x16xf32>)
func.func @input_gradient(%y: tensor<4x3x6x16xf32>, %w: tensor<2x3x8x16xf32>) -> tensor<4x6x6x8xf32> {
  // CHECK: dgc.convolution_input_grad %[[Y]], %[[W]] input_size [6, 6] strides [2, 1] padding {{\[}}[0, 0], [1, 1]] dilation [1, 1]
  %r = stablehlo.reverse %w, dims = [0, 1] : tensor<2x3x8x16xf32>
  %0 = stablehlo.convolution(%y, %r) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]], lhs_dilate = [2, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x3x6x16xf32>, tensor<2x3x8x16xf32>) -> tensor<4x6x6x8xf32>
  return %0 : tensor<4x6x6x8xf32>
}

// Not one: weights that are not reversed.
// CHECK-LABEL: func.func @not_reversed
func.func @not_reversed(%y: tensor<4x6x6x16xf32>, %w: tensor<3x3x8x16xf32>) -> tensor<4x6x6x8xf32> {
  // CHECK-NEXT: %[[W:.*]] = dgc.transpose %{{.*}} permutation [0, 1, 3, 2]
  // CHECK-NEXT: dgc.convolution %{{.*}}, %[[W]]
  %0 = stablehlo.convolution(%y, %w) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x6x6x16xf32>, tensor<3x3x8x16xf32>) -> tensor<4x6x6x8xf32>
  return %0 : tensor<4x6x6x8xf32>
}

// A negative padding takes elements away.
// CHECK-LABEL: func.func @cropped
func.func @cropped(%x: tensor<4x12x8xf32>, %w: tensor<1x8x16xf32>) -> tensor<4x11x16xf32> {
  // CHECK: %[[X:.*]] = dgc.pad %{{.*}} low [0, 0, 0] high [0, -1, 0]
  // CHECK: dgc.convolution %[[X]]
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[0, -1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x12x8xf32>, tensor<1x8x16xf32>) -> tensor<4x11x16xf32>
  return %0 : tensor<4x11x16xf32>
}
