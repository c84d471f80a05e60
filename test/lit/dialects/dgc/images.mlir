// RUN: dgc-opt %s | dgc-opt --dgc-decompose --canonicalize --cse | FileCheck %s

// Padding `same` makes ceil(size / stride) of each dimension, the odd element at the end.

// CHECK-LABEL: func.func @same(
// CHECK:         dgc.convolution {{.*}} strides [2, 2] padding {{\[\[}}1, 1], [0, 1]] {{.*}} groups 2
// CHECK:         return {{.*}} : tensor<2x4x4x6xf32>
func.func @same(%x: tensor<2x7x8x4xf32>, %w: tensor<3x3x2x6xf32>) -> tensor<2x4x4x6xf32> {
  %0 = dgc.conv2d %x, %w strides 2 padding same groups 2 : tensor<2x7x8x4xf32>, tensor<3x3x2x6xf32>
  return %0 : tensor<2x4x4x6xf32>
}

// One number is meant for both dimensions, padding that is given is kept, and a bias is added to the channels after the
// convolution.

// CHECK-LABEL: func.func @given(
// CHECK-SAME:    %[[B:[^:]+]]: tensor<6xf32>)
// CHECK-DAG:     %[[C:.*]] = dgc.convolution {{.*}} strides [1, 1] padding {{\[\[}}0, 2], [1, 1]] dilation [2, 2] {{.*}} groups 2
// CHECK-DAG:     %[[CHANNELS:.*]] = dgc.broadcast_in_dim %[[B]] dims [3] to [2, 5, 6, 6]
// CHECK:         dgc.add %[[C]], %[[CHANNELS]]
func.func @given(%x: tensor<2x7x8x4xf32>, %w: tensor<3x3x2x6xf32>, %b: tensor<6xf32>) -> tensor<2x5x6x6xf32> {
  %0 = dgc.conv2d %x, %w, %b padding [[0, 2], [1, 1]] dilation 2 groups 2 : tensor<2x7x8x4xf32>, tensor<3x3x2x6xf32>, tensor<6xf32>
  return %0 : tensor<2x5x6x6xf32>
}

// Pools are reductions over windows of all dimensions; the strides are those of the window where none are given.

// CHECK-LABEL: func.func @max_pool(
// CHECK-NEXT:    dgc.reduce_window max {{.*}} window [1, 2, 2, 1] strides [1, 2, 2, 1] padding {{\[\[}}0, 0], [0, 0], [0, 0], [0, 0]]
// CHECK-NEXT:    return
func.func @max_pool(%x: tensor<2x7x8x4xf32>) -> tensor<2x3x4x4xf32> {
  %0 = dgc.max_pool %x window 2 : tensor<2x7x8x4xf32>
  return %0 : tensor<2x3x4x4xf32>
}

// Padding does not count in a mean: a window in a corner has four numbers, one at an edge six. There is a factor for each
// place of an image, and no constant of the size of the tensor.

// CHECK-LABEL: func.func @avg_pool(
// CHECK-NOT:     dgc.constant {{.*}} : tensor<2x4x8x4xf32>
// CHECK:         %[[FACTORS:.*]] = dgc.constant dense<{{\[\[}}2.500000e-01, 0.166666672, {{.*}} : tensor<4x8xf32>
// CHECK-NOT:     dgc.{{constant|divide}}
// CHECK:         %[[SUMS:.*]] = dgc.reduce_window sum {{.*}} window [1, 3, 3, 1] strides [1, 2, 1, 1] padding {{\[\[}}0, 0], [1, 1], [1, 1], [0, 0]]
// CHECK:         %[[ALL:.*]] = dgc.broadcast_in_dim %[[FACTORS]] dims [1, 2] to [2, 4, 8, 4]
// CHECK-NEXT:    %[[R:.*]] = dgc.multiply %[[SUMS]], %[[ALL]]
// CHECK-NEXT:    return %[[R]]
func.func @avg_pool(%x: tensor<2x7x8x4xf32>) -> tensor<2x4x8x4xf32> {
  %0 = dgc.avg_pool %x window [3, 3] strides [2, 1] padding same : tensor<2x7x8x4xf32>
  return %0 : tensor<2x4x8x4xf32>
}

// Where no window has padding there is one factor.

// CHECK-LABEL: func.func @avg_pool_valid(
// CHECK:         %[[FACTOR:.*]] = dgc.constant dense<2.500000e-01>
// CHECK-NEXT:    %[[SUMS:.*]] = dgc.reduce_window sum
// CHECK-NEXT:    dgc.multiply %[[SUMS]], %[[FACTOR]]
func.func @avg_pool_valid(%x: tensor<2x7x8x4xf32>) -> tensor<2x3x4x4xf32> {
  %0 = dgc.avg_pool %x window [2, 2] : tensor<2x7x8x4xf32>
  return %0 : tensor<2x3x4x4xf32>
}

// CHECK-LABEL: func.func @upsample(
// CHECK-SAME:    %[[X:[^:]+]]:
// CHECK:         %[[Y:.*]] = dgc.broadcast_in_dim %[[X]] dims [0, 1, 3, 5] to [2, 3, 2, 4, 2, 5]
// CHECK-NEXT:    dgc.reshape %[[Y]] to [2, 6, 8, 5]
func.func @upsample(%x: tensor<2x3x4x5xf32>) -> tensor<2x6x8x5xf32> {
  %0 = dgc.upsample %x by 2 : tensor<2x3x4x5xf32>
  return %0 : tensor<2x6x8x5xf32>
}
