// RUN: dgc-opt %s --dgc-decompose | FileCheck %s
// RUN: dgc-opt %s --dgc-decompose=keep=dgc.softmax | FileCheck %s --check-prefix=KEEP

// Composites are replaced until none is left; what was written on one goes to the op that makes its result. An op that
// is to be kept stays whole. Primitives are not touched.
// CHECK-LABEL: func @decompose
// CHECK-SAME:  (%[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<8x5xf32>, %[[B:.*]]: tensor<5xf32>)
// KEEP-LABEL:  func @decompose
func.func @decompose(%x: tensor<4x8xf32>, %w: tensor<8x5xf32>, %b: tensor<5xf32>) -> tensor<4x5xf32> {
  // CHECK: %[[P:.*]] = dgc.dot_general %[[X]], %[[W]] contract [1] x [0]
  // CHECK: %[[BB:.*]] = dgc.broadcast_in_dim %[[B]] dims [1] to [4, 5]
  // CHECK: %[[Y:.*]] = dgc.add %[[P]], %[[BB]] {note = "kept"}
  // KEEP-NOT: dgc.dense
  %y = dgc.dense %x, %w, %b {note = "kept"} : tensor<4x8xf32>, tensor<8x5xf32>, tensor<5xf32>
  // CHECK: %[[ZERO:.*]] = dgc.constant dense<0.0{{.*}}> : tensor<4x5xf32>
  // CHECK: dgc.maximum %[[Y]], %[[ZERO]]
  %z = dgc.relu %y : tensor<4x5xf32>
  // CHECK-NOT: dgc.softmax
  // CHECK: dgc.divide
  // KEEP: dgc.softmax
  %s = dgc.softmax %z : tensor<4x5xf32>
  return %s : tensor<4x5xf32>
}

// CHECK-LABEL: func @nothing_to_do
// CHECK-NEXT: dgc.tanh
// CHECK-NEXT: return
func.func @nothing_to_do(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = dgc.tanh %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// Once gradients are built, what stops them is its operand.
// CHECK-LABEL: func @stopped
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[Y:.*]] = dgc.tanh %[[X]]
// CHECK-NEXT: return %[[Y]]
func.func @stopped(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = dgc.stop_gradient %x : tensor<4xf32>
  %y = dgc.tanh %s : tensor<4xf32>
  %z = dgc.stop_gradient %y : tensor<4xf32>
  return %z : tensor<4xf32>
}

// What says where and when an op runs holds for all that it becomes.
// CHECK-LABEL: func @placed
// CHECK: dgc.multiply {{.*}} {dgc.microbatch = 1 : i64, dist.slot = 3 : i64, dist.stage = 0 : i64}
// CHECK: dgc.tanh {{.*}} {dgc.microbatch = 1 : i64, dist.slot = 3 : i64, dist.stage = 0 : i64}
func.func @placed(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = dgc.gelu %x tanh {dgc.microbatch = 1 : i64, dist.slot = 3 : i64, dist.stage = 0 : i64} : tensor<4xf32>
  return %y : tensor<4xf32>
}
