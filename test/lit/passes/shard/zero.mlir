// RUN: dgc-opt %s -split-input-file -dgc-strategy-zero="stage=1" | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: dgc-opt %s -split-input-file -dgc-strategy-zero="stage=2" | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: dgc-opt %s -split-input-file -dgc-strategy-zero="stage=3" | FileCheck %s --check-prefixes=CHECK,THREE

// The optimizer's state and the update are cut by a dimension that divides, behind what propagation has decided.
// At stage 1 the gradient becomes a part before it is needed; later where it is computed. At stage 3 the weight is a
// part, too, and is gathered before each use: forwards and backwards.
dist.mesh @mesh <data = 2, model = 2>
dgc.state @w weight zeros rng 0 : tensor<5x4xf32>
dgc.state @v slot zeros rng 1 : tensor<5x4xf32>

// CHECK-LABEL: func.func @train
// ONE-SAME: tensor<5x4xf32> {dgc.state = @w}
// ONE-SAME: tensor<5x4xf32> {dgc.state = @v, dist.sharding = #dist.sharding<@mesh, [{}, {"data" by strategy "zero1"}]>}
// ONE-SAME: -> (tensor<5x4xf32> {dgc.state = @w}, tensor<5x4xf32> {dgc.state = @v, dist.sharding = #dist.sharding<@mesh, [{}, {"data" by strategy "zero1"}]>}
// TWO-SAME: tensor<5x4xf32> {dgc.state = @w}
// THREE-SAME: %[[W:[a-z0-9]+]]: tensor<5x4xf32> {dgc.state = @w, dist.sharding = #dist.sharding<@mesh, [{}, {"data" by strategy "zero3"}]>}
// THREE-SAME: tensor<5x4xf32> {dgc.state = @v, dist.sharding = #dist.sharding<@mesh, [{}, {"data" by strategy "zero3"}]>}
// THREE: %[[F:.*]] = dist.reshard %[[W]] to <@mesh, [{}, {}]> because "w, forwards" {dgc.use = "forwards"}
// THREE: %[[Y:.*]] = dgc.dot_general %{{.*}}, %[[F]]
// ONE-NOT: dist.reshard
// TWO-NOT: dist.reshard
// CHECK: dgc.reduce sum
// ONE: dgc.dot_general
// TWO: dgc.dot_general
// THREE: %[[B:.*]] = dist.reshard %[[W]] to <@mesh, [{}, {}]> because "w, backwards" {dgc.use = "backwards"}
// THREE: dgc.dot_general %{{.*}}, %[[B]]
// CHECK: %[[G:.*]] = dgc.dot_general %{{.*}} contract [0] x [0]
// TWO-NEXT: %[[R:.*]] = dist.reshard %[[G]] to <@mesh, [{}, {"data" by strategy "zero2"}]> because "the gradient of w"
// THREE-NEXT: %[[R:.*]] = dist.reshard %[[G]] to <@mesh, [{}, {"data" by strategy "zero3"}]> because "the gradient of w"
// CHECK: dgc.constant
// CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{}, {"data" by strategy "zero{{[1-3]}}"}]>]
// ONE: %[[R:.*]] = dist.reshard %[[G]] to <@mesh, [{}, {"data" by strategy "zero1"}]> because "the gradient of w"
// CHECK: dgc.add %{{.*}}, %[[R]] {dist.shardings = [#dist.sharding<@mesh, [{}, {"data" by strategy "zero{{[1-3]}}"}]>]}
// CHECK: dgc.subtract %{{.*}}, %{{.*}} {dist.shardings = [#dist.sharding<@mesh, [{}, {"data" by strategy "zero{{[1-3]}}"}]>]}
func.func @train(%x: tensor<8x5xf32>, %w: tensor<5x4xf32> {dgc.state = @w}, %v: tensor<5x4xf32> {dgc.state = @v})
    -> (tensor<5x4xf32> {dgc.state = @w}, tensor<5x4xf32> {dgc.state = @v}, tensor<f32> {dgc.output = "loss"}) {
  %y = dgc.dot_general %x, %w contract [1] x [0] : tensor<8x5xf32>, tensor<5x4xf32>
  %loss = dgc.reduce sum %y dims [0, 1] : tensor<8x4xf32>
  %dy = dgc.negate %y : tensor<8x4xf32>
  %dx = dgc.dot_general %dy, %w contract [1] x [1] : tensor<8x4xf32>, tensor<5x4xf32>
  %g = dgc.dot_general %dx, %dy contract [0] x [0] : tensor<8x5xf32>, tensor<8x4xf32>
  %c = dgc.constant dense<9.0e-01> : tensor<5x4xf32>
  %d = dgc.multiply %v, %c : tensor<5x4xf32>
  %u = dgc.add %d, %g : tensor<5x4xf32>
  %n = dgc.subtract %w, %u : tensor<5x4xf32>
  return %n, %u, %loss : tensor<5x4xf32>, tensor<5x4xf32>, tensor<f32>
}

// -----

// With micro-batches each addend of a gradient becomes a part from stage 2 on; at stage 1 only their sum does.
dist.mesh @mesh <data = 2>
dgc.state @w weight zeros rng 0 : tensor<4xf32>
// CHECK-LABEL: func.func @train
// CHECK: %[[A:.*]] = dgc.reduce sum
// TWO-NEXT: dist.reshard %[[A]] to <@mesh, [{"data" by strategy "zero2"}]>
// CHECK: %[[B:.*]] = dgc.reduce sum
// TWO-NEXT: dist.reshard %[[B]] to <@mesh, [{"data" by strategy "zero2"}]>
// ONE-NEXT: %[[G:.*]] = dgc.add %[[A]], %[[B]] {dgc.microbatch = 1 : i64}
// ONE-NEXT: dist.reshard %[[G]] to <@mesh, [{"data" by strategy "zero1"}]>
// CHECK: dgc.subtract
func.func @train(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>, %w: tensor<4xf32> {dgc.state = @w}) -> (tensor<4xf32> {dgc.state = @w}) {
  %a = dgc.reduce sum %x dims [0] {dgc.microbatch = 0 : i64} : tensor<8x4xf32>
  %b = dgc.reduce sum %y dims [0] {dgc.microbatch = 1 : i64} : tensor<8x4xf32>
  %g = dgc.add %a, %b {dgc.microbatch = 1 : i64} : tensor<4xf32>
  %n = dgc.subtract %w, %g : tensor<4xf32>
  return %n : tensor<4xf32>
}

// -----

// What a weight gets of several uses is added before it becomes a part: one reduce-scatter. Of micro-batches each has its
// sum. What is on another pipeline stage becomes a part there, and the part is sent.
dist.mesh @mesh <data = 2>
dgc.state @w weight zeros rng 0 : tensor<4xf32>
// CHECK-LABEL: func.func @tied
// CHECK: %[[A:.*]] = dgc.reduce sum
// CHECK-NEXT: %[[B:.*]] = dgc.reduce sum
// CHECK-NEXT: %[[AB:.*]] = dgc.add %[[A]], %[[B]] {dgc.microbatch = 0 : i64
// TWO-NEXT: %[[R0:.*]] = dist.reshard %[[AB]] to <@mesh, [{"data" by strategy "zero2"}]> because "the gradient of w" {dgc.use = "micro-batch 0"}
// CHECK: %[[C:.*]] = dgc.reduce sum
// CHECK-NEXT: %[[D:.*]] = dgc.reduce sum
// CHECK-NEXT: %[[CD:.*]] = dgc.add %[[C]], %[[D]] {dgc.microbatch = 1 : i64
// TWO-NEXT: %[[R1:.*]] = dist.reshard %[[CD]] to <@mesh, [{"data" by strategy "zero2"}]> because "the gradient of w" {dgc.use = "micro-batch 1"}
// TWO: %[[G:.*]] = dgc.add %[[R0]], %[[R1]] {dgc.microbatch = 1 : i64, dist.shardings
// ONE: %[[G:.*]] = dgc.add %[[AB]], %[[CD]] {dgc.microbatch = 1 : i64, dist.stage = 0
// CHECK: %[[E:.*]] = dgc.reduce sum %{{.*}} {dist.stage = 1 : i64}
// CHECK: dist.reshard %[[E]] to <@mesh, [{"data" by strategy "zero{{[1-3]}}"}]>
func.func @tied(%x: tensor<8x4xf32>, %w: tensor<4xf32> {dgc.state = @w}) -> (tensor<4xf32> {dgc.state = @w}) {
  %a = dgc.reduce sum %x dims [0] {dgc.microbatch = 0 : i64, dist.stage = 0 : i64} : tensor<8x4xf32>
  %b = dgc.reduce sum %x dims [0] {dgc.microbatch = 0 : i64, dist.stage = 0 : i64} : tensor<8x4xf32>
  %ab = dgc.add %a, %b {dgc.microbatch = 0 : i64, dist.stage = 0 : i64} : tensor<4xf32>
  %c = dgc.reduce sum %x dims [0] {dgc.microbatch = 1 : i64, dist.stage = 0 : i64} : tensor<8x4xf32>
  %d = dgc.reduce sum %x dims [0] {dgc.microbatch = 1 : i64, dist.stage = 0 : i64} : tensor<8x4xf32>
  %cd = dgc.add %c, %d {dgc.microbatch = 1 : i64, dist.stage = 0 : i64} : tensor<4xf32>
  %abcd = dgc.add %ab, %cd {dgc.microbatch = 1 : i64, dist.stage = 0 : i64} : tensor<4xf32>
  %e = dgc.reduce sum %x dims [0] {dist.stage = 1 : i64} : tensor<8x4xf32>
  %g = dgc.add %abcd, %e {dist.stage = 0 : i64} : tensor<4xf32>
  %n = dgc.subtract %w, %g {dist.stage = 0 : i64} : tensor<4xf32>
  return %n : tensor<4xf32>
}

// -----

// Whatever else needs the gradient, such as the norm of all gradients, gets its part.
dist.mesh @mesh <data = 2>
dgc.state @w weight zeros rng 0 : tensor<4xf32>
// CHECK-LABEL: func.func @clipped
// CHECK: %[[G:.*]] = dgc.reduce sum %{{.*}} dims [0] : tensor<8x4xf32>
// CHECK-NEXT: %[[R:.*]] = dist.reshard %[[G]] to <@mesh, [{"data" by strategy "zero{{[1-3]}}"}]> because "the gradient of w"
// CHECK-NEXT: dgc.multiply %[[R]], %[[R]]
// CHECK: dgc.multiply %[[R]], %{{.*}} {dist.shardings
func.func @clipped(%x: tensor<8x4xf32>, %w: tensor<4xf32> {dgc.state = @w}) -> (tensor<4xf32> {dgc.state = @w}) {
  %g = dgc.reduce sum %x dims [0] : tensor<8x4xf32>
  %q = dgc.multiply %g, %g : tensor<4xf32>
  %s = dgc.reduce sum %q dims [0] : tensor<4xf32>
  %f = dgc.broadcast_in_dim %s dims [] to [4] : tensor<f32>
  %c = dgc.multiply %g, %f : tensor<4xf32>
  %n = dgc.subtract %w, %c : tensor<4xf32>
  return %n : tensor<4xf32>
}

// -----

// A dimension that is cut already is cut further only when no other leaves as little. Statistics stay as they are.
dist.mesh @mesh <data = 2, model = 2>
dgc.state @w weight zeros rng 0 : tensor<4x3xf32>
dgc.state @m statistic zeros rng 1 : tensor<4xf32>
// CHECK-LABEL: func.func private @evaluate
// THREE-SAME: tensor<4x3xf32> {dgc.state = @w, dist.sharding = #dist.sharding<@mesh, [{"model", "data" by strategy "zero3"}, {}]>}
// CHECK-SAME: tensor<4xf32> {dgc.state = @m}
func.func private @evaluate(tensor<4x3xf32> {dgc.state = @w, dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>},
    tensor<4xf32> {dgc.state = @m})

// -----

// Where no dimension divides, the one with the least padding: of 3x5 elements 5 on a device, not 6. A scalar is whole.
dist.mesh @mesh <data = 4>
dgc.state @w weight zeros rng 0 : tensor<3x5xf32>
dgc.state @s weight zeros rng 1 : tensor<f32>
// CHECK-LABEL: func.func private @uneven
// THREE-SAME: tensor<3x5xf32> {dgc.state = @w, dist.sharding = #dist.sharding<@mesh, [{"data" by strategy "zero3"}, {}]>}
// CHECK-SAME: tensor<f32> {dgc.state = @s}
func.func private @uneven(tensor<3x5xf32> {dgc.state = @w}, tensor<f32> {dgc.state = @s})

// -----

// Without a mesh there is nothing to do.
dgc.state @w weight zeros rng 0 : tensor<4xf32>
// CHECK-LABEL: func.func private @single(tensor<4xf32> {dgc.state = @w})
func.func private @single(tensor<4xf32> {dgc.state = @w})
