// RUN: dgc-opt %s | dgc-opt --dgc-decompose --canonicalize --cse | FileCheck %s

// Mean and variance of each row, with one reciprocal square root a row.

// CHECK-LABEL: func.func @ln(
// CHECK-SAME: %[[A0:.*]]: tensor<3x4xf32>, %[[A1:.*]]: tensor<4xf32>, %[[A2:.*]]: tensor<4xf32>)
// CHECK-DAG: %[[C0:.*]] = dgc.constant dense<0.00999999977> : tensor<3xf32>
// CHECK-DAG: %[[C1:.*]] = dgc.constant dense<2.500000e-01> : tensor<3xf32>
// CHECK: %[[V2:.*]] = dgc.reduce sum %[[A0]] dims [1] : tensor<3x4xf32>
// CHECK: %[[V3:.*]] = dgc.multiply %[[V2]], %[[C1]] : tensor<3xf32>
// CHECK: %[[V4:.*]] = dgc.broadcast_in_dim %[[V3]] dims [0] to [3, 4] : tensor<3xf32>
// CHECK: %[[V5:.*]] = dgc.subtract %[[A0]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:.*]] = dgc.multiply %[[V5]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:.*]] = dgc.reduce sum %[[V6]] dims [1] : tensor<3x4xf32>
// CHECK: %[[V8:.*]] = dgc.multiply %[[V7]], %[[C1]] : tensor<3xf32>
// CHECK: %[[V9:.*]] = dgc.add %[[V8]], %[[C0]] : tensor<3xf32>
// CHECK: %[[V10:.*]] = dgc.rsqrt %[[V9]] : tensor<3xf32>
// CHECK: %[[V11:.*]] = dgc.broadcast_in_dim %[[V10]] dims [0] to [3, 4] : tensor<3xf32>
// CHECK: %[[V12:.*]] = dgc.multiply %[[V5]], %[[V11]] : tensor<3x4xf32>
// CHECK: %[[V13:.*]] = dgc.broadcast_in_dim %[[A1]] dims [1] to [3, 4] : tensor<4xf32>
// CHECK: %[[V14:.*]] = dgc.multiply %[[V12]], %[[V13]] : tensor<3x4xf32>
// CHECK: %[[V15:.*]] = dgc.broadcast_in_dim %[[A2]] dims [1] to [3, 4] : tensor<4xf32>
// CHECK: %[[V16:.*]] = dgc.add %[[V14]], %[[V15]] : tensor<3x4xf32>
// CHECK: return %[[V16]]
func.func @ln(%x: tensor<3x4xf32>, %s: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<3x4xf32> {
  %0 = dgc.layer_norm %x, %s, %o epsilon 0.01 : tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>
  return %0 : tensor<3x4xf32>
}

// In training the statistics are those of the real examples; otherwise the running ones are used and returned.

// CHECK-LABEL: func.func @bn(
// CHECK-SAME: %[[A0:.*]]: tensor<3x2x4xf32>, %[[A1:.*]]: tensor<4xf32>, %[[A2:.*]]: tensor<i32>)
// CHECK-DAG: %[[C0:.*]] = dgc.constant dense<9.99999974E-6> : tensor<4xf32>
// CHECK-DAG: %[[C1:.*]] = dgc.constant dense<1.000000e-01> : tensor<4xf32>
// CHECK-DAG: %[[C2:.*]] = dgc.constant dense<0.899999976> : tensor<4xf32>
// CHECK-DAG: %[[C3:.*]] = dgc.constant dense<0.000000e+00> : tensor<3x2x4xf32>
// CHECK-DAG: %[[C4:.*]] = dgc.constant dense<2.000000e+00> : tensor<f32>
// CHECK: %[[V5:.*]] = dgc.convert %[[A2]] to f32 : tensor<i32>
// CHECK: %[[V6:.*]] = dgc.multiply %[[V5]], %[[C4]] : tensor<f32>
// CHECK: %[[V7:.*]] = dgc.iota dim 0 : tensor<3xi32>
// CHECK: %[[V8:.*]] = dgc.broadcast_in_dim %[[A2]] dims [] to [3] : tensor<i32>
// CHECK: %[[V9:.*]] = dgc.compare {{ *}}lt %[[V7]], %[[V8]] : tensor<3xi32>
// CHECK: %[[V10:.*]] = dgc.broadcast_in_dim %[[V9]] dims [0] to [3, 2, 4] : tensor<3xi1>
// CHECK: %[[V11:.*]] = dgc.select %[[V10]], %[[A0]], %[[C3]] : tensor<3x2x4xi1>, tensor<3x2x4xf32>, tensor<3x2x4xf32>
// CHECK: %[[V12:.*]] = dgc.reduce sum %[[V11]] dims [0, 1] : tensor<3x2x4xf32>
// CHECK: %[[V13:.*]] = dgc.broadcast_in_dim %[[V6]] dims [] to [4] : tensor<f32>
// CHECK: %[[V14:.*]] = dgc.divide %[[V12]], %[[V13]] : tensor<4xf32>
// CHECK: %[[V15:.*]] = dgc.broadcast_in_dim %[[V14]] dims [2] to [3, 2, 4] : tensor<4xf32>
// CHECK: %[[V16:.*]] = dgc.subtract %[[A0]], %[[V15]] : tensor<3x2x4xf32>
// CHECK: %[[V17:.*]] = dgc.multiply %[[V16]], %[[V16]] : tensor<3x2x4xf32>
// CHECK: %[[V18:.*]] = dgc.select %[[V10]], %[[V17]], %[[C3]] : tensor<3x2x4xi1>, tensor<3x2x4xf32>, tensor<3x2x4xf32>
// CHECK: %[[V19:.*]] = dgc.reduce sum %[[V18]] dims [0, 1] : tensor<3x2x4xf32>
// CHECK: %[[V20:.*]] = dgc.divide %[[V19]], %[[V13]] : tensor<4xf32>
// CHECK: %[[V21:.*]] = dgc.multiply %[[A1]], %[[C2]] : tensor<4xf32>
// CHECK: %[[V22:.*]] = dgc.multiply %[[V14]], %[[C1]] : tensor<4xf32>
// CHECK: %[[V23:.*]] = dgc.add %[[V21]], %[[V22]] : tensor<4xf32>
// CHECK: %[[V24:.*]] = dgc.add %[[V20]], %[[C0]] : tensor<4xf32>
// CHECK: %[[V25:.*]] = dgc.rsqrt %[[V24]] : tensor<4xf32>
// CHECK: %[[V26:.*]] = dgc.multiply %[[V25]], %[[A1]] : tensor<4xf32>
// CHECK: %[[V27:.*]] = dgc.broadcast_in_dim %[[V26]] dims [2] to [3, 2, 4] : tensor<4xf32>
// CHECK: %[[V28:.*]] = dgc.multiply %[[V16]], %[[V27]] : tensor<3x2x4xf32>
// CHECK: %[[V29:.*]] = dgc.broadcast_in_dim %[[A1]] dims [2] to [3, 2, 4] : tensor<4xf32>
// CHECK: %[[V30:.*]] = dgc.add %[[V28]], %[[V29]] : tensor<3x2x4xf32>
// CHECK: %[[V31:.*]] = dgc.add %[[A1]], %[[C0]] : tensor<4xf32>
// CHECK: %[[V32:.*]] = dgc.rsqrt %[[V31]] : tensor<4xf32>
// CHECK: %[[V33:.*]] = dgc.subtract %[[A0]], %[[V29]] : tensor<3x2x4xf32>
// CHECK: %[[V34:.*]] = dgc.multiply %[[V32]], %[[A1]] : tensor<4xf32>
// CHECK: %[[V35:.*]] = dgc.broadcast_in_dim %[[V34]] dims [2] to [3, 2, 4] : tensor<4xf32>
// CHECK: %[[V36:.*]] = dgc.multiply %[[V33]], %[[V35]] : tensor<3x2x4xf32>
// CHECK: %[[V37:.*]] = dgc.add %[[V36]], %[[V29]] : tensor<3x2x4xf32>
// CHECK: return %[[V30]], %[[V23]], %[[V37]], %[[A1]]
func.func @bn(%x: tensor<3x2x4xf32>, %s: tensor<4xf32>, %valid: tensor<i32>) -> (tensor<3x2x4xf32>, tensor<4xf32>, tensor<3x2x4xf32>, tensor<4xf32>) {
  %0, %1, %2 = dgc.batch_norm %x, %s, %s, %s, %s training valid %valid : tensor<3x2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  %3, %4, %5 = dgc.batch_norm %x, %s, %s, %s, %s : tensor<3x2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  return %0, %1, %3, %5 : tensor<3x2x4xf32>, tensor<4xf32>, tensor<3x2x4xf32>, tensor<4xf32>
}
