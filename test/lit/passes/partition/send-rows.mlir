// RUN: dgc-opt %s -split-input-file -dgc-send-rows="servers=1" | FileCheck %s
// RUN: dgc-opt %s -split-input-file -dgc-send-rows | FileCheck %s --check-prefix=NONE

// Without servers nothing is on one.
// NONE-NOT: dgc.gather {{.*}}dist.stage = 1
// NONE-NOT: dgc.scatter_add {{.*}}dist.stage = 1

// The server looks up what the workers ask for, and adds up the rows of the gradient; the update stays as it is.
// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[T:[a-z0-9]*]]: tensor<100x8xf32>
// CHECK-SAME: %[[I:[a-z0-9]*]]: tensor<4xi32>
// CHECK: %[[ALL:.*]] = dist.all_gather %[[I]] dim 0 over @mesh ["data"] origin "rows of tables on parameter servers" {dist.stage = 0 : i64} : tensor<4xi32> to tensor<8xi32>
// CHECK: %[[FOUND:.*]] = dgc.gather %[[T]], %[[ALL]] dim 0 {dist.stage = 1 : i64} : tensor<100x8xf32>, tensor<8xi32>
// CHECK: %[[AT:.*]] = dist.axis_index @mesh ["data"]
// CHECK: %[[Y:.*]] = dist.slice %[[FOUND]] at %[[AT]] dim 0 parts 2 {dist.stage = 0 : i64}
// CHECK: %[[D:.*]] = dgc.tanh %[[Y]]
// CHECK: %[[ROWS:.*]] = dist.all_gather %[[D]] dim 0 over @mesh ["data"]
// CHECK-NOT: dist.all_reduce
// CHECK: %[[G:.*]] = dgc.scatter_add %[[ALL]], %[[ROWS]] dim 0 size 100 {dist.stage = 1 : i64} : tensor<8xi32>, tensor<8x8xf32>
// CHECK: dgc.subtract %[[T]], %[[G]] {dist.stage = 1 : i64}
dist.mesh @mesh <stage = 2, data = 2>
dgc.state @t weight zeros rng 0 : tensor<100x8xf32>
func.func @train(%t: tensor<100x8xf32> {dgc.state = @t, dist.stage = 1 : i64}, %i: tensor<4xi32>)
    -> (tensor<100x8xf32> {dgc.state = @t, dist.stage = 1 : i64}) {
  %y = dgc.gather %t, %i dim 0 {dist.stage = 0 : i64} : tensor<100x8xf32>, tensor<4xi32>
  %d = dgc.tanh %y {dist.stage = 0 : i64} : tensor<4x8xf32>
  %s = dgc.scatter_add %i, %d dim 0 size 100 {dist.stage = 0 : i64} : tensor<4xi32>, tensor<4x8xf32>
  %g = dist.all_reduce sum %s over @mesh ["data"] {dist.stage = 0 : i64} : tensor<100x8xf32>
  %n = dgc.subtract %t, %g {dist.stage = 1 : i64} : tensor<100x8xf32>
  return %n : tensor<100x8xf32>
}

// What all workers look up alike needs no putting together.
// CHECK-LABEL: func.func @same
// CHECK-NOT: dist.all_gather
// CHECK: dgc.gather %{{.*}}, %{{.*}} dim 0 {dist.stage = 1 : i64} : tensor<100x8xf32>, tensor<4xi64>
// CHECK-NOT: dist.slice
func.func @same(%t: tensor<100x8xf32> {dgc.state = @t, dist.stage = 1 : i64}) -> tensor<4x8xf32> {
  %i = dgc.iota dim 0 : tensor<4xi64>
  %y = dgc.gather %t, %i dim 0 {dist.stage = 0 : i64} : tensor<100x8xf32>, tensor<4xi64>
  return %y : tensor<4x8xf32>
}

// The lookup of a table that a worker needs whole, too, stays where it is.
// CHECK-LABEL: func.func @dense
// CHECK: dgc.gather %{{.*}}, %{{.*}} dim 0 {dist.stage = 0 : i64} : tensor<100x8xf32>, tensor<4xi32>
func.func @dense(%t: tensor<100x8xf32> {dgc.state = @t, dist.stage = 1 : i64}, %i: tensor<4xi32>)
    -> (tensor<4x8xf32>, tensor<100x8xf32>) {
  %y = dgc.gather %t, %i dim 0 {dist.stage = 0 : i64} : tensor<100x8xf32>, tensor<4xi32>
  %z = dgc.tanh %t {dist.stage = 0 : i64} : tensor<100x8xf32>
  return %y, %z : tensor<4x8xf32>, tensor<100x8xf32>
}

// So does that of more rows than the table has.
// CHECK-LABEL: func.func @many
// CHECK: dgc.gather %{{.*}}, %{{.*}} dim 0 {dist.stage = 0 : i64} : tensor<100x8xf32>, tensor<4x30xi32>
func.func @many(%t: tensor<100x8xf32> {dgc.state = @t, dist.stage = 1 : i64}, %i: tensor<4x30xi32>) -> tensor<4x30x8xf32> {
  %y = dgc.gather %t, %i dim 0 {dist.stage = 0 : i64} : tensor<100x8xf32>, tensor<4x30xi32>
  return %y : tensor<4x30x8xf32>
}

// A gradient of which the workers compute the norm is theirs.
// CHECK-LABEL: func.func @clipped
// CHECK: dgc.gather {{.*}}dist.stage = 1
// CHECK: dgc.scatter_add {{.*}}dist.stage = 0
// CHECK: dist.all_reduce
func.func @clipped(%t: tensor<100x8xf32> {dgc.state = @t, dist.stage = 1 : i64}, %i: tensor<4xi32>)
    -> (tensor<100x8xf32> {dgc.state = @t, dist.stage = 1 : i64}, tensor<f32>) {
  %y = dgc.gather %t, %i dim 0 {dist.stage = 0 : i64} : tensor<100x8xf32>, tensor<4xi32>
  %s = dgc.scatter_add %i, %y dim 0 size 100 {dist.stage = 0 : i64} : tensor<4xi32>, tensor<4x8xf32>
  %g = dist.all_reduce sum %s over @mesh ["data"] {dist.stage = 0 : i64} : tensor<100x8xf32>
  %q = dgc.multiply %g, %g {dist.stage = 0 : i64} : tensor<100x8xf32>
  %norm = dgc.reduce sum %q dims [0, 1] {dist.stage = 0 : i64} : tensor<100x8xf32>
  %n = dgc.subtract %t, %g {dist.stage = 1 : i64} : tensor<100x8xf32>
  return %n, %norm : tensor<100x8xf32>, tensor<f32>
}

// So is one of which a part comes from elsewhere: from a layer with the same weights.
// CHECK-LABEL: func.func @tied
// CHECK: dgc.scatter_add {{.*}}dist.stage = 0
// CHECK: dist.all_reduce
func.func @tied(%t: tensor<100x8xf32> {dgc.state = @t, dist.stage = 1 : i64}, %i: tensor<4xi32>, %d: tensor<4x8xf32>, %x: tensor<100x8xf32>)
    -> (tensor<100x8xf32> {dgc.state = @t, dist.stage = 1 : i64}) {
  %s = dgc.scatter_add %i, %d dim 0 size 100 {dist.stage = 0 : i64} : tensor<4xi32>, tensor<4x8xf32>
  %a = dgc.add %s, %x {dist.stage = 0 : i64} : tensor<100x8xf32>
  %g = dist.all_reduce sum %a over @mesh ["data"] {dist.stage = 0 : i64} : tensor<100x8xf32>
  %n = dgc.subtract %t, %g {dist.stage = 1 : i64} : tensor<100x8xf32>
  return %n : tensor<100x8xf32>
}

// Two lookups of one table: the server adds their rows up.
// CHECK-LABEL: func.func @twice
// CHECK-COUNT-2: dgc.gather {{.*}}dist.stage = 1
// CHECK: %[[A:.*]] = dgc.scatter_add {{.*}}dist.stage = 1
// CHECK: %[[B:.*]] = dgc.scatter_add {{.*}}dist.stage = 1
// CHECK: %[[SUM:.*]] = dgc.add %[[A]], %[[B]] {dist.stage = 1 : i64}
// CHECK: dgc.subtract %{{.*}}, %[[SUM]]
func.func @twice(%t: tensor<100x8xf32> {dgc.state = @t, dist.stage = 1 : i64}, %i: tensor<4xi32>, %k: tensor<3xi32>)
    -> (tensor<100x8xf32> {dgc.state = @t, dist.stage = 1 : i64}) {
  %y = dgc.gather %t, %i dim 0 {dist.stage = 0 : i64} : tensor<100x8xf32>, tensor<4xi32>
  %z = dgc.gather %t, %k dim 0 {dist.stage = 0 : i64} : tensor<100x8xf32>, tensor<3xi32>
  %s = dgc.scatter_add %i, %y dim 0 size 100 {dist.stage = 0 : i64} : tensor<4xi32>, tensor<4x8xf32>
  %r = dgc.scatter_add %k, %z dim 0 size 100 {dist.stage = 0 : i64} : tensor<3xi32>, tensor<3x8xf32>
  %a = dgc.add %s, %r {dist.stage = 0 : i64} : tensor<100x8xf32>
  %g = dist.all_reduce sum %a over @mesh ["data"] {dist.stage = 0 : i64} : tensor<100x8xf32>
  %n = dgc.subtract %t, %g {dist.stage = 1 : i64} : tensor<100x8xf32>
  return %n : tensor<100x8xf32>
}
