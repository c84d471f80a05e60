// RUN: dgc-opt %s --dgc-count-loops | FileCheck %s

// 3, 5, 7, 9: the limit is carried and stays the same.
// CHECK-LABEL: func.func @counts
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[W:.*]]: tensor<4xf32>)
// CHECK: %[[THREE:.*]] = dgc.constant dense<3>
// CHECK: %[[TEN:.*]] = dgc.constant dense<10>
// CHECK: %[[LOOP:.*]]:3 = dgc.scan (%[[I:.*]] = %[[THREE]], %[[N:.*]] = %[[TEN]], %[[H:.*]] = %[[X]]) with (%[[V:.*]] = %[[W]]) count 4
// CHECK: %[[P:.*]] = dgc.multiply %[[H]], %[[V]]
// CHECK: dgc.yield %{{.*}}, %[[N]], %[[P]]
// CHECK: return %[[LOOP]]#0, %[[LOOP]]#2
func.func @counts(%x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
  %three = dgc.constant dense<3> : tensor<i32>
  %ten = dgc.constant dense<10> : tensor<i32>
  %0:3 = dgc.while (%i = %three, %n = %ten, %h = %x) with (%v = %w) : tensor<i32>, tensor<i32>, tensor<4xf32>, tensor<4xf32> {
    %more = dgc.compare gt %n, %i : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %two = dgc.constant dense<2> : tensor<i32>
    %p = dgc.multiply %h, %v : tensor<4xf32>
    %j = dgc.add %two, %i : tensor<i32>
    dgc.yield %j, %n, %p : tensor<i32>, tensor<i32>, tensor<4xf32>
  }
  return %0#0, %0#2 : tensor<i32>, tensor<4xf32>
}

// A limit that comes from outside, and one that changes.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: dgc.scan
// CHECK-COUNT-2: dgc.while
// CHECK-NOT: dgc.scan
func.func @stays(%x: tensor<4xf32>, %limit: tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = dgc.constant dense<0> : tensor<i32>
  %ten = dgc.constant dense<10> : tensor<i32>
  %0:2 = dgc.while (%i = %zero, %h = %x) with (%n = %limit) : tensor<i32>, tensor<4xf32>, tensor<i32> {
    %more = dgc.compare lt %i, %n : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    %p = dgc.add %h, %h : tensor<4xf32>
    %j = dgc.add %i, %one : tensor<i32>
    dgc.yield %j, %p : tensor<i32>, tensor<4xf32>
  }
  %1:3 = dgc.while (%i = %zero, %n = %ten, %h = %x) : tensor<i32>, tensor<i32>, tensor<4xf32> {
    %more = dgc.compare lt %i, %n : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    %p = dgc.add %h, %h : tensor<4xf32>
    %j = dgc.add %i, %one : tensor<i32>
    %m = dgc.subtract %n, %one : tensor<i32>
    dgc.yield %j, %m, %p : tensor<i32>, tensor<i32>, tensor<4xf32>
  }
  return %0#1, %1#2 : tensor<4xf32>, tensor<4xf32>
}
