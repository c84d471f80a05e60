// RUN: dgc-opt %s -split-input-file -dgc-strategy-sequence-parallel | FileCheck %s

// The dimension after the batch, in addition to what is there.
dist.mesh @mesh <data = 2, model = 2>
// CHECK-LABEL: func.func private @train(
// CHECK-SAME: tensor<8x64xi32> {dgc.batch_dim = 0 : i64, dist.sharding = #dist.sharding<@mesh, [{"data"}, {"model" by strategy "sequence-parallel"} round 1]>}
// CHECK-SAME: tensor<8x64x5xf32> {dgc.batch_dim = 0 : i64, dist.sharding = #dist.sharding<@mesh, [{?}, {"model" by strategy "sequence-parallel"} round 1, {?}]>}
// CHECK-SAME: tensor<8xi32> {dgc.batch_dim = 0 : i64}
// CHECK-SAME: tensor<4x4xf32> {dgc.state = @w}
func.func private @train(
    tensor<8x64xi32> {dgc.batch_dim = 0 : i64, dist.sharding = #dist.sharding<@mesh, [{"data"}, {?}]>},
    tensor<8x64x5xf32> {dgc.batch_dim = 0 : i64}, tensor<8xi32> {dgc.batch_dim = 0 : i64},
    tensor<4x4xf32> {dgc.state = @w})

// -----

// Without a mesh there is nothing to do.
// CHECK-LABEL: func.func private @single(tensor<8x64xi32> {dgc.batch_dim = 0 : i64})
func.func private @single(tensor<8x64xi32> {dgc.batch_dim = 0 : i64})
