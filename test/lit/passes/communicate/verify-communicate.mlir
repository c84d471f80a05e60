// RUN: dgc-opt %s -split-input-file -dgc-order-collectives -dgc-verify-communicate | FileCheck %s

// Groups along both axes of a mesh.
dist.mesh @mesh <data = 2, model = 3>
// CHECK-LABEL: func.func @groups
func.func @groups(%x: tensor<6xf32>) {
  %0 = dist.all_reduce sum %x over @mesh ["data"] : tensor<6xf32>
  %1 = dist.all_reduce max %0 over @mesh ["model"] : tensor<6xf32>
  %2 = dist.all_reduce sum %1 over @mesh ["data", "model"] : tensor<6xf32>
  return
}

// -----

// Two programs that run at the same time and exchange values both ways.
dist.mesh @stage0 <data = 2>
dist.mesh @stage1 <data = 2, first = 2>
// CHECK-LABEL: func.func @first
func.func @first(%x: tensor<6xf32>) attributes {dist.step = "train"} {
  dist.send %x channel 0 from @stage0 to @stage1 : tensor<6xf32>
  %0 = dist.recv channel 1 from @stage1 to @stage0 : tensor<6xf32>
  %1 = dist.all_reduce sum %0 over @stage0 ["data"] : tensor<6xf32>
  return
}
func.func @second() attributes {dist.step = "train"} {
  %0 = dist.recv channel 0 from @stage0 to @stage1 : tensor<6xf32>
  dist.send %0 channel 1 from @stage1 to @stage0 : tensor<6xf32>
  return
}

// -----

// All devices decide alike: the number of rounds is that of a sum over all of them. What differs decides nothing.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @rounds
func.func @rounds(%x: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>, dist.global_type = tensor<12xf32>}) -> tensor<6xf32> {
  %0 = dgc.while (%h = %x) : tensor<6xf32> {
    %s = dgc.reduce sum %h dims [0] : tensor<6xf32>
    %all = dist.all_reduce sum %s over @mesh ["data"] : tensor<f32>
    %zero = dgc.constant dense<0.0> : tensor<f32>
    %more = dgc.compare gt %all, %zero : tensor<f32>
    dgc.condition %more : tensor<i1>
  } do {
    %n = dgc.negate %h : tensor<6xf32>
    dgc.yield %n : tensor<6xf32>
  }
  return %0 : tensor<6xf32>
}

// -----

// Transfers in loops of which it is known how often they go round: one round of all is followed by the next one of all.
dist.mesh @stage0 <stage = 1>
dist.mesh @stage1 <stage = 1, first = 1>
// CHECK-LABEL: func.func @sender
func.func @sender(%x: tensor<6xf32>) -> tensor<6xf32> attributes {dist.step = "train", dist.mesh = @stage0} {
  %zero = dgc.constant dense<0> : tensor<i32>
  %r:2 = dgc.while rounds 3 (%i = %zero, %h = %x) attributes {dgc.counted} : tensor<i32>, tensor<6xf32> {
    %n = dgc.constant dense<3> : tensor<i32>
    %more = dgc.compare lt %i, %n : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    dist.send %h channel 0 from @stage0 to @stage1 : tensor<6xf32>
    %y = dist.recv channel 1 from @stage1 to @stage0 : tensor<6xf32>
    %j = dgc.add %i, %one : tensor<i32>
    dgc.yield %j, %y : tensor<i32>, tensor<6xf32>
  }
  return %r#1 : tensor<6xf32>
}
func.func @receiver() attributes {dist.step = "train", dist.mesh = @stage1} {
  %zero = dgc.constant dense<0> : tensor<i32>
  %r = dgc.while rounds 3 (%i = %zero) attributes {dgc.counted} : tensor<i32> {
    %n = dgc.constant dense<3> : tensor<i32>
    %more = dgc.compare lt %i, %n : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    %y = dist.recv channel 0 from @stage0 to @stage1 : tensor<6xf32>
    dist.send %y channel 1 from @stage1 to @stage0 : tensor<6xf32>
    %j = dgc.add %i, %one : tensor<i32>
    dgc.yield %j : tensor<i32>
  }
  return
}
