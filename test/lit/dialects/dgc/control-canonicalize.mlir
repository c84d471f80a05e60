// RUN: dgc-opt %s -split-input-file -canonicalize | FileCheck %s

// What nothing needs goes, and what every round passes on as it is, is the same in all rounds.
// CHECK-LABEL: func.func @fewer
// CHECK-SAME: %[[N:[a-z0-9]+]]: tensor<i32>, %[[X:[a-z0-9]+]]: tensor<4xf32>, %[[Y:[a-z0-9]+]]: tensor<4xf32>, %[[Z:[a-z0-9]+]]: tensor<4xf32>
// CHECK: dgc.while (%{{.*}} = %[[N]], %{{.*}} = %[[X]]) with (%{{.*}} = %[[Y]]) : tensor<i32>, tensor<4xf32>, tensor<4xf32>
func.func @fewer(%n: tensor<i32>, %x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %0:4 = dgc.while (%i = %n, %h = %x, %g = %y, %u = %z) : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {
    %zero = dgc.constant dense<0> : tensor<i32>
    %more = dgc.compare gt %i, %zero : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    %j = dgc.subtract %i, %one : tensor<i32>
    %s = dgc.add %h, %g : tensor<4xf32>
    %t = dgc.negate %u : tensor<4xf32>
    dgc.yield %j, %s, %g, %t : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// -----

// A sum that each device has addends of stays one.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @partial
// CHECK: %[[L:.*]]:2 = dgc.while {{.*}} attributes {dgc.encodings = [unit, #dist.partial<sum, @mesh ["data"]>]} : tensor<i32>, tensor<4xf32>, tensor<4xf32>
// CHECK: dgc.add %{{.*}} : tensor<4xf32, #dist.partial<sum, @mesh ["data"]>>
// CHECK: dist.all_reduce sum %[[L]]#1 {{.*}} : tensor<4xf32, #dist.partial<sum, @mesh ["data"]>>
func.func @partial(%n: tensor<i32>, %x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %zeros = dgc.constant dense<0.0> : tensor<4xf32>
  %0:3 = dgc.while (%i = %n, %u = %z, %g = %zeros) with (%a = %x) attributes {dgc.encodings = [unit, unit, #dist.partial<sum, @mesh ["data"]>]} : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {
    %zero = dgc.constant dense<0> : tensor<i32>
    %more = dgc.compare gt %i, %zero : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    %j = dgc.subtract %i, %one : tensor<i32>
    %t = dgc.negate %u : tensor<4xf32>
    %p = dgc.negate %a {dgc.encodings = [#dist.partial<sum, @mesh ["data"]>]} : tensor<4xf32>
    %s = dgc.add %g, %p {dgc.encodings = [#dist.partial<sum, @mesh ["data"]>]} : tensor<4xf32, #dist.partial<sum, @mesh ["data"]>>
    dgc.yield %j, %t, %s : tensor<i32>, tensor<4xf32>, tensor<4xf32, #dist.partial<sum, @mesh ["data"]>>
  }
  %1 = dist.all_reduce sum %0#2 over @mesh ["data"] : tensor<4xf32, #dist.partial<sum, @mesh ["data"]>>
  return %1 : tensor<4xf32>
}

// -----

// All of it is needed.
// CHECK-LABEL: func.func @same
// CHECK: dgc.while (%{{.*}} = %{{.*}}) : tensor<i32>
func.func @same(%n: tensor<i32>) -> tensor<i32> {
  %0 = dgc.while (%i = %n) : tensor<i32> {
    %zero = dgc.constant dense<0> : tensor<i32>
    %more = dgc.compare gt %i, %zero : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    %j = dgc.subtract %i, %one : tensor<i32>
    dgc.yield %j : tensor<i32>
  }
  return %0 : tensor<i32>
}
