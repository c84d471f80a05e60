// RUN: dgc-opt %s -split-input-file -dgc-order-microbatches="name=gpipe" | FileCheck %s --check-prefixes=CHECK,GPIPE
// RUN: dgc-opt %s -split-input-file -dgc-order-microbatches="name=1f1b" | FileCheck %s --check-prefixes=CHECK,ONE

// Two stages, two micro-batches: forward passes of both, then backward passes. Stage 1 of 1f1b is done with the first
// micro-batch before it begins the second. What belongs to no micro-batch comes at the end: sums, the all-reduce, the
// update.
// GPIPE: module attributes {dist.pipeline = {chunks = 1 : i64, microbatches = 2 : i64, positions = 2 : i64, schedule = "gpipe"}}
// ONE: module attributes {dist.pipeline = {chunks = 1 : i64, microbatches = 2 : i64, positions = 2 : i64, schedule = "1f1b"}}
module {
dist.mesh @mesh <stage = 2, data = 2>
// CHECK-LABEL: func.func @train
// CHECK: dgc.multiply {{.*}} {dgc.microbatch = 0 : i64, dist.slot = [[A:[0-9]+]] : i64, dist.stage = 0 : i64}
// CHECK: dgc.tanh {{.*}} {dgc.microbatch = 0 : i64, dist.slot = [[B:[0-9]+]] : i64, dist.stage = 1 : i64}
// CHECK: dgc.multiply {{.*}} {dgc.microbatch = 1 : i64, dist.slot = [[B]] : i64, dist.stage = 0 : i64}
// GPIPE: dgc.tanh {{.*}} {dgc.microbatch = 1 : i64
// CHECK: dgc.negate {{.*}} {dgc.microbatch = 0 : i64
// ONE: dgc.tanh {{.*}} {dgc.microbatch = 1 : i64
// CHECK: dgc.negate {{.*}} {dgc.microbatch = 1 : i64
// CHECK: dist.all_reduce
// CHECK-NEXT: dgc.subtract
// CHECK-NEXT: dgc.add {{.*}} dist.stage = 1 : i64}
// CHECK-NEXT: return
func.func @train(%w: tensor<4xf32> {dgc.state = @w, dist.stage = 0 : i64}, %x0: tensor<4xf32>, %x1: tensor<4xf32>)
    -> (tensor<4xf32> {dgc.state = @w, dist.stage = 0 : i64}, tensor<f32> {dgc.role = "loss", dist.stage = 0 : i64}) {
  %h0 = dgc.multiply %x0, %w {dgc.microbatch = 0, dist.stage = 0} : tensor<4xf32>
  %y0 = dgc.tanh %h0 {dgc.microbatch = 0, dist.stage = 1} : tensor<4xf32>
  %l0 = dgc.reduce sum %y0 dims [0] {dgc.microbatch = 0, dist.stage = 1} : tensor<4xf32>
  %g0 = dgc.negate %y0 {dgc.microbatch = 0, dist.stage = 1} : tensor<4xf32>
  %d0 = dgc.multiply %g0, %x0 {dgc.microbatch = 0, dist.stage = 0} : tensor<4xf32>
  %h1 = dgc.multiply %x1, %w {dgc.microbatch = 1, dist.stage = 0} : tensor<4xf32>
  %y1 = dgc.tanh %h1 {dgc.microbatch = 1, dist.stage = 1} : tensor<4xf32>
  %l1 = dgc.reduce sum %y1 dims [0] {dgc.microbatch = 1, dist.stage = 1} : tensor<4xf32>
  %g1 = dgc.negate %y1 {dgc.microbatch = 1, dist.stage = 1} : tensor<4xf32>
  %d1 = dgc.multiply %g1, %x1 {dgc.microbatch = 1, dist.stage = 0} : tensor<4xf32>
  %d = dgc.add %d0, %d1 {dist.stage = 0} : tensor<4xf32>
  %r = dist.all_reduce sum %d over @mesh ["data"] {dist.stage = 0} : tensor<4xf32>
  %n = dgc.subtract %w, %r {dist.stage = 0} : tensor<4xf32>
  %loss = dgc.add %l0, %l1 {dist.stage = 1} : tensor<f32>
  return %n, %loss : tensor<4xf32>, tensor<f32>
}
}

// -----

// The mean of the batch divides the schedule into two rounds: the forward pass up to it, of all micro-batches, and then,
// in the order of the schedule, the rest of the forward pass and the backward pass. What `dgc.microbatch_level` puts into
// the second round is not in the first one, though it could be.
// GPIPE: dist.pipeline = {barriers = ["dgc.subtract at {{.*}}"], chunks = 1 : i64, {{.*}}rounds = 2 : i64, schedule = "gpipe"}
module {
dist.mesh @mesh <stage = 2>
// CHECK-LABEL: func.func @train
// CHECK: dgc.reduce {{.*}} {dgc.microbatch = 0 : i64, dist.slot = 0 : i64
// CHECK: dgc.reduce {{.*}} {dgc.microbatch = 1 : i64, dist.slot = 1 : i64
// CHECK: dgc.scale {{.*}} {dist.slot = 1 : i64
// CHECK: dgc.subtract {{.*}} {dgc.microbatch = 0 : i64, dgc.microbatch_level = 1 : i64, dist.slot = [[A:[0-9]+]]
// CHECK-DAG: dgc.tanh {{.*}} {dgc.microbatch = 0 : i64, dgc.microbatch_level = 1 : i64, dist.slot = [[B:[0-9]+]]
// CHECK-DAG: dgc.exponential {{.*}} {dgc.microbatch = 0 : i64, dgc.microbatch_level = 1 : i64, dist.slot = [[B]]
// CHECK-DAG: dgc.subtract {{.*}} {dgc.microbatch = 1 : i64, dgc.microbatch_level = 1 : i64, dist.slot = [[B]]
// GPIPE: dgc.tanh {{.*}} {dgc.microbatch = 1 : i64
// CHECK: dgc.negate {{.*}} {dgc.microbatch = 0 : i64
// ONE: dgc.tanh {{.*}} {dgc.microbatch = 1 : i64
// CHECK: dgc.negate {{.*}} {dgc.microbatch = 1 : i64
// CHECK: dgc.add {{.*}} {dist.slot
func.func @train(%w: tensor<4xf32> {dgc.state = @w, dist.stage = 1 : i64}, %x0: tensor<4xf32>, %x1: tensor<4xf32>)
    -> (tensor<4xf32> {dgc.state = @w, dist.stage = 1 : i64}, tensor<4xf32> {dgc.role = "loss", dist.stage = 0 : i64}) {
  %s0 = dgc.reduce sum %x0 dims [0] {dgc.microbatch = 0, dist.stage = 0} : tensor<4xf32>
  %s1 = dgc.reduce sum %x1 dims [0] {dgc.microbatch = 1, dist.stage = 0} : tensor<4xf32>
  %s = dgc.add %s0, %s1 {dgc.microbatch = 1, dist.stage = 0} : tensor<f32>
  %mean = dgc.scale %s by 0.125 {dist.stage = 0} : tensor<f32>
  %b0 = dgc.broadcast_in_dim %mean dims [] to [4] {dist.stage = 0} : tensor<f32>
  %e0 = dgc.exponential %x0 {dgc.microbatch = 0, dgc.microbatch_level = 1, dist.stage = 1} : tensor<4xf32>
  %e1 = dgc.exponential %x1 {dgc.microbatch = 1, dgc.microbatch_level = 1, dist.stage = 1} : tensor<4xf32>
  %h0 = dgc.subtract %x0, %b0 {dgc.microbatch = 0, dgc.microbatch_level = 1, dist.stage = 0} : tensor<4xf32>
  %h1 = dgc.subtract %x1, %b0 {dgc.microbatch = 1, dgc.microbatch_level = 1, dist.stage = 0} : tensor<4xf32>
  %t0 = dgc.tanh %h0 {dgc.microbatch = 0, dgc.microbatch_level = 1, dist.stage = 1} : tensor<4xf32>
  %t1 = dgc.tanh %h1 {dgc.microbatch = 1, dgc.microbatch_level = 1, dist.stage = 1} : tensor<4xf32>
  %y0 = dgc.multiply %t0, %e0 {dgc.microbatch = 0, dgc.microbatch_level = 1, dist.stage = 1} : tensor<4xf32>
  %y1 = dgc.multiply %t1, %e1 {dgc.microbatch = 1, dgc.microbatch_level = 1, dist.stage = 1} : tensor<4xf32>
  %g0 = dgc.negate %y0 {dgc.microbatch = 0, dgc.microbatch_level = 1, dist.stage = 1} : tensor<4xf32>
  %g1 = dgc.negate %y1 {dgc.microbatch = 1, dgc.microbatch_level = 1, dist.stage = 1} : tensor<4xf32>
  %g = dgc.add %g0, %g1 {dist.stage = 1} : tensor<4xf32>
  %n = dgc.subtract %w, %g {dist.stage = 1} : tensor<4xf32>
  %loss = dgc.add %y0, %y1 {dist.stage = 1} : tensor<4xf32>
  return %n, %loss : tensor<4xf32>, tensor<4xf32>
}
}
