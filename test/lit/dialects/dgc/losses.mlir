// RUN: dgc-opt %s | dgc-opt --dgc-decompose --canonicalize --cse | FileCheck %s

// Row by row: maximum, exponentials and their sum; then the mean over the real examples. No gather.

// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[A0:.*]]: tensor<3x4xf32>, %[[A1:.*]]: tensor<3xui8>, %[[A2:.*]]: tensor<3x4xf32>, %[[A3:.*]]: tensor<i32>)
// CHECK-DAG: %[[C0:.*]] = dgc.constant dense<4> : tensor<3x4xi32>
// CHECK-DAG: %[[C1:.*]] = dgc.constant dense<4.000000e+00> : tensor<f32>
// CHECK-DAG: %[[C2:.*]] = dgc.constant dense<3.000000e+00> : tensor<f32>
// CHECK-DAG: %[[C3:.*]] = dgc.constant dense<0.000000e+00> : tensor<3xf32>
// CHECK-DAG: %[[C4:.*]] = dgc.constant dense<0.000000e+00> : tensor<3x4xf32>
// CHECK: %[[V5:.*]] = dgc.reduce max %[[A0]] dims [1] : tensor<3x4xf32>
// CHECK: %[[V6:.*]] = dgc.broadcast_in_dim %[[V5]] dims [0] to [3, 4] : tensor<3xf32>
// CHECK: %[[V7:.*]] = dgc.subtract %[[A0]], %[[V6]] : tensor<3x4xf32>
// CHECK: %[[V8:.*]] = dgc.exponential %[[V7]] : tensor<3x4xf32>
// CHECK: %[[V9:.*]] = dgc.reduce sum %[[V8]] dims [1] : tensor<3x4xf32>
// CHECK: %[[V10:.*]] = dgc.log %[[V9]] : tensor<3xf32>
// CHECK: %[[V11:.*]] = dgc.iota dim 1 : tensor<3x4xi32>
// CHECK: %[[V12:.*]] = dgc.convert %[[A1]] to i32 : tensor<3xui8>
// CHECK: %[[V13:.*]] = dgc.broadcast_in_dim %[[V12]] dims [0] to [3, 4] : tensor<3xi32>
// CHECK: %[[V14:.*]] = dgc.compare {{ *}}eq %[[V11]], %[[V13]] : tensor<3x4xi32>
// CHECK: %[[V15:.*]] = dgc.select %[[V14]], %[[V7]], %[[C4]] : tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>
// CHECK: %[[V16:.*]] = dgc.reduce sum %[[V15]] dims [1] : tensor<3x4xf32>
// CHECK: %[[V17:.*]] = dgc.subtract %[[V10]], %[[V16]] : tensor<3xf32>
// CHECK: %[[V18:.*]] = dgc.iota dim 0 : tensor<3xi32>
// CHECK: %[[V19:.*]] = dgc.broadcast_in_dim %[[A3]] dims [] to [3] : tensor<i32>
// CHECK: %[[V20:.*]] = dgc.compare {{ *}}lt %[[V18]], %[[V19]] : tensor<3xi32>
// CHECK: %[[V21:.*]] = dgc.select %[[V20]], %[[V17]], %[[C3]] : tensor<3xi1>, tensor<3xf32>, tensor<3xf32>
// CHECK: %[[V22:.*]] = dgc.reduce sum %[[V21]] dims [0] : tensor<3xf32>
// CHECK: %[[V23:.*]] = dgc.convert %[[A3]] to f32 : tensor<i32>
// CHECK: %[[V24:.*]] = dgc.divide %[[V22]], %[[V23]] : tensor<f32>
// CHECK: %[[V25:.*]] = dgc.reduce sum %[[A2]] dims [1] : tensor<3x4xf32>
// CHECK: %[[V26:.*]] = dgc.multiply %[[V10]], %[[V25]] : tensor<3xf32>
// CHECK: %[[V27:.*]] = dgc.multiply %[[A2]], %[[V7]] : tensor<3x4xf32>
// CHECK: %[[V28:.*]] = dgc.reduce sum %[[V27]] dims [1] : tensor<3x4xf32>
// CHECK: %[[V29:.*]] = dgc.subtract %[[V26]], %[[V28]] : tensor<3xf32>
// CHECK: %[[V30:.*]] = dgc.reduce sum %[[V29]] dims [0] : tensor<3xf32>
// CHECK: %[[V31:.*]] = dgc.divide %[[V30]], %[[C2]] : tensor<f32>
// CHECK: %[[V32:.*]] = dgc.subtract %[[A0]], %[[A2]] : tensor<3x4xf32>
// CHECK: %[[V33:.*]] = dgc.multiply %[[V32]], %[[V32]] : tensor<3x4xf32>
// CHECK: %[[V34:.*]] = dgc.broadcast_in_dim %[[V20]] dims [0] to [3, 4] : tensor<3xi1>
// CHECK: %[[V35:.*]] = dgc.select %[[V34]], %[[V33]], %[[C4]] : tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>
// CHECK: %[[V36:.*]] = dgc.reduce sum %[[V35]] dims [0, 1] : tensor<3x4xf32>
// CHECK: %[[V37:.*]] = dgc.multiply %[[V23]], %[[C1]] : tensor<f32>
// CHECK: %[[V38:.*]] = dgc.divide %[[V36]], %[[V37]] : tensor<f32>
// CHECK: %[[V39:.*]] = dgc.compare {{ *}}eq %[[A0]], %[[V6]] : tensor<3x4xf32>
// CHECK: %[[V40:.*]] = dgc.select %[[V39]], %[[V11]], %[[C0]] : tensor<3x4xi1>, tensor<3x4xi32>, tensor<3x4xi32>
// CHECK: %[[V41:.*]] = dgc.reduce min %[[V40]] dims [1] : tensor<3x4xi32>
// CHECK: %[[V42:.*]] = dgc.compare {{ *}}eq %[[V41]], %[[V12]] : tensor<3xi32>
// CHECK: %[[V43:.*]] = dgc.convert %[[V42]] to f32 : tensor<3xi1>
// CHECK: %[[V44:.*]] = dgc.reduce sum %[[V43]] dims [0] : tensor<3xf32>
// CHECK: %[[V45:.*]] = dgc.divide %[[V44]], %[[C2]] : tensor<f32>
// CHECK: return %[[V24]], %[[V31]], %[[V38]], %[[V45]]
func.func @loss(%x: tensor<3x4xf32>, %l: tensor<3xui8>, %d: tensor<3x4xf32>, %valid: tensor<i32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %0 = dgc.cross_entropy %x, %l valid %valid : tensor<3x4xf32>, tensor<3xui8>
  %1 = dgc.cross_entropy %x, %d : tensor<3x4xf32>
  %2 = dgc.mean_squared_error %x, %d valid %valid : tensor<3x4xf32>
  %3 = dgc.accuracy %x, %l : tensor<3x4xf32>, tensor<3xui8>
  return %0, %1, %2, %3 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
