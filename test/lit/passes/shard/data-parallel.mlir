// RUN: dgc-opt %s -split-input-file -dgc-strategy-data-parallel | FileCheck %s

// Batch dimensions are cut, wherever they are; everything else is replicated along the axis and open for others.
dist.mesh @mesh <data = 4, model = 2>
// CHECK-LABEL: func.func private @train(
// CHECK-SAME: tensor<4xf32> {dgc.state = @w, dist.sharding = #dist.sharding<@mesh, [{?}], replicated = ["data" by strategy "data-parallel"]>}
// CHECK-SAME: tensor<3x8xf32> {dgc.batch_dim = 1 : i64, dist.sharding = #dist.sharding<@mesh, [{?}, {"data" by strategy "data-parallel"}]>}
// CHECK-SAME: tensor<i64> {dgc.role = "seed", dist.sharding = #dist.sharding<@mesh, [], replicated = ["data" by strategy "data-parallel"]>}
// CHECK-SAME: -> (tensor<4xf32> {dgc.state = @w, dist.sharding = #dist.sharding<@mesh, [{?}], replicated = ["data" by strategy "data-parallel"]>},
// CHECK-SAME: tensor<8xf32> {dgc.batch_dim = 0 : i64, dist.sharding = #dist.sharding<@mesh, [{"data" by strategy "data-parallel"}]>})
func.func private @train(tensor<4xf32> {dgc.state = @w}, tensor<3x8xf32> {dgc.batch_dim = 1 : i64},
    tensor<i64> {dgc.role = "seed"}) -> (tensor<4xf32> {dgc.state = @w}, tensor<8xf32> {dgc.batch_dim = 0 : i64})

// What the user has said stays.
// CHECK-LABEL: func.func private @annotated(
// CHECK-SAME: dist.sharding = #dist.sharding<@mesh, [{"model"}]>
func.func private @annotated(tensor<8xf32> {dgc.batch_dim = 0 : i64, dist.sharding = #dist.sharding<@mesh, [{"model"}]>})

// -----

// Without a mesh there is nothing to do.
// CHECK-LABEL: func.func private @single(tensor<8xf32> {dgc.batch_dim = 0 : i64})
func.func private @single(tensor<8xf32> {dgc.batch_dim = 0 : i64})
