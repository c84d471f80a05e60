// RUN: dgc-opt %s | dgc-opt --dgc-decompose --canonicalize --cse | FileCheck %s

// Softmax is shifted by the maximum; half precision is computed in f32.

// CHECK-LABEL: func.func @act(
// CHECK-SAME: %[[A0:.*]]: tensor<3x4xf32>, %[[A1:.*]]: tensor<3x4xbf16>)
// CHECK-DAG: %[[C0:.*]] = dgc.constant dense<0.797884583> : tensor<3x4xf32>
// CHECK-DAG: %[[C1:.*]] = dgc.constant dense<1.000000e+00> : tensor<3x4xf32>
// CHECK-DAG: %[[C2:.*]] = dgc.constant dense<4.471500e-02> : tensor<3x4xf32>
// CHECK-DAG: %[[C3:.*]] = dgc.constant dense<5.000000e-01> : tensor<3x4xf32>
// CHECK-DAG: %[[C4:.*]] = dgc.constant dense<0.707106769> : tensor<3x4xf32>
// CHECK-DAG: %[[C5:.*]] = dgc.constant dense<0.000000e+00> : tensor<3x4xf32>
// CHECK: %[[V6:.*]] = dgc.maximum %[[A0]], %[[C5]] : tensor<3x4xf32>
// CHECK: %[[V7:.*]] = dgc.logistic %[[A0]] : tensor<3x4xf32>
// CHECK: %[[V8:.*]] = dgc.multiply %[[A0]], %[[C4]] : tensor<3x4xf32>
// CHECK: %[[V9:.*]] = dgc.erf %[[V8]] : tensor<3x4xf32>
// CHECK: %[[V10:.*]] = dgc.multiply %[[V9]], %[[C3]] : tensor<3x4xf32>
// CHECK: %[[V11:.*]] = dgc.add %[[V10]], %[[C3]] : tensor<3x4xf32>
// CHECK: %[[V12:.*]] = dgc.multiply %[[A0]], %[[V11]] : tensor<3x4xf32>
// CHECK: %[[V13:.*]] = dgc.multiply %[[A0]], %[[A0]] : tensor<3x4xf32>
// CHECK: %[[V14:.*]] = dgc.multiply %[[V13]], %[[C2]] : tensor<3x4xf32>
// CHECK: %[[V15:.*]] = dgc.add %[[V14]], %[[C1]] : tensor<3x4xf32>
// CHECK: %[[V16:.*]] = dgc.multiply %[[A0]], %[[V15]] : tensor<3x4xf32>
// CHECK: %[[V17:.*]] = dgc.multiply %[[V16]], %[[C0]] : tensor<3x4xf32>
// CHECK: %[[V18:.*]] = dgc.tanh %[[V17]] : tensor<3x4xf32>
// CHECK: %[[V19:.*]] = dgc.multiply %[[V18]], %[[C3]] : tensor<3x4xf32>
// CHECK: %[[V20:.*]] = dgc.add %[[V19]], %[[C3]] : tensor<3x4xf32>
// CHECK: %[[V21:.*]] = dgc.multiply %[[A0]], %[[V20]] : tensor<3x4xf32>
// CHECK: %[[V22:.*]] = dgc.reduce max %[[A0]] dims [0] : tensor<3x4xf32>
// CHECK: %[[V23:.*]] = dgc.broadcast_in_dim %[[V22]] dims [1] to [3, 4] : tensor<4xf32>
// CHECK: %[[V24:.*]] = dgc.subtract %[[A0]], %[[V23]] : tensor<3x4xf32>
// CHECK: %[[V25:.*]] = dgc.exponential %[[V24]] : tensor<3x4xf32>
// CHECK: %[[V26:.*]] = dgc.reduce sum %[[V25]] dims [0] : tensor<3x4xf32>
// CHECK: %[[V27:.*]] = dgc.broadcast_in_dim %[[V26]] dims [1] to [3, 4] : tensor<4xf32>
// CHECK: %[[V28:.*]] = dgc.divide %[[V25]], %[[V27]] : tensor<3x4xf32>
// CHECK: %[[V29:.*]] = dgc.convert %[[A1]] to f32 : tensor<3x4xbf16>
// CHECK: %[[V30:.*]] = dgc.reduce max %[[V29]] dims [1] : tensor<3x4xf32>
// CHECK: %[[V31:.*]] = dgc.broadcast_in_dim %[[V30]] dims [0] to [3, 4] : tensor<3xf32>
// CHECK: %[[V32:.*]] = dgc.subtract %[[V29]], %[[V31]] : tensor<3x4xf32>
// CHECK: %[[V33:.*]] = dgc.exponential %[[V32]] : tensor<3x4xf32>
// CHECK: %[[V34:.*]] = dgc.reduce sum %[[V33]] dims [1] : tensor<3x4xf32>
// CHECK: %[[V35:.*]] = dgc.log %[[V34]] : tensor<3xf32>
// CHECK: %[[V36:.*]] = dgc.broadcast_in_dim %[[V35]] dims [0] to [3, 4] : tensor<3xf32>
// CHECK: %[[V37:.*]] = dgc.subtract %[[V32]], %[[V36]] : tensor<3x4xf32>
// CHECK: %[[V38:.*]] = dgc.convert %[[V37]] to bf16 : tensor<3x4xf32>
// CHECK: return %[[V6]], %[[V7]], %[[V12]], %[[V21]], %[[V28]], %[[V38]]
func.func @act(%x: tensor<3x4xf32>, %h: tensor<3x4xbf16>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xbf16>) {
  %0 = dgc.relu %x : tensor<3x4xf32>
  %1 = dgc.sigmoid %x : tensor<3x4xf32>
  %2 = dgc.gelu %x : tensor<3x4xf32>
  %3 = dgc.gelu %x tanh : tensor<3x4xf32>
  %4 = dgc.softmax %x dim 0 : tensor<3x4xf32>
  %5 = dgc.log_softmax %h : tensor<3x4xbf16>
  return %0, %1, %2, %3, %4, %5 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xbf16>
}

// The gradient of gelu is computed from its operand; half precision in f32.
// CHECK-LABEL: func.func @gelu_grad(
// CHECK:         dgc.convert %{{.*}} to f32 : tensor<3x4xbf16>
// CHECK:         dgc.tanh
// CHECK:         dgc.convert %{{.*}} to bf16 : tensor<3x4xf32>
// CHECK:         dgc.erf
// CHECK:         dgc.exponential
// CHECK-NOT:     dgc.gelu_grad
func.func @gelu_grad(%h: tensor<3x4xbf16>, %dh: tensor<3x4xbf16>, %x: tensor<3x4xf32>, %dx: tensor<3x4xf32>)
    -> (tensor<3x4xbf16>, tensor<3x4xf32>) {
  %0 = dgc.gelu_grad %h, %dh tanh : tensor<3x4xbf16>
  %1 = dgc.gelu_grad %x, %dx : tensor<3x4xf32>
  return %0, %1 : tensor<3x4xbf16>, tensor<3x4xf32>
}
