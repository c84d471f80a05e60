// RUN: dgc-opt %s -split-input-file -dgc-verify-shard | FileCheck %s

// Cut alike, combined before it is returned, padded where it does not divide: all is well, and nothing changes.
// CHECK-LABEL: func.func @product(
// CHECK: dgc.dot_general
// CHECK-NEXT: dist.reshard
// CHECK-NEXT: return
dist.mesh @mesh <data = 2, model = 3>
func.func @product(%x: tensor<8x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {"model"}]>},
                   %w: tensor<10x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) {
  %0 = dgc.dot_general %x, %w contract [1] x [0] {dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}], unreduced = sum ["model"]>]} : tensor<8x10xf32>, tensor<10x4xf32>
  %1 = dist.reshard %0 to <@mesh, [{"data"}, {}]> {dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}]>]} : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

// Without a mesh there is nothing to check.
// CHECK-LABEL: func.func @one_device(
// CHECK-NEXT: dgc.negate
func.func @one_device(%x: tensor<7xf32>) -> tensor<7xf32> {
  %0 = dgc.negate %x : tensor<7xf32>
  return %0 : tensor<7xf32>
}
