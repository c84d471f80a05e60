// RUN: dgc-opt %s | dgc-opt --dgc-decompose --canonicalize --cse | FileCheck %s

// The leading dimensions are batch dimensions, or the right side has none.

// CHECK-LABEL: func.func @matmul(
// CHECK-SAME: %[[A0:.*]]: tensor<2x3x4xf32>, %[[A1:.*]]: tensor<2x4x5xf32>, %[[A2:.*]]: tensor<4x5xf32>)
// CHECK: %[[V0:.*]] = dgc.dot_general %[[A0]], %[[A1]] batch [0] x [0] contract [2] x [1] : tensor<2x3x4xf32>, tensor<2x4x5xf32>
// CHECK: %[[V1:.*]] = dgc.dot_general %[[A0]], %[[A2]] contract [2] x [0] : tensor<2x3x4xf32>, tensor<4x5xf32>
// CHECK: return %[[V0]], %[[V1]]
func.func @matmul(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>, %c: tensor<4x5xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x5xf32>) {
  %0 = dgc.matmul %a, %b : tensor<2x3x4xf32>, tensor<2x4x5xf32>
  %1 = dgc.matmul %a, %c : tensor<2x3x4xf32>, tensor<4x5xf32>
  return %0, %1 : tensor<2x3x5xf32>, tensor<2x3x5xf32>
}

// A matrix product, and the bias along the last dimension.

// CHECK-LABEL: func.func @dense(
// CHECK-SAME: %[[A0:.*]]: tensor<3x4xf32>, %[[A1:.*]]: tensor<4x5xf32>, %[[A2:.*]]: tensor<5xf32>)
// CHECK: %[[V0:.*]] = dgc.dot_general %[[A0]], %[[A1]] contract [1] x [0] : tensor<3x4xf32>, tensor<4x5xf32>
// CHECK: %[[V1:.*]] = dgc.broadcast_in_dim %[[A2]] dims [1] to [3, 5] : tensor<5xf32>
// CHECK: %[[V2:.*]] = dgc.add %[[V0]], %[[V1]] : tensor<3x5xf32>
// CHECK: return %[[V2]], %[[V0]]
func.func @dense(%x: tensor<3x4xf32>, %w: tensor<4x5xf32>, %b: tensor<5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %0 = dgc.dense %x, %w, %b : tensor<3x4xf32>, tensor<4x5xf32>, tensor<5xf32>
  %1 = dgc.dense %x, %w : tensor<3x4xf32>, tensor<4x5xf32>
  return %0, %1 : tensor<3x5xf32>, tensor<3x5xf32>
}

// What changes shape is a reshape; flattening what is flat is nothing.

// CHECK-LABEL: func.func @small(
// CHECK-SAME: %[[A0:.*]]: tensor<3x4xf32>, %[[A1:.*]]: tensor<4xf32>)
// CHECK-DAG: %[[C0:.*]] = dgc.constant dense<-1.000000e+00> : tensor<3x4xf32>
// CHECK-DAG: %[[C1:.*]] = dgc.constant dense<5.000000e-01> : tensor<3x4xf32>
// CHECK: %[[V2:.*]] = dgc.broadcast_in_dim %[[A1]] dims [1] to [3, 4] : tensor<4xf32>
// CHECK: %[[V3:.*]] = dgc.add %[[A0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:.*]] = dgc.multiply %[[A0]], %[[C1]] : tensor<3x4xf32>
// CHECK: %[[V5:.*]] = dgc.add %[[V4]], %[[C0]] : tensor<3x4xf32>
// CHECK: %[[V6:.*]] = dgc.reshape %[[A0]] to [3, 1, 4] : tensor<3x4xf32>
// CHECK: return %[[V3]], %[[V4]], %[[V5]], %[[V6]], %[[A0]]
func.func @small(%x: tensor<3x4xf32>, %b: tensor<4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x1x4xf32>, tensor<3x4xf32>) {
  %0 = dgc.bias_add %x, %b : tensor<3x4xf32>, tensor<4xf32>
  %1 = dgc.scale %x by 0.5 : tensor<3x4xf32>
  %2 = dgc.scale %x by 0.5 plus -1 : tensor<3x4xf32>
  %3 = dgc.expand_dims %x at 1 : tensor<3x4xf32>
  %4 = dgc.flatten %3 : tensor<3x1x4xf32>
  return %0, %1, %2, %3, %4 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x1x4xf32>, tensor<3x4xf32>
}
