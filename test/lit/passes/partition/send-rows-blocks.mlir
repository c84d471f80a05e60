// RUN: dgc-opt %s -dgc-send-rows="servers=2" | FileCheck %s

// A table in two blocks, with one worker: each server looks the rows up in its block, with zeros for others, and adds up
// those of the gradient that are its own. Nothing is put together, and no table is.
// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[T0:[a-z0-9]*]]: tensor<70x8xf32>
// CHECK-SAME: %[[T1:[a-z0-9]*]]: tensor<30x8xf32>
// CHECK-SAME: %[[I:[a-z0-9]*]]: tensor<4xi32>
// CHECK-NOT: dgc.concatenate
// CHECK-NOT: dist.all_gather
// CHECK: %[[ZERO:.*]] = dgc.constant dense<0> : tensor<i64>
// CHECK: %[[Y0:.*]] = dgc.gather %[[T0]], %[[I]] dim 0 from %[[ZERO]] {dist.stage = 2 : i64}
// CHECK: %[[FIRST:.*]] = dgc.constant dense<70> : tensor<i64>
// CHECK: %[[Y1:.*]] = dgc.gather %[[T1]], %[[I]] dim 0 from %[[FIRST]] {dist.stage = 1 : i64}
// CHECK: %[[Y:.*]] = dgc.add %[[Y0]], %[[Y1]] {dist.stage = 0 : i64}
// CHECK: %[[D:.*]] = dgc.tanh %[[Y]]
// CHECK-NOT: dgc.slice
// CHECK: %[[G0:.*]] = dgc.scatter_add %[[I]], %[[D]] dim 0 size 70 from %{{.*}} {dist.stage = 2 : i64} : tensor<4xi32>, tensor<4x8xf32>
// CHECK: dgc.subtract %[[T0]], %[[G0]] {dist.stage = 2 : i64}
// CHECK: %[[AT:.*]] = dgc.constant dense<70> : tensor<i64>
// CHECK: %[[G1:.*]] = dgc.scatter_add %[[I]], %[[D]] dim 0 size 30 from %[[AT]] {dist.stage = 1 : i64}
// CHECK: dgc.subtract %[[T1]], %[[G1]] {dist.stage = 1 : i64}
dist.mesh @mesh <stage = 3, data = 1>
dgc.state @t0 weight zeros rng 0 : tensor<70x8xf32>
dgc.state @t1 weight zeros rng 0 : tensor<30x8xf32>
func.func @train(%t0: tensor<70x8xf32> {dgc.state = @t0, dist.stage = 2 : i64}, %t1: tensor<30x8xf32> {dgc.state = @t1, dist.stage = 1 : i64},
    %i: tensor<4xi32>) -> (tensor<70x8xf32> {dgc.state = @t0, dist.stage = 2 : i64}, tensor<30x8xf32> {dgc.state = @t1, dist.stage = 1 : i64}) {
  %t = dgc.concatenate %t0, %t1 dim 0 {dist.stage = 0 : i64} : tensor<70x8xf32>, tensor<30x8xf32>
  %y = dgc.gather %t, %i dim 0 {dist.stage = 0 : i64} : tensor<100x8xf32>, tensor<4xi32>
  %d = dgc.tanh %y {dist.stage = 0 : i64} : tensor<4x8xf32>
  %g = dgc.scatter_add %i, %d dim 0 size 100 {dist.stage = 0 : i64} : tensor<4xi32>, tensor<4x8xf32>
  %g0 = dgc.slice %g from [0, 0] to [70, 8] {dist.stage = 0 : i64} : tensor<100x8xf32>
  %n0 = dgc.subtract %t0, %g0 {dist.stage = 2 : i64} : tensor<70x8xf32>
  %g1 = dgc.slice %g from [70, 0] to [100, 8] {dist.stage = 0 : i64} : tensor<100x8xf32>
  %n1 = dgc.subtract %t1, %g1 {dist.stage = 1 : i64} : tensor<30x8xf32>
  return %n0, %n1 : tensor<70x8xf32>, tensor<30x8xf32>
}
