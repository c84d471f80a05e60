// RUN: dgc-opt %s | dgc-opt --dgc-decompose --canonicalize --cse | FileCheck %s

// A product of matrices is one contraction. The leading dimensions are batch dimensions, or the right side has none: then
// it is not repeated for them.

// CHECK-LABEL: func.func @matmul(
// CHECK-SAME:    %[[A:[^:]+]]: tensor<2x3x4xf32>, %[[B:[^:]+]]: tensor<2x4x5xf32>, %[[C:[^:]+]]: tensor<4x5xf32>)
// CHECK-NOT:     dgc.{{broadcast_in_dim|reshape|transpose}}
// CHECK:         dgc.dot_general %[[A]], %[[B]] batch [0] x [0] contract [2] x [1]
// CHECK-NEXT:    dgc.dot_general %[[A]], %[[C]] contract [2] x [0]
// CHECK-NEXT:    return
func.func @matmul(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>, %c: tensor<4x5xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x5xf32>) {
  %0 = dgc.matmul %a, %b : tensor<2x3x4xf32>, tensor<2x4x5xf32>
  %1 = dgc.matmul %a, %c : tensor<2x3x4xf32>, tensor<4x5xf32>
  return %0, %1 : tensor<2x3x5xf32>, tensor<2x3x5xf32>
}

// A matrix product, and the bias along the last dimension; without a bias the product alone.

// CHECK-LABEL: func.func @dense(
// CHECK-SAME:    %[[X:[^:]+]]: tensor<3x4xf32>, %[[W:[^:]+]]: tensor<4x5xf32>, %[[B:[^:]+]]: tensor<5xf32>)
// CHECK-DAG:     %[[P:.*]] = dgc.dot_general %[[X]], %[[W]] contract [1] x [0]
// CHECK-DAG:     %[[ROWS:.*]] = dgc.broadcast_in_dim %[[B]] dims [1] to [3, 5]
// CHECK:         %[[R:.*]] = dgc.add %[[P]], %[[ROWS]]
// CHECK-NEXT:    return %[[R]], %[[P]]
func.func @dense(%x: tensor<3x4xf32>, %w: tensor<4x5xf32>, %b: tensor<5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %0 = dgc.dense %x, %w, %b : tensor<3x4xf32>, tensor<4x5xf32>, tensor<5xf32>
  %1 = dgc.dense %x, %w : tensor<3x4xf32>, tensor<4x5xf32>
  return %0, %1 : tensor<3x5xf32>, tensor<3x5xf32>
}

// What is not given is not computed: no addition without an offset.

// CHECK-LABEL: func.func @scale(
// CHECK-SAME:    %[[X:[^:]+]]:
// CHECK:         %[[R:.*]] = dgc.multiply %[[X]], %{{.*}}
// CHECK-NEXT:    return %[[R]]
func.func @scale(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = dgc.scale %x by 0.5 : tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// What changes shape is a reshape; flattening what was flat before is nothing.

// CHECK-LABEL: func.func @shapes(
// CHECK-SAME:    %[[X:[^:]+]]:
// CHECK-NEXT:    %[[R:.*]] = dgc.reshape %[[X]] to [3, 1, 4]
// CHECK-NEXT:    return %[[R]], %[[X]]
func.func @shapes(%x: tensor<3x4xf32>) -> (tensor<3x1x4xf32>, tensor<3x4xf32>) {
  %0 = dgc.expand_dims %x at 1 : tensor<3x4xf32>
  %1 = dgc.flatten %0 : tensor<3x1x4xf32>
  return %0, %1 : tensor<3x1x4xf32>, tensor<3x4xf32>
}

// A mean is a sum times the inverse of a number that is known. Dimensions may be given in any order.

// CHECK-LABEL: func.func @mean(
// CHECK-SAME:    %[[X:[^:]+]]:
// CHECK-NOT:     dgc.divide
// CHECK:         %[[SUM:.*]] = dgc.reduce sum %[[X]] dims [1, 2]
// CHECK:         dgc.multiply %[[SUM]], %{{.*}} : tensor<2xf32>
// CHECK:         %[[ALL:.*]] = dgc.reduce sum %[[X]] dims [0, 1, 2]
// CHECK:         dgc.multiply %[[ALL]], %{{.*}} : tensor<f32>
// CHECK-NOT:     dgc.divide
// CHECK:         return
func.func @mean(%x: tensor<2x3x4xf32>) -> (tensor<2xf32>, tensor<f32>) {
  %0 = dgc.mean %x dims [2, 1] : tensor<2x3x4xf32>
  %1 = dgc.mean %x : tensor<2x3x4xf32>
  return %0, %1 : tensor<2xf32>, tensor<f32>
}

// No gather and no loop: both compare with the indices.

// CHECK-LABEL: func.func @indices(
// CHECK-SAME:    %[[X:[^:]+]]: tensor<3x4xf32>, %[[L:[^:]+]]: tensor<3xui8>)
// CHECK:         dgc.reduce max %[[X]] dims [1]
// CHECK:         dgc.reduce min %{{.*}} dims [1] : tensor<3x4xi32>
// CHECK:         %[[WIDE:.*]] = dgc.convert %[[L]] to i32
// CHECK:         %[[NUMBERS:.*]] = dgc.broadcast_in_dim %[[WIDE]] dims [0] to [3, 5]
// CHECK:         %[[HIT:.*]] = dgc.compare {{ *}}eq %{{.*}}, %[[NUMBERS]]
// CHECK:         dgc.convert %[[HIT]] to f32
func.func @indices(%x: tensor<3x4xf32>, %l: tensor<3xui8>) -> (tensor<3xi32>, tensor<3x5xf32>) {
  %0 = dgc.argmax %x : tensor<3x4xf32>
  %1 = dgc.one_hot %l classes 5 : tensor<3xui8>
  return %0, %1 : tensor<3xi32>, tensor<3x5xf32>
}

// A round for each of the k: its largest element, and the first place of that among those that are left. There is no sort.

// CHECK-LABEL: func.func @top_k(
// CHECK-SAME:    %[[X:[^:]+]]:
// CHECK:         %[[FIRST:.*]] = dgc.reduce max %[[X]] dims [1]
// CHECK:         dgc.reduce min %{{.*}} dims [1] : tensor<3x4xi32>
// CHECK:         %[[SMALLER:.*]] = dgc.compare {{ *}}lt %[[X]],
// CHECK:         %[[LEFT:.*]] = dgc.or %[[SMALLER]],
// CHECK:         %[[REST:.*]] = dgc.select %[[LEFT]], %[[X]],
// CHECK:         %[[SECOND:.*]] = dgc.reduce max %[[REST]] dims [1]
// CHECK:         dgc.reduce min %{{.*}} dims [1] : tensor<3x4xi32>
// CHECK-NOT:     dgc.reduce
// CHECK:         return %{{.*}}, %{{.*}} : tensor<3x2xf32>, tensor<3x2xi32>
func.func @top_k(%x: tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>) {
  %0, %1 = dgc.top_k %x k 2 : tensor<3x4xf32>
  return %0, %1 : tensor<3x2xf32>, tensor<3x2xi32>
}
