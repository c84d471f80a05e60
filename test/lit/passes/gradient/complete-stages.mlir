// RUN: dgc-opt %s -split-input-file -dgc-complete-stages | FileCheck %s

// Variables are with their readers, updates with the variables, the state of the optimizer with the update, loss at
// stage 0; the rate follows from the step and is everywhere.
dgc.state @w0 weight zeros rng 0 : tensor<4xf32>
dgc.state @w1 weight zeros rng 1 : tensor<4xf32>
dgc.state @m1 slot zeros rng 2 : tensor<4xf32>
// CHECK-LABEL: func.func @train
// CHECK-SAME: dgc.state = @w0, dist.stage = 0 : i64
// CHECK-SAME: dgc.state = @w1, dist.stage = 1 : i64
// CHECK-SAME: dgc.state = @m1, dist.stage = 1 : i64
// CHECK-SAME: dgc.input = "x"
// CHECK-NOT: dist.stage
// CHECK-SAME: dgc.role = "step"
// CHECK-NOT: dist.stage
// CHECK-SAME: -> (tensor<4xf32> {dgc.state = @w0, dist.stage = 0 : i64}, tensor<4xf32> {dgc.state = @w1, dist.stage = 1 : i64}, tensor<4xf32> {dgc.state = @m1, dist.stage = 1 : i64}, tensor<f32> {dgc.output = "loss", dgc.role = "loss", dist.stage = 0 : i64})
func.func @train(%w0: tensor<4xf32> {dgc.state = @w0}, %w1: tensor<4xf32> {dgc.state = @w1},
    %m1: tensor<4xf32> {dgc.state = @m1}, %x: tensor<4xf32> {dgc.input = "x", dgc.role = "data"},
    %step: tensor<i64> {dgc.input = "step", dgc.role = "step"})
    -> (tensor<4xf32> {dgc.state = @w0}, tensor<4xf32> {dgc.state = @w1}, tensor<4xf32> {dgc.state = @m1},
        tensor<f32> {dgc.output = "loss", dgc.role = "loss"}) {
  // CHECK: dgc.convert %{{[a-z0-9]+}} to f32 : tensor<i64>
  // CHECK: dgc.broadcast_in_dim {{.*}} to [4] : tensor<f32>
  %r = dgc.convert %step to f32 : tensor<i64>
  %rate = dgc.broadcast_in_dim %r dims [] to [4] : tensor<f32>
  %h = dgc.multiply %x, %w0 {dist.stage = 0} : tensor<4xf32>
  %y = dgc.multiply %h, %w1 {dist.stage = 1} : tensor<4xf32>
  // CHECK: dgc.reduce {{.*}} {dist.stage = 1 : i64}
  %loss = dgc.reduce sum %y dims [0] : tensor<4xf32>
  // CHECK: dgc.multiply {{.*}} {dist.stage = 1 : i64}
  // CHECK: dgc.subtract {{.*}} {dist.stage = 1 : i64}
  // CHECK: dgc.subtract {{.*}} {dist.stage = 0 : i64}
  %m = dgc.multiply %m1, %rate : tensor<4xf32>
  %n1 = dgc.subtract %w1, %m : tensor<4xf32>
  %n0 = dgc.subtract %w0, %y : tensor<4xf32>
  return %n0, %n1, %m, %loss : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>
}

// -----

// The norm of all gradients scales each of them. The gradient of a weight that both stages use is added up where the
// weight is, and squared there. The scale is repeated on each stage, and not sent as a tensor. What is gathered behind
// an update is gathered where the weight is.
dist.mesh @mesh <stage = 2, data = 2>
dgc.state @w0 weight zeros rng 0 : tensor<4xf32>
dgc.state @w1 weight zeros rng 1 : tensor<4xf32>
// CHECK-LABEL: func.func @clipped
// CHECK: %[[G0:.*]] = dgc.add %{{.*}}, %{{.*}} {dist.stage = 0 : i64}
// CHECK: %[[Q0:.*]] = dgc.multiply %[[G0]], %[[G0]] {dist.stage = 0 : i64}
// CHECK: %[[N0:.*]] = dgc.reduce sum %[[Q0]] dims [0] {dist.stage = 0 : i64}
// CHECK: %[[Q1:.*]] = dgc.multiply %[[H:.*]], %[[H]] {dist.stage = 1 : i64}
// CHECK: %[[N1:.*]] = dgc.reduce sum %[[Q1]] dims [0] {dist.stage = 1 : i64}
// CHECK: %[[N:.*]] = dgc.add %[[N0]], %[[N1]] {dist.stage = 1 : i64}
// CHECK-DAG: %[[S0:.*]] = dgc.broadcast_in_dim %[[N]] dims [] to [2] {dist.stage = 0 : i64}
// CHECK-DAG: %[[S1:.*]] = dgc.broadcast_in_dim %[[N]] dims [] to [2] {dist.stage = 1 : i64}
// CHECK: %[[U0:.*]] = dgc.multiply %[[G0]], %[[S0]] {dist.stage = 0 : i64}
// CHECK: dist.all_gather %[[U0]] {{.*}} {dist.stage = 0 : i64}
// CHECK: %[[U1:.*]] = dgc.multiply %[[H]], %[[S1]] {dist.stage = 1 : i64}
// CHECK: dist.all_gather %[[U1]] {{.*}} {dist.stage = 1 : i64}
func.func @clipped(%w0: tensor<4xf32> {dgc.state = @w0}, %w1: tensor<4xf32> {dgc.state = @w1})
    -> (tensor<4xf32> {dgc.state = @w0}, tensor<4xf32> {dgc.state = @w1}) {
  %a = dgc.negate %w0 {dist.stage = 0} : tensor<4xf32>
  %b = dgc.negate %w1 {dist.stage = 1} : tensor<4xf32>
  %c = dgc.exponential %w0 {dist.stage = 1} : tensor<4xf32>
  %ga = dist.reduce_scatter sum %a dim 0 over @mesh ["data"] : tensor<4xf32> to tensor<2xf32>
  %gc = dist.reduce_scatter sum %c dim 0 over @mesh ["data"] : tensor<4xf32> to tensor<2xf32>
  %g0 = dgc.add %ga, %gc : tensor<2xf32>
  %q0 = dgc.multiply %g0, %g0 : tensor<2xf32>
  %n0 = dgc.reduce sum %q0 dims [0] : tensor<2xf32>
  %g1 = dist.reduce_scatter sum %b dim 0 over @mesh ["data"] : tensor<4xf32> to tensor<2xf32>
  %q1 = dgc.multiply %g1, %g1 : tensor<2xf32>
  %n1 = dgc.reduce sum %q1 dims [0] : tensor<2xf32>
  %n = dgc.add %n0, %n1 : tensor<f32>
  %s = dgc.broadcast_in_dim %n dims [] to [2] : tensor<f32>
  %u0 = dgc.multiply %g0, %s : tensor<2xf32>
  %v0 = dist.all_gather %u0 dim 0 over @mesh ["data"] : tensor<2xf32> to tensor<4xf32>
  %u1 = dgc.multiply %g1, %s : tensor<2xf32>
  %v1 = dist.all_gather %u1 dim 0 over @mesh ["data"] : tensor<2xf32> to tensor<4xf32>
  return %v0, %v1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// No op has a stage.
// CHECK-LABEL: func.func @none
// CHECK-NOT: dist.stage
func.func @none(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dgc.exponential %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// In a loop over micro-batches as outside: slices of inputs are where they are used, what is reduced where its operand is. The
// counter is every stage's. The weight belongs to the stage that reads it in the loop, and its update is there.
dist.mesh @mesh <stage = 2>
// CHECK-LABEL: func.func @rounds(%{{.*}}: tensor<4xf32> {dgc.state = @w, dist.stage = 1 : i64}
// CHECK: dgc.while
// CHECK: dgc.reshape %{{.*}} to [1] : tensor<i32>
// CHECK: dgc.gather {{.*}} {dist.stage = 0 : i64}
// CHECK: dgc.reshape {{.*}} {dist.stage = 0 : i64}
// CHECK: dgc.reduce {{.*}} {dist.stage = 1 : i64}
// CHECK: dgc.add {{.*}} {dist.stage = 1 : i64} : tensor<f32>
// CHECK: dgc.add %{{[^ ]*}}, %{{[^ ]*}} : tensor<i32>
// CHECK: dgc.subtract {{.*}} {dist.stage = 1 : i64}
func.func @rounds(%w: tensor<4xf32> {dgc.state = @w}, %x: tensor<8x4xf32>) -> (tensor<4xf32> {dgc.state = @w}) {
  %zero = dgc.constant dense<0> : tensor<i32>
  %none = dgc.constant dense<0.0> : tensor<f32>
  %r:2 = dgc.while rounds 8 (%i = %zero, %l = %none) with (%xs = %x, %v = %w) attributes {dgc.counted, dgc.microbatch_loop} : tensor<i32>, tensor<f32>, tensor<8x4xf32>, tensor<4xf32> {
    %n = dgc.constant dense<8> : tensor<i32>
    %more = dgc.compare lt %i, %n : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    %at = dgc.reshape %i to [1] : tensor<i32>
    %slice = dgc.gather %xs, %at dim 0 : tensor<8x4xf32>, tensor<1xi32>
    %xi = dgc.reshape %slice to [4] : tensor<1x4xf32>
    %h = dgc.tanh %xi {dist.stage = 0 : i64} : tensor<4xf32>
    %y = dgc.multiply %h, %v {dist.stage = 1 : i64} : tensor<4xf32>
    %s = dgc.reduce sum %y dims [0] : tensor<4xf32>
    %p = dgc.add %l, %s : tensor<f32>
    %j = dgc.add %i, %one : tensor<i32>
    dgc.yield %j, %p : tensor<i32>, tensor<f32>
  }
  %b = dgc.broadcast_in_dim %r#1 dims [] to [4] : tensor<f32>
  %u = dgc.subtract %w, %b : tensor<4xf32>
  return %u : tensor<4xf32>
}
