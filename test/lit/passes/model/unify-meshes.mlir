// RUN: dgc-opt %s -split-input-file -dgc-unify-meshes | FileCheck %s

// The row is the grid, read row by row; origins, rounds and open dimensions stay.
// CHECK: dist.mesh @mesh <a = 2, b = 3>
// CHECK-NOT: dist.mesh
dist.mesh @row <all = 6>
dist.mesh @mesh <a = 2, b = 3>
// CHECK-LABEL: func.func @row_and_grid(
// CHECK-SAME: %{{.*}}: tensor<12x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"a", "b"}, {?}]>}
// CHECK-SAME: %{{.*}}: tensor<12x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"b", ?} round 1, {"a"}]>}
// CHECK-SAME: -> (tensor<12x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced = sum ["a" by strategy "s", "b" by strategy "s"]>})
func.func @row_and_grid(%x: tensor<12x4xf32> {dist.sharding = #dist.sharding<@row, [{"all"}, {?}]>},
                        %y: tensor<12x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"b", ?} round 1, {"a"}]>})
    -> (tensor<12x4xf32> {dist.sharding = #dist.sharding<@row, [{}, {}], unreduced = sum ["all" by strategy "s"]>}) {
  // CHECK: dist.constraint %{{.*}} to <@mesh, [{}, {"a", "b"}]> {dist.shardings = [#dist.sharding<@mesh, [{}, {}], replicated = ["a", "b"]>]}
  %0 = dist.constraint %x to <@row, [{}, {"all"}]> {dist.shardings = [#dist.sharding<@row, [{}, {}], replicated = ["all"]>]} : tensor<12x4xf32>
  return %0 : tensor<12x4xf32>
}

// -----

// No mesh is the finer one: axes are split, and have numbers. An axis of one place is no axis in the other mesh.
// CHECK: dist.mesh @mesh <x.0 = 2, x.1 = 2, y = 3, one = 1>
// CHECK-NOT: dist.mesh
dist.mesh @first <x = 4, y = 3, one = 1>
dist.mesh @second <p = 2, nothing = 1, q = 6>
// CHECK-LABEL: func.func @split(
// CHECK-SAME: [{"x.0", "x.1"}, {"y", "one"}]
// CHECK-SAME: [{"x.1", "y"}, {"x.0"}]
// CHECK-SAME: [{}, {}]
func.func @split(%x: tensor<12x6xf32> {dist.sharding = #dist.sharding<@first, [{"x"}, {"y", "one"}]>},
                 %y: tensor<12x6xf32> {dist.sharding = #dist.sharding<@second, [{"q"}, {"p"}]>},
                 %z: tensor<12x6xf32> {dist.sharding = #dist.sharding<@second, [{"nothing"}, {}]>}) {
  return
}

// -----

// A manual region, and what communicates in it.
// CHECK: dist.mesh @mesh <a = 2, b = 2>
dist.mesh @mesh <a = 2, b = 2>
dist.mesh @row <all = 4>
// CHECK-LABEL: func.func @manual(
func.func @manual(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: dist.manual %{{.*}} over @mesh ["a", "b"] in [#dist.sharding<@mesh, [{"a", "b"}]>] out [#dist.sharding<@mesh, [{}]>]
  // CHECK: dist.all_gather %{{.*}} dim 0 over @mesh ["a", "b"]
  %r = dist.manual %x over @row ["all"] in [#dist.sharding<@row, [{"all"}]>] out [#dist.sharding<@row, [{}]>]
      : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%local: tensor<2xf32>):
    %0 = dist.all_gather %local dim 0 over @row ["all"] : tensor<2xf32> to tensor<8xf32>
    dist.return %0 : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

// One mesh gets the name by which the compiler knows it.
// CHECK: dist.mesh @mesh <data = 2, one = 1>
dist.mesh @grid <data = 2, one = 1>
// CHECK-LABEL: func.func @renamed(
// CHECK-SAME: #dist.sharding<@mesh, [{"data", "one"}]>
func.func @renamed(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@grid, [{"data", "one"}]>}) {
  return
}

// -----

// Nothing to do: one mesh of that name; meshes of different devices; no mesh.
// CHECK: dist.mesh @mesh <data = 2>
dist.mesh @mesh <data = 2>

// -----

// CHECK: dist.mesh @low <data = 2>
// CHECK: dist.mesh @high <data = 2, first = 2>
dist.mesh @low <data = 2>
dist.mesh @high <data = 2, first = 2>

// -----

// CHECK-LABEL: func.func @none(
func.func @none() {
  return
}
