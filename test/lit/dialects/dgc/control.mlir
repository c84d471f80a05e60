// RUN: dgc-opt %s | dgc-opt | FileCheck %s
// RUN: dgc-opt %s --dgc-model-pipeline | FileCheck %s --check-prefix=TYPED

// CHECK-LABEL: func.func @loop
// CHECK-SAME: (%[[N:.*]]: tensor<i32>, %[[X:.*]]: tensor<4x3xf32>, %[[W:.*]]: tensor<3x3xf32>)
func.func @loop(%n: tensor<i32>, %x: tensor<4x3xf32>, %w: tensor<3x3xf32>) -> tensor<4x3xf32> {
  // CHECK: dgc.while (%[[I:.*]] = %[[N]], %[[H:.*]] = %[[X]]) with (%[[V:.*]] = %[[W]]) attributes {dist.stage = 0 : i64}
  // CHECK-SAME: : tensor<i32>, tensor<4x3xf32>, tensor<3x3xf32> {
  // CHECK: dgc.condition %{{.*}} : tensor<i1>
  // CHECK: } do {
  // CHECK: dgc.dot_general %[[H]], %[[V]]
  // CHECK: dgc.yield %{{.*}}, %{{.*}} : tensor<i32>, tensor<4x3xf32>
  %0:2 = dgc.while (%i = %n, %h = %x) with (%m = %w) attributes {dist.stage = 0 : i64} : tensor<i32>, tensor<4x3xf32>, tensor<3x3xf32> {
    %zero = dgc.constant dense<0> : tensor<i32>
    %more = dgc.compare gt %i, %zero : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    %next = dgc.subtract %i, %one : tensor<i32>
    %y = dgc.dot_general %h, %m contract [1] x [0] : tensor<4x3xf32>, tensor<3x3xf32>
    dgc.yield %next, %y : tensor<i32>, tensor<4x3xf32>
  }
  return %0#1 : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @known
// CHECK: dgc.while rounds 3 (%{{.*}} = %{{.*}}) : tensor<i1> {
func.func @known(%x: tensor<i1>) -> tensor<i1> {
  %0 = dgc.while rounds 3 (%a = %x) : tensor<i1> {
    dgc.condition %a : tensor<i1>
  } do {
    dgc.yield %a : tensor<i1>
  }
  return %0 : tensor<i1>
}

// CHECK-LABEL: func.func @branch
// CHECK-SAME: (%[[P:.*]]: tensor<i1>, %[[X:.*]]: tensor<4xf32>)
func.func @branch(%p: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<i1>) {
  // CHECK: dgc.if %[[P]] (%[[A:.*]] = %[[X]], %[[B:.*]] = %[[P]]) : tensor<i1>, tensor<4xf32>, tensor<i1> -> tensor<4xf32>, tensor<i1> {
  // CHECK: dgc.negate %[[A]]
  // CHECK: } else {
  // CHECK: dgc.yield %[[A]], %[[B]]
  %0:2 = dgc.if %p (%a = %x, %b = %p) : tensor<i1>, tensor<4xf32>, tensor<i1> -> tensor<4xf32>, tensor<i1> {
    %1 = dgc.negate %a : tensor<4xf32>
    %2 = dgc.not %b : tensor<i1>
    dgc.yield %1, %2 : tensor<4xf32>, tensor<i1>
  } else {
    dgc.yield %a, %b : tensor<4xf32>, tensor<i1>
  }
  return %0#0, %0#1 : tensor<4xf32>, tensor<i1>
}

// CHECK-LABEL: func.func @scan
// CHECK: dgc.scan (%[[H:.*]] = %{{.*}}) over (%[[X:.*]] = %{{.*}}) with (%[[W:.*]] = %{{.*}}) dim 1 reverse
// CHECK-SAME: : tensor<4x3xf32>, tensor<4x7x3xf32>, tensor<3x3xf32> -> tensor<4x3xf32>, tensor<4x7x3xf32> {
// CHECK: dgc.add %{{.*}}, %[[X]] : tensor<4x3xf32>
// CHECK: dgc.scan (%{{.*}} = %{{.*}}) count 5 {{.*}} -> tensor<i32>, tensor<5xi32> {
// CHECK: dgc.scan () over (%[[S:.*]] = %{{.*}}) saves saved 1 recomputes :
func.func @scan(%h: tensor<4x3xf32>, %x: tensor<4x7x3xf32>, %w: tensor<3x3xf32>, %n: tensor<i32>)
    -> (tensor<4x3xf32>, tensor<4x7x3xf32>, tensor<5xi32>, tensor<4x3xf32>) {
  %0:2 = dgc.scan (%a = %h) over (%s = %x) with (%m = %w) dim 1 reverse : tensor<4x3xf32>, tensor<4x7x3xf32>, tensor<3x3xf32> -> tensor<4x3xf32>, tensor<4x7x3xf32> {
    %y = dgc.dot_general %a, %m contract [1] x [0] : tensor<4x3xf32>, tensor<3x3xf32>
    %z = dgc.add %y, %s : tensor<4x3xf32>
    dgc.yield %z, %y : tensor<4x3xf32>, tensor<4x3xf32>
  }
  %1:2 = dgc.scan (%i = %n) count 5 : tensor<i32> -> tensor<i32>, tensor<5xi32> {
    %next = dgc.add %i, %i : tensor<i32>
    dgc.yield %next, %i : tensor<i32>, tensor<i32>
  }
  %2:2 = dgc.scan () over (%s = %h) saves saved 1 recomputes : tensor<4x3xf32> -> tensor<4x3xf32>, tensor<4x3xf32> {
    %y = dgc.negate %s : tensor<3xf32>
    dgc.yield %y, %s : tensor<3xf32>, tensor<3xf32>
  }
  return %0#0, %0#1, %1#1, %2#0 : tensor<4x3xf32>, tensor<4x7x3xf32>, tensor<5xi32>, tensor<4x3xf32>
}

// In a model nothing has a type.

// CHECK-LABEL: dgc.model @model
// CHECK: %{{.*}}:2 = dgc.while (%{{.*}} = %{{.*}}, %[[H:.*]] = %{{.*}}) {
// CHECK: dgc.condition %{{[a-z0-9]+ *$}}
// CHECK: dgc.if %{{.*}} (%{{.*}} = %[[H]]) {
// CHECK: dgc.yield %{{[a-z0-9]+ *$}}

// TYPED-LABEL: func.func @predict
// TYPED: dgc.while ({{.*}}) : tensor<i32>, tensor<8x3xf32> {
// TYPED: dgc.if {{.*}} : tensor<i1>, tensor<8x3xf32> -> tensor<8x3xf32> {
dgc.model @model {
  %x = dgc.input "x" : tensor<8x3xf32>
  %zero = dgc.constant dense<0> : tensor<i32>
  %n, %y = dgc.while (%i = %zero, %h = %x) {
    %more = dgc.compare lt %i, 4
    dgc.condition %more
  } do {
    %j = dgc.add %i, 1
    %second = dgc.compare eq %i, 1
    %z = dgc.if %second (%a = %h) {
      %twice = dgc.multiply %a, 2.0
      dgc.yield %twice
    } else {
      dgc.yield %a
    }
    dgc.yield %j, %z
  }
  dgc.output "y" %y
}
