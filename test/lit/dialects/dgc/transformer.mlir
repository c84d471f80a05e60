// RUN: dgc-opt %s | dgc-opt --dgc-decompose --canonicalize --cse | FileCheck %s

// Rows of the table are gathered. Of the positions there are more than the sequence has: the first ones are added to each
// example.

// CHECK-LABEL: func.func @embedding(
// CHECK-SAME:    %[[T:[^:]+]]: tensor<65x8xf32>, %[[I:[^:]+]]: tensor<2x3xi32>, %[[P:[^:]+]]: tensor<5x8xf32>)
// CHECK-DAG:     %[[ROWS:.*]] = dgc.gather %[[T]], %[[I]] dim 0
// CHECK-DAG:     %[[FIRST:.*]] = dgc.slice %[[P]] from [0, 0] to [3, 8]
// CHECK-DAG:     %[[POSITIONS:.*]] = dgc.broadcast_in_dim %[[FIRST]] dims [1, 2] to [2, 3, 8]
// CHECK:         dgc.add %[[ROWS]], %[[POSITIONS]]
func.func @embedding(%t: tensor<65x8xf32>, %i: tensor<2x3xi32>, %p: tensor<5x8xf32>) -> tensor<2x3x8xf32> {
  %0 = dgc.embedding %t, %i : tensor<65x8xf32>, tensor<2x3xi32>
  %1 = dgc.position_embedding %0, %p : tensor<2x3x8xf32>, tensor<5x8xf32>
  return %1 : tensor<2x3x8xf32>
}

// The table of an embedding as output layer: its rows are contracted, and it is not transposed in memory.

// CHECK-LABEL: func.func @tied
// CHECK-NOT:     dgc.transpose
// CHECK:         dgc.dot_general %{{.*}}, %{{.*}} contract [2] x [1] : tensor<2x3x8xf32>, tensor<65x8xf32>
// CHECK-NEXT:    return
func.func @tied(%x: tensor<2x3x8xf32>, %t: tensor<65x8xf32>) -> tensor<2x3x65xf32> {
  %0 = dgc.matmul %x, %t transposed : tensor<2x3x8xf32>, tensor<65x8xf32>
  return %0 : tensor<2x3x65xf32>
}

// The heads are a dimension of their own, a batch dimension of both products; they are reordered once, after the second.
// No score of what comes later is seen by softmax: it is replaced before the maximum is taken, by a number and not an
// infinity.

// CHECK-LABEL: func.func @attention(
// CHECK-SAME:    %[[Q:[^:]+]]: tensor<2x3x8xf32>, %[[K:[^:]+]]: tensor<2x3x8xf32>, %[[V:[^:]+]]: tensor<2x3x8xf32>)
// CHECK-DAG:     %[[HIDDEN:.*]] = dgc.constant dense<-1.000000e+30>
// CHECK-DAG:     %[[Q4:.*]] = dgc.reshape %[[Q]] to [2, 3, 4, 2]
// CHECK-DAG:     %[[K4:.*]] = dgc.reshape %[[K]] to [2, 3, 4, 2]
// CHECK-DAG:     %[[V4:.*]] = dgc.reshape %[[V]] to [2, 3, 4, 2]
// CHECK-NOT:     dgc.{{transpose|reduce|exponential}}
// CHECK:         dgc.dot_general %[[Q4]], %[[K4]] batch [0, 2] x [0, 2] contract [3] x [3]
// CHECK-NOT:     dgc.{{transpose|reduce|exponential}}
// CHECK-DAG:     %[[FROM:.*]] = dgc.iota dim 2
// CHECK-DAG:     %[[TO:.*]] = dgc.iota dim 3
// CHECK:         %[[SEEN:.*]] = dgc.compare ge %[[FROM]], %[[TO]]
// CHECK-NOT:     dgc.{{transpose|reduce|exponential}}
// CHECK:         %[[SCORES:.*]] = dgc.select %[[SEEN]], %{{.*}}, %[[HIDDEN]]
// CHECK:         dgc.reduce max %[[SCORES]] dims [3]
// CHECK-NOT:     dgc.transpose
// CHECK:         %[[MIXED:.*]] = dgc.dot_general %{{.*}}, %[[V4]] batch [0, 1] x [0, 2] contract [3] x [1]
// CHECK-NEXT:    %[[ORDERED:.*]] = dgc.transpose %[[MIXED]] permutation [0, 2, 1, 3]
// CHECK-NEXT:    dgc.reshape %[[ORDERED]] to [2, 3, 8]
// CHECK-NEXT:    return
func.func @attention(%q: tensor<2x3x8xf32>, %k: tensor<2x3x8xf32>, %v: tensor<2x3x8xf32>) -> tensor<2x3x8xf32> {
  %0 = dgc.attention %q, %k, %v heads 4 causal : tensor<2x3x8xf32>
  return %0 : tensor<2x3x8xf32>
}

// Without `causal` there are no masks; the scale may be given.

// CHECK-LABEL: func.func @plain
// CHECK-NOT:     dgc.{{iota|select}}
// CHECK:         dgc.constant dense<2.500000e-01>
// CHECK-NOT:     dgc.{{iota|select}}
// CHECK:         return
func.func @plain(%q: tensor<2x3x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x4xf32>) -> tensor<2x3x4xf32> {
  %0 = dgc.attention %q, %k, %v heads 2 scale 0.25 : tensor<2x3x8xf32>, tensor<2x5x8xf32>, tensor<2x5x4xf32>
  return %0 : tensor<2x3x4xf32>
}
