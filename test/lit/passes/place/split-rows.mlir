// RUN: dgc-opt %s -split-input-file -dgc-assign-stages="stages=3 servers=2" | FileCheck %s

// A variable that is more than half of all: other variables are placed first, and its rows fill up what they leave. Ops
// get the blocks put together; each block is updated with its rows of the gradient, which the workers take.
// CHECK-DAG: dgc.state @"w#0" weight glorot_uniform rng 0 {dgc.block = {first = 0 : i64, of = "w", type = tensor<10x4xf32>}} : tensor<7x4xf32>
// CHECK-DAG: dgc.state @"w#1" weight glorot_uniform rng 0 {dgc.block = {first = 7 : i64, of = "w", type = tensor<10x4xf32>}} : tensor<3x4xf32>
// CHECK-DAG: dgc.state @"w#1.momentum" slot zeros rng 1 {dgc.block = {first = 7 : i64, of = "w.momentum", type = tensor<10x4xf32>}} : tensor<3x4xf32>
// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[W0:.*]]: tensor<7x4xf32> {dgc.state = @"w#0", dist.stage = 2 : i64}
// CHECK-SAME: %[[W1:.*]]: tensor<3x4xf32> {dgc.state = @"w#1", dist.stage = 1 : i64}
// CHECK-SAME: %[[M0:.*]]: tensor<7x4xf32> {dgc.state = @"w#0.momentum", dist.stage = 2 : i64}
// CHECK-SAME: %[[M1:.*]]: tensor<3x4xf32> {dgc.state = @"w#1.momentum", dist.stage = 1 : i64}
// CHECK-SAME: {dgc.state = @v, dist.stage = 1 : i64}
// CHECK-SAME: -> (tensor<7x4xf32> {dgc.state = @"w#0"}, tensor<3x4xf32> {dgc.state = @"w#1"}, tensor<7x4xf32> {dgc.state = @"w#0.momentum"}, tensor<3x4xf32> {dgc.state = @"w#1.momentum"}, tensor<f32>)
// CHECK: %[[W:.*]] = dgc.concatenate %[[W0]], %[[W1]] dim 0 {dist.stage = 0 : i64}
// CHECK: dgc.multiply %[[W]]
// CHECK: %[[G:.*]] = dgc.gradient %{{.*}} wrt %[[W]]
// CHECK: %[[G0:.*]] = dgc.slice %[[G]] from [0, 0] to [7, 4] {dist.stage = 0 : i64}
// CHECK: %[[N0:.*]], %[[K0:.*]] = dgc.apply_optimizer sgd(%[[W0]], %[[G0]], %{{.*}}) state(%[[M0]]) momentum 0.9 {{.*}}tensor<7x4xf32>
// CHECK: %[[G1:.*]] = dgc.slice %[[G]] from [7, 0] to [10, 4] {dist.stage = 0 : i64}
// CHECK: %[[N1:.*]], %[[K1:.*]] = dgc.apply_optimizer sgd(%[[W1]], %[[G1]], %{{.*}}) state(%[[M1]]) momentum 0.9
// CHECK: return %[[N0]], %[[N1]], %[[K0]], %[[K1]], %
// A function that only reads it, and has no use for the state.
// CHECK-LABEL: func.func @predict
// CHECK: dgc.concatenate
dgc.state @w weight glorot_uniform rng 0 : tensor<10x4xf32>
dgc.state @w.momentum slot zeros rng 1 : tensor<10x4xf32>
dgc.state @v weight zeros rng 2 : tensor<32xf32>
func.func @train(%w: tensor<10x4xf32> {dgc.state = @w}, %m: tensor<10x4xf32> {dgc.state = @w.momentum},
    %v: tensor<32xf32> {dgc.state = @v}, %x: tensor<10x4xf32> {dgc.input = "x", dgc.role = "data"},
    %step: tensor<i64> {dgc.input = "step", dgc.role = "step"})
    -> (tensor<10x4xf32> {dgc.state = @w}, tensor<10x4xf32> {dgc.state = @w.momentum}, tensor<f32>) {
  %0 = dgc.multiply %w, %x : tensor<10x4xf32>
  %1 = dgc.reduce sum %0 dims [0, 1] : tensor<10x4xf32>
  %2 = dgc.reduce sum %v dims [0] : tensor<32xf32>
  %loss = dgc.add %1, %2 : tensor<f32>
  %g = dgc.gradient %loss wrt %w : tensor<f32>, tensor<10x4xf32>
  %rate = dgc.learning_rate %step 0.1
  %n, %k = dgc.apply_optimizer sgd(%w, %g, %rate, %step) state(%m) momentum 0.9 : tensor<10x4xf32>, tensor<10x4xf32>, tensor<f32>, tensor<10x4xf32>
  return %n, %k, %loss : tensor<10x4xf32>, tensor<10x4xf32>, tensor<f32>
}
func.func @predict(%w: tensor<10x4xf32> {dgc.state = @w}) -> tensor<10x4xf32> {
  %0 = dgc.tanh %w : tensor<10x4xf32>
  return %0 : tensor<10x4xf32>
}

// -----

// What is not updated by an optimizer stays whole.
// CHECK-LABEL: func.func @train
// CHECK-SAME: tensor<10x4xf32> {dgc.state = @w, dist.stage = 1 : i64}
// CHECK-NOT: dgc.concatenate
func.func @train(%w: tensor<10x4xf32> {dgc.state = @w}, %v: tensor<8xf32> {dgc.state = @v})
    -> (tensor<10x4xf32> {dgc.state = @w}) {
  %0 = dgc.reverse %w dims [0] : tensor<10x4xf32>
  return %0 : tensor<10x4xf32>
}
dgc.state @w weight glorot_uniform rng 0 : tensor<10x4xf32>
dgc.state @v weight zeros rng 1 : tensor<8xf32>

// -----

// A step that is not elementwise is of the whole variable: here of its norm.
// CHECK-LABEL: func.func @train
// CHECK-SAME: tensor<10x4xf32> {dgc.state = @w, dist.stage = {{[12]}} : i64}
// CHECK-NOT: dgc.concatenate
dgc.state @w weight glorot_uniform rng 0 : tensor<10x4xf32>
dgc.state @w.mean slot zeros rng 1 : tensor<10x4xf32>
dgc.state @w.square slot zeros rng 2 : tensor<10x4xf32>
dgc.state @v weight zeros rng 3 : tensor<8xf32>
func.func @train(%w: tensor<10x4xf32> {dgc.state = @w}, %m: tensor<10x4xf32> {dgc.state = @w.mean},
    %s: tensor<10x4xf32> {dgc.state = @w.square}, %v: tensor<8xf32> {dgc.state = @v}, %rate: tensor<f32>, %step: tensor<i64>)
    -> (tensor<10x4xf32> {dgc.state = @w}, tensor<10x4xf32> {dgc.state = @w.mean}, tensor<10x4xf32> {dgc.state = @w.square}) {
  %n, %k:2 = dgc.apply_optimizer lamb(%w, %w, %rate, %step) state(%m, %s) : tensor<10x4xf32>, tensor<10x4xf32>, tensor<f32>, tensor<10x4xf32>, tensor<10x4xf32>
  return %n, %k#0, %k#1 : tensor<10x4xf32>, tensor<10x4xf32>, tensor<10x4xf32>
}
