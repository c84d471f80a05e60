// RUN: dgc-opt %s | dgc-opt --dgc-decompose --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @embedding(
// CHECK-SAME: %[[T:.*]]: tensor<65x8xf32>, %[[I:.*]]: tensor<2x3xi32>, %[[P:.*]]: tensor<5x8xf32>)
// CHECK: %[[E:.*]] = dgc.gather %[[T]], %[[I]] dim 0 : tensor<65x8xf32>, tensor<2x3xi32>
// CHECK: %[[R:.*]] = dgc.slice %[[P]] from [0, 0] to [3, 8] : tensor<5x8xf32>
// CHECK: %[[B:.*]] = dgc.broadcast_in_dim %[[R]] dims [1, 2] to [2, 3, 8] : tensor<3x8xf32>
// CHECK: dgc.add %[[E]], %[[B]] : tensor<2x3x8xf32>
func.func @embedding(%t: tensor<65x8xf32>, %i: tensor<2x3xi32>, %p: tensor<5x8xf32>) -> tensor<2x3x8xf32> {
  %0 = dgc.embedding %t, %i : tensor<65x8xf32>, tensor<2x3xi32>
  %1 = dgc.position_embedding %0, %p : tensor<2x3x8xf32>, tensor<5x8xf32>
  return %1 : tensor<2x3x8xf32>
}

// The table of an embedding as output layer.

// CHECK-LABEL: func.func @tied
// CHECK: dgc.dot_general %{{.*}}, %{{.*}} contract [2] x [1] : tensor<2x3x8xf32>, tensor<65x8xf32>
func.func @tied(%x: tensor<2x3x8xf32>, %t: tensor<65x8xf32>) -> tensor<2x3x65xf32> {
  %0 = dgc.matmul %x, %t transposed : tensor<2x3x8xf32>, tensor<65x8xf32>
  return %0 : tensor<2x3x65xf32>
}

// The heads are a dimension of their own; no score of what comes later is seen.

// CHECK-LABEL: func.func @attention(
// CHECK-SAME: %[[Q:.*]]: tensor<2x3x8xf32>, %[[K:.*]]: tensor<2x3x8xf32>, %[[V:.*]]: tensor<2x3x8xf32>)
// CHECK-DAG: %[[HIDDEN:.*]] = dgc.constant dense<-1.000000e+30> : tensor<2x4x3x3xf32>
// CHECK-DAG: %[[SCALE:.*]] = dgc.constant dense<0.707106769> : tensor<2x4x3x3xf32>
// CHECK-DAG: %[[Q4:.*]] = dgc.reshape %[[Q]] to [2, 3, 4, 2]
// CHECK-DAG: %[[K4:.*]] = dgc.reshape %[[K]] to [2, 3, 4, 2]
// CHECK-DAG: %[[V4:.*]] = dgc.reshape %[[V]] to [2, 3, 4, 2]
// CHECK: %[[DOT:.*]] = dgc.dot_general %[[Q4]], %[[K4]] batch [0, 2] x [0, 2] contract [3] x [3]
// CHECK: %[[SCORES:.*]] = dgc.multiply %[[DOT]], %[[SCALE]]
// CHECK: %[[FROM:.*]] = dgc.iota dim 2 : tensor<2x4x3x3xi32>
// CHECK: %[[TO:.*]] = dgc.iota dim 3 : tensor<2x4x3x3xi32>
// CHECK: %[[SEEN:.*]] = dgc.compare ge %[[FROM]], %[[TO]]
// CHECK: dgc.select %[[SEEN]], %[[SCORES]], %[[HIDDEN]]
// CHECK: %[[MIXED:.*]] = dgc.dot_general %{{.*}}, %[[V4]] batch [0, 1] x [0, 2] contract [3] x [1]
// CHECK: %[[ORDERED:.*]] = dgc.transpose %[[MIXED]] permutation [0, 2, 1, 3]
// CHECK: dgc.reshape %[[ORDERED]] to [2, 3, 8]
func.func @attention(%q: tensor<2x3x8xf32>, %k: tensor<2x3x8xf32>, %v: tensor<2x3x8xf32>) -> tensor<2x3x8xf32> {
  %0 = dgc.attention %q, %k, %v heads 4 causal : tensor<2x3x8xf32>
  return %0 : tensor<2x3x8xf32>
}

// Without `causal` there are no masks; the scale may be given.

// CHECK-LABEL: func.func @plain
// CHECK: dgc.constant dense<2.500000e-01>
// CHECK-NOT: dgc.iota
// CHECK: return
func.func @plain(%q: tensor<2x3x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x4xf32>) -> tensor<2x3x4xf32> {
  %0 = dgc.attention %q, %k, %v heads 2 scale 0.25 : tensor<2x3x8xf32>, tensor<2x5x8xf32>, tensor<2x5x4xf32>
  return %0 : tensor<2x3x4xf32>
}
