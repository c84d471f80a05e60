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

// The same of one and of three spatial dimensions.

// CHECK-LABEL: func.func @other_ranks(
// CHECK:         dgc.convolution {{.*}} strides [2] padding {{\[\[}}1, 1]] dilation [1] {{.*}} : tensor<2x7x4xf32>
// CHECK:         dgc.convolution {{.*}} strides [1, 2, 1] padding {{\[\[}}0, 1], [1, 1], [0, 1]] dilation [1, 1, 1] {{.*}} groups 2
// CHECK:         return {{.*}} : tensor<2x4x6xf32>, tensor<2x4x3x3x6xf32>
func.func @other_ranks(%x: tensor<2x7x4xf32>, %w: tensor<3x4x6xf32>, %y: tensor<2x4x5x3x2xf32>, %v: tensor<2x3x2x1x6xf32>)
    -> (tensor<2x4x6xf32>, tensor<2x4x3x3x6xf32>) {
  %0 = dgc.conv1d %x, %w strides 2 padding same : tensor<2x7x4xf32>, tensor<3x4x6xf32>
  %1 = dgc.conv3d %y, %v strides [1, 2, 1] padding same groups 2 : tensor<2x4x5x3x2xf32>, tensor<2x3x2x1x6xf32>
  return %0, %1 : tensor<2x4x6xf32>, tensor<2x4x3x3x6xf32>
}

// A transposed convolution is the gradient of one: no zeros are put between the pixels.

// CHECK-LABEL: func.func @transposed(
// CHECK-SAME:    %[[X:[^:]+]]: tensor<2x4x5x6xf32>, %[[W:[^:]+]]: tensor<3x3x2x6xf32>, %[[B:[^:]+]]: tensor<4xf32>)
// CHECK-NOT:     dgc.pad
// CHECK:         %[[Y:.*]] = dgc.convolution_input_grad %[[X]], %[[W]] input_size [8, 9] strides [2, 2] padding {{\[\[}}1, 1], [1, 1]] dilation [1, 1] {{.*}} groups 2
// CHECK:         dgc.add %[[Y]],
// CHECK:         dgc.convolution_input_grad %[[X]], %[[W]] input_size [8, 10] strides [2, 2] padding {{\[\[}}0, 1], [0, 1]]
// CHECK-NOT:     dgc.pad
// CHECK:         return
func.func @transposed(%x: tensor<2x4x5x6xf32>, %w: tensor<3x3x2x6xf32>, %b: tensor<4xf32>)
    -> (tensor<2x8x9x4xf32>, tensor<2x8x10x2xf32>) {
  %0 = dgc.conv_transpose2d %x, %w, %b strides 2 padding [[1, 1], [1, 1]] output_padding [1, 0] groups 2 : tensor<2x4x5x6xf32>, tensor<3x3x2x6xf32>, tensor<4xf32>
  %1 = dgc.conv_transpose2d %x, %w strides 2 padding same : tensor<2x4x5x6xf32>, tensor<3x3x2x6xf32>
  return %0, %1 : tensor<2x8x9x4xf32>, tensor<2x8x10x2xf32>
}

// CHECK-LABEL: func.func @global_pools(
// CHECK-SAME:    %[[X:[^:]+]]:
// CHECK-NOT:     dgc.divide
// CHECK:         dgc.reduce sum %[[X]] dims [1, 2]
// CHECK-NOT:     dgc.divide
// CHECK:         %[[MOST:.*]] = dgc.reduce max %[[X]] dims [1, 2]
// CHECK-NEXT:    return %{{.*}}, %[[MOST]]
func.func @global_pools(%x: tensor<2x3x4x5xf32>) -> (tensor<2x5xf32>, tensor<2x5xf32>) {
  %0 = dgc.global_avg_pool %x : tensor<2x3x4x5xf32>
  %1 = dgc.global_max_pool %x : tensor<2x3x4x5xf32>
  return %0, %1 : tensor<2x5xf32>, tensor<2x5xf32>
}
