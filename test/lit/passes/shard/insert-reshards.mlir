// RUN: dgc-opt %s -split-input-file -dgc-propagate-shardings -dgc-insert-reshards -dgc-verify-shard | FileCheck %s

// Data parallel: the gradient is a partial sum. It becomes whole at once: scaling it before would save nothing, and would
// be a kernel of its own.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @gradient(
func.func @gradient(%w: tensor<4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
                    %x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                    %dy: tensor<8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  // CHECK: %[[G:.*]] = dgc.dot_general
  // CHECK-SAME: {dist.shardings = [#dist.sharding<@mesh, [{}, {}], unreduced = sum ["data" by op "dgc.dot_general at {{.*}}"]>]}
  %g = dgc.dot_general %x, %dy contract [0] x [0] : tensor<8x4xf32>, tensor<8x3xf32>
  %lr = dgc.constant dense<0.1> : tensor<4x3xf32>
  // CHECK: %[[R:.*]] = dist.reshard %[[G]] to <@mesh, [{}, {}]> because "dgc.multiply at insert-reshards.mlir:{{.*}}"
  // CHECK: %[[S:.*]] = dgc.multiply %[[R]], %{{.*}} : tensor<4x3xf32>
  %s = dgc.multiply %g, %lr : tensor<4x3xf32>
  // CHECK: dgc.subtract %{{.*}}, %[[S]] : tensor<4x3xf32>
  %n = dgc.subtract %w, %s : tensor<4x3xf32>
  return %n : tensor<4x3xf32>
}

// It is scaled as it is where it then is added to another partial sum, or becomes smaller.
// CHECK-LABEL: func.func @scaled(
func.func @scaled(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                  %y: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                  %c: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  // CHECK-COUNT-2: dgc.reduce sum
  // CHECK-NOT: dist.reshard
  %0 = dgc.reduce sum %x dims [0] : tensor<8x4xf32>
  %1 = dgc.reduce sum %y dims [0] : tensor<8x4xf32>
  %2 = dgc.multiply %0, %c : tensor<4xf32>
  // CHECK: dgc.add {{.*}} unreduced = sum ["data"
  %3 = dgc.add %2, %1 : tensor<4xf32>
  // CHECK: dgc.reduce sum %{{.*}} dims [0]
  %4 = dgc.reduce sum %x dims [0] : tensor<8x4xf32>
  // CHECK: dgc.multiply {{.*}} unreduced = sum ["data"
  %5 = dgc.multiply %4, %c : tensor<4xf32>
  // CHECK: dgc.reduce sum {{.*}} unreduced = sum ["data"
  %6 = dgc.reduce sum %5 dims [0] : tensor<4xf32>
  // CHECK-COUNT-2: dist.reshard
  return %3, %6 : tensor<4xf32>, tensor<f32>
}

// -----

// Two users, of which one needs the whole value: it becomes whole once, for both.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @two_users(
func.func @two_users(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[S:.*]] = dgc.reduce sum
  %s = dgc.reduce sum %x dims [0] : tensor<8x4xf32>
  // CHECK: %[[R:.*]] = dist.reshard %[[S]]
  // CHECK-NOT: dist.reshard
  // CHECK: dgc.negate %[[R]]
  %n = dgc.negate %s : tensor<4xf32>
  // CHECK: dgc.exponential %[[R]]
  %e = dgc.exponential %s : tensor<4xf32>
  // CHECK: return
  return %n, %e : tensor<4xf32>, tensor<4xf32>
}

// One user needs the whole sum, and another one a part of it: the part is taken from the whole.
// CHECK-LABEL: func.func @whole_and_part(
func.func @whole_and_part(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}, tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  // CHECK: %[[S:.*]] = dgc.reduce sum
  %s = dgc.reduce sum %x dims [0] : tensor<8x4xf32>
  // CHECK: %[[W:.*]] = dist.reshard %[[S]] to <@mesh, [{}]>
  // CHECK: %[[P:.*]] = dist.reshard %[[W]] to <@mesh, [{"data"}]>
  // CHECK: return %[[W]], %[[P]]
  return %s, %s : tensor<4xf32>, tensor<4xf32>
}

// Two partial sums are added before they become whole.
// CHECK-LABEL: func.func @sum_of_sums(
func.func @sum_of_sums(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                       %y: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) -> tensor<4xf32> {
  %0 = dgc.reduce sum %x dims [0] : tensor<8x4xf32>
  %1 = dgc.reduce sum %y dims [0] : tensor<8x4xf32>
  // CHECK-NOT: dist.reshard
  // CHECK: dgc.add {{.*}} unreduced = sum ["data"
  %2 = dgc.add %0, %1 : tensor<4xf32>
  // CHECK-COUNT-1: dist.reshard
  // CHECK-NOT: dist.reshard
  return %2 : tensor<4xf32>
}

// A sum and a whole value are not added before: the whole one would count twice.
// CHECK-LABEL: func.func @sum_and_whole(
func.func @sum_and_whole(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                         %b: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[S:.*]] = dgc.reduce sum
  %0 = dgc.reduce sum %x dims [0] : tensor<8x4xf32>
  // CHECK: %[[R:.*]] = dist.reshard %[[S]]
  // CHECK: dgc.add %[[R]], %{{.*}} : tensor<4xf32>
  %1 = dgc.add %0, %b : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A broadcast would only make it larger: it becomes whole before.
// CHECK-LABEL: func.func @broadcast(
func.func @broadcast(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) -> tensor<5x4xf32> {
  // CHECK: %[[S:.*]] = dgc.reduce sum
  %0 = dgc.reduce sum %x dims [0] : tensor<8x4xf32>
  // CHECK: %[[R:.*]] = dist.reshard %[[S]] {{.*}} : tensor<4xf32>
  // CHECK: dgc.broadcast_in_dim %[[R]]
  %1 = dgc.broadcast_in_dim %0 dims [1] to [5, 4] : tensor<4xf32>
  return %1 : tensor<5x4xf32>
}

// A maximum is partial by maximum, and nothing is linear in it.
// CHECK-LABEL: func.func @maximum(
func.func @maximum(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) -> tensor<4xf32> {
  // CHECK: %[[M:.*]] = dgc.reduce max {{.*}} unreduced = max ["data"
  %0 = dgc.reduce max %x dims [0] : tensor<8x4xf32>
  // CHECK: %[[R:.*]] = dist.reshard %[[M]]
  // CHECK: dgc.negate %[[R]]
  %1 = dgc.negate %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Operands that are cut in different ways: the smaller one moves.
dist.mesh @mesh <a = 2, b = 2>
// CHECK-LABEL: func.func @disagree(
func.func @disagree(%x: tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>},
                    %w: tensor<64x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"b"}, {"a"}]>}) -> tensor<8x2xf32> {
  // CHECK: %[[W:.*]] = dist.reshard %{{.*}} to <@mesh, [{"b"}, {}]> because "dgc.dot_general at {{.*}}" : tensor<64x2xf32>
  // CHECK: %[[Y:.*]] = dgc.dot_general %{{.*}}, %[[W]]
  %0 = dgc.dot_general %x, %w contract [1] x [0] : tensor<8x64xf32>, tensor<64x2xf32>
  return %0 : tensor<8x2xf32>
}

// -----

// A dimension that an op needs whole is gathered before.
dist.mesh @mesh <a = 2>
// CHECK-LABEL: func.func @need_replication(
func.func @need_replication(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>}) -> tensor<16x4xf32> {
  // CHECK: %[[R:.*]] = dist.reshard %{{.*}} to <@mesh, [{}, {}]> because "dgc.concatenate at {{.*}}, which needs dimension 0 whole"
  // CHECK: dgc.concatenate %[[R]], %[[R]]
  %0 = dgc.concatenate %x, %x dim 0 : tensor<8x4xf32>, tensor<8x4xf32>
  return %0 : tensor<16x4xf32>
}

// -----

// Halves of twelve elements are no whole rows of a matrix of three: the reshape gathers, and says why.
dist.mesh @mesh <a = 2>
// CHECK-LABEL: func.func @cut_in_between(
func.func @cut_in_between(%x: tensor<12xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}]>}) -> tensor<3x4xf32> {
  // CHECK: dist.reshard %{{.*}} to <@mesh, [{}]> because "dgc.reshape at {{.*}}, which sees dimension 0 as 3 x 4: 2 parts of it are cut in between"
  %0 = dgc.reshape %x to [3, 4] : tensor<12xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// A dimension along which elements move stays cut: the partitioner moves what has to.
dist.mesh @mesh <a = 2>
// CHECK-LABEL: func.func @moves(
func.func @moves(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>})
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>}) {
  // CHECK-NEXT: dgc.reverse %{{.*}} dims [0] {dist.shardings = [#dist.sharding<@mesh, [{"a"}, {}]>]}
  %0 = dgc.reverse %x dims [0] : tensor<8x4xf32>
  // CHECK-NEXT: return
  return %0 : tensor<8x4xf32>
}

// -----

// What a function returns is spread as it says.
dist.mesh @mesh <a = 2>
// CHECK-LABEL: func.func @result(
func.func @result(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>, dgc.output = "y"}) {
  // CHECK: %[[N:.*]] = dgc.negate
  %0 = dgc.negate %x : tensor<8xf32>
  // CHECK: %[[R:.*]] = dist.reshard %[[N]] to <@mesh, [{}]> because "result 0 of @result (y)"
  // CHECK: return %[[R]]
  return %0 : tensor<8xf32>
}

// -----

// Nothing disagrees: nothing is inserted.
dist.mesh @mesh <a = 2>
// CHECK-LABEL: func.func @agree(
// CHECK-NOT: dist.reshard
func.func @agree(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}]>}) -> tensor<8xf32> {
  %0 = dgc.negate %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
