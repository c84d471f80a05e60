// RUN: dgc-opt %s -split-input-file -dgc-propagate-shardings -dgc-insert-reshards -dgc-verify-shard | FileCheck %s

// Each round adds up over the devices what the next one begins with.
// CHECK-LABEL: func.func @product
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<6x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>})
// CHECK-NOT: dist.reshard
// CHECK: dgc.while ({{.*}}) with (%{{.*}} = %[[W]]) attributes {dist.argument_shardings = [#dist.sharding<@mesh, []>, #dist.sharding<@mesh, [{}, {"model"}]>, #dist.sharding<@mesh, [{"model"}, {}]>]
// CHECK: %[[Y:.*]] = dgc.dot_general {{.*}} unreduced = sum ["model"
// CHECK: dist.reshard %[[Y]] to <@mesh, [{}, {"model"}]>
// CHECK: dgc.yield
// CHECK-NOT: dist.reshard
// CHECK: return
dist.mesh @mesh <model = 2>
func.func @product(%n: tensor<i32>, %x: tensor<4x6xf32>, %w: tensor<6x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>}) -> tensor<4x6xf32> {
  %0:2 = dgc.while (%i = %n, %h = %x) with (%m = %w) : tensor<i32>, tensor<4x6xf32>, tensor<6x6xf32> {
    %zero = dgc.constant dense<0> : tensor<i32>
    %more = dgc.compare gt %i, %zero : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    %next = dgc.subtract %i, %one : tensor<i32>
    %y = dgc.dot_general %h, %m contract [1] x [0] : tensor<4x6xf32>, tensor<6x6xf32>
    %z = dgc.tanh %y : tensor<4x6xf32>
    dgc.yield %next, %z : tensor<i32>, tensor<4x6xf32>
  }
  return %0#1 : tensor<4x6xf32>
}

// -----

// Gradients are added up over the rounds, and combined once, behind the loop; what is centered is combined in each round.
// CHECK-LABEL: func.func @sums
// CHECK: %[[G:.*]] = dgc.scan {{.*}} dist.shardings = [#dist.sharding<@mesh, [{}, {}], unreduced = sum ["data" by op "dgc.scan
// CHECK: %[[M:.*]] = dgc.reduce sum
// CHECK: dist.reshard %[[M]] to <@mesh, [{}]>
// CHECK-NOT: dist.reshard
// CHECK: dgc.yield
// CHECK: dist.reshard %[[G]] to <@mesh, [{}, {}]>
dist.mesh @mesh <data = 2>
func.func @sums(%x: tensor<6x4x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}, {}]>}, %w: tensor<5x3xf32>) -> tensor<5x3xf32> {
  %zeros = dgc.constant dense<0.0> : tensor<5x3xf32>
  %0 = dgc.scan (%g = %zeros) over (%s = %x) with (%v = %w) dim 1 : tensor<5x3xf32>, tensor<6x4x5xf32>, tensor<5x3xf32> -> tensor<5x3xf32> {
    %m = dgc.reduce sum %s dims [0] : tensor<6x5xf32>
    %mb = dgc.broadcast_in_dim %m dims [1] to [6, 5] : tensor<5xf32>
    %c = dgc.subtract %s, %mb : tensor<6x5xf32>
    %y = dgc.dot_general %c, %v contract [1] x [0] : tensor<6x5xf32>, tensor<5x3xf32>
    %d = dgc.dot_general %c, %y contract [0] x [0] : tensor<6x5xf32>, tensor<6x3xf32>
    %k = dgc.add %g, %d : tensor<5x3xf32>
    dgc.yield %k : tensor<5x3xf32>
  }
  return %0 : tensor<5x3xf32>
}

// -----

// What is the same in all rounds is resharded once, before the loop; the operand is there in both ways.
// CHECK-LABEL: func.func @invariant
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<6x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>})
// CHECK: %[[C:.*]] = dist.reshard %[[W]] to <@mesh, [{}, {"data"}]>
// CHECK: dgc.scan ({{.*}}) with (%[[ROWS:.*]] = %[[W]], %[[COLUMNS:.*]] = %[[C]]) count 3
// CHECK: %[[T:.*]] = dgc.transpose %[[COLUMNS]]
// CHECK: dgc.add %[[ROWS]], %[[T]]
dist.mesh @mesh <data = 2>
func.func @invariant(%x: tensor<4x6xf32>, %w: tensor<6x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) -> tensor<4x6xf32> {
  %0 = dgc.scan (%h = %x) with (%m = %w) count 3 : tensor<4x6xf32>, tensor<6x6xf32> -> tensor<4x6xf32> {
    %t = dgc.transpose %m permutation [1, 0] : tensor<6x6xf32>
    %a = dgc.add %m, %t : tensor<6x6xf32>
    %r = dgc.reduce max %a dims [0] : tensor<6x6xf32>
    %rb = dgc.broadcast_in_dim %r dims [1] to [4, 6] : tensor<6xf32>
    %y = dgc.subtract %h, %rb : tensor<4x6xf32>
    dgc.yield %y : tensor<4x6xf32>
  }
  return %0 : tensor<4x6xf32>
}

// -----

// What decides is whole, and a branch communicates for itself.
// CHECK-LABEL: func.func @branch
// CHECK: %[[S:.*]] = dist.reshard %{{.*}} to <@mesh, []> because "dgc.compare
// CHECK: %[[P:.*]] = dgc.compare gt %[[S]]
// CHECK: dgc.if %[[P]]
// CHECK: dist.reshard %{{.*}} to <@mesh, []> because "dgc.yield
// CHECK: } else {
// CHECK-NOT: dist.reshard
dist.mesh @mesh <data = 2>
func.func @branch(%x: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) -> (tensor<f32>, tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  %s = dgc.reduce sum %x dims [0] : tensor<6xf32>
  %zero = dgc.constant dense<0.0> : tensor<f32>
  %p = dgc.compare gt %s, %zero : tensor<f32>
  %0:2 = dgc.if %p (%a = %x) : tensor<i1>, tensor<6xf32> -> tensor<f32>, tensor<6xf32> {
    %m = dgc.reduce max %a dims [0] : tensor<6xf32>
    dgc.yield %m, %a : tensor<f32>, tensor<6xf32>
  } else {
    %one = dgc.constant dense<1.0> : tensor<f32>
    %n = dgc.negate %a : tensor<6xf32>
    dgc.yield %one, %n : tensor<f32>, tensor<6xf32>
  }
  return %0#0, %0#1 : tensor<f32>, tensor<6xf32>
}

// -----

// A sum that is used as it is in each round cannot wait for the end of the loop.
// CHECK-LABEL: func.func @used
// CHECK: dgc.scan {{.*}} -> tensor<3xf32> {
// CHECK: dist.reshard %{{.*}} to <@mesh, [{}]>
// CHECK: dgc.yield
// CHECK-NOT: dist.reshard
// CHECK: return
dist.mesh @mesh <data = 2>
func.func @used(%x: tensor<4x6x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"}, {}]>}) -> tensor<3xf32> {
  %zeros = dgc.constant dense<0.0> : tensor<3xf32>
  %0 = dgc.scan (%g = %zeros) over (%s = %x) : tensor<3xf32>, tensor<4x6x3xf32> -> tensor<3xf32> {
    %m = dgc.reduce sum %s dims [0] : tensor<6x3xf32>
    %t = dgc.tanh %g : tensor<3xf32>
    %a = dgc.add %t, %m : tensor<3xf32>
    dgc.yield %a : tensor<3xf32>
  }
  return %0 : tensor<3xf32>
}

// -----

// Nothing is cut: nothing is done.
// CHECK-LABEL: func.func @whole
// CHECK-NOT: dist.argument_shardings
// CHECK-NOT: dist.reshard
// CHECK: return
dist.mesh @mesh <data = 2>
func.func @whole(%x: tensor<4x6xf32>) -> tensor<6xf32> {
  %zeros = dgc.constant dense<0.0> : tensor<6xf32>
  %0 = dgc.scan (%g = %zeros) over (%s = %x) : tensor<6xf32>, tensor<4x6xf32> -> tensor<6xf32> {
    %a = dgc.add %g, %s : tensor<6xf32>
    dgc.yield %a : tensor<6xf32>
  }
  return %0 : tensor<6xf32>
}
