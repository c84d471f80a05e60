// RUN: dgc-opt %s -split-input-file -dgc-assign-stages="stages=2" | FileCheck %s

// Ops and variables of one name are on one stage: that which one of them says.
// CHECK-LABEL: func.func @said
// CHECK-SAME: {dgc.state = @w0, dist.stage = 1 : i64}
// CHECK: dgc.exponential %{{.*}} {dist.stage = 0 : i64}
// CHECK: dgc.tanh %{{.*}} {dist.stage = 1 : i64}
// CHECK: dgc.add {{.*}} {dist.stage = 1 : i64}
// CHECK-NOT: dist.colocate
func.func @said(%w0: tensor<4xf32> {dgc.state = @w0, dist.colocate = "head"}, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dgc.exponential %x {dist.stage = 0} : tensor<4xf32>
  %1 = dgc.tanh %0 {dist.colocate = "head"} : tensor<4xf32>
  %2 = dgc.add %1, %w0 {dist.stage = 1, dist.colocate = "head"} : tensor<4xf32>
  return %2 : tensor<4xf32>
}
dgc.state @w0 weight zeros rng 0 : tensor<4xf32>

// -----

// The stage that follows for one of them holds for all.
// CHECK-LABEL: func.func @follows
// CHECK: dgc.exponential %{{.*}} {dist.stage = 0 : i64}
// CHECK: dgc.abs %{{.*}} {dist.stage = 1 : i64}
// CHECK: dgc.tanh %{{.*}} {dist.stage = 1 : i64}
// CHECK: dgc.negate %{{.*}} {dist.stage = 1 : i64}
// CHECK: dgc.multiply {{.*}} {dist.stage = 1 : i64}
func.func @follows(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dgc.exponential %x {dist.stage = 0} : tensor<4xf32>
  %1 = dgc.abs %0 {dist.colocate = "a"} : tensor<4xf32>
  %2 = dgc.tanh %1 {dist.stage = 1} : tensor<4xf32>
  %3 = dgc.negate %2 {dist.colocate = "a"} : tensor<4xf32>
  %4 = dgc.multiply %1, %3 : tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----

// The solver keeps to it: without, the cut is between the second and the third product.
// CHECK-LABEL: func.func @solved
// CHECK: dgc.dot_general {{.*}} {dist.stage = 0 : i64}
// CHECK: dgc.dot_general {{.*}} {dist.stage = 1 : i64}
// CHECK: dgc.dot_general {{.*}} {dist.stage = 1 : i64}
// CHECK: dgc.dot_general {{.*}} {dist.stage = 1 : i64}
func.func @solved(%w0: tensor<32x32xf32> {dgc.state = @w0}, %w1: tensor<32x32xf32> {dgc.state = @w1},
    %w2: tensor<32x32xf32> {dgc.state = @w2}, %w3: tensor<32x32xf32> {dgc.state = @w3}, %x: tensor<8x32xf32>)
    -> tensor<8x32xf32> {
  %0 = dgc.dot_general %x, %w0 contract [1] x [0] : tensor<8x32xf32>, tensor<32x32xf32>
  %1 = dgc.dot_general %0, %w1 contract [1] x [0] {dist.colocate = "middle"} : tensor<8x32xf32>, tensor<32x32xf32>
  %2 = dgc.dot_general %1, %w2 contract [1] x [0] {dist.colocate = "middle"} : tensor<8x32xf32>, tensor<32x32xf32>
  %3 = dgc.dot_general %2, %w3 contract [1] x [0] : tensor<8x32xf32>, tensor<32x32xf32>
  return %3 : tensor<8x32xf32>
}
dgc.state @w0 weight zeros rng 0 : tensor<32x32xf32>
dgc.state @w1 weight zeros rng 1 : tensor<32x32xf32>
dgc.state @w2 weight zeros rng 2 : tensor<32x32xf32>
dgc.state @w3 weight zeros rng 3 : tensor<32x32xf32>

// -----

// Without groups there is nothing to be said.
// CHECK-LABEL: func.func @nothing
// CHECK-NOT: dist.
func.func @nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dgc.exponential %x {dist.colocate = "a"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
