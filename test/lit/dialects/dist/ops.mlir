// RUN: dgc-opt %s | dgc-opt | FileCheck %s

dist.mesh @mesh <data = 2, model = 2>
dist.mesh @stage0 <data = 2>
dist.mesh @stage1 <data = 2, first = 2>
dist.mesh @server <data = 1, first = 4>

// Ops on global shapes.
// CHECK-LABEL: func.func @global
func.func @global(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK: dist.constraint %{{.*}} to <@mesh, [{"data"}, {?}]> : tensor<8x4xf32>
  %0 = dist.constraint %a to <@mesh, [{"data"}, {?}]> : tensor<8x4xf32>
  // CHECK: dist.reshard %{{.*}} to <@mesh, [{}, {"data" by strategy "zero"}]> : tensor<8x4xf32>
  %1 = dist.reshard %0 to <@mesh, [{}, {"data" by strategy "zero"}]> : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// A region for one device.
// CHECK-LABEL: func.func @manual
func.func @manual(%a: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<8x4xf32> {
  // CHECK: dist.manual %{{.*}}, %{{.*}} over @mesh ["data"] in [#dist.sharding<@mesh, [{"data"}, {}]>, #dist.sharding<@mesh, [{}]>] out [#dist.sharding<@mesh, [{"data"}, {}]>] : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32> {
  %0 = dist.manual %a, %b over @mesh ["data"]
      in [#dist.sharding<@mesh, [{"data"}, {}]>, #dist.sharding<@mesh, [{}]>]
      out [#dist.sharding<@mesh, [{"data"}, {}]>] : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32> {
  ^bb0(%x: tensor<4x4xf32>, %y: tensor<4xf32>):
    %1 = dist.all_reduce sum %x over @mesh ["data"] : tensor<4x4xf32>
    // CHECK: dist.return %{{.*}} : tensor<4x4xf32>
    dist.return %1 : tensor<4x4xf32>
  }
  return %0 : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @position
func.func @position(%a: tensor<8x4xf32>) -> tensor<8x1xf32> {
  // CHECK: %[[I:.*]] = dist.axis_index @mesh ["data", "model"]
  %i = dist.axis_index @mesh ["data", "model"]
  // CHECK: dist.dynamic_slice %{{.*}} from %[[I]] dim 0 size 5 : tensor<8x4xf32>
  %window = dist.dynamic_slice %a from %i dim 0 size 5 : tensor<8x4xf32>
  // CHECK: dist.slice %{{.*}} at %[[I]] dim 1 parts 4 : tensor<8x4xf32>
  %0 = dist.slice %a at %i dim 1 parts 4 : tensor<8x4xf32>
  return %0 : tensor<8x1xf32>
}

// Several operands, some of them partial; what is left partial stays so.
// CHECK-LABEL: func.func @all_reduce
func.func @all_reduce(%a: tensor<4xf32, #dist.partial<sum, @mesh ["data"]>>,
                      %b: tensor<f32, #dist.partial<sum, @mesh ["data", "model"]>>, %c: tensor<2xf32>)
    -> (tensor<4xf32>, tensor<f32, #dist.partial<sum, @mesh ["model"]>>, tensor<2xf32>) {
  // CHECK: %[[R:.*]]:3 = dist.all_reduce sum %{{.*}}, %{{.*}}, %{{.*}} over @mesh ["data"] origin "why" {dist.order = 0 : i64} : tensor<4xf32, #dist.partial<sum, @mesh ["data"]>>, tensor<f32, #dist.partial<sum, @mesh ["data", "model"]>>, tensor<2xf32>
  %r:3 = dist.all_reduce sum %a, %b, %c over @mesh ["data"] origin "why" {dist.order = 0}
      : tensor<4xf32, #dist.partial<sum, @mesh ["data"]>>,
        tensor<f32, #dist.partial<sum, @mesh ["data", "model"]>>, tensor<2xf32>
  // CHECK: return %[[R]]#0, %[[R]]#1, %[[R]]#2 : tensor<4xf32>, tensor<f32, #dist.partial<sum, @mesh ["model"]>>, tensor<2xf32>
  return %r#0, %r#1, %r#2 : tensor<4xf32>, tensor<f32, #dist.partial<sum, @mesh ["model"]>>, tensor<2xf32>
}

// CHECK-LABEL: func.func @collectives
func.func @collectives(%a: tensor<8x4xf32>) {
  // CHECK: dist.all_gather %{{.*}} dim 1 over @mesh ["data", "model"] origin "why" : tensor<8x4xf32> to tensor<8x16xf32>
  %0 = dist.all_gather %a dim 1 over @mesh ["data", "model"] origin "why" : tensor<8x4xf32> to tensor<8x16xf32>
  // CHECK: dist.reduce_scatter max %{{.*}} dim 0 over @mesh ["data"] : tensor<8x4xf32> to tensor<4x4xf32>
  %1 = dist.reduce_scatter max %a dim 0 over @mesh ["data"] : tensor<8x4xf32> to tensor<4x4xf32>
  // CHECK: dist.all_to_all %{{.*}} split 0 concat 1 over @mesh ["model"] : tensor<8x4xf32> to tensor<4x8xf32>
  %2 = dist.all_to_all %a split 0 concat 1 over @mesh ["model"] : tensor<8x4xf32> to tensor<4x8xf32>
  // CHECK: dist.permute %{{.*}} targets [1, -1] over @mesh ["model"] : tensor<8x4xf32> to tensor<8x4xf32>
  %3 = dist.permute %a targets [1, -1] over @mesh ["model"] : tensor<8x4xf32> to tensor<8x4xf32>
  // CHECK: dist.broadcast %{{.*}} root 1 over @mesh ["model"] : tensor<8x4xf32> to tensor<8x4xf32>
  %4 = dist.broadcast %a root 1 over @mesh ["model"] : tensor<8x4xf32> to tensor<8x4xf32>
  // CHECK: %[[G:.*]]:2 = dist.all_gather %{{.*}}, %{{.*}} dim 0 over @mesh ["data"] : tensor<8x4xf32>, tensor<4x4xf32> to tensor<16x4xf32>, tensor<8x4xf32>
  %5:2 = dist.all_gather %a, %1 dim 0 over @mesh ["data"] : tensor<8x4xf32>, tensor<4x4xf32> to tensor<16x4xf32>, tensor<8x4xf32>
  // CHECK: dist.done %[[G]]#0, %[[G]]#1 : tensor<16x4xf32>, tensor<8x4xf32>
  %6:2 = dist.done %5#0, %5#1 : tensor<16x4xf32>, tensor<8x4xf32>
  return
}

// Each device of a mesh sends its part to the one of another.
// CHECK-LABEL: func.func @gathered
func.func @gathered(%a: tensor<4xf32>) {
  // CHECK: dist.send gathered %{{.*}} channel 0 from @stage0 to @server : tensor<4xf32>
  dist.send gathered %a channel 0 from @stage0 to @server : tensor<4xf32>
  // CHECK: dist.recv gathered channel 1 from @stage0 to @server origin "gradient" : tensor<8xf32>
  %0 = dist.recv gathered channel 1 from @stage0 to @server origin "gradient" : tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @transfers
func.func @transfers(%a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: dist.send %{{.*}} channel 3 from @stage0 to @stage1 origin "activation" : tensor<4xf32>
  dist.send %a channel 3 from @stage0 to @stage1 origin "activation" : tensor<4xf32>
  // CHECK: dist.recv channel 4 from @stage1 to @stage0 : tensor<4xf32>
  %0 = dist.recv channel 4 from @stage1 to @stage0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}
