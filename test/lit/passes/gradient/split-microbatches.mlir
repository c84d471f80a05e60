// RUN: dgc-opt %s -split-input-file -dgc-split-microbatches="count=2" | FileCheck %s
// RUN: dgc-opt %s -split-input-file -dgc-split-microbatches="count=1" | FileCheck %s --check-prefix=ONE

// What is computed of the batch is computed for the even and for the odd examples, all of one micro-batch before the
// other; gradients are added up where the second addend is there, and there is one update.
// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x4xf32>
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4x3xf32>
// CHECK-SAME: attributes {dgc.microbatches = 2 : i64}
// CHECK: %[[X0:.*]] = dgc.slice %[[X]] from [0, 0] to [8, 4] strides [2, 1] {dgc.microbatch = 0 : i64}
// CHECK: %[[Y0:.*]] = dgc.dot_general %[[X0]], %[[W]] contract [1] x [0] {dgc.microbatch = 0 : i64} : tensor<4x4xf32>, tensor<4x3xf32>
// CHECK: %[[G0:.*]] = dgc.dot_general %[[X0]], %[[Y0]] contract [0] x [0] {dgc.microbatch = 0 : i64}
// CHECK: dgc.slice %[[X]] from [1, 0] to [8, 4] strides [2, 1] {dgc.microbatch = 1 : i64}
// CHECK: %[[Y1:.*]] = dgc.dot_general %[[X1:.*]], %[[W]]
// CHECK: %[[G1:.*]] = dgc.dot_general %[[X1]], %[[Y1]] contract [0] x [0] {dgc.microbatch = 1 : i64}
// CHECK: %[[G:.*]] = dgc.add %[[G0]], %[[G1]] {dgc.microbatch = 1 : i64}
// CHECK: %[[N:.*]] = dgc.subtract %[[W]], %[[G]] : tensor<4x3xf32>
// CHECK: return %[[N]]
// ONE-LABEL: func.func @train
// ONE-NOT: microbatch
func.func @train(%x: tensor<8x4xf32> {dgc.batch_dim = 0 : i64}, %w: tensor<4x3xf32> {dgc.state = @w})
    -> (tensor<4x3xf32> {dgc.state = @w}) {
  %y = dgc.dot_general %x, %w contract [1] x [0] : tensor<8x4xf32>, tensor<4x3xf32>
  %g = dgc.dot_general %x, %y contract [0] x [0] : tensor<8x4xf32>, tensor<8x3xf32>
  %n = dgc.subtract %w, %g : tensor<4x3xf32>
  return %n : tensor<4x3xf32>
}

// A function without a batch stays as it is.
// CHECK-LABEL: func.func @initialize
// CHECK-NOT: microbatch
// CHECK: dgc.negate %{{.*}} : tensor<8x4xf32>
func.func @initialize(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %y = dgc.negate %x : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// Two gradients of one variable are added up first, for each micro-batch; the maximum is that of both.
// CHECK-LABEL: func.func @train
// CHECK: %[[A0:.*]] = dgc.reduce sum
// CHECK: %[[B0:.*]] = dgc.reduce sum
// CHECK: %[[G0:.*]] = dgc.add %[[A0]], %[[B0]] {dgc.microbatch = 0 : i64}
// CHECK: %[[M0:.*]] = dgc.reduce max
// CHECK: %[[G1:.*]] = dgc.add %{{.*}}, %{{.*}} {dgc.microbatch = 1 : i64}
// CHECK: dgc.add %[[G0]], %[[G1]] {dgc.microbatch = 1 : i64}
// CHECK: %[[M1:.*]] = dgc.reduce max
// CHECK: dgc.maximum %[[M0]], %[[M1]] {dgc.microbatch = 1 : i64}
func.func @train(%x: tensor<8x4xf32> {dgc.batch_dim = 0 : i64}, %w: tensor<4xf32> {dgc.state = @w})
    -> (tensor<4xf32> {dgc.state = @w}, tensor<4xf32>) {
  %a = dgc.reduce sum %x dims [0] : tensor<8x4xf32>
  %y = dgc.negate %x : tensor<8x4xf32>
  %b = dgc.reduce sum %y dims [0] : tensor<8x4xf32>
  %g = dgc.add %a, %b : tensor<4xf32>
  %m = dgc.reduce max %x dims [0] : tensor<8x4xf32>
  %n = dgc.subtract %w, %g : tensor<4xf32>
  return %n, %m : tensor<4xf32>, tensor<4xf32>
}

// -----

// Statistics of the batch wait for all micro-batches before the rest of the forward pass: `dgc.microbatch_level` says how
// many times an op has waited. What is repeated along the
// batch is repeated for a part of it; what depends on the place in the batch is taken from the whole. The examples of
// a result come back in their order.
// CHECK-LABEL: func.func @train
// CHECK: dgc.reduce sum %{{.*}} dims [0] {dgc.microbatch = 0 : i64} : tensor<4x4xf32>
// CHECK: %[[SUM:.*]] = dgc.add %{{.*}}, %{{.*}} {dgc.microbatch = 1 : i64} : tensor<4xf32>
// CHECK: %[[I:.*]] = dgc.iota dim 0 : tensor<8xi32>
// CHECK: dgc.broadcast_in_dim %[[SUM]] dims [1] to [4, 4] {dgc.microbatch = 0 : i64, dgc.microbatch_level = 1 : i64}
// CHECK: dgc.slice %[[I]] from [0] to [8] strides [2] {dgc.microbatch = 0 : i64, dgc.microbatch_level = 1 : i64}
// CHECK: %[[Q0:.*]] = dgc.multiply %{{.*}} {dgc.microbatch = 0 : i64, dgc.microbatch_level = 1 : i64}
// CHECK: %[[C0:.*]] = dgc.negate %[[Q0]]
// CHECK: %[[Q1:.*]] = dgc.multiply %{{.*}} {dgc.microbatch = 1 : i64, dgc.microbatch_level = 1 : i64}
// CHECK: %[[C1:.*]] = dgc.negate %[[Q1]]
// CHECK: %[[P0:.*]] = dgc.reshape %[[C0]] to [4, 1, 1]
// CHECK: %[[P1:.*]] = dgc.reshape %[[C1]] to [4, 1, 1]
// CHECK: %[[P:.*]] = dgc.concatenate %[[P0]], %[[P1]] dim 1
// CHECK: dgc.reshape %[[P]] to [8]
func.func @train(%x: tensor<8x4xf32> {dgc.batch_dim = 0 : i64}, %w: tensor<4xf32> {dgc.state = @w})
    -> (tensor<4xf32> {dgc.state = @w}, tensor<8xf32> {dgc.batch_dim = 0 : i64}) {
  %s = dgc.reduce sum %x dims [0] : tensor<8x4xf32>
  %b = dgc.broadcast_in_dim %s dims [1] to [8, 4] : tensor<4xf32>
  %d = dgc.subtract %x, %b : tensor<8x4xf32>
  %v = dgc.reduce sum %d dims [0] : tensor<8x4xf32>
  %i = dgc.iota dim 0 : tensor<8xi32>
  %r = dgc.reduce sum %d dims [1] : tensor<8x4xf32>
  %j = dgc.convert %i to f32 : tensor<8xi32>
  %q = dgc.multiply %r, %j : tensor<8xf32>
  %p = dgc.negate %q : tensor<8xf32>
  return %v, %p : tensor<4xf32>, tensor<8xf32>
}

// -----

// Where the count does not divide the batch, the last micro-batch has one example less; a dimension with more than the
// batch is split behind it. In a result the missing example is filled in, and taken away at the end.
// CHECK-LABEL: func.func @train
// CHECK: %[[X0:.*]] = dgc.slice %arg0 from [0, 0] to [5, 3] strides [2, 1] {dgc.microbatch = 0 : i64}
// CHECK: %[[J:.*]] = dgc.reshape %[[I:.*]] to [5, 3] {dgc.microbatch = 0 : i64} : tensor<15xf32>
// CHECK: dgc.slice %[[J]] from [0, 0] to [5, 3] strides [2, 1] {dgc.microbatch = 0 : i64}
// CHECK: %[[P0:.*]] = dgc.multiply %[[X0]], {{.*}} : tensor<3x3xf32>
// CHECK: dgc.slice %arg0 from [1, 0] to [5, 3] strides [2, 1] {dgc.microbatch = 1 : i64}
// CHECK: %[[P1:.*]] = dgc.multiply {{.*}} : tensor<2x3xf32>
// CHECK: dgc.reshape %{{.*}} to [3, 1, 3] : tensor<9xf32>
// CHECK: dgc.reshape %{{.*}} to [2, 1, 3] : tensor<6xf32>
// CHECK: dgc.pad %{{.*}} low [0, 0, 0] high [1, 0, 0]
// CHECK: dgc.concatenate %{{.*}} dim 1 : tensor<3x1x3xf32>
// CHECK: dgc.reshape %{{.*}} to [18]
// CHECK: dgc.slice %{{.*}} from [0] to [15]
func.func @train(%x: tensor<5x3xf32> {dgc.batch_dim = 0 : i64}, %w: tensor<f32> {dgc.state = @w})
    -> (tensor<f32> {dgc.state = @w}, tensor<15xf32> {dgc.batch_dim = 0 : i64}) {
  %i = dgc.iota dim 0 : tensor<15xf32>
  %j = dgc.reshape %i to [5, 3] : tensor<15xf32>
  %p = dgc.multiply %x, %j : tensor<5x3xf32>
  %s = dgc.reduce sum %p dims [0, 1] : tensor<5x3xf32>
  %r = dgc.reshape %p to [15] : tensor<5x3xf32>
  return %s, %r : tensor<f32>, tensor<15xf32>
}

// -----

// A number that the loss is divided by, and that all micro-batches have together, comes first; then each of them goes
// forwards and backwards. Without that, what each of them computes forwards would be held until all are done.
// CHECK-LABEL: func.func @train
// CHECK: dgc.reduce sum %{{.*}} {dgc.microbatch = 0 : i64}
// CHECK: dgc.reduce sum %{{.*}} {dgc.microbatch = 1 : i64}
// CHECK: dgc.add {{.*}} : tensor<f32>
// CHECK-NOT: dgc.exponential {{.*}} {dgc.microbatch = 1 : i64, dgc.microbatch_level = 1 : i64}
// CHECK: dgc.exponential {{.*}} {dgc.microbatch = 0 : i64, dgc.microbatch_level = 1 : i64}
// CHECK: dgc.multiply {{.*}} {dgc.microbatch = 0 : i64, dgc.microbatch_level = 1 : i64}
// CHECK: dgc.exponential {{.*}} {dgc.microbatch = 1 : i64, dgc.microbatch_level = 1 : i64}
func.func @train(%x: tensor<8xf32> {dgc.batch_dim = 0 : i64}, %mask: tensor<8xf32> {dgc.batch_dim = 0 : i64},
    %w: tensor<f32> {dgc.state = @w}) -> (tensor<f32> {dgc.state = @w}, tensor<f32>) {
  %e = dgc.exponential %x : tensor<8xf32>
  %n = dgc.reduce sum %mask dims [0] : tensor<8xf32>
  %l = dgc.reduce sum %e dims [0] : tensor<8xf32>
  %loss = dgc.divide %l, %n : tensor<f32>
  %b = dgc.broadcast_in_dim %n dims [] to [8] : tensor<f32>
  %d = dgc.multiply %e, %b : tensor<8xf32>
  %g = dgc.reduce sum %d dims [0] : tensor<8xf32>
  %u = dgc.subtract %w, %g : tensor<f32>
  return %u, %loss : tensor<f32>, tensor<f32>
}

// -----

// What pairs examples runs once, of all of them; each micro-batch goes on with its part.
// CHECK-LABEL: func.func @pairs
// CHECK: %[[A0:.*]] = dgc.exponential %{{.*}} {dgc.microbatch = 0 : i64} : tensor<4x3xf32>
// CHECK: %[[A1:.*]] = dgc.exponential %{{.*}} {dgc.microbatch = 1 : i64} : tensor<4x3xf32>
// CHECK: %[[C:.*]] = dgc.concatenate %{{.*}}, %{{.*}} dim 1
// CHECK: %[[A:.*]] = dgc.reshape %[[C]] to [8, 3]
// CHECK: dgc.dot_general %[[A0]], %[[A]] contract [1] x [1] {dgc.microbatch = 0 : i64, dgc.microbatch_level = 1 : i64} : tensor<4x3xf32>, tensor<8x3xf32>
// CHECK: dgc.dot_general %[[A1]], %[[A]] contract [1] x [1] {dgc.microbatch = 1 : i64, dgc.microbatch_level = 1 : i64}
func.func @pairs(%x: tensor<8x3xf32> {dgc.batch_dim = 0 : i64}) -> tensor<3x8xf32> {
  %a = dgc.exponential %x : tensor<8x3xf32>
  %p = dgc.dot_general %a, %a contract [1] x [1] : tensor<8x3xf32>, tensor<8x3xf32>
  %g = dgc.dot_general %a, %p contract [0] x [0] : tensor<8x3xf32>, tensor<8x8xf32>
  return %g : tensor<3x8xf32>
}
