// RUN: dgc-opt %s | dgc-opt --dgc-decompose --canonicalize --cse | FileCheck %s --implicit-check-not=dgc.gather

// composites_test checks the numbers; here it is how they are computed: row by row, without a gather of labels.

// The logarithm of softmax is of numbers shifted by the largest of their row, so that no exponential is of a positive
// number and no logarithm of zero; there is one logarithm a row. What is padding is left out before the sum over the
// examples, which is divided by the number of real ones.

// CHECK-LABEL: func.func @labels(
// CHECK-SAME:    %[[X:[^:]+]]: tensor<3x4xf32>, %[[LABELS:[^:]+]]: tensor<3xui8>, %[[VALID:[^:]+]]: tensor<i32>)
// CHECK:         %[[MOST:.*]] = dgc.reduce max %[[X]] dims [1]
// CHECK:         %[[MOSTS:.*]] = dgc.broadcast_in_dim %[[MOST]] dims [0] to [3, 4]
// CHECK:         %[[SHIFTED:.*]] = dgc.subtract %[[X]], %[[MOSTS]]
// CHECK-NOT:     dgc.exponential
// CHECK:         %[[E:.*]] = dgc.exponential %[[SHIFTED]]
// CHECK-NOT:     dgc.exponential
// CHECK:         %[[SUM:.*]] = dgc.reduce sum %[[E]] dims [1]
// CHECK:         dgc.log %[[SUM]] : tensor<3xf32>
// CHECK-NOT:     dgc.{{exponential|log}}
// CHECK:         %[[REAL:.*]] = dgc.compare {{ *}}lt %{{.*}} : tensor<3xi32>
// CHECK:         %[[LOSSES:.*]] = dgc.select %[[REAL]], %{{.*}}, %{{.*}} : tensor<3xi1>
// CHECK:         %[[TOTAL:.*]] = dgc.reduce sum %[[LOSSES]] dims [0]
// CHECK:         %[[COUNT:.*]] = dgc.convert %[[VALID]] to f32
// CHECK:         %[[LOSS:.*]] = dgc.divide %[[TOTAL]], %[[COUNT]] : tensor<f32>
// CHECK-NEXT:    return %[[LOSS]]
func.func @labels(%x: tensor<3x4xf32>, %l: tensor<3xui8>, %valid: tensor<i32>) -> tensor<f32> {
  %0 = dgc.cross_entropy %x, %l valid %valid : tensor<3x4xf32>, tensor<3xui8>
  return %0 : tensor<f32>
}

// With a distribution for each row, and every example real: nothing is compared or chosen, and the count is known.

// CHECK-LABEL: func.func @distribution(
// CHECK-SAME:    %[[X:[^:]+]]: tensor<3x4xf32>,
// CHECK-DAG:     %[[COUNT:.*]] = dgc.constant dense<3.000000e+00> : tensor<f32>
// CHECK-NOT:     dgc.{{compare|select}}
// CHECK:         dgc.reduce max %[[X]] dims [1]
// CHECK:         %[[SHIFTED:.*]] = dgc.subtract %[[X]],
// CHECK-NOT:     dgc.exponential
// CHECK:         dgc.exponential %[[SHIFTED]]
// CHECK:         dgc.log %{{.*}} : tensor<3xf32>
// CHECK-NOT:     dgc.{{exponential|log|compare|select}}
// CHECK:         dgc.divide %{{.*}}, %[[COUNT]] : tensor<f32>
func.func @distribution(%x: tensor<3x4xf32>, %d: tensor<3x4xf32>) -> tensor<f32> {
  %0 = dgc.cross_entropy %x, %d : tensor<3x4xf32>
  return %0 : tensor<f32>
}

// One sum, over the squares of the real examples.

// CHECK-LABEL: func.func @squares(
// CHECK:         %[[REAL:.*]] = dgc.compare {{ *}}lt %{{.*}} : tensor<3xi32>
// CHECK:         %[[MASK:.*]] = dgc.broadcast_in_dim %[[REAL]] dims [0] to [3, 4]
// CHECK:         %[[SQUARES:.*]] = dgc.select %[[MASK]],
// CHECK-NOT:     dgc.reduce
// CHECK:         dgc.reduce sum %[[SQUARES]] dims [0, 1]
// CHECK-NOT:     dgc.reduce
// CHECK:         dgc.divide %{{.*}} : tensor<f32>
// CHECK-NEXT:    return
func.func @squares(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>, %valid: tensor<i32>) -> tensor<f32> {
  %0 = dgc.mean_squared_error %x, %y valid %valid : tensor<3x4xf32>
  return %0 : tensor<f32>
}

// The first of the largest of a row is the least place at which the row has its maximum.

// CHECK-LABEL: func.func @accuracy(
// CHECK-SAME:    %[[X:[^:]+]]: tensor<3x4xf32>,
// CHECK:         %[[MOST:.*]] = dgc.reduce max %[[X]] dims [1]
// CHECK:         %[[MOSTS:.*]] = dgc.broadcast_in_dim %[[MOST]] dims [0] to [3, 4]
// CHECK-DAG:     %[[IS:.*]] = dgc.compare {{ *}}eq %[[X]], %[[MOSTS]]
// CHECK-DAG:     %[[PLACES:.*]] = dgc.iota dim 1
// CHECK:         %[[CHOSEN:.*]] = dgc.select %[[IS]], %[[PLACES]], %{{.*}}
// CHECK:         dgc.reduce min %[[CHOSEN]] dims [1]
// CHECK:         return
func.func @accuracy(%x: tensor<3x4xf32>, %l: tensor<3xui8>) -> tensor<f32> {
  %0 = dgc.accuracy %x, %l : tensor<3x4xf32>, tensor<3xui8>
  return %0 : tensor<f32>
}

// The mean of each is over the real examples.

// CHECK-LABEL: func.func @further(
// CHECK-SAME:    %[[X:[^:]+]]: tensor<3x4xf32>, %[[Y:[^:]+]]: tensor<3x4xf32>, %[[VALID:[^:]+]]: tensor<i32>)
// CHECK:         %[[D:.*]] = dgc.subtract %[[X]], %[[Y]]
// CHECK:         %[[DISTANCE:.*]] = dgc.abs %[[D]]
// CHECK:         dgc.divide %{{.*}} : tensor<f32>
// CHECK:         dgc.minimum %[[DISTANCE]], %{{.*}}
// CHECK:         dgc.divide %{{.*}} : tensor<f32>
// CHECK:         dgc.softplus %[[X]]
// CHECK:         dgc.divide %{{.*}} : tensor<f32>
// CHECK:         %[[SAFE:.*]] = dgc.select %{{.*}}, %[[Y]], %{{.*}}
// CHECK:         dgc.log %[[SAFE]]
// CHECK:         dgc.divide %{{.*}} : tensor<f32>
// CHECK-NEXT:    return
func.func @further(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>, %valid: tensor<i32>)
    -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %0 = dgc.mean_absolute_error %x, %y valid %valid : tensor<3x4xf32>
  %1 = dgc.huber_loss %x, %y delta 0.5 valid %valid : tensor<3x4xf32>
  %2 = dgc.binary_cross_entropy %x, %y valid %valid : tensor<3x4xf32>
  %3 = dgc.kl_divergence %x, %y valid %valid : tensor<3x4xf32>
  return %0, %1, %2, %3 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// The scores of classes: 2 right / (examples + predictions), where neither is none.

// CHECK-LABEL: func.func @scores(
// CHECK-SAME:    %[[COUNTS:[^:]+]]: tensor<3x3xf32>)
// CHECK:         %[[DIAGONAL:.*]] = dgc.select %{{.*}}, %[[COUNTS]], %{{.*}} : tensor<3x3xi1>
// CHECK:         %[[RIGHT:.*]] = dgc.reduce sum %[[DIAGONAL]] dims [1]
// CHECK:         %[[TWICE:.*]] = dgc.multiply %[[RIGHT]], %{{.*}} : tensor<3xf32>
// CHECK:         %[[SCORES:.*]] = dgc.divide %[[TWICE]], %{{.*}} : tensor<3xf32>
// CHECK-NEXT:    return %[[SCORES]]
func.func @scores(%counts: tensor<3x3xf32>) -> tensor<3xf32> {
  %0 = dgc.class_f1 %counts : tensor<3x3xf32>
  return %0 : tensor<3xf32>
}
