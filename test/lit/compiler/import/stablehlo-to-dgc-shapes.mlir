// RUN: dgc-opt %s --stablehlo-to-dgc | FileCheck %s

// CHECK-LABEL: func.func @shapes
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[S:.*]]: tensor<f32>)
func.func @shapes(%x: tensor<4x8xf32>, %s: tensor<f32>) -> (tensor<8x2x4xf32>, tensor<7x5xf32>, tensor<32xf32>) {
  // Dimensions that do not ascend are transposed first.
  // CHECK: %[[T:.*]] = dgc.transpose %[[X]] permutation [1, 0]
  // CHECK: dgc.broadcast_in_dim %[[T]] dims [0, 2] to [8, 2, 4]
  %0 = stablehlo.broadcast_in_dim %x, dims = [2, 0] : (tensor<4x8xf32>) -> tensor<8x2x4xf32>
  // CHECK: %[[R:.*]] = dgc.reverse %[[X]] dims [0]
  // CHECK: %[[SLICE:.*]] = dgc.slice %[[R]] from [0, 2] to [4, 8]
  // CHECK: dgc.pad %[[SLICE]], %[[S]] low [0, -1] high [0, 0] interior [1, 0]
  %1 = stablehlo.reverse %x, dims = [0] : tensor<4x8xf32>
  %2 = stablehlo.slice %1 [0:4, 2:8] : (tensor<4x8xf32>) -> tensor<4x6xf32>
  %3 = stablehlo.pad %2, %s, low = [0, -1], high = [0, 0], interior = [1, 0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<7x5xf32>
  // CHECK: dgc.reshape %[[X]] to [32]
  %4 = stablehlo.reshape %x : (tensor<4x8xf32>) -> tensor<32xf32>
  return %0, %3, %4 : tensor<8x2x4xf32>, tensor<7x5xf32>, tensor<32xf32>
}

// CHECK-LABEL: func.func @made
func.func @made() -> (tensor<4xi32>, tensor<2xf32>, tensor<2x4xi32>) {
  // CHECK: dgc.iota dim 0 : tensor<4xi32>
  // CHECK: dgc.constant dense<[1.000000e+00, 0xFF800000]> : tensor<2xf32>
  // CHECK: dgc.concatenate
  %0 = stablehlo.iota dim = 0 : tensor<4xi32>
  %1 = stablehlo.constant dense<[1.0, 0xFF800000]> : tensor<2xf32>
  %2 = stablehlo.reshape %0 : (tensor<4xi32>) -> tensor<1x4xi32>
  %3 = stablehlo.concatenate %2, %2, dim = 0 : (tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<2x4xi32>
  return %0, %1, %3 : tensor<4xi32>, tensor<2xf32>, tensor<2x4xi32>
}

// CHECK-LABEL: func.func @before
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>)
func.func @before(%x: tensor<4x8xf32>) -> tensor<2x3x4x8xf32> {
  // CHECK: dgc.broadcast_in_dim %[[X]] dims [2, 3] to [2, 3, 4, 8]
  %0 = stablehlo.broadcast %x, sizes = [2, 3] : (tensor<4x8xf32>) -> tensor<2x3x4x8xf32>
  return %0 : tensor<2x3x4x8xf32>
}
