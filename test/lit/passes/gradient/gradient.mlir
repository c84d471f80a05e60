// RUN: dgc-opt %s --dgc-gradient --split-input-file | FileCheck %s

// A layer: the gradient of the product needs no transposes, and %x, which is not asked for, gets no gradient.
// CHECK-LABEL: func @layer
// CHECK-SAME:  (%[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<8x5xf32>, %[[B:.*]]: tensor<5xf32>)
func.func @layer(%x: tensor<4x8xf32>, %w: tensor<8x5xf32>, %b: tensor<5xf32>) -> (tensor<8x5xf32>, tensor<5xf32>) {
  // CHECK: %[[P:.*]] = dgc.dot_general %[[X]], %[[W]] contract [1] x [0]
  %p = dgc.dot_general %x, %w contract [1] x [0] : tensor<4x8xf32>, tensor<8x5xf32>
  %bb = dgc.broadcast_in_dim %b dims [1] to [4, 5] : tensor<5xf32>
  // CHECK: %[[Y:.*]] = dgc.add
  %y = dgc.add %p, %bb : tensor<4x5xf32>
  // CHECK: %[[T:.*]] = dgc.tanh %[[Y]]
  %t = dgc.tanh %y : tensor<4x5xf32>
  %loss = dgc.reduce sum %t dims [0, 1] : tensor<4x5xf32>
  // CHECK: %[[ONE:.*]] = dgc.constant dense<1.000000e+00> : tensor<f32>
  // CHECK: %[[DT:.*]] = dgc.broadcast_in_dim %[[ONE]] dims [] to [4, 5]
  // CHECK: %[[DY:.*]] = dgc.multiply %[[DT]],
  // CHECK-NOT: dgc.transpose
  // CHECK: %[[DB:.*]] = dgc.reduce sum %[[DY]] dims [0]
  // CHECK-NOT: dgc.transpose
  // CHECK: %[[DW:.*]] = dgc.dot_general %[[X]], %[[DY]] contract [0] x [0]
  // CHECK-NOT: dgc.dot_general
  // CHECK: return %[[DW]], %[[DB]]
  %g:2 = dgc.gradient %loss wrt %w, %b : tensor<f32>, tensor<8x5xf32>, tensor<5xf32>
  return %g#0, %g#1 : tensor<8x5xf32>, tensor<5xf32>
}

// -----

// The gradients of all uses are added, last use first.
// CHECK-LABEL: func @fan_out
// CHECK-SAME:  (%[[X:.*]]: tensor<f64>, %[[Y:.*]]: tensor<f64>)
func.func @fan_out(%x: tensor<f64>, %y: tensor<f64>) -> tensor<f64> {
  %a = dgc.multiply %x, %y : tensor<f64>
  %b = dgc.sine %x : tensor<f64>
  %loss = dgc.add %a, %b : tensor<f64>
  // CHECK: %[[C:.*]] = dgc.cosine %[[X]]
  // CHECK: %[[DB:.*]] = dgc.multiply {{.*}}%[[C]]
  // CHECK: %[[DA:.*]] = dgc.multiply {{.*}}%[[Y]]
  // CHECK: %[[SUM:.*]] = dgc.add %[[DB]], %[[DA]]
  // CHECK: return %[[SUM]]
  %g = dgc.gradient %loss wrt %x : tensor<f64>, tensor<f64>
  return %g : tensor<f64>
}

// -----

// The loss does not depend on %z, nor on %x but through an integer.
// CHECK-LABEL: func @zero
func.func @zero(%x: tensor<3xf32>, %z: tensor<2x2xf32>) -> (tensor<3xf32>, tensor<2x2xf32>) {
  %i = dgc.convert %x to i32 : tensor<3xf32>
  %f = dgc.convert %i to f32 : tensor<3xi32>
  %loss = dgc.reduce sum %f dims [0] : tensor<3xf32>
  // CHECK-NOT: dense<1.0
  // CHECK: %[[ZX:.*]] = dgc.constant dense<0.000000e+00> : tensor<3xf32>
  // CHECK: %[[ZZ:.*]] = dgc.constant dense<0.000000e+00> : tensor<2x2xf32>
  // CHECK: return %[[ZX]], %[[ZZ]]
  %g:2 = dgc.gradient %loss wrt %x, %z : tensor<f32>, tensor<3xf32>, tensor<2x2xf32>
  return %g#0, %g#1 : tensor<3xf32>, tensor<2x2xf32>
}

// -----

// With respect to a value in the middle, what it is made from is constant; with respect to both, each is whole.
// CHECK-LABEL: func @intermediate
// CHECK-SAME:  (%[[X:.*]]: tensor<f32>)
func.func @intermediate(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  // CHECK: %[[H:.*]] = dgc.exponential
  %h = dgc.exponential %x : tensor<f32>
  %loss = dgc.sine %h : tensor<f32>
  // CHECK: dgc.cosine %[[H]]
  // CHECK-NOT: %[[X]]
  // CHECK: %[[DH:.*]] = dgc.multiply
  %g = dgc.gradient %loss wrt %h : tensor<f32>, tensor<f32>
  // CHECK: %[[DH2:.*]] = dgc.multiply
  // CHECK: %[[DX:.*]] = dgc.multiply %[[DH2]], %[[H]]
  // CHECK: return %[[DH]], %[[DH2]], %[[DX]]
  %both:2 = dgc.gradient %loss wrt %h, %x : tensor<f32>, tensor<f32>, tensor<f32>
  return %g, %both#0, %both#1 : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// The loss itself has the gradient one. No op in between.
// CHECK-LABEL: func @itself
func.func @itself(%x: tensor<f32>) -> tensor<f32> {
  // CHECK-NEXT: %[[ONE:.*]] = dgc.constant dense<1.000000e+00>
  // CHECK-NEXT: return %[[ONE]]
  %g = dgc.gradient %x wrt %x : tensor<f32>, tensor<f32>
  return %g : tensor<f32>
}

// -----

// A convolution has its gradients as ops of their own; the gradient of the gradient works as well.
// CHECK-LABEL: func @second_order
func.func @second_order(%x: tensor<2x8x8x3xf32>, %w: tensor<3x3x3x4xf32>) -> tensor<3x3x3x4xf32> {
  // CHECK: dgc.convolution %{{.*}} strides [2, 2] padding {{\[\[}}1, 0], [1, 0]]
  %y = dgc.convolution %x, %w strides [2, 2] padding [[1, 0], [1, 0]] : tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>
  %z = dgc.multiply %y, %y : tensor<2x4x4x4xf32>
  %loss = dgc.reduce sum %z dims [0, 1, 2, 3] : tensor<2x4x4x4xf32>
  // CHECK: dgc.convolution_input_grad %{{.*}} input_size [8, 8] strides [2, 2] padding {{\[\[}}1, 0], [1, 0]]
  %dx = dgc.gradient %loss wrt %x : tensor<f32>, tensor<2x8x8x3xf32>
  %norm = dgc.reduce sum %dx dims [0, 1, 2, 3] : tensor<2x8x8x3xf32>
  // CHECK: dgc.convolution_weight_grad %{{.*}} kernel_size [3, 3] strides [2, 2] padding {{\[\[}}1, 0], [1, 0]]
  // CHECK-NOT: dgc.gradient
  %dw = dgc.gradient %norm wrt %w : tensor<f32>, tensor<3x3x3x4xf32>
  return %dw : tensor<3x3x3x4xf32>
}

// -----

// Of the composites on the way, dense is replaced by its decomposition; softmax, which is not on it, stays.
// CHECK-LABEL: func @composites
func.func @composites(%x: tensor<4x8xf32>, %w: tensor<8x5xf32>) -> (tensor<8x5xf32>, tensor<4x8xf32>) {
  // CHECK: dgc.softmax
  %p = dgc.softmax %x : tensor<4x8xf32>
  // CHECK-NOT: dgc.dense
  %y = dgc.dense %x, %w : tensor<4x8xf32>, tensor<8x5xf32>
  %loss = dgc.reduce sum %y dims [0, 1] : tensor<4x5xf32>
  // CHECK: dgc.dot_general %{{.*}}, %{{.*}} contract [0] x [0]
  %g = dgc.gradient %loss wrt %w : tensor<f32>, tensor<8x5xf32>
  return %g, %p : tensor<8x5xf32>, tensor<4x8xf32>
}

// -----

// No gradient flows through dgc.stop_gradient: that of x * stop(x) is stop(x).
// CHECK-LABEL: func @stopped
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %{{.*}}: tensor<4xf32>)
func.func @stopped(%x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[S:.*]] = dgc.stop_gradient %[[X]]
  %s = dgc.stop_gradient %x : tensor<4xf32>
  %t = dgc.stop_gradient %w : tensor<4xf32>
  %a = dgc.multiply %x, %s : tensor<4xf32>
  %b = dgc.multiply %a, %t : tensor<4xf32>
  %loss = dgc.reduce sum %b dims [0] : tensor<4xf32>
  // CHECK: dgc.multiply %[[X]], %[[S]]
  // CHECK: %[[G:.*]] = dgc.multiply %{{.*}}, %[[S]]
  // CHECK-NOT: dgc.add
  // CHECK: %[[ZERO:.*]] = dgc.constant dense<0.0{{.*}}> : tensor<4xf32>
  // CHECK: return %[[G]], %[[ZERO]]
  %g:2 = dgc.gradient %loss wrt %x, %w : tensor<f32>, tensor<4xf32>, tensor<4xf32>
  return %g#0, %g#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Of a scan that recomputes, what is carried into each round is kept. In the backward pass the scan that a round is comes
// again, and keeps what its own gradient needs.
// CHECK-LABEL: func @scan_that_recomputes
// CHECK: %[[Y:.*]]:2 = dgc.scan (%[[A:.*]] = %{{.*}}) with (%{{.*}}) count 3 saves saved 1 recomputes : {{.*}} -> tensor<4xf32>, tensor<3x4xf32> {
// CHECK-NEXT: %[[Z:.*]] = dgc.scan ({{.*}}) with ({{.*}}) count 2 :
// CHECK: dgc.yield %[[Z]], %[[A]]
// CHECK: dgc.scan ({{.*}}) over (%[[K:.*]] = %[[Y]]#1) with (%{{.*}}) reverse saves recomputes
// CHECK: %[[AGAIN:.*]]:2 = dgc.scan (%{{.*}} = %[[K]]) with (%{{.*}}) count 2 saves saved 1 : {{.*}} -> tensor<4xf32>, tensor<2x4xf32> {
// CHECK: dgc.scan ({{.*}}) over (%{{.*}} = %[[AGAIN]]#1) with (%{{.*}}) reverse saves :
func.func @scan_that_recomputes(%h: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %y = dgc.scan (%a = %h) with (%u = %w) count 3 recomputes : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32> {
    %z = dgc.scan (%b = %a) with (%v = %u) count 2 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32> {
      %p = dgc.multiply %b, %v : tensor<4xf32>
      dgc.yield %p : tensor<4xf32>
    }
    dgc.yield %z : tensor<4xf32>
  }
  %loss = dgc.reduce sum %y dims [0] : tensor<4xf32>
  %g = dgc.gradient %loss wrt %w : tensor<f32>, tensor<4xf32>
  return %g : tensor<4xf32>
}
