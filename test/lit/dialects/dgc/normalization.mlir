// RUN: dgc-opt %s | dgc-opt --dgc-decompose --canonicalize --cse | FileCheck %s

// composites_test checks the numbers; here it is how they are computed.

// The variance of a row is the mean of squared differences, which nothing cancels, and there is one reciprocal square
// root a row, on [3] and not on [3, 4]. Nothing is divided.

// CHECK-LABEL: func.func @layer_norm(
// CHECK-SAME:    %[[X:[^:]+]]: tensor<3x4xf32>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>)
// CHECK-NOT:     dgc.divide
// CHECK:         dgc.reduce sum %[[X]] dims [1]
// CHECK-NOT:     dgc.divide
// CHECK:         %[[D:.*]] = dgc.subtract %[[X]], %{{.*}}
// CHECK-NEXT:    %[[SQUARES:.*]] = dgc.multiply %[[D]], %[[D]]
// CHECK-NEXT:    dgc.reduce sum %[[SQUARES]] dims [1]
// CHECK-NOT:     dgc.{{divide|sqrt|rsqrt}}
// CHECK:         dgc.rsqrt %{{.*}} : tensor<3xf32>
// CHECK-NOT:     dgc.{{reduce|subtract|divide|sqrt|rsqrt}}
// CHECK:         return
func.func @layer_norm(%x: tensor<3x4xf32>, %s: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<3x4xf32> {
  %0 = dgc.layer_norm %x, %s, %o epsilon 0.01 : tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>
  return %0 : tensor<3x4xf32>
}

// In training the statistics are those of the real examples: what is padding is replaced by zero before both sums, and
// the count is made of that of the real ones. One reciprocal square root a channel.

// CHECK-LABEL: func.func @training(
// CHECK-SAME:    %[[X:[^:]+]]: tensor<3x2x4xf32>, %{{.*}}: tensor<4xf32>, %[[VALID:[^:]+]]: tensor<i32>)
// CHECK-DAG:     %[[ZEROS:.*]] = dgc.constant dense<0.000000e+00> : tensor<3x2x4xf32>
// CHECK-DAG:     %[[EXAMPLES:.*]] = dgc.convert %[[VALID]] to f32
// CHECK-DAG:     %[[COUNT:.*]] = dgc.multiply %[[EXAMPLES]], %{{.*}} : tensor<f32>
// CHECK-DAG:     %[[NUMBERS:.*]] = dgc.iota dim 0 : tensor<3xi32>
// CHECK-DAG:     %[[LIMITS:.*]] = dgc.broadcast_in_dim %[[VALID]] dims [] to [3]
// CHECK:         %[[REAL:.*]] = dgc.compare {{ *}}lt %[[NUMBERS]], %[[LIMITS]]
// CHECK:         %[[MASK:.*]] = dgc.broadcast_in_dim %[[REAL]] dims [0] to [3, 2, 4]
// CHECK:         %[[ADDENDS:.*]] = dgc.select %[[MASK]], %[[X]], %[[ZEROS]]
// CHECK:         %[[SUM:.*]] = dgc.reduce sum %[[ADDENDS]] dims [0, 1]
// CHECK:         %[[COUNTS:.*]] = dgc.broadcast_in_dim %[[COUNT]] dims [] to [4]
// CHECK:         dgc.divide %[[SUM]], %[[COUNTS]]
// CHECK:         %[[D:.*]] = dgc.subtract %[[X]], %{{.*}}
// CHECK:         %[[SQUARES:.*]] = dgc.multiply %[[D]], %[[D]]
// CHECK:         %[[ADDENDS2:.*]] = dgc.select %[[MASK]], %[[SQUARES]], %[[ZEROS]]
// CHECK:         %[[SUM2:.*]] = dgc.reduce sum %[[ADDENDS2]] dims [0, 1]
// CHECK:         dgc.divide %[[SUM2]], %[[COUNTS]]
// CHECK-NOT:     dgc.{{reduce|divide}}
// CHECK:         dgc.rsqrt %{{.*}} : tensor<4xf32>
// CHECK-NOT:     dgc.{{reduce|divide|sqrt|rsqrt}}
// CHECK:         return
func.func @training(%x: tensor<3x2x4xf32>, %s: tensor<4xf32>, %valid: tensor<i32>)
    -> (tensor<3x2x4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0, %1, %2 = dgc.batch_norm %x, %s, %s, %s, %s training valid %valid : tensor<3x2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  return %0, %1, %2 : tensor<3x2x4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Otherwise the running statistics are used, and returned as they are.

// CHECK-LABEL: func.func @inference(
// CHECK-SAME:    %[[MEAN:[^:]+]]: tensor<4xf32>, %[[VARIANCE:[^:]+]]: tensor<4xf32>)
// CHECK-NOT:     dgc.{{reduce|divide|select}}
// CHECK:         dgc.rsqrt %{{.*}} : tensor<4xf32>
// CHECK-NOT:     dgc.{{reduce|divide|select|sqrt|rsqrt}}
// CHECK:         return %{{.*}}, %[[MEAN]], %[[VARIANCE]]
func.func @inference(%x: tensor<3x2x4xf32>, %s: tensor<4xf32>, %o: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>)
    -> (tensor<3x2x4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0, %1, %2 = dgc.batch_norm %x, %s, %o, %m, %v : tensor<3x2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  return %0, %1, %2 : tensor<3x2x4xf32>, tensor<4xf32>, tensor<4xf32>
}

// One sum and one reciprocal square root a row; nothing is subtracted.

// CHECK-LABEL: func.func @rms(
// CHECK-SAME:    %[[X:[^:]+]]: tensor<3x4xf32>,
// CHECK-NOT:     dgc.{{subtract|divide}}
// CHECK:         %[[SQUARES:.*]] = dgc.multiply %[[X]], %[[X]]
// CHECK-NEXT:    dgc.reduce sum %[[SQUARES]] dims [1]
// CHECK:         dgc.rsqrt %{{.*}} : tensor<3xf32>
// CHECK-NOT:     dgc.{{reduce|subtract|divide|rsqrt}}
// CHECK:         return
func.func @rms(%x: tensor<3x4xf32>, %s: tensor<4xf32>) -> tensor<3x4xf32> {
  %0 = dgc.rms_norm %x, %s : tensor<3x4xf32>, tensor<4xf32>
  return %0 : tensor<3x4xf32>
}

// Statistics of each example and group of channels, over what is between.

// CHECK-LABEL: func.func @groups(
// CHECK-SAME:    %[[X:[^:]+]]: tensor<2x5x6xf32>,
// CHECK:         %[[GROUPS:.*]] = dgc.reshape %[[X]] to [2, 5, 3, 2]
// CHECK:         dgc.reduce sum %[[GROUPS]] dims [1, 3]
// CHECK:         dgc.rsqrt %{{.*}} : tensor<2x3xf32>
// CHECK:         dgc.reshape %{{.*}} to [2, 5, 6]
func.func @groups(%x: tensor<2x5x6xf32>, %s: tensor<6xf32>, %o: tensor<6xf32>) -> tensor<2x5x6xf32> {
  %0 = dgc.group_norm %x, %s, %o groups 3 : tensor<2x5x6xf32>, tensor<6xf32>, tensor<6xf32>
  return %0 : tensor<2x5x6xf32>
}

// CHECK-LABEL: func.func @instances(
// CHECK-SAME:    %[[X:[^:]+]]: tensor<2x5x6xf32>,
// CHECK:         %[[CHANNELS:.*]] = dgc.reshape %[[X]] to [2, 5, 6, 1]
// CHECK:         dgc.reduce sum %[[CHANNELS]] dims [1, 3]
// CHECK:         dgc.rsqrt %{{.*}} : tensor<2x6xf32>
func.func @instances(%x: tensor<2x5x6xf32>, %s: tensor<6xf32>, %o: tensor<6xf32>) -> tensor<2x5x6xf32> {
  %0 = dgc.instance_norm %x, %s, %o : tensor<2x5x6xf32>, tensor<6xf32>, tensor<6xf32>
  return %0 : tensor<2x5x6xf32>
}
