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

// Heads that share a head of the keys are a dimension of their own: neither keys nor values are repeated. A mask of i1 hides
// scores before the maximum is taken, and weights after, so that a place that sees none gets zeros.

// CHECK-LABEL: func.func @grouped(
// CHECK-SAME:    %[[Q:[^:]+]]: tensor<2x3x8xf32>, %[[K:[^:]+]]: tensor<2x5x4xf32>, %[[V:[^:]+]]: tensor<2x5x6xf32>, %[[M:[^:]+]]: tensor<3x5xi1>)
// CHECK-DAG:     %[[Q5:.*]] = dgc.reshape %[[Q]] to [2, 3, 2, 2, 2]
// CHECK-DAG:     %[[K4:.*]] = dgc.reshape %[[K]] to [2, 5, 2, 2]
// CHECK-DAG:     %[[V4:.*]] = dgc.reshape %[[V]] to [2, 5, 2, 3]
// CHECK-DAG:     dgc.dot_general %[[Q5]], %[[K4]] batch [0, 2] x [0, 2] contract [4] x [3]
// CHECK-DAG:     %[[SEEN:.*]] = dgc.broadcast_in_dim %{{.*}} to [2, 2, 3, 2, 5] : tensor<1x1x3x1x5xi1>
// CHECK:         %[[SCORES:.*]] = dgc.select %[[SEEN]], %{{.*}}
// CHECK:         dgc.reduce max %[[SCORES]] dims [4]
// CHECK:         %[[WEIGHTS:.*]] = dgc.select %[[SEEN]], %{{.*}}
// CHECK:         %[[MIXED:.*]] = dgc.dot_general %[[WEIGHTS]], %[[V4]] batch [0, 1] x [0, 2] contract [4] x [1]
// CHECK:         %[[ORDERED:.*]] = dgc.transpose %[[MIXED]] permutation [0, 2, 1, 3, 4]
// CHECK-NEXT:    dgc.reshape %[[ORDERED]] to [2, 3, 12]
func.func @grouped(%q: tensor<2x3x8xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x6xf32>, %m: tensor<3x5xi1>) -> tensor<2x3x12xf32> {
  %0 = dgc.attention %q, %k, %v mask %m heads 4 kv_heads 2 : tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>, tensor<3x5xi1>
  return %0 : tensor<2x3x12xf32>
}

// A mask of floats is added; the last places of a longer key see what is before them.

// CHECK-LABEL: func.func @added(
// CHECK-SAME:    %[[M:[^:]+]]: tensor<2x1x1x5xf32>)
// CHECK-DAG:     %[[ALL:.*]] = dgc.broadcast_in_dim %[[M]] dims [0, 1, 2, 3] to [2, 2, 3, 5]
// CHECK-DAG:     %[[SUM:.*]] = dgc.add %{{.*}}, %[[ALL]]
// CHECK-DAG:     %[[TWO:.*]] = dgc.constant dense<2> : tensor<2x2x3x5xi32>
// CHECK-DAG:     %[[FROM:.*]] = dgc.add %{{.*}}, %[[TWO]]
// CHECK:         %[[SEEN:.*]] = dgc.compare {{ *}}ge %[[FROM]],
// CHECK:         dgc.select %[[SEEN]], %[[SUM]],
func.func @added(%q: tensor<2x3x8xf32>, %k: tensor<2x5x8xf32>, %m: tensor<2x1x1x5xf32>) -> tensor<2x3x8xf32> {
  %0 = dgc.attention %q, %k, %k mask %m heads 2 causal : tensor<2x3x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x1x1x5xf32>
  return %0 : tensor<2x3x8xf32>
}

// Sine and cosine are taken of a place and a pair, and not again of each example and head. Without places that are given
// they are numbers of places.

// CHECK-LABEL: func.func @rotary(
// CHECK-SAME:    %[[X:[^:]+]]: tensor<2x5x8xf32>, %[[P:[^:]+]]: tensor<2x5xi32>)
// CHECK-DAG:     %[[PAIRS:.*]] = dgc.reshape %[[X]] to [2, 5, 2, 2, 2]
// CHECK-DAG:     %[[PLACES:.*]] = dgc.iota dim 0 : tensor<5xf32>
// CHECK-DAG:     dgc.broadcast_in_dim %[[PLACES]] dims [0] to [5, 2]
// CHECK-DAG:     dgc.cosine %{{.*}} : tensor<5x2xf32>
// CHECK-DAG:     dgc.sine %{{.*}} : tensor<5x2xf32>
// CHECK-DAG:     dgc.reverse %[[PAIRS]] dims [3]
// CHECK-DAG:     dgc.reverse %{{.*}} dims [4] : tensor<2x5x1x4x2xf32>
// CHECK-DAG:     dgc.sine %{{.*}} : tensor<2x5x4xf32>
func.func @rotary(%x: tensor<2x5x8xf32>, %p: tensor<2x5xi32>) -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>) {
  %0 = dgc.rotary_embedding %x heads 2 : tensor<2x5x8xf32>
  %1 = dgc.rotary_embedding %x at %p base 100 interleaved : tensor<2x5x8xf32>, tensor<2x5xi32>
  return %0, %1 : tensor<2x5x8xf32>, tensor<2x5x8xf32>
}

// A number that is no row gives zeros, and is not counted for the mean.

// CHECK-LABEL: func.func @bags(
// CHECK-SAME:    %[[T:[^:]+]]: tensor<9x4xf32>, %[[N:[^:]+]]: tensor<2x3xi32>)
// CHECK-DAG:     %[[ROWS:.*]] = dgc.gather %[[T]], %[[N]] dim 0
// CHECK-DAG:     %[[SUM:.*]] = dgc.reduce sum %[[ROWS]] dims [1]
// CHECK:         %[[IS:.*]] = dgc.and
// CHECK:         %[[ONES:.*]] = dgc.convert %[[IS]] to f32
// CHECK:         dgc.reduce sum %[[ONES]] dims [1]
// CHECK:         %[[MEAN:.*]] = dgc.divide %[[SUM]],
// CHECK:         return %[[SUM]], %[[MEAN]]
func.func @bags(%t: tensor<9x4xf32>, %n: tensor<2x3xi32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = dgc.embedding_bag %t, %n : tensor<9x4xf32>, tensor<2x3xi32>
  %1 = dgc.embedding_bag %t, %n mean : tensor<9x4xf32>, tensor<2x3xi32>
  return %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
}

// Tokens go to slots of experts, of which each has ceil(1.5 * 2 * 12 / 4) = 9, and back: two scatters, two gathers, two
// products for all experts.

// CHECK-LABEL: func.func @experts(
// CHECK:         dgc.dot_general %{{.*}} contract [2] x [0] : tensor<2x6x8xf32>, tensor<8x4xf32>
// CHECK:         dgc.scatter_add %{{.*}} dim 0 size 36 : tensor<2x6xi32>, tensor<2x6x8xf32>
// CHECK:         dgc.scatter_add %{{.*}} dim 0 size 36
// CHECK:         dgc.dot_general %{{.*}} batch [0] x [0] contract [2] x [1] : tensor<4x9x8xf32>, tensor<4x8x16xf32>
// CHECK:         dgc.maximum
// CHECK:         dgc.dot_general %{{.*}} batch [0] x [0] contract [2] x [1] : tensor<4x9x16xf32>, tensor<4x16x8xf32>
// CHECK-COUNT-2: dgc.gather %{{.*}} dim 0 : tensor<36x8xf32>, tensor<2x6xi32>
// CHECK:         return %{{.*}}, %{{.*}} : tensor<2x6x8xf32>, tensor<f32>
func.func @experts(%x: tensor<2x6x8xf32>, %r: tensor<8x4xf32>, %w1: tensor<4x8x16xf32>, %b1: tensor<4x16xf32>,
                   %w2: tensor<4x16x8xf32>, %b2: tensor<4x8xf32>) -> (tensor<2x6x8xf32>, tensor<f32>) {
  %0, %1 = dgc.mixture_of_experts %x, %r, %w1, %b1, %w2, %b2 top 2 capacity 1.5
      : tensor<2x6x8xf32>, tensor<8x4xf32>, tensor<4x8x16xf32>, tensor<4x16xf32>, tensor<4x16x8xf32>, tensor<4x8xf32>
  return %0, %1 : tensor<2x6x8xf32>, tensor<f32>
}
