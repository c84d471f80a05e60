// RUN: dgc-opt %s | dgc-opt --dgc-decompose --canonicalize --cse | FileCheck %s

// Padding `same` makes ceil(size / stride) of each dimension, the odd element at the end.

// CHECK-LABEL: func.func @conv(
// CHECK-SAME: %[[A0:.*]]: tensor<2x7x8x4xf32>, %[[A1:.*]]: tensor<3x3x2x6xf32>, %[[A2:.*]]: tensor<6xf32>)
// CHECK: %[[V0:.*]] = dgc.convolution %[[A0]], %[[A1]] strides [2, 2] padding {{\[\[}}1, 1], [0, 1]] dilation [1, 1] lhs_dilation [1, 1] groups 2 : tensor<2x7x8x4xf32>, tensor<3x3x2x6xf32>
// CHECK: %[[V1:.*]] = dgc.broadcast_in_dim %[[A2]] dims [3] to [2, 4, 4, 6] : tensor<6xf32>
// CHECK: %[[V2:.*]] = dgc.add %[[V0]], %[[V1]] : tensor<2x4x4x6xf32>
// CHECK: %[[V3:.*]] = dgc.convolution %[[A0]], %[[A1]] strides [1, 1] padding {{\[\[}}1, 1], [1, 1]] dilation [1, 1] lhs_dilation [1, 1] groups 2 : tensor<2x7x8x4xf32>, tensor<3x3x2x6xf32>
// CHECK: %[[V4:.*]] = dgc.convolution %[[A0]], %[[A1]] strides [1, 1] padding {{\[\[}}0, 2], [1, 1]] dilation [2, 2] lhs_dilation [1, 1] groups 2 : tensor<2x7x8x4xf32>, tensor<3x3x2x6xf32>
// CHECK: return %[[V2]], %[[V3]], %[[V4]]
func.func @conv(%x: tensor<2x7x8x4xf32>, %w: tensor<3x3x2x6xf32>, %b: tensor<6xf32>) -> (tensor<2x4x4x6xf32>, tensor<2x7x8x6xf32>, tensor<2x5x6x6xf32>) {
  %0 = dgc.conv2d %x, %w, %b strides 2 padding same groups 2 : tensor<2x7x8x4xf32>, tensor<3x3x2x6xf32>, tensor<6xf32>
  %1 = dgc.conv2d %x, %w padding [[1, 1], [1, 1]] groups 2 : tensor<2x7x8x4xf32>, tensor<3x3x2x6xf32>
  %2 = dgc.conv2d %x, %w padding [[0, 2], [1, 1]] dilation 2 groups 2 : tensor<2x7x8x4xf32>, tensor<3x3x2x6xf32>
  return %0, %1, %2 : tensor<2x4x4x6xf32>, tensor<2x7x8x6xf32>, tensor<2x5x6x6xf32>
}

// Pools are reductions over windows of all dimensions; padding does not count in a mean.

// CHECK-LABEL: func.func @pool(
// CHECK-SAME: %[[A0:.*]]: tensor<2x7x8x4xf32>)
// CHECK-DAG: %[[C0:.*]] = dgc.constant dense<2.500000e-01> : tensor<2x3x4x4xf32>
// CHECK-DAG: %[[C1:.*]] = dgc.constant dense<{{\[\[}}2.500000e-01, 0.166666672, 0.166666672, 0.166666672, 0.166666672, 0.166666672, 0.166666672, 2.500000e-01], [0.166666672, 0.111111112, 0.111111112, 0.111111112, 0.111111112, 0.111111112, 0.111111112, 0.166666672], [0.166666672, 0.111111112, 0.111111112, 0.111111112, 0.111111112, 0.111111112, 0.111111112, 0.166666672], [2.500000e-01, 0.166666672, 0.166666672, 0.166666672, 0.166666672, 0.166666672, 0.166666672, 2.500000e-01]]> : tensor<4x8xf32>
// CHECK: %[[V2:.*]] = dgc.reduce_window max %[[A0]] window [1, 2, 2, 1] strides [1, 2, 2, 1] padding {{\[\[}}0, 0], [0, 0], [0, 0], [0, 0]] : tensor<2x7x8x4xf32>
// CHECK: %[[V3:.*]] = dgc.reduce_window sum %[[A0]] window [1, 3, 3, 1] strides [1, 2, 1, 1] padding {{\[\[}}0, 0], [1, 1], [1, 1], [0, 0]] : tensor<2x7x8x4xf32>
// CHECK: %[[V4:.*]] = dgc.broadcast_in_dim %[[C1]] dims [1, 2] to [2, 4, 8, 4] : tensor<4x8xf32>
// CHECK: %[[V5:.*]] = dgc.multiply %[[V3]], %[[V4]] : tensor<2x4x8x4xf32>
// CHECK: %[[V6:.*]] = dgc.reduce_window sum %[[A0]] window [1, 2, 2, 1] strides [1, 2, 2, 1] padding {{\[\[}}0, 0], [0, 0], [0, 0], [0, 0]] : tensor<2x7x8x4xf32>
// CHECK: %[[V7:.*]] = dgc.multiply %[[V6]], %[[C0]] : tensor<2x3x4x4xf32>
// CHECK: return %[[V2]], %[[V5]], %[[V7]]
func.func @pool(%x: tensor<2x7x8x4xf32>) -> (tensor<2x3x4x4xf32>, tensor<2x4x8x4xf32>, tensor<2x3x4x4xf32>) {
  %0 = dgc.max_pool %x window 2 : tensor<2x7x8x4xf32>
  %1 = dgc.avg_pool %x window [3, 3] strides [2, 1] padding same : tensor<2x7x8x4xf32>
  %2 = dgc.avg_pool %x window [2, 2] : tensor<2x7x8x4xf32>
  return %0, %1, %2 : tensor<2x3x4x4xf32>, tensor<2x4x8x4xf32>, tensor<2x3x4x4xf32>
}
