// RUN: dgc-opt %s --dgc-take-shardings --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: dist.mesh @mesh <data = 2, model = 3>
sdy.mesh @mesh = <["data"=2, "model"=3]>
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {?}]>}
// CHECK-SAME: tensor<12xf32> {dist.sharding = #dist.sharding<@mesh, [{"model", "data"} round 1]>}
// CHECK-SAME: -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], replicated = ["model"]>})
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {?}]>},
                %y: tensor<12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model", "data"}p1]>}, %z: tensor<4xf32>)
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], replicated={"model"}>}) {
  // CHECK: %[[C:.*]] = dist.constraint %[[X]] to <@mesh, [{}, {"model", ?}]> : tensor<8x4xf32>
  // CHECK: stablehlo.negate %[[C]]
  %0 = sdy.sharding_constraint %x <@mesh, [{}, {"model", ?}]> : tensor<8x4xf32>
  %1 = stablehlo.negate %0 : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

// What is said of a mesh without axes says nothing. Without shardings nothing is done.
// CHECK-NOT: dist.
// CHECK-LABEL: func.func @nowhere(%{{.*}}: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT: stablehlo.negate
sdy.mesh @empty_mesh = <[]>
func.func @nowhere(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}]>}) -> tensor<8xf32> {
  %0 = sdy.sharding_constraint %x <@empty_mesh, [{}]> : tensor<8xf32>
  %1 = stablehlo.negate %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["data"=4]>
// expected-error @+1 {{a sharding cuts by a part of axis "data", which is not supported: write the mesh with an axis for each part}}
func.func @part(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data":(1)2}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["data"=4]>
// expected-error @+1 {{a sharding has unreduced axes, which is not supported}}
func.func @unreduced(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"data"}>}) {
  return
}

// -----

sdy.mesh @mesh = <["data"=4]>
func.func @rank(%x: tensor<8xf32>) {
  // expected-error @+1 {{a sharding of 'tensor<8xf32>': }}
  %0 = sdy.sharding_constraint %x <@mesh, [{}, {"data"}]> : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["data"=4]>
// expected-error @+1 {{a sharding of 'tensor<8xf32>': }}
func.func @axis(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}]>}) {
  return
}

// -----

// expected-error @+1 {{mesh axis "data" has size 0; expected at least 1}}
sdy.mesh @mesh = <["data"=0]>
