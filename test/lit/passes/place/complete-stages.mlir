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

// No op has a stage.
// CHECK-LABEL: func.func @none
// CHECK-NOT: dist.stage
func.func @none(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dgc.exponential %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
