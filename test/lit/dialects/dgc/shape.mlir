// RUN: dgc-opt %s | dgc-opt | FileCheck %s

// CHECK-LABEL: func @types
func.func @types(%x: tensor<4x8xf32>, %y: tensor<4x2xf32>, %b: tensor<8xf32>, %s: tensor<f32>)
    -> (tensor<4x8xf32>, tensor<2x3xf32>, tensor<4x10xf32>, tensor<6x17xf32>, tensor<2x16xf32>, tensor<32xf32>,
        tensor<4x8xf32>, tensor<2x3xf32>, tensor<8x4xf32>) {
  // CHECK: dgc.broadcast_in_dim %{{.*}} dims [1] to [4, 8] : tensor<8xf32>
  %0 = dgc.broadcast_in_dim %b dims [1] to [4, 8] : tensor<8xf32>
  // CHECK: dgc.broadcast_in_dim %{{.*}} dims [] to [2, 3] : tensor<f32>
  %1 = dgc.broadcast_in_dim %s dims [] to [2, 3] : tensor<f32>
  // CHECK: dgc.concatenate %{{.*}}, %{{.*}} dim 1 : tensor<4x8xf32>, tensor<4x2xf32>
  %2 = dgc.concatenate %x, %y dim 1 : tensor<4x8xf32>, tensor<4x2xf32>
  // CHECK: dgc.pad %{{.*}}, %{{.*}} low [0, 1] high [2, 1] interior [0, 1] : tensor<4x8xf32>, tensor<f32>
  %3 = dgc.pad %x, %s low [0, 1] high [2, 1] interior [0, 1] : tensor<4x8xf32>, tensor<f32>
  // CHECK: dgc.reshape %{{.*}} to [2, 16] : tensor<4x8xf32>
  %4 = dgc.reshape %x to [2, 16] : tensor<4x8xf32>
  // CHECK: dgc.reshape %{{.*}} to [-1] : tensor<4x8xf32>
  %5 = dgc.reshape %x to [-1] : tensor<4x8xf32>
  // CHECK: dgc.reverse %{{.*}} dims [1] : tensor<4x8xf32>
  %6 = dgc.reverse %x dims [1] : tensor<4x8xf32>
  // CHECK: dgc.slice %{{.*}} from [1, 1] to [3, 6] strides [1, 2] : tensor<4x8xf32>
  %7 = dgc.slice %x from [1, 1] to [3, 6] strides [1, 2] : tensor<4x8xf32>
  // CHECK: dgc.transpose %{{.*}} permutation [1, 0] : tensor<4x8xf32>
  %8 = dgc.transpose %x permutation [1, 0] : tensor<4x8xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<4x8xf32>, tensor<2x3xf32>, tensor<4x10xf32>, tensor<6x17xf32>,
    tensor<2x16xf32>, tensor<32xf32>, tensor<4x8xf32>, tensor<2x3xf32>, tensor<8x4xf32>
}

// Types that are still to be inferred are not written.
// CHECK-LABEL: func @untyped
func.func @untyped(%x: !dgc.untyped, %s: tensor<f32>) {
  // CHECK: dgc.reshape %{{.*}} to [-1, 784]{{ *$}}
  %0 = dgc.reshape %x to [-1, 784]
  // CHECK: dgc.concatenate %{{.*}}, %{{.*}}, %{{.*}} dim 0{{ *$}}
  %1 = dgc.concatenate %x, %0, %x dim 0
  // CHECK: dgc.slice %{{.*}} from [0] to [1]{{ *$}}
  %2 = dgc.slice %x from [0] to [1]
  // CHECK: dgc.pad %{{.*}}, %{{.*}} low [1] high [1] : !dgc.untyped, tensor<f32>
  %3 = dgc.pad %x, %s low [1] high [1] : !dgc.untyped, tensor<f32>
  return
}

// Sizes 0 and 1, negative padding.
// CHECK-LABEL: func @corners
func.func @corners(%x: tensor<1x5xf32>, %s: tensor<f32>, %e: tensor<0x3xf32>)
    -> (tensor<4x5xf32>, tensor<1x2xf32>, tensor<1x0xf32>, tensor<3x0x2xf32>, tensor<2x3xf32>) {
  %0 = dgc.broadcast_in_dim %x dims [0, 1] to [4, 5] : tensor<1x5xf32>
  %1 = dgc.pad %x, %s low [0, -2] high [0, -1] : tensor<1x5xf32>, tensor<f32>
  %2 = dgc.slice %x from [0, 3] to [1, 3] : tensor<1x5xf32>
  %3 = dgc.reshape %e to [3, 0, 2] : tensor<0x3xf32>
  %4 = dgc.pad %e, %s low [1, 0] high [1, 0] interior [4, 0] : tensor<0x3xf32>, tensor<f32>
  return %0, %1, %2, %3, %4 : tensor<4x5xf32>, tensor<1x2xf32>, tensor<1x0xf32>, tensor<3x0x2xf32>, tensor<2x3xf32>
}
