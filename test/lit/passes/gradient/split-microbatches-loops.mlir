// RUN: dgc-opt %s -split-input-file -dgc-split-microbatches="count=4 loop-from=4 workers=2" | FileCheck %s

// Every fourth example is of one round: the gradient is carried from zero on, what there is of each example is put in place.
// CHECK-LABEL: func.func @train
// CHECK-SAME: (%[[X:.*]]: tensor<16x4xf32> {{.*}}, %[[W:.*]]: tensor<4x3xf32>
// CHECK-NOT: dgc.microbatches
// CHECK: %[[XS:.*]] = dgc.reshape %[[X]] to [4, 4, 1, 4]
// CHECK: %[[L:.*]]:3 = dgc.while
// CHECK-SAME: tensor<i32>, tensor<4x3xf32>, tensor<4x4x1x3xf32>
// CHECK: dgc.gather
// CHECK: %[[Y:.*]] = dgc.dot_general %{{.*}}, %{{.*}} contract [1] x [0] : tensor<4x4xf32>, tensor<4x3xf32>
// CHECK: %[[G:.*]] = dgc.dot_general %{{.*}}, %[[Y]] contract [0] x [0]
// CHECK: dgc.add %{{.*}}, %[[G]] : tensor<4x3xf32>
// CHECK: dgc.dynamic_update_slice
// CHECK: dgc.yield
// CHECK: dgc.subtract %[[W]], %[[L]]#1
// CHECK: dgc.reshape %[[L]]#2 to [16, 3]
func.func @train(%x: tensor<16x4xf32> {dgc.batch_dim = 0 : i64}, %w: tensor<4x3xf32> {dgc.state = @w})
    -> (tensor<4x3xf32> {dgc.state = @w}, tensor<16x3xf32>) {
  %y = dgc.dot_general %x, %w contract [1] x [0] : tensor<16x4xf32>, tensor<4x3xf32>
  %g = dgc.dot_general %x, %y contract [0] x [0] : tensor<16x4xf32>, tensor<16x3xf32>
  %n = dgc.subtract %w, %g : tensor<4x3xf32>
  return %n, %y : tensor<4x3xf32>, tensor<16x3xf32>
}

// -----

// A sum that all micro-batches wait for ends one loop and is in the next one.
// CHECK-LABEL: func.func @waits
// CHECK: %[[N:.*]]:2 = dgc.while
// CHECK: dgc.while
// CHECK-SAME: %[[N]]#1
func.func @waits(%x: tensor<16x4xf32> {dgc.batch_dim = 0 : i64}) -> tensor<4xf32> {
  %n = dgc.reduce sum %x dims [0, 1] : tensor<16x4xf32>
  %b = dgc.broadcast_in_dim %n dims [] to [16, 4] : tensor<f32>
  %d = dgc.divide %x, %b : tensor<16x4xf32>
  %e = dgc.exponential %d : tensor<16x4xf32>
  %s = dgc.reduce sum %e dims [0] : tensor<16x4xf32>
  return %s : tensor<4xf32>
}

// -----

// A maximum is no sum, and 3 examples are not for two workers: all of them are written out.
// CHECK-LABEL: func.func @maximum
// CHECK-NOT: dgc.while
// CHECK: dgc.maximum
func.func @maximum(%x: tensor<16x4xf32> {dgc.batch_dim = 0 : i64}) -> tensor<4xf32> {
  %m = dgc.reduce max %x dims [0] : tensor<16x4xf32>
  return %m : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @odd
// CHECK-NOT: dgc.while
// CHECK: dgc.microbatch = 3
func.func @odd(%x: tensor<12x4xf32> {dgc.batch_dim = 0 : i64}) -> tensor<4xf32> {
  %m = dgc.reduce sum %x dims [0] : tensor<12x4xf32>
  return %m : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @one_stage
// CHECK: dgc.while rounds 4
// CHECK-SAME: dist.stage = 1
// CHECK: } do {
// CHECK-NOT: dist.stage
// CHECK: return
func.func @one_stage(%x: tensor<16x4xf32> {dgc.batch_dim = 0 : i64}) -> tensor<4xf32> {
  %m = dgc.reduce sum %x dims [0] {dist.stage = 1 : i64} : tensor<16x4xf32>
  return %m : tensor<4xf32>
}

// -----

// On several stages there is one loop, and ops keep their stages: what is added up is where the addend is.
// CHECK-LABEL: func.func @stages
// CHECK: dgc.while rounds 4
// CHECK-SAME: attributes {dgc.counted, dgc.microbatch_loop} :
// CHECK: dgc.tanh %{{.*}} {dist.stage = 0 : i64} : tensor<4x4xf32>
// CHECK: %[[S:.*]] = dgc.reduce sum %{{.*}} dims [0] {dist.stage = 1 : i64} : tensor<4x4xf32>
// CHECK: dgc.add %{{.*}}, %[[S]] {dist.stage = 1 : i64} : tensor<4xf32>
// CHECK-NOT: dgc.while
func.func @stages(%x: tensor<16x4xf32> {dgc.batch_dim = 0 : i64}) -> tensor<4xf32> {
  %t = dgc.tanh %x {dist.stage = 0 : i64} : tensor<16x4xf32>
  %e = dgc.exponential %t {dist.stage = 1 : i64} : tensor<16x4xf32>
  %s = dgc.reduce sum %e dims [0] {dist.stage = 1 : i64} : tensor<16x4xf32>
  return %s : tensor<4xf32>
}

// -----

// The forward pass goes back to stage 0.
// CHECK-LABEL: func.func @back
// CHECK-NOT: dgc.while
// CHECK: dgc.microbatch = 3
func.func @back(%x: tensor<16x4xf32> {dgc.batch_dim = 0 : i64}) -> tensor<4xf32> {
  %t = dgc.tanh %x {dist.stage = 0 : i64} : tensor<16x4xf32>
  %e = dgc.exponential %t {dist.stage = 1 : i64} : tensor<16x4xf32>
  %f = dgc.tanh %e {dist.stage = 0 : i64} : tensor<16x4xf32>
  %s = dgc.reduce sum %f dims [0] {dist.stage = 1 : i64} : tensor<16x4xf32>
  return %s : tensor<4xf32>
}

// -----

// Micro-batches of several stages wait for each other.
// CHECK-LABEL: func.func @levels
// CHECK-NOT: dgc.while
// CHECK: dgc.microbatch = 3
func.func @levels(%x: tensor<16x4xf32> {dgc.batch_dim = 0 : i64}) -> tensor<4xf32> {
  %t = dgc.tanh %x {dist.stage = 0 : i64} : tensor<16x4xf32>
  %n = dgc.reduce sum %t dims [0] {dist.stage = 1 : i64} : tensor<16x4xf32>
  %b = dgc.broadcast_in_dim %n dims [1] to [16, 4] {dist.stage = 1 : i64} : tensor<4xf32>
  %d = dgc.divide %t, %b {dist.stage = 1 : i64} : tensor<16x4xf32>
  %s = dgc.reduce sum %d dims [0] {dist.stage = 1 : i64} : tensor<16x4xf32>
  return %s : tensor<4xf32>
}

// -----

// Numbers along another dimension are the same for all examples: they are not gathered.
// CHECK-LABEL: func.func @numbers
// CHECK: dgc.while
// CHECK: dgc.iota dim 1 : tensor<4x4xf32>
// CHECK: dgc.yield
func.func @numbers(%x: tensor<16x4xf32> {dgc.batch_dim = 0 : i64}) -> tensor<4xf32> {
  %i = dgc.iota dim 1 : tensor<16x4xf32>
  %y = dgc.multiply %x, %i : tensor<16x4xf32>
  %s = dgc.reduce sum %y dims [0] : tensor<16x4xf32>
  return %s : tensor<4xf32>
}
