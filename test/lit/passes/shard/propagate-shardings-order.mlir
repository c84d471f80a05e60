// The order of ops in the file makes no difference: both functions have the same conflict.
// RUN: dgc-opt %s -dgc-propagate-shardings | FileCheck %s

dist.mesh @mesh <a = 2, b = 2>

// CHECK-LABEL: func.func @one(
func.func @one(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>},
               %y: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"b"}, {}]>}, %z: tensor<8x4xf32>)
    -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  // CHECK: dgc.multiply {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"a"}, {}]>]}
  // CHECK: dgc.add {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"b"}, {}]>]}
  %p = dgc.multiply %x, %z : tensor<8x4xf32>
  %s = dgc.add %y, %z : tensor<8x4xf32>
  return %p, %s : tensor<8x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: func.func @other(
func.func @other(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>},
                 %y: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"b"}, {}]>}, %z: tensor<8x4xf32>)
    -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  // CHECK: dgc.add {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"b"}, {}]>]}
  // CHECK: dgc.multiply {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"a"}, {}]>]}
  %s = dgc.add %y, %z : tensor<8x4xf32>
  %p = dgc.multiply %x, %z : tensor<8x4xf32>
  return %p, %s : tensor<8x4xf32>, tensor<8x4xf32>
}
