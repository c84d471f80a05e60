// RUN: dgc-opt %s --dgc-hoist-sums | FileCheck %s

// A sum of products over all rounds is one product; nothing is left of the loop.
// CHECK-LABEL: func.func @products
// CHECK-SAME: (%[[X:.*]]: tensor<7x4x2xf32>, %[[Y:.*]]: tensor<7x4x3xf32>)
// CHECK-NOT: dgc.scan
// CHECK: %[[SUM:.*]] = dgc.dot_general %[[X]], %[[Y]] contract [0, 1] x [0, 1]
// CHECK: return %[[SUM]]
func.func @products(%xs: tensor<7x4x2xf32>, %ys: tensor<7x4x3xf32>) -> tensor<2x3xf32> {
  %zero = dgc.constant dense<0.0> : tensor<2x3xf32>
  %sum = dgc.scan (%s = %zero) over (%x = %xs, %y = %ys) : tensor<2x3xf32>, tensor<7x4x2xf32>, tensor<7x4x3xf32> -> tensor<2x3xf32> {
    %z = dgc.dot_general %x, %y contract [0] x [0] : tensor<4x2xf32>, tensor<4x3xf32>
    %next = dgc.add %s, %z : tensor<2x3xf32>
    dgc.yield %next : tensor<2x3xf32>
  }
  return %sum : tensor<2x3xf32>
}

// What is carried stays, what the products are made of becomes a result, and the start of the sum is added.
// CHECK-LABEL: func.func @kept
// CHECK-SAME: (%[[H:.*]]: tensor<4x3xf32>, %[[W:.*]]: tensor<3x3xf32>, %[[B:.*]]: tensor<3xf32>)
// CHECK: %[[SCAN:.*]]:2 = dgc.scan (%[[A:.*]] = %[[H]]) with (%[[V:.*]] = %[[W]]) count 5 dim 1
// CHECK-SAME: -> tensor<4x3xf32>, tensor<4x5x3xf32> {
// CHECK-NEXT: %[[P:.*]] = dgc.dot_general %[[A]], %[[V]]
// CHECK-NEXT: dgc.yield %[[P]], %[[P]]
// CHECK: %[[SUM:.*]] = dgc.reduce sum %[[SCAN]]#1 dims [0, 1]
// CHECK: %[[NEGATED:.*]] = dgc.negate %[[SUM]]
// CHECK: %[[ALL:.*]] = dgc.add %[[B]], %[[NEGATED]]
// CHECK: return %[[SCAN]]#0, %[[ALL]]
func.func @kept(%h: tensor<4x3xf32>, %w: tensor<3x3xf32>, %b: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>) {
  %0:2 = dgc.scan (%a = %h, %s = %b) with (%v = %w) count 5 dim 1 : tensor<4x3xf32>, tensor<3xf32>, tensor<3x3xf32> -> tensor<4x3xf32>, tensor<3xf32> {
    %p = dgc.dot_general %a, %v contract [1] x [0] : tensor<4x3xf32>, tensor<3x3xf32>
    %r = dgc.reduce sum %p dims [0] : tensor<4x3xf32>
    %n = dgc.negate %r : tensor<3xf32>
    %next = dgc.add %s, %n : tensor<3xf32>
    dgc.yield %p, %next : tensor<4x3xf32>, tensor<3xf32>
  }
  return %0#0, %0#1 : tensor<4x3xf32>, tensor<3xf32>
}

// Sums of rows: the rounds are one more dimension of the numbers of the rows.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: (%[[I:.*]]: tensor<4x7xi32>, %[[U:.*]]: tensor<4x7x2xf32>)
// CHECK-DAG: %[[T:.*]] = dgc.transpose %[[I]] permutation [1, 0]
// CHECK-DAG: %[[S:.*]] = dgc.transpose %[[U]] permutation [1, 0, 2]
// CHECK: dgc.scatter_add %[[T]], %[[S]] dim 0 size 9 : tensor<7x4xi32>, tensor<7x4x2xf32>
func.func @rows(%is: tensor<4x7xi32>, %us: tensor<4x7x2xf32>) -> tensor<9x2xf32> {
  %zero = dgc.constant dense<0.0> : tensor<9x2xf32>
  %sum = dgc.scan (%s = %zero) over (%i = %is, %u = %us) dim 1 : tensor<9x2xf32>, tensor<4x7xi32>, tensor<4x7x2xf32> -> tensor<9x2xf32> {
    %z = dgc.scatter_add %i, %u dim 0 size 9 : tensor<4xi32>, tensor<4x2xf32>
    %next = dgc.add %z, %s : tensor<9x2xf32>
    dgc.yield %next : tensor<9x2xf32>
  }
  return %sum : tensor<9x2xf32>
}

// A sum that the rounds look at, and one of large values.
// CHECK-LABEL: func.func @stays
// CHECK: dgc.scan (%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) over
// CHECK: dgc.add %[[A]]
// CHECK: dgc.add %[[B]]
func.func @stays(%a: tensor<4xf32>, %b: tensor<64x64xf32>, %xs: tensor<7x4xf32>, %ys: tensor<7x64x64xf32>) -> (tensor<4xf32>, tensor<64x64xf32>) {
  %0:2 = dgc.scan (%s = %a, %t = %b) over (%x = %xs, %y = %ys) : tensor<4xf32>, tensor<64x64xf32>, tensor<7x4xf32>, tensor<7x64x64xf32> -> tensor<4xf32>, tensor<64x64xf32> {
    %p = dgc.multiply %s, %x : tensor<4xf32>
    %q = dgc.add %s, %p : tensor<4xf32>
    %e = dgc.exponential %y : tensor<64x64xf32>
    %r = dgc.add %t, %e : tensor<64x64xf32>
    dgc.yield %q, %r : tensor<4xf32>, tensor<64x64xf32>
  }
  return %0#0, %0#1 : tensor<4xf32>, tensor<64x64xf32>
}

// The products of a scan that recomputes are not kept; those of the scan in it are, for one block.
// CHECK-LABEL: func.func @recomputes
// CHECK: dgc.scan (%[[S:.*]] = %{{.*}}) over (%[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}}) recomputes
// CHECK-NOT: dgc.scan
// CHECK: %[[P:.*]] = dgc.dot_general %[[X]], %[[Y]] contract [0, 1] x [0, 1]
// CHECK: %[[SUM:.*]] = dgc.add %[[S]], %[[P]]
// CHECK: dgc.yield %[[SUM]]
func.func @recomputes(%xs: tensor<5x7x4x2xf32>, %ys: tensor<5x7x4x3xf32>) -> tensor<2x3xf32> {
  %zero = dgc.constant dense<0.0> : tensor<2x3xf32>
  %sum = dgc.scan (%s = %zero) over (%x = %xs, %y = %ys) recomputes : tensor<2x3xf32>, tensor<5x7x4x2xf32>, tensor<5x7x4x3xf32> -> tensor<2x3xf32> {
    %none = dgc.constant dense<0.0> : tensor<2x3xf32>
    %p = dgc.scan (%t = %none) over (%a = %x, %b = %y) : tensor<2x3xf32>, tensor<7x4x2xf32>, tensor<7x4x3xf32> -> tensor<2x3xf32> {
      %z = dgc.dot_general %a, %b contract [0] x [0] : tensor<4x2xf32>, tensor<4x3xf32>
      %next = dgc.add %t, %z : tensor<2x3xf32>
      dgc.yield %next : tensor<2x3xf32>
    }
    %next = dgc.add %s, %p : tensor<2x3xf32>
    dgc.yield %next : tensor<2x3xf32>
  }
  return %sum : tensor<2x3xf32>
}

// A branch gives what is added up, not the sum.
// CHECK-LABEL: func.func @branch
// CHECK: %[[R:.*]]:3 = dgc.if %{{.*}} (%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) {{.*}} -> tensor<4xf32>, tensor<4x3xf32>, tensor<4x3xf32> {
// CHECK-NEXT: %[[ZERO:.*]] = dgc.constant dense<0.0
// CHECK-NEXT: dgc.yield %[[B]], %[[A]], %[[ZERO]]
// CHECK-NEXT: } else {
// CHECK-DAG: %[[NONE:.*]] = dgc.constant dense<0.0
// CHECK-DAG: %[[E:.*]] = dgc.exponential %[[A]]
// CHECK: dgc.yield %[[B]], %[[NONE]], %[[E]]
// CHECK-DAG: %[[S:.*]] = dgc.reduce sum %[[R]]#1 dims [0]
// CHECK-DAG: %[[T:.*]] = dgc.reduce sum %[[R]]#2 dims [0]
// CHECK: %[[SUM:.*]] = dgc.add %[[S]], %[[T]]
// CHECK: return %[[SUM]], %[[R]]#0
func.func @branch(%p: tensor<i1>, %x: tensor<4x3xf32>, %y: tensor<4xf32>) -> (tensor<3xf32>, tensor<4xf32>) {
  %0:2 = dgc.if %p (%a = %x, %b = %y) : tensor<i1>, tensor<4x3xf32>, tensor<4xf32> -> tensor<3xf32>, tensor<4xf32> {
    %1 = dgc.reduce sum %a dims [0] : tensor<4x3xf32>
    dgc.yield %1, %b : tensor<3xf32>, tensor<4xf32>
  } else {
    %1 = dgc.exponential %a : tensor<4x3xf32>
    %2 = dgc.reduce sum %1 dims [0] : tensor<4x3xf32>
    dgc.yield %2, %b : tensor<3xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<3xf32>, tensor<4xf32>
}
