// RUN: dgc-opt %s --dgc-hoist-invariants --canonicalize --split-input-file | FileCheck %s

// A mean of what is the same in all rounds, with what it is made of, is computed in front of the loop. What is not smaller than
// its operands stays.

// CHECK-LABEL: func.func @mean
// CHECK-DAG: %[[T:.*]] = dgc.tanh %arg1
// CHECK: %[[S:.*]] = dgc.reduce sum %[[T]] dims [0]
// CHECK: dgc.while
// CHECK-SAME: = %[[S]]
// CHECK: } do {
// CHECK-NOT: dgc.reduce
// CHECK: dgc.multiply
// CHECK: dgc.broadcast_in_dim
// CHECK: dgc.yield
func.func @mean(%x: tensor<6x5xf32>, %y: tensor<6x5xf32>, %limit: tensor<i32>) -> tensor<6x5xf32> {
  %zero = dgc.constant dense<0> : tensor<i32>
  %n, %a = dgc.while (%i = %zero, %p = %x) with (%l = %limit, %v = %y) : tensor<i32>, tensor<6x5xf32>, tensor<i32>, tensor<6x5xf32> {
    %more = dgc.compare lt %i, %l : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %t = dgc.tanh %v : tensor<6x5xf32>
    %s = dgc.reduce sum %t dims [0] : tensor<6x5xf32>
    %sixth = dgc.constant dense<0.125> : tensor<5xf32>
    %m = dgc.multiply %s, %sixth : tensor<5xf32>
    %b = dgc.broadcast_in_dim %m dims [1] to [6, 5] : tensor<5xf32>
    %q = dgc.subtract %p, %b : tensor<6x5xf32>
    %one = dgc.constant dense<1> : tensor<i32>
    %j = dgc.add %i, %one : tensor<i32>
    dgc.yield %j, %q : tensor<i32>, tensor<6x5xf32>
  }
  return %a : tensor<6x5xf32>
}

// -----

// A product of a scan, in a loop in a loop: it is in front of both.

// CHECK-LABEL: func.func @products
// CHECK-NEXT: %[[P:.*]] = dgc.dot_general %arg1, %arg1 contract [1] x [0]
// CHECK-NEXT: dgc.scan (%{{.*}} = %arg0) with ({{.*}}%[[I:[a-z0-9]*]] = %[[P]]) count 5
// CHECK-NEXT: dgc.scan (%{{.*}} = %{{.*}}) with ({{.*}}%[[J:[a-z0-9]*]] = %[[I]]) count 3
// CHECK-NEXT: dgc.dot_general %{{.*}}, %[[J]]
func.func @products(%h: tensor<4x3xf32>, %w: tensor<3x3xf32>) -> tensor<4x3xf32> {
  %0 = dgc.scan (%a = %h) with (%v = %w) count 5 : tensor<4x3xf32>, tensor<3x3xf32> -> tensor<4x3xf32> {
    %1 = dgc.scan (%b = %a) with (%u = %v) count 3 : tensor<4x3xf32>, tensor<3x3xf32> -> tensor<4x3xf32> {
      %s = dgc.dot_general %u, %u contract [1] x [0] : tensor<3x3xf32>
      %p = dgc.dot_general %b, %s contract [1] x [0] : tensor<4x3xf32>, tensor<3x3xf32>
      dgc.yield %p : tensor<4x3xf32>
    }
    dgc.yield %1 : tensor<4x3xf32>
  }
  return %0 : tensor<4x3xf32>
}

// -----

// What depends on what is carried, or on a slice, stays; so does what is only elementwise.

// CHECK-LABEL: func.func @stays
// CHECK-NEXT: dgc.scan (%{{.*}} = %arg0) over (%{{.*}} = %arg1) with (%{{.*}} = %arg2)
// CHECK-NEXT: dgc.reduce sum
// CHECK-NEXT: dgc.reduce sum
// CHECK-NEXT: dgc.tanh
func.func @stays(%h: tensor<3xf32>, %xs: tensor<5x4x3xf32>, %w: tensor<3xf32>) -> tensor<3xf32> {
  %0 = dgc.scan (%a = %h) over (%x = %xs) with (%v = %w) : tensor<3xf32>, tensor<5x4x3xf32>, tensor<3xf32> -> tensor<3xf32> {
    %s = dgc.reduce sum %x dims [0] : tensor<4x3xf32>
    %c = dgc.reduce sum %a dims [0] : tensor<3xf32>
    %t = dgc.tanh %v : tensor<3xf32>
    %b = dgc.broadcast_in_dim %c dims [] to [3] : tensor<f32>
    %m = dgc.add %s, %b : tensor<3xf32>
    %n = dgc.add %m, %t : tensor<3xf32>
    dgc.yield %n : tensor<3xf32>
  }
  return %0 : tensor<3xf32>
}
