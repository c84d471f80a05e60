// RUN: dgc-opt %s -split-input-file -dgc-propagate-shardings | FileCheck %s

// The batch goes forward through a product; the weights, which do not have it, stay whole.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: tensor<4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}
// CHECK-SAME: -> (tensor<8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>})
func.func @forward(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                   %w: tensor<4x3xf32>) -> tensor<8x3xf32> {
  // CHECK: dgc.dot_general {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}]>]}
  %0 = dgc.dot_general %x, %w contract [1] x [0] : tensor<8x4xf32>, tensor<4x3xf32>
  // CHECK: dgc.tanh {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}]>]}
  %1 = dgc.tanh %0 : tensor<8x3xf32>
  return %1 : tensor<8x3xf32>
}

// -----

// Backwards from a result, to the arguments.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @backward(
// CHECK-SAME: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"}]>}
func.func @backward(%x: tensor<8x4xf32>)
    -> (tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) {
  %0 = dgc.transpose %x permutation [1, 0] : tensor<8x4xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Between the operands of a contraction, by the contracted dimension.
dist.mesh @mesh <model = 2>
// CHECK-LABEL: func.func @sideways(
// CHECK-SAME: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>}
// CHECK-SAME: -> (tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
func.func @sideways(%x: tensor<8x4xf32>,
                    %w: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>}) -> tensor<8x6xf32> {
  %0 = dgc.dot_general %x, %w contract [1] x [0] : tensor<8x4xf32>, tensor<4x6xf32>
  return %0 : tensor<8x6xf32>
}

// -----

// Column and row parallel: a whole layer follows from one weight of each pair, over two axes of the mesh.
dist.mesh @mesh <data = 2, model = 2>
// CHECK-LABEL: func.func @megatron(
// CHECK-SAME: tensor<4x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>}
// CHECK-SAME: tensor<16x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>}
func.func @megatron(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                    %w1: tensor<4x16xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {"model"}]>},
                    %w2: tensor<16x4xf32>) -> tensor<8x4xf32> {
  // CHECK: dgc.dot_general {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"data"}, {"model"}]>]}
  %0 = dgc.dot_general %x, %w1 contract [1] x [0] : tensor<8x4xf32>, tensor<4x16xf32>
  // CHECK: dgc.tanh {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"data"}, {"model"}]>]}
  %1 = dgc.tanh %0 : tensor<8x16xf32>
  // CHECK: dgc.dot_general {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}]>]}
  %2 = dgc.dot_general %1, %w2 contract [1] x [0] : tensor<8x16xf32>, tensor<16x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----

// Conflicts. The user's axis wins against that of a strategy, from wherever it comes.
dist.mesh @mesh <a = 2, b = 2>
// CHECK-LABEL: func.func @user_first(
func.func @user_first(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"a" by strategy "s"}]>},
                      %y: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"b"}]>}) -> tensor<8xf32> {
  // CHECK: dgc.add {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"b"}]>]}
  %0 = dgc.add %x, %y : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Then the larger tensor.
// CHECK-LABEL: func.func @larger_first(
func.func @larger_first(%x: tensor<8x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>},
                        %w: tensor<2x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"a"}]>}) -> tensor<8x16xf32> {
  // CHECK: dgc.dot_general {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{}, {"a"}]>]}
  %0 = dgc.dot_general %x, %w contract [1] x [0] : tensor<8x2xf32>, tensor<2x16xf32>
  return %0 : tensor<8x16xf32>
}

// Then the axis that the mesh names first.
// CHECK-LABEL: func.func @first_axis(
func.func @first_axis(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"b"}]>},
                      %y: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}]>}) -> tensor<8xf32> {
  // CHECK: dgc.add {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"a"}]>]}
  %0 = dgc.add %x, %y : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A longer list that begins alike is no conflict.
// CHECK-LABEL: func.func @prefix(
func.func @prefix(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}]>},
                  %y: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"a", "b"}]>}) -> tensor<8xf32> {
  // CHECK: dgc.add {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"a", "b"}]>]}
  %0 = dgc.add %x, %y : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// An axis of a later round comes after one of an earlier.
// CHECK-LABEL: func.func @rounds(
func.func @rounds(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"} round 1]>},
                  %y: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"b"}]>}) -> tensor<8xf32> {
  // CHECK: dgc.add {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"b"}]>]}
  %0 = dgc.add %x, %y : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Closed dimensions and replicated axes are respected.
// CHECK-LABEL: func.func @closed(
// CHECK-SAME: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}
// CHECK-SAME: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}
// CHECK-SAME: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}]>}
func.func @closed(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
                  %y: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{?}], replicated = ["a"]>},
                  %z: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}]>}) -> tensor<8xf32> {
  %0 = dgc.add %x, %y : tensor<8xf32>
  %1 = dgc.add %0, %z : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// A constraint in the middle goes both ways.
// CHECK-LABEL: func.func @constraint(
// CHECK-SAME: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"b"}]>}) -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"b"}]>})
func.func @constraint(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = dgc.negate %x : tensor<8xf32>
  %1 = dist.constraint %0 to <@mesh, [{"b"}]> : tensor<8xf32>
  %2 = dgc.negate %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

// Splitting and merging dimensions keeps the cut of the major one; one that would cut across is not passed on.
dist.mesh @mesh <a = 2, b = 3>
// CHECK-LABEL: func.func @reshape(
func.func @reshape(%x: tensor<8x28x28xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}, {}]>},
                   %y: tensor<12x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"a", "b"}, {}]>},
                   %z: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"b"}]>})
    -> (tensor<8x784xf32>, tensor<2x6x5xf32>, tensor<2x3xf32>) {
  // CHECK: dgc.reshape {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"a"}, {}]>]}
  %0 = dgc.reshape %x to [8, 784] : tensor<8x28x28xf32>
  // CHECK: dgc.reshape {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"a"}, {"b"}, {}]>]}
  %1 = dgc.reshape %y to [2, 6, 5] : tensor<12x5xf32>
  // CHECK: dgc.reshape %{{.*}} to [2, 3] : tensor<6xf32>
  %2 = dgc.reshape %z to [2, 3] : tensor<6xf32>
  return %0, %1, %2 : tensor<8x784xf32>, tensor<2x6x5xf32>, tensor<2x3xf32>
}

// -----

// A variable is cut alike in all functions, and in its new value.
dist.mesh @mesh <model = 2>
// CHECK-LABEL: func.func @train(
// CHECK-SAME: tensor<4x6xf32> {dgc.state = @w, dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>}) -> (tensor<4x6xf32> {dgc.state = @w, dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>})
func.func @train(%w: tensor<4x6xf32> {dgc.state = @w}) -> (tensor<4x6xf32> {dgc.state = @w}) {
  // CHECK: dgc.negate {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{}, {"model"}]>]}
  %0 = dgc.negate %w : tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
func.func @predict(%w: tensor<4x6xf32> {dgc.state = @w, dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>}) {
  return
}

// -----

// Uses that compete for a variable leave it one sharding, in all functions. The optimizer's state, of which nothing is
// said, has the sharding of its variable.
dist.mesh @mesh <a = 2, b = 3>
dgc.state @w weight zeros rng 0 : tensor<6xf32>
dgc.state @w.momentum slot zeros rng 1 : tensor<6xf32>
// CHECK-LABEL: func.func @one_variable(
// CHECK-SAME: tensor<6xf32> {dgc.state = @w, dist.sharding = #dist.sharding<@mesh, [{"a"}]>}
// CHECK-SAME: tensor<6xf32> {dgc.state = @w.momentum, dist.sharding = #dist.sharding<@mesh, [{"a"}]>}
// CHECK-SAME: -> (tensor<6xf32> {dgc.state = @w, dist.sharding = #dist.sharding<@mesh, [{"a"}]>},
// CHECK-SAME: tensor<6xf32> {dgc.state = @w.momentum, dist.sharding = #dist.sharding<@mesh, [{"a"}]>}, tensor<6xf32>
func.func @one_variable(%w: tensor<6xf32> {dgc.state = @w}, %m: tensor<6xf32> {dgc.state = @w.momentum},
                        %x: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"b"}]>},
                        %g: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}]>})
    -> (tensor<6xf32> {dgc.state = @w}, tensor<6xf32> {dgc.state = @w.momentum}, tensor<6xf32>) {
  %0 = dgc.add %w, %x : tensor<6xf32>
  %1 = dgc.add %m, %g : tensor<6xf32>
  %2 = dgc.add %w, %1 : tensor<6xf32>
  return %2, %1, %0 : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}
// CHECK-LABEL: func.func @other_function(
// CHECK-SAME: tensor<6xf32> {dgc.state = @w, dist.sharding = #dist.sharding<@mesh, [{"a"}]>}
func.func @other_function(%w: tensor<6xf32> {dgc.state = @w}, %y: tensor<6xf32>) -> tensor<6xf32> {
  %0 = dgc.add %w, %y : tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

// State of the optimizer that is annotated otherwise than its variable stays so (ZeRO).
dist.mesh @mesh <data = 2>
dgc.state @w weight zeros rng 0 : tensor<6xf32>
dgc.state @w.momentum slot zeros rng 1 : tensor<6xf32>
// CHECK-LABEL: func.func @own_annotation(
// CHECK-SAME: tensor<6xf32> {dgc.state = @w, dist.sharding = #dist.sharding<@mesh, [{}]>}
// CHECK-SAME: tensor<6xf32> {dgc.state = @w.momentum, dist.sharding = #dist.sharding<@mesh, [{"data"}]>}
func.func @own_annotation(%w: tensor<6xf32> {dgc.state = @w, dist.sharding = #dist.sharding<@mesh, [{}]>},
                          %m: tensor<6xf32> {dgc.state = @w.momentum,
                                             dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  return
}

// -----

// The rows of values and of weights are cut by one axis. Here the weights are smaller: the values keep their rows up to
// the last layer, whose weight is nearer than the input, and the weights are gathered.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @weights_move(
// CHECK-SAME: -> (tensor<64x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>})
func.func @weights_move(%x: tensor<64x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                        %w1: tensor<8x8xf32> {dgc.state = @w1, dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                        %w2: tensor<8x8xf32> {dgc.state = @w2, dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                        %w3: tensor<8x8xf32> {dgc.state = @w3, dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>})
    -> tensor<64x8xf32> {
  // CHECK-COUNT-3: dgc.dot_general {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}]>]}
  %0 = dgc.dot_general %x, %w1 contract [1] x [0] : tensor<64x8xf32>, tensor<8x8xf32>
  %1 = dgc.dot_general %0, %w2 contract [1] x [0] : tensor<64x8xf32>, tensor<8x8xf32>
  %2 = dgc.dot_general %1, %w3 contract [1] x [0] : tensor<64x8xf32>, tensor<8x8xf32>
  return %2 : tensor<64x8xf32>
}

// -----

// Values cut along the sequence meet weights cut by columns and by rows. A value that is gathered serves three products,
// so it moves, though each weight is smaller.
dist.mesh @mesh <model = 2>
// CHECK-LABEL: func.func @values_move(
func.func @values_move(%x: tensor<4x12x32xf32>,
                       %wq: tensor<32x32xf32> {dgc.state = @wq, dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>},
                       %wk: tensor<32x32xf32> {dgc.state = @wk, dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>},
                       %wv: tensor<32x32xf32> {dgc.state = @wv, dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>},
                       %wo: tensor<32x32xf32> {dgc.state = @wo, dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>})
    -> tensor<4x12x32xf32> {
  // CHECK: dist.constraint {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{}, {"model"}, {}]>]}
  %n = dist.constraint %x to <@mesh, [{}, {"model"}, {}]> : tensor<4x12x32xf32>
  // CHECK-COUNT-3: dgc.dot_general {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{}, {}, {"model"}]>]}
  %q = dgc.dot_general %n, %wq contract [2] x [0] : tensor<4x12x32xf32>, tensor<32x32xf32>
  %k = dgc.dot_general %n, %wk contract [2] x [0] : tensor<4x12x32xf32>, tensor<32x32xf32>
  %v = dgc.dot_general %n, %wv contract [2] x [0] : tensor<4x12x32xf32>, tensor<32x32xf32>
  // CHECK-COUNT-2: dgc.multiply {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{}, {}, {"model"}]>]}
  %qk = dgc.multiply %q, %k : tensor<4x12x32xf32>
  %qkv = dgc.multiply %qk, %v : tensor<4x12x32xf32>
  // CHECK: dgc.dot_general {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{}, {"model"}, {}]>]}
  %o = dgc.dot_general %qkv, %wo contract [2] x [0] : tensor<4x12x32xf32>, tensor<32x32xf32>
  %r = dist.constraint %o to <@mesh, [{}, {"model"}, {}]> : tensor<4x12x32xf32>
  return %r : tensor<4x12x32xf32>
}

// -----

// A constant that two values share does not tie them: each use gets its own.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @constants(
// CHECK-SAME: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}
func.func @constants(%x: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}, %w: tensor<8x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK-DAG: dgc.constant dense<0.000000e+00> : tensor<8x8xf32>{{$}}
  // CHECK-DAG: dgc.constant dense<0.000000e+00> : tensor<8x8xf32> {dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}]>]}
  %zero = dgc.constant dense<0.0> : tensor<8x8xf32>
  %0 = dgc.maximum %x, %zero : tensor<8x8xf32>
  %1 = dgc.maximum %w, %zero : tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// What is reported is whole on all workers, also where the value that it is made of is cut and a strategy leaves its
// dimensions open; a prediction is not.
dist.mesh @mesh <data = 2, model = 2>
// CHECK-LABEL: func.func @reported(
// CHECK-SAME: -> (tensor<8xf32> {dgc.output = "m", dgc.role = "metric", dist.sharding = #dist.sharding<@mesh, [{}]>},
// CHECK-SAME: tensor<8xf32> {dgc.output = "n", dgc.role = "metric", dist.sharding = #dist.sharding<@mesh, [{}]>},
// CHECK-SAME: tensor<8xf32> {dgc.output = "p", dgc.role = "prediction", dist.sharding = #dist.sharding<@mesh, [{"model"}]>})
func.func @reported(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}]>})
    -> (tensor<8xf32> {dgc.output = "m", dgc.role = "metric"},
        tensor<8xf32> {dgc.output = "n", dgc.role = "metric",
                       dist.sharding = #dist.sharding<@mesh, [{?}], replicated = ["data"]>},
        tensor<8xf32> {dgc.output = "p", dgc.role = "prediction"}) {
  // CHECK: dgc.tanh {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"model"}]>]}
  %0 = dgc.tanh %x : tensor<8xf32>
  return %0, %0, %0 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Without a mesh there is nothing to do.
// CHECK-LABEL: func.func @single
// CHECK-NOT: dist
func.func @single(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = dgc.negate %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
