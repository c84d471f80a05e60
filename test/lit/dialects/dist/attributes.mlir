// RUN: dgc-opt %s | dgc-opt | FileCheck %s

// What is written is printed again.

// CHECK: dist.mesh @mesh <data = 4, model = 2>
dist.mesh @mesh <data = 4, model = 2>
// CHECK: dist.mesh @stage1 <data = 4, first = 8>
dist.mesh @stage1 <data = 4, first = 8>
// CHECK: dist.mesh @odd <"a b" = 1>
dist.mesh @odd <"a b" = 1>

// CHECK-LABEL: func.func @shardings(
// CHECK-SAME: %{{.*}}: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "model"}, {?}]>}
// CHECK-SAME: %{{.*}}: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", ?} round 1], replicated = ["model"]>}
// CHECK-SAME: %{{.*}}: tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], unreduced = max ["data", "model"]>}
// CHECK-SAME: -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data" by strategy "data-parallel"}]>})
func.func @shardings(
    %a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "model" by user}, {?}]>},
    %b: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", ?} round 1], replicated = ["model"]>},
    %c: tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], unreduced = max ["data", "model"]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data" by strategy "data-parallel"}]>}) {
  // CHECK: dgc.add
  // CHECK-SAME: dist.device = #dist.device<"/job:worker/task:1/gpu:0">
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"data" by op "dgc.add at \22x\22"}]>]
  %0 = dgc.add %b, %b {dist.device = #dist.device<"/job:worker/task:1/gpu:0">,
      dist.shardings = [#dist.sharding<@mesh, [{"data" by op "dgc.add at \"x\""}]>]} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @local(
// CHECK-SAME: tensor<2x4xf32> {dist.global_type = tensor<8x4xf32>, dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}
// CHECK-SAME: tensor<4xf32, #dist.partial<sum, @mesh ["data", "model"]>>
func.func @local(
    %a: tensor<2x4xf32> {dist.global_type = tensor<8x4xf32>, dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
    %b: tensor<4xf32, #dist.partial<sum, @mesh ["data", "model"]>>) {
  return
}

// CHECK-LABEL: func.func @devices
// CHECK-SAME: {dist.device = #dist.device<"cpu:0">}
// CHECK-SAME: {dist.device = #dist.device<"/job:ps">}
func.func @devices(%a: tensor<f32> {dist.device = #dist.device<"cpu:0">},
                   %b: tensor<f32> {dist.device = #dist.device<"/job:ps">}) {
  return
}
