// RUN: dgc-opt %s -split-input-file -dgc-strategy-recompute="values=tanh+a.*" -mlir-print-debuginfo=false | FileCheck %s
// RUN: not dgc-opt %s -split-input-file -dgc-strategy-recompute="values=gelu" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not dgc-opt %s -split-input-file -dgc-strategy-recompute="values=dense" 2>&1 | FileCheck %s --check-prefix=UNNEEDED
// RUN: not dgc-opt %s -split-input-file -dgc-strategy-recompute="values=[" 2>&1 | FileCheck %s --check-prefix=SYNTAX
// NONE: recompute='gelu': no value of the model that the backward pass needs has a name like this; it needs tanh
// UNNEEDED: recompute='dense': the backward pass does not need dense; it needs tanh
// SYNTAX: for the --values option: '[': invalid glob pattern, unmatched '['

// The tanh is computed again, from its operand, which is kept: right before the first op of the backward pass that needs it.
dgc.state @w weight zeros rng 0 : tensor<8x4xf32>
// CHECK-LABEL: func.func @train
// CHECK: %[[Y:.*]] = dgc.multiply
// CHECK: %[[H:.*]] = dgc.tanh %[[Y]] : tensor<8x4xf32>
// CHECK: dgc.reduce sum %[[H]]
// CHECK: dgc.constant
// CHECK: %[[H2:.*]] = dgc.tanh %[[Y]] {dgc.recompute = 0 : i64}
// CHECK: dgc.multiply %[[H2]], %[[H2]]
func.func @train(%x: tensor<8x4xf32>, %w: tensor<8x4xf32> {dgc.state = @w}) -> (tensor<8x4xf32> {dgc.state = @w}, tensor<f32>) {
  %y = dgc.multiply %x, %w : tensor<8x4xf32> loc("dense")
  %h = dgc.tanh %y : tensor<8x4xf32> loc("tanh")
  %loss = dgc.reduce sum %h dims [0, 1] : tensor<8x4xf32>
  %c = dgc.constant dense<1.0> : tensor<8x4xf32>
  %d = dgc.multiply %h, %h : tensor<8x4xf32>
  %e = dgc.subtract %c, %d : tensor<8x4xf32>
  %g = dgc.multiply %e, %x : tensor<8x4xf32>
  %n = dgc.subtract %w, %g : tensor<8x4xf32>
  return %n, %loss : tensor<8x4xf32>, tensor<f32>
}

// A function that trains nothing has no backward pass.
// CHECK-LABEL: func.func @evaluate
// CHECK-NOT: recompute
func.func @evaluate(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %h = dgc.tanh %x : tensor<8x4xf32> loc("tanh")
  return %h : tensor<8x4xf32>
}

// -----

// Of two blocks each is computed again by itself: what one gives the other is kept.
dgc.state @w weight zeros rng 0 : tensor<8xf32>
// CHECK-LABEL: func.func @train
// CHECK: %[[A1:.*]] = dgc.sine %arg0
// CHECK: %[[A2:.*]] = dgc.tanh %[[A1]]
// CHECK: %[[B1:.*]] = dgc.sine %[[A2]]
// CHECK: dgc.tanh %[[B1]]
// CHECK: %[[C1:.*]] = dgc.sine %[[A2]] {dgc.recompute = 1 : i64}
// CHECK: %[[C2:.*]] = dgc.tanh %[[C1]] {dgc.recompute = 1 : i64}
// CHECK: %[[P:.*]] = dgc.multiply %arg1, %[[C2]]
// CHECK: %[[D1:.*]] = dgc.sine %arg0 {dgc.recompute = 0 : i64}
// CHECK: %[[D2:.*]] = dgc.tanh %[[D1]] {dgc.recompute = 0 : i64}
// CHECK: dgc.multiply %[[P]], %[[D2]]
func.func @train(%x: tensor<8xf32>, %w: tensor<8xf32> {dgc.state = @w}) -> (tensor<8xf32> {dgc.state = @w}, tensor<f32>) {
  %a1 = dgc.sine %x : tensor<8xf32> loc("a.0.sine")
  %a2 = dgc.tanh %a1 : tensor<8xf32> loc("a.0.tanh")
  %b1 = dgc.sine %a2 : tensor<8xf32> loc("a.1.sine")
  %b2 = dgc.tanh %b1 : tensor<8xf32> loc("a.1.tanh")
  %loss = dgc.reduce sum %b2 dims [0] : tensor<8xf32>
  %p = dgc.multiply %w, %b2 : tensor<8xf32>
  %q = dgc.multiply %p, %a2 : tensor<8xf32>
  return %q, %loss : tensor<8xf32>, tensor<f32>
}

// -----

// The backward pass of the second block needs what the first one gives it, which is kept; the first block is computed again
// when its own backward pass begins, not before.
dgc.state @w weight zeros rng 0 : tensor<8xf32>
// CHECK-LABEL: func.func @train
// CHECK: %[[A1:.*]] = dgc.sine %arg0
// CHECK: %[[A2:.*]] = dgc.tanh %[[A1]]
// CHECK: %[[P:.*]] = dgc.multiply %arg1, %[[A2]]
// CHECK: %[[C1:.*]] = dgc.sine %arg0 {dgc.recompute
// CHECK: dgc.multiply %[[P]], %[[C1]]
func.func @train(%x: tensor<8xf32>, %w: tensor<8xf32> {dgc.state = @w}) -> (tensor<8xf32> {dgc.state = @w}, tensor<f32>) {
  %a1 = dgc.sine %x : tensor<8xf32> loc("a.0.sine")
  %a2 = dgc.tanh %a1 : tensor<8xf32> loc("a.0.tanh")
  %b1 = dgc.sine %a2 : tensor<8xf32> loc("a.1.sine")
  %loss = dgc.reduce sum %b1 dims [0] : tensor<8xf32>
  %p = dgc.multiply %w, %a2 : tensor<8xf32> loc("a.1.sine")
  %q = dgc.multiply %p, %a1 : tensor<8xf32> loc("a.0.tanh")
  return %q, %loss : tensor<8xf32>, tensor<f32>
}

// -----

// A block that is cut by stages is computed again on each stage from what it has there: what stage 0 sent to stage 1 is
// kept on stage 1 for its own backward pass, which is before that of stage 0.
dgc.state @w weight zeros rng 0 : tensor<8xf32>
// CHECK-LABEL: func.func @train
// CHECK: %[[A1:.*]] = dgc.sine %arg0 {dist.stage = 0 : i64}
// CHECK: %[[A2:.*]] = dgc.tanh %[[A1]] {dist.stage = 0 : i64}
// CHECK: %[[A3:.*]] = dgc.sine %[[A2]] {dist.stage = 1 : i64}
// CHECK: %[[C3:.*]] = dgc.sine %[[A2]] {dgc.recompute = 1 : i64, dist.stage = 1 : i64}
// CHECK: %[[P:.*]] = dgc.multiply %[[C3]], %[[A2]] {dist.stage = 1 : i64}
// CHECK: %[[C1:.*]] = dgc.sine %arg0 {dgc.recompute = 0 : i64, dist.stage = 0 : i64}
// CHECK: dgc.multiply %[[P]], %[[C1]] {dist.stage = 0 : i64}
func.func @train(%x: tensor<8xf32>, %w: tensor<8xf32> {dgc.state = @w}) -> (tensor<8xf32> {dgc.state = @w}, tensor<f32>) {
  %a1 = dgc.sine %x {dist.stage = 0 : i64} : tensor<8xf32> loc("a.0.sine")
  %a2 = dgc.tanh %a1 {dist.stage = 0 : i64} : tensor<8xf32> loc("a.0.tanh")
  %a3 = dgc.sine %a2 {dist.stage = 1 : i64} : tensor<8xf32> loc("a.0.sine")
  %loss = dgc.reduce sum %a3 dims [0] {dist.stage = 1 : i64} : tensor<8xf32>
  %p = dgc.multiply %a3, %a2 {dist.stage = 1 : i64} : tensor<8xf32> loc("a.0.sine")
  %q = dgc.multiply %p, %a1 {dist.stage = 0 : i64} : tensor<8xf32> loc("a.0.sine")
  %n = dgc.subtract %w, %q {dist.stage = 0 : i64} : tensor<8xf32>
  return %n, %loss : tensor<8xf32>, tensor<f32>
}

// -----

// An op of the backward pass that comes before the block is complete takes what is there; the copies are of the level of
// the op that they are for.
dgc.state @w weight zeros rng 0 : tensor<8xf32>
// CHECK-LABEL: func.func @train
// CHECK: %[[A1:.*]] = dgc.sine %arg0 {dgc.microbatch = 0 : i64}
// CHECK: %[[E:.*]] = dgc.multiply %[[A1]], %arg1 {dgc.microbatch = 0 : i64}
// CHECK: %[[A2:.*]] = dgc.tanh %[[A1]] {dgc.microbatch = 0 : i64, dgc.microbatch_level = 1 : i64}
// CHECK: %[[C1:.*]] = dgc.sine %arg0 {dgc.microbatch = 0 : i64, dgc.microbatch_level = 2 : i64, dgc.recompute = 0 : i64}
// CHECK: %[[C2:.*]] = dgc.tanh %[[C1]] {dgc.microbatch = 0 : i64, dgc.microbatch_level = 2 : i64, dgc.recompute = 0 : i64}
// CHECK: dgc.multiply %[[E]], %[[C2]]
func.func @train(%x: tensor<8xf32>, %w: tensor<8xf32> {dgc.state = @w}) -> (tensor<8xf32> {dgc.state = @w}, tensor<f32>) {
  %a1 = dgc.sine %x {dgc.microbatch = 0 : i64} : tensor<8xf32> loc("a.0.sine")
  %e = dgc.multiply %a1, %w {dgc.microbatch = 0 : i64} : tensor<8xf32> loc("a.0.sine")
  %a2 = dgc.tanh %a1 {dgc.microbatch = 0 : i64, dgc.microbatch_level = 1 : i64} : tensor<8xf32> loc("a.0.tanh")
  %loss = dgc.reduce sum %a2 dims [0] {dgc.microbatch = 0 : i64, dgc.microbatch_level = 1 : i64} : tensor<8xf32>
  %p = dgc.multiply %e, %a2 {dgc.microbatch = 0 : i64, dgc.microbatch_level = 2 : i64} : tensor<8xf32> loc("a.0.tanh")
  %n = dgc.subtract %w, %p : tensor<8xf32>
  return %n, %loss : tensor<8xf32>, tensor<f32>
}
