// RUN: dgc-opt %s | FileCheck %s
// RUN: dgc-opt %s --mlir-print-op-generic | dgc-opt | FileCheck %s

// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<4x8xf32>, %s: tensor<f32>, %i: tensor<i32>, %u: tensor<1x8xf32>) {
  // CHECK: stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  // CHECK: stablehlo.iota dim = 1 : tensor<4x8xi32>
  %1 = stablehlo.iota dim = 1 : tensor<4x8xi32>
  // CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
  %2 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
  // CHECK: stablehlo.broadcast %{{.*}}, sizes = [2, 3] : (tensor<4x8xf32>) -> tensor<2x3x4x8xf32>
  %broadcast = stablehlo.broadcast %x, sizes = [2, 3] : (tensor<4x8xf32>) -> tensor<2x3x4x8xf32>
  // CHECK: stablehlo.transpose %{{.*}}, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %3 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK: stablehlo.reshape %{{.*}} : (tensor<4x8xf32>) -> tensor<32xf32>
  %4 = stablehlo.reshape %x : (tensor<4x8xf32>) -> tensor<32xf32>
  // CHECK: stablehlo.slice %{{.*}} [0:4, 0:8:2] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %5 = stablehlo.slice %x [0:4, 0:8:2] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  // CHECK: stablehlo.pad %{{.*}}, %{{.*}}, low = [0, -1], high = [1, 0], interior = [1, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8x7xf32>
  %6 = stablehlo.pad %x, %s, low = [0, -1], high = [1, 0], interior = [1, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8x7xf32>
  // CHECK: stablehlo.concatenate %{{.*}}, %{{.*}}, dim = 0 : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<5x8xf32>
  %7 = stablehlo.concatenate %x, %u, dim = 0 : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<5x8xf32>
  // CHECK: stablehlo.reverse %{{.*}}, dims = [1] : tensor<4x8xf32>
  %8 = stablehlo.reverse %x, dims = [1] : tensor<4x8xf32>
  // CHECK: stablehlo.dynamic_slice %{{.*}}, %{{.*}}, %{{.*}}, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
  %9 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
  // CHECK: stablehlo.dynamic_update_slice %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  %10 = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  // CHECK: stablehlo.bitcast_convert %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8x4xui8>
  %11 = stablehlo.bitcast_convert %x : (tensor<4x8xf32>) -> tensor<4x8x4xui8>
  return
}
