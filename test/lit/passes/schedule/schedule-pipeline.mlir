// RUN: dgc-opt %s -split-input-file -dgc-schedule-pipeline="name=gpipe" | FileCheck %s --check-prefixes=CHECK,GPIPE
// RUN: dgc-opt %s -split-input-file -dgc-schedule-pipeline="name=1f1b" | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: dgc-opt %s -split-input-file -dgc-schedule-pipeline | FileCheck %s --check-prefix=NONE

// Two stages, two micro-batches: forward passes of both, then backward passes. Stage 1 of 1f1b is done with the first
// micro-batch before it begins the second. What belongs to no micro-batch comes at the end: sums, the all-reduce, the
// update.
// GPIPE: module attributes {dist.pipeline = {chunks = 1 : i64, microbatches = 2 : i64, positions = 2 : i64, schedule = "gpipe"}}
// ONE: module attributes {dist.pipeline = {chunks = 1 : i64, microbatches = 2 : i64, positions = 2 : i64, schedule = "1f1b"}}
// NONE-NOT: dist.pipeline
// NONE-NOT: dist.slot
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
