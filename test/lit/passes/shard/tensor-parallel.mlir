// RUN: dgc-opt %s -split-input-file -dgc-strategy-tensor-parallel="cut=*w1:1,*b?:-1" | FileCheck %s --check-prefixes=CHECK,PATTERN
// RUN: dgc-opt %s -split-input-file -dgc-strategy-tensor-parallel="cut=mlp" | FileCheck %s --check-prefixes=CHECK,NAME
// RUN: dgc-opt %s -split-input-file -dgc-strategy-tensor-parallel | FileCheck %s --check-prefixes=CHECK,NAME

// Weights are cut where a pattern or the name of a dimension says so, with the optimizer's state that belongs to them;
// the rest is for propagation.
dist.mesh @mesh <model = 2>
dgc.state @layer.0.w1 weight zeros rng 0 {dims = ["embed", "mlp"]} : tensor<3x4xf32>
dgc.state @layer.0.w2 weight zeros rng 1 {dims = ["mlp", "embed"]} : tensor<4x3xf32>
dgc.state @layer.0.b1 weight zeros rng 2 : tensor<4xf32>
dgc.state @layer.0.w1.momentum slot zeros rng 3 : tensor<3x4xf32>
// CHECK-LABEL: func.func private @train(
// CHECK-SAME: tensor<3x4xf32> {dgc.state = @layer.0.w1, dist.sharding = #dist.sharding<@mesh, [{?}, {"model" by strategy "tensor-parallel"}]>}
// PATTERN-SAME: tensor<4x3xf32> {dgc.state = @layer.0.w2}
// NAME-SAME: tensor<4x3xf32> {dgc.state = @layer.0.w2, dist.sharding = #dist.sharding<@mesh, [{"model" by strategy "tensor-parallel"}, {?}]>}
// PATTERN-SAME: tensor<4xf32> {dgc.state = @layer.0.b1, dist.sharding = #dist.sharding<@mesh, [{"model" by strategy "tensor-parallel"}]>}
// NAME-SAME: tensor<4xf32> {dgc.state = @layer.0.b1}
// CHECK-SAME: tensor<3x4xf32> {dgc.state = @layer.0.w1.momentum, dist.sharding = #dist.sharding<@mesh, [{?}, {"model" by strategy "tensor-parallel"}]>}
// CHECK-SAME: tensor<8xf32>)
// CHECK-SAME: -> (tensor<3x4xf32> {dgc.state = @layer.0.w1, dist.sharding = #dist.sharding<@mesh, [{?}, {"model" by strategy "tensor-parallel"}]>})
func.func private @train(tensor<3x4xf32> {dgc.state = @layer.0.w1}, tensor<4x3xf32> {dgc.state = @layer.0.w2},
    tensor<4xf32> {dgc.state = @layer.0.b1}, tensor<3x4xf32> {dgc.state = @layer.0.w1.momentum}, tensor<8xf32>)
    -> (tensor<3x4xf32> {dgc.state = @layer.0.w1})

// -----

// Without a mesh there is nothing to do.
dgc.state @w1 weight zeros rng 0 : tensor<3x4xf32>
// CHECK-LABEL: func.func private @single(tensor<3x4xf32> {dgc.state = @w1})
func.func private @single(tensor<3x4xf32> {dgc.state = @w1})
