// RUN: dgc-opt %s | dgc-opt --dgc-decompose --canonicalize --cse | FileCheck %s

// composites_test checks the numbers; here it is how they are computed.

// Gelu with the error function, and its approximation by tanh: one of either an element, and the third power as products.

// CHECK-LABEL: func.func @gelu(
// CHECK-NOT:     dgc.{{tanh|exponential|power}}
// CHECK:         dgc.erf
// CHECK-NOT:     dgc.{{erf|tanh|exponential|power}}
// CHECK:         return
func.func @gelu(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = dgc.gelu %x : tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @gelu_tanh(
// CHECK-NOT:     dgc.{{erf|exponential|power}}
// CHECK:         dgc.tanh
// CHECK-NOT:     dgc.{{erf|tanh|exponential|power}}
// CHECK:         return
func.func @gelu_tanh(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = dgc.gelu %x tanh : tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// Softmax along any dimension is shifted by the maximum, so that no exponential is of a positive number. There is one
// exponential an element.

// CHECK-LABEL: func.func @softmax(
// CHECK-SAME:    %[[X:[^:]+]]:
// CHECK-NOT:     dgc.exponential
// CHECK:         %[[MOST:.*]] = dgc.reduce max %[[X]] dims [0]
// CHECK:         %[[MOSTS:.*]] = dgc.broadcast_in_dim %[[MOST]] dims [1] to [3, 4]
// CHECK:         %[[SHIFTED:.*]] = dgc.subtract %[[X]], %[[MOSTS]]
// CHECK:         %[[E:.*]] = dgc.exponential %[[SHIFTED]]
// CHECK-NOT:     dgc.exponential
// CHECK:         %[[SUM:.*]] = dgc.reduce sum %[[E]] dims [0]
// CHECK:         %[[SUMS:.*]] = dgc.broadcast_in_dim %[[SUM]] dims [1] to [3, 4]
// CHECK:         %[[R:.*]] = dgc.divide %[[E]], %[[SUMS]]
// CHECK-NEXT:    return %[[R]]
func.func @softmax(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = dgc.softmax %x dim 0 : tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// Its logarithm has no quotient, and one logarithm a row. Half precision is computed in f32: it is converted before
// everything else, and the result is converted last.

// CHECK-LABEL: func.func @log_softmax(
// CHECK-SAME:    %[[H:[^:]+]]: tensor<3x4xbf16>
// CHECK-NEXT:    %[[X:.*]] = dgc.convert %[[H]] to f32 : tensor<3x4xbf16>
// CHECK-NOT:     bf16
// CHECK-NOT:     dgc.{{exponential|divide|log}}
// CHECK:         %[[SHIFTED:.*]] = dgc.subtract %[[X]],
// CHECK-NOT:     bf16
// CHECK:         dgc.exponential %[[SHIFTED]]
// CHECK-NOT:     {{bf16|dgc.divide|dgc.exponential}}
// CHECK:         dgc.log %{{.*}} : tensor<3xf32>
// CHECK-NOT:     {{bf16|dgc.divide|dgc.exponential|dgc.log}}
// CHECK:         %[[R:.*]] = dgc.convert %{{.*}} to bf16 : tensor<3x4xf32>
// CHECK-NEXT:    return %[[R]]
func.func @log_softmax(%h: tensor<3x4xbf16>) -> tensor<3x4xbf16> {
  %0 = dgc.log_softmax %h : tensor<3x4xbf16>
  return %0 : tensor<3x4xbf16>
}

// The gradient of gelu is computed from its operand, which the function and its slope share.

// CHECK-LABEL: func.func @gelu_grad(
// CHECK-NOT:     dgc.tanh
// CHECK:         dgc.erf
// CHECK-NOT:     dgc.{{erf|tanh}}
// CHECK:         dgc.exponential
// CHECK-NOT:     dgc.{{erf|tanh|exponential|gelu}}
// CHECK:         return
func.func @gelu_grad(%x: tensor<3x4xf32>, %dx: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = dgc.gelu_grad %x, %dx : tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// The slope of tanh is made of tanh. Half precision is computed in f32 here as well.

// CHECK-LABEL: func.func @gelu_grad_tanh(
// CHECK-SAME:    %[[H:[^:]+]]: tensor<3x4xbf16>, %[[DH:[^:]+]]: tensor<3x4xbf16>)
// CHECK:         dgc.convert %[[H]] to f32
// CHECK:         dgc.tanh %{{.*}} : tensor<3x4xf32>
// CHECK-NOT:     {{dgc.(erf|tanh|exponential|gelu)|(add|multiply|subtract).*bf16}}
// CHECK:         dgc.convert %[[DH]] to f32
// CHECK-NOT:     {{dgc.(erf|tanh|exponential|gelu)|(add|multiply|subtract).*bf16}}
// CHECK:         %[[R:.*]] = dgc.convert %{{.*}} to bf16 : tensor<3x4xf32>
// CHECK-NEXT:    return %[[R]]
func.func @gelu_grad_tanh(%h: tensor<3x4xbf16>, %dh: tensor<3x4xbf16>) -> tensor<3x4xbf16> {
  %0 = dgc.gelu_grad %h, %dh tanh : tensor<3x4xbf16>
  return %0 : tensor<3x4xbf16>
}

// The rest are single ops.

// CHECK-LABEL: func.func @single(
// CHECK-SAME:    %[[X:[^:]+]]:
// CHECK-DAG:     dgc.maximum %[[X]], %{{.*}}
// CHECK-DAG:     dgc.logistic %[[X]]
// CHECK-NEXT:    return
func.func @single(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %0 = dgc.relu %x : tensor<3x4xf32>
  %1 = dgc.sigmoid %x : tensor<3x4xf32>
  return %0, %1 : tensor<3x4xf32>, tensor<3x4xf32>
}

// The logistic function is taken once, of f32.

// CHECK-LABEL: func.func @silu(
// CHECK-SAME:    %[[X:[^:]+]]:
// CHECK:         %[[WIDE:.*]] = dgc.convert %[[X]] to f32
// CHECK-NEXT:    %[[GATE:.*]] = dgc.logistic %[[WIDE]]
// CHECK-NEXT:    %[[Y:.*]] = dgc.multiply %[[WIDE]], %[[GATE]]
// CHECK-NEXT:    dgc.convert %[[Y]] to bf16
func.func @silu(%x: tensor<3x4xbf16>) -> tensor<3x4xbf16> {
  %0 = dgc.silu %x : tensor<3x4xbf16>
  return %0 : tensor<3x4xbf16>
}

// No exponential is of a number above 0.

// CHECK-LABEL: func.func @below_zero(
// CHECK-SAME:    %[[X:[^:]+]]:
// CHECK-DAG:     %[[ZERO:.*]] = dgc.constant dense<0.000000e+00>
// CHECK-DAG:     %[[SLOPE:.*]] = dgc.constant dense<0.00999999977>
// CHECK-DAG:     %[[ALPHA:.*]] = dgc.constant dense<5.000000e-01>
// CHECK-DAG:     %[[ABOVE:.*]] = dgc.compare {{ *}}gt %[[X]], %[[ZERO]]
// CHECK-DAG:     %[[SLOPED:.*]] = dgc.multiply %[[X]], %[[SLOPE]]
// CHECK-DAG:     dgc.select %[[ABOVE]], %[[X]], %[[SLOPED]]
// CHECK-DAG:     %[[LOW:.*]] = dgc.minimum %[[X]], %[[ZERO]]
// CHECK-DAG:     %[[EXP:.*]] = dgc.exponential_minus_one %[[LOW]]
// CHECK-DAG:     %[[BELOW:.*]] = dgc.multiply %[[EXP]], %[[ALPHA]]
// CHECK-DAG:     dgc.select %[[ABOVE]], %[[X]], %[[BELOW]]
// CHECK:         return
func.func @below_zero(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %0 = dgc.leaky_relu %x : tensor<3x4xf32>
  %1 = dgc.elu %x alpha 0.5 : tensor<3x4xf32>
  return %0, %1 : tensor<3x4xf32>, tensor<3x4xf32>
}

// One logistic an element of the gate, whether it is a tensor or a half of one.

// CHECK-LABEL: func.func @swiglu(
// CHECK-SAME:    %[[G:[^:]+]]: tensor<3x4xf32>, %[[X:[^:]+]]: tensor<3x4xf32>)
// CHECK:         %[[S:.*]] = dgc.logistic %[[G]]
// CHECK:         %[[OPEN:.*]] = dgc.multiply %[[G]], %[[S]]
// CHECK:         dgc.multiply %[[OPEN]], %[[X]]
// CHECK-DAG:     %[[GATE:.*]] = dgc.slice %[[X]] from [0, 0] to [3, 2]
// CHECK-DAG:     %[[REST:.*]] = dgc.slice %[[X]] from [0, 2] to [3, 4]
// CHECK:         dgc.logistic %[[GATE]]
// CHECK:         dgc.multiply %{{.*}}, %[[REST]]
func.func @swiglu(%g: tensor<3x4xf32>, %x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x2xf32>) {
  %0 = dgc.swiglu %g, %x : tensor<3x4xf32>
  %1 = dgc.swiglu %x : tensor<3x4xf32>
  return %0, %1 : tensor<3x4xf32>, tensor<3x2xf32>
}
