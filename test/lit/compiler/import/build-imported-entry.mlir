// RUN: dgc-opt %s --dgc-build-imported-entry --split-input-file --verify-diagnostics | FileCheck %s

// An argument that becomes a result is state; the rest are inputs and outputs, by the names of locations. All inputs have
// 8 examples.
// CHECK: module @step attributes {dgc.global_batch = 8 : i64, dgc.whole_batches = {main = {{.*}}}}
// CHECK: dgc.state @"state['w']" slot zeros rng 0 : tensor<4xf32>
// CHECK: func.func @main(
// CHECK-SAME: tensor<4xf32> {dgc.argument = 0 : i64, dgc.state = @"state['w']"}
// CHECK-SAME: tensor<8x4xf32> {dgc.argument = 1 : i64, dgc.batch_dim = 0 : i64, dgc.input = "x", dgc.role = "data"}
// CHECK-SAME: -> (tensor<8x4xf32> {dgc.output = "out0", dgc.result = 0 : i64, dgc.role = "prediction"}
// CHECK-SAME: tensor<4xf32> {dgc.result = 1 : i64, dgc.state = @"state['w']"})
module @step attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 1 : i32} loc("state['w']"), %x: tensor<8x4xf32> loc("x")) -> (tensor<8x4xf32>, tensor<4xf32>) {
    %0 = dgc.add %w, %w : tensor<4xf32>
    return %x, %0 : tensor<8x4xf32>, tensor<4xf32>
  }
}

// -----

// Without names there are positions; without inputs that agree no batch. What is donated becomes the first result of its
// type that is left.
// CHECK-NOT: dgc.global_batch
// CHECK: dgc.state @in1 slot
// CHECK: func.func @main(
// CHECK-SAME: tensor<3xf32> {dgc.argument = 0 : i64, dgc.input = "in0", dgc.role = "data"}
// CHECK-SAME: tensor<4xf32> {dgc.argument = 1 : i64, dgc.state = @in1}
// CHECK-SAME: tensor<4xf32> {dgc.argument = 2 : i64, dgc.input = "in2", dgc.role = "data"}
// CHECK-SAME: -> (tensor<4xf32> {dgc.result = 0 : i64, dgc.state = @in1}, tensor<3xf32> {dgc.output = "loss", dgc.result = 1
module {
  func.func @main(%a: tensor<3xf32>, %b: tensor<4xf32> {jax.buffer_donor = true}, %c: tensor<4xf32>) -> (tensor<4xf32> {jax.result_info = "new"}, tensor<3xf32> {jax.result_info = "loss"}) {
    return %c, %a : tensor<4xf32>, tensor<3xf32>
  }
}

// -----

// What an output depends on is a weight; what only new values depend on belongs to an optimizer; a counter, a scalar and what
// is never updated are neither.
// CHECK-DAG: dgc.state @w weight
// CHECK-DAG: dgc.state @momentum slot
// CHECK-DAG: dgc.state @count statistic
// CHECK-DAG: dgc.state @rate statistic
func.func @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc("w"), %m: tensor<4xf32> {tf.aliasing_output = 1 : i32} loc("momentum"),
                %n: tensor<2xi32> {tf.aliasing_output = 2 : i32} loc("count"), %r: tensor<f32> {tf.aliasing_output = 3 : i32} loc("rate"), %x: tensor<8x4xf32> loc("x"))
    -> (tensor<4xf32>, tensor<4xf32>, tensor<2xi32>, tensor<f32>, tensor<8xf32>) {
  %y = dgc.dot_general %x, %w contract [1] x [0] : tensor<8x4xf32>, tensor<4xf32>
  %g = dgc.reduce sum %x dims [0] : tensor<8x4xf32>
  %next = dgc.add %m, %g : tensor<4xf32>
  %rate = dgc.broadcast_in_dim %r dims [] to [4] : tensor<f32>
  %step = dgc.multiply %rate, %next : tensor<4xf32>
  %new = dgc.subtract %w, %step : tensor<4xf32>
  return %new, %next, %n, %r, %y : tensor<4xf32>, tensor<4xf32>, tensor<2xi32>, tensor<f32>, tensor<8xf32>
}

// -----

// expected-error @+1 {{result 0 is the next value of two arguments, 0 and 1}}
func.func @main(%a: tensor<3xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<3xf32> {tf.aliasing_output = 0 : i32}) -> tensor<3xf32> {
  return %a : tensor<3xf32>
}

// -----

// expected-error @+1 {{argument 0 becomes result 3, which there is not}}
func.func @main(%a: tensor<3xf32> {tf.aliasing_output = 3 : i32}) -> tensor<3xf32> {
  return %a : tensor<3xf32>
}

// -----

// expected-error @+1 {{argument 0 has the batch as its dimension 1, which 'tensor<3xf32>' does not have}}
func.func @main(%a: tensor<3xf32> {dgc.batch_dim = 1 : i64}) -> tensor<3xf32> {
  return %a : tensor<3xf32>
}

// -----

// What draws random numbers has the keys of the run, behind the arguments, and a number of its own.
// CHECK: func.func @drawing(
// CHECK-SAME: %{{[^:]*}}: tensor<8xf32> {dgc.argument = 0 : i64, dgc.batch_dim = 0 : i64, dgc.input = "step", dgc.role = "data"},
// CHECK-SAME: %[[STEP:[^:]*]]: tensor<i64> {dgc.input = "step_", dgc.role = "step"},
// CHECK-SAME: %[[SEED:[^:]*]]: tensor<i64> {dgc.input = "seed", dgc.role = "seed"})
// CHECK: dgc.random_uniform always keyed %[[SEED]], %[[STEP]] rng 1 : tensor<8xf32>
// CHECK: dgc.random_uniform always keyed %[[SEED]], %[[STEP]] rng 2 : tensor<8xf32>
module {
  func.func @drawing(%x: tensor<8xf32> loc("step")) -> tensor<8xf32> {
    %0 = dgc.random_uniform always {dgc.draw = 0 : i64} : tensor<8xf32>
    %1 = dgc.random_uniform always {dgc.draw = 1 : i64} : tensor<8xf32>
    %2 = dgc.add %0, %1 : tensor<8xf32>
    return %2 : tensor<8xf32>
  }
}
