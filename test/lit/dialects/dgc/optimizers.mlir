// RUN: dgc-opt %s | dgc-opt --dgc-decompose --canonicalize --cse | FileCheck %s

// The updates are elementwise; scalars are computed once, as scalars.

// CHECK-LABEL: func.func @opt(
// CHECK-SAME: %[[A0:.*]]: tensor<4xf32>, %[[A1:.*]]: tensor<4xf32>, %[[A2:.*]]: tensor<4xf32>, %[[A3:.*]]: tensor<f32>, %[[A4:.*]]: tensor<i64>)
// CHECK-DAG: %[[C0:.*]] = dgc.constant dense<5.000000e-01> : tensor<f32>
// CHECK-DAG: %[[C1:.*]] = dgc.constant dense<1.000000e+01> : tensor<f32>
// CHECK-DAG: %[[C2:.*]] = dgc.constant dense<0.000000e+00> : tensor<f32>
// CHECK-DAG: %[[C3:.*]] = dgc.constant dense<3.000000e+00> : tensor<f32>
// CHECK-DAG: %[[C4:.*]] = dgc.constant dense<1.000000e-01> : tensor<f32>
// CHECK-DAG: %[[C5:.*]] = dgc.constant dense<9.99999993E-9> : tensor<4xf32>
// CHECK-DAG: %[[C6:.*]] = dgc.constant dense<0.00999999977> : tensor<4xf32>
// CHECK-DAG: %[[C7:.*]] = dgc.constant dense<9.900000e-01> : tensor<4xf32>
// CHECK-DAG: %[[C8:.*]] = dgc.constant dense<-0.0100503359> : tensor<f32>
// CHECK-DAG: %[[C9:.*]] = dgc.constant dense<-0.105360515> : tensor<f32>
// CHECK-DAG: %[[C10:.*]] = dgc.constant dense<1.000000e+00> : tensor<f32>
// CHECK-DAG: %[[C11:.*]] = dgc.constant dense<0.899999976> : tensor<4xf32>
// CHECK-DAG: %[[C12:.*]] = dgc.constant dense<1.000000e-01> : tensor<4xf32>
// CHECK: %[[V13:.*]] = dgc.multiply %[[A0]], %[[C12]] : tensor<4xf32>
// CHECK: %[[V14:.*]] = dgc.add %[[A1]], %[[V13]] : tensor<4xf32>
// CHECK: %[[V15:.*]] = dgc.multiply %[[A2]], %[[C11]] : tensor<4xf32>
// CHECK: %[[V16:.*]] = dgc.add %[[V15]], %[[V14]] : tensor<4xf32>
// CHECK: %[[V17:.*]] = dgc.multiply %[[V16]], %[[C11]] : tensor<4xf32>
// CHECK: %[[V18:.*]] = dgc.add %[[V14]], %[[V17]] : tensor<4xf32>
// CHECK: %[[V19:.*]] = dgc.broadcast_in_dim %[[A3]] dims [] to [4] : tensor<f32>
// CHECK: %[[V20:.*]] = dgc.multiply %[[V18]], %[[V19]] : tensor<4xf32>
// CHECK: %[[V21:.*]] = dgc.subtract %[[A0]], %[[V20]] : tensor<4xf32>
// CHECK: %[[V22:.*]] = dgc.multiply %[[A1]], %[[V19]] : tensor<4xf32>
// CHECK: %[[V23:.*]] = dgc.subtract %[[A0]], %[[V22]] : tensor<4xf32>
// CHECK: %[[V24:.*]] = dgc.convert %[[A4]] to f32 : tensor<i64>
// CHECK: %[[V25:.*]] = dgc.add %[[V24]], %[[C10]] : tensor<f32>
// CHECK: %[[V26:.*]] = dgc.multiply %[[V25]], %[[C9]] : tensor<f32>
// CHECK: %[[V27:.*]] = dgc.exponential_minus_one %[[V26]] : tensor<f32>
// CHECK: %[[V28:.*]] = dgc.negate %[[V27]] : tensor<f32>
// CHECK: %[[V29:.*]] = dgc.divide %[[A3]], %[[V28]] : tensor<f32>
// CHECK: %[[V30:.*]] = dgc.multiply %[[V25]], %[[C8]] : tensor<f32>
// CHECK: %[[V31:.*]] = dgc.exponential_minus_one %[[V30]] : tensor<f32>
// CHECK: %[[V32:.*]] = dgc.negate %[[V31]] : tensor<f32>
// CHECK: %[[V33:.*]] = dgc.rsqrt %[[V32]] : tensor<f32>
// CHECK: %[[V34:.*]] = dgc.multiply %[[A1]], %[[C12]] : tensor<4xf32>
// CHECK: %[[V35:.*]] = dgc.add %[[V15]], %[[V34]] : tensor<4xf32>
// CHECK: %[[V36:.*]] = dgc.multiply %[[A2]], %[[C7]] : tensor<4xf32>
// CHECK: %[[V37:.*]] = dgc.multiply %[[A1]], %[[A1]] : tensor<4xf32>
// CHECK: %[[V38:.*]] = dgc.multiply %[[V37]], %[[C6]] : tensor<4xf32>
// CHECK: %[[V39:.*]] = dgc.add %[[V36]], %[[V38]] : tensor<4xf32>
// CHECK: %[[V40:.*]] = dgc.sqrt %[[V39]] : tensor<4xf32>
// CHECK: %[[V41:.*]] = dgc.broadcast_in_dim %[[V33]] dims [] to [4] : tensor<f32>
// CHECK: %[[V42:.*]] = dgc.multiply %[[V40]], %[[V41]] : tensor<4xf32>
// CHECK: %[[V43:.*]] = dgc.add %[[V42]], %[[C5]] : tensor<4xf32>
// CHECK: %[[V44:.*]] = dgc.multiply %[[A3]], %[[C4]] : tensor<f32>
// CHECK: %[[V45:.*]] = dgc.broadcast_in_dim %[[V44]] dims [] to [4] : tensor<f32>
// CHECK: %[[V46:.*]] = dgc.multiply %[[A0]], %[[V45]] : tensor<4xf32>
// CHECK: %[[V47:.*]] = dgc.subtract %[[A0]], %[[V46]] : tensor<4xf32>
// CHECK: %[[V48:.*]] = dgc.broadcast_in_dim %[[V29]] dims [] to [4] : tensor<f32>
// CHECK: %[[V49:.*]] = dgc.multiply %[[V35]], %[[V48]] : tensor<4xf32>
// CHECK: %[[V50:.*]] = dgc.divide %[[V49]], %[[V43]] : tensor<4xf32>
// CHECK: %[[V51:.*]] = dgc.subtract %[[V47]], %[[V50]] : tensor<4xf32>
// CHECK: %[[V52:.*]] = dgc.subtract %[[V24]], %[[C3]] : tensor<f32>
// CHECK: %[[V53:.*]] = dgc.maximum %[[V52]], %[[C2]] : tensor<f32>
// CHECK: %[[V54:.*]] = dgc.divide %[[V53]], %[[C1]] : tensor<f32>
// CHECK: %[[V55:.*]] = dgc.floor %[[V54]] : tensor<f32>
// CHECK: %[[V56:.*]] = dgc.power %[[C0]], %[[V55]] : tensor<f32>
// CHECK: %[[V57:.*]] = dgc.multiply %[[V56]], %[[C4]] : tensor<f32>
// CHECK: %[[V58:.*]] = dgc.multiply %[[V25]], %[[C4]] : tensor<f32>
// CHECK: %[[V59:.*]] = dgc.divide %[[V58]], %[[C3]] : tensor<f32>
// CHECK: %[[V60:.*]] = dgc.compare {{ *}}lt %[[V24]], %[[C3]] : tensor<f32>
// CHECK: %[[V61:.*]] = dgc.select %[[V60]], %[[V59]], %[[V57]] : tensor<i1>, tensor<f32>, tensor<f32>
// CHECK: %[[V62:.*]] = dgc.multiply %[[A0]], %[[A0]] : tensor<4xf32>
// CHECK: %[[V63:.*]] = dgc.reduce sum %[[V62]] dims [0] : tensor<4xf32>
// CHECK: %[[V64:.*]] = dgc.reduce sum %[[V37]] dims [0] : tensor<4xf32>
// CHECK: %[[V65:.*]] = dgc.add %[[V63]], %[[V64]] : tensor<f32>
// CHECK: %[[V66:.*]] = dgc.sqrt %[[V65]] : tensor<f32>
// CHECK: %[[V67:.*]] = dgc.maximum %[[V66]], %[[C10]] : tensor<f32>
// CHECK: %[[V68:.*]] = dgc.divide %[[C10]], %[[V67]] : tensor<f32>
// CHECK: %[[V69:.*]] = dgc.broadcast_in_dim %[[V68]] dims [] to [4] : tensor<f32>
// CHECK: %[[V70:.*]] = dgc.multiply %[[A1]], %[[V69]] : tensor<4xf32>
// CHECK: return %[[V21]], %[[V23]], %[[V51]], %[[V61]], %[[V70]]
func.func @opt(%w: tensor<4xf32>, %g: tensor<4xf32>, %m: tensor<4xf32>, %lr: tensor<f32>, %step: tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>) {
  %0, %1 = dgc.apply_sgd %w, %g, %lr, %m momentum 0.9 nesterov weight_decay 0.1 : tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>
  %2 = dgc.apply_sgd %w, %g, %lr : tensor<4xf32>, tensor<4xf32>, tensor<f32>
  %3, %4, %5 = dgc.apply_adam %w, %g, %m, %m, %lr, %step beta1 0.9 beta2 0.99 epsilon 1e-8 weight_decay 0.1 decoupled : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>
  %6 = dgc.learning_rate %step 0.1 step every 10 times 0.5 warm_up 3
  %7:2 = dgc.clip_by_global_norm %w, %g max 1.0 : tensor<4xf32>, tensor<4xf32>
  return %0, %2, %3, %6, %7#1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>
}
