// RUN: dgc-opt %s -split-input-file -dgc-propagate-shardings -dgc-insert-reshards -dgc-verify-shard -dgc-partition -dgc-verify-partition | FileCheck %s

// Local shapes, global types beside them, and a partial gradient that is combined where it is needed.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[W:.*]]: tensor<4x3xf32> {dist.global_type = tensor<4x3xf32>, dist.sharding = #dist.sharding<@mesh, [{}, {}]>}
// CHECK-SAME: %[[X:.*]]: tensor<4x4xf32> {dist.global_type = tensor<8x4xf32>, dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}
// CHECK-SAME: %[[DY:.*]]: tensor<4x3xf32>
func.func @gradient(%w: tensor<4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
                    %x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                    %dy: tensor<8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  // CHECK: %[[G:.*]] = dgc.dot_general %[[X]], %[[DY]] contract [0] x [0] {dgc.encodings = [#dist.partial<sum, @mesh ["data"]>]} : tensor<4x4xf32>, tensor<4x3xf32>
  %g = dgc.dot_general %x, %dy contract [0] x [0] : tensor<8x4xf32>, tensor<8x3xf32>
  // CHECK: %[[R:.*]] = dist.all_reduce sum %[[G]] over @mesh ["data"] origin "partial along data (op dgc.dot_general at partition.mlir:{{.*}}); needed as [{}, {}] by dgc.subtract at partition.mlir:{{.*}}" : tensor<4x3xf32, #dist.partial<sum, @mesh ["data"]>>
  // CHECK: %[[N:.*]] = dgc.subtract %[[W]], %[[R]] : tensor<4x3xf32>
  %n = dgc.subtract %w, %g : tensor<4x3xf32>
  // CHECK: return %[[N]] : tensor<4x3xf32>
  return %n : tensor<4x3xf32>
}

// -----

// Ops with shapes in their attributes, constants and positions.
dist.mesh @mesh <data = 2, model = 2>
// CHECK-LABEL: func.func @shapes(
func.func @shapes(%x: tensor<8x6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}, {}]>}, %b: tensor<24xf32>)
    -> (tensor<8x24xf32>, tensor<8xi32> {dist.sharding = #dist.sharding<@mesh, [{"data", "model"}]>}) {
  // CHECK: dgc.reshape %{{.*}} to [4, 24] : tensor<4x6x4xf32>
  %0 = dgc.reshape %x to [8, 24] : tensor<8x6x4xf32>
  // CHECK: dgc.broadcast_in_dim %{{.*}} dims [1] to [4, 24] : tensor<24xf32>
  %1 = dgc.broadcast_in_dim %b dims [1] to [8, 24] : tensor<24xf32>
  %2 = dgc.add %0, %1 : tensor<8x24xf32>
  // CHECK: dgc.constant dense<0.000000e+00> : tensor<4x24xf32>
  %zero = dgc.constant dense<0.0> : tensor<8x24xf32>
  %3 = dgc.maximum %2, %zero : tensor<8x24xf32>
  // CHECK: %[[I:.*]] = dist.axis_index @mesh ["data", "model"]
  // CHECK: %[[TWO:.*]] = dgc.constant dense<2> : tensor<i64>
  // CHECK: %[[K:.*]] = dgc.multiply %[[I]], %[[TWO]] : tensor<i64>
  // CHECK: dgc.iota dim 0 from %[[K]] : tensor<2xi32>
  %4 = dgc.iota dim 0 : tensor<8xi32>
  return %3, %4 : tensor<8x24xf32>, tensor<8xi32>
}

// -----

// Every way from one sharding to another.
dist.mesh @mesh <a = 2, b = 2>
// CHECK-LABEL: func.func @reshards(
func.func @reshards(%w: tensor<8x4xf32>, %ca: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>},
                    %cab: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"a", "b"}, {}]>}) {
  // The same: nothing.
  // CHECK-NOT: dist.{{all|permute|slice}}
  // CHECK: dist.axis_index
  %0 = dist.reshard %ca to <@mesh, [{"a"}, {}]> : tensor<8x4xf32>
  // Whole to cut: each device takes its part.
  // CHECK-NOT: dist.{{all|permute}}
  // CHECK: dist.slice %{{.*}} dim 1 parts 2 : tensor<8x4xf32>
  %1 = dist.reshard %w to <@mesh, [{}, {"a"}]> : tensor<8x4xf32>
  // Two axes at once.
  // CHECK: %[[AB:.*]] = dist.axis_index @mesh ["b", "a"]
  // CHECK: dist.slice %{{.*}} at %[[AB]] dim 0 parts 4 : tensor<8x4xf32>
  %2 = dist.reshard %w to <@mesh, [{"b", "a"}, {}]> : tensor<8x4xf32>
  // Cut to whole.
  // CHECK: dist.all_gather %{{.*}} dim 0 over @mesh ["a"] origin "cut by a (user); needed as [{}, {}] by dist.reshard" : tensor<4x4xf32> to tensor<8x4xf32>
  %3 = dist.reshard %ca to <@mesh, [{}, {}]> : tensor<8x4xf32>
  // CHECK: dist.all_gather %{{.*}} dim 0 over @mesh ["a", "b"] {{.*}} : tensor<2x4xf32> to tensor<8x4xf32>
  %4 = dist.reshard %cab to <@mesh, [{}, {}]> : tensor<8x4xf32>
  // Only what is too much is gathered.
  // CHECK: dist.all_gather %{{.*}} dim 0 over @mesh ["b"] {{.*}} : tensor<2x4xf32> to tensor<4x4xf32>
  %5 = dist.reshard %cab to <@mesh, [{"a"}, {}]> : tensor<8x4xf32>
  // From one dimension to another.
  // CHECK: dist.all_to_all %{{.*}} split 1 concat 0 over @mesh ["a"] {{.*}} : tensor<4x4xf32> to tensor<8x2xf32>
  %6 = dist.reshard %ca to <@mesh, [{}, {"a"}]> : tensor<8x4xf32>
  // CHECK: dist.all_to_all %{{.*}} split 1 concat 0 over @mesh ["b"] {{.*}} : tensor<2x4xf32> to tensor<4x2xf32>
  %7 = dist.reshard %cab to <@mesh, [{"a"}, {"b"}]> : tensor<8x4xf32>
  // A whole part for another one, after the part was made smaller for free.
  // CHECK: %[[E:.*]] = dist.slice %{{.*}} dim 1 parts 2 : tensor<4x4xf32>
  // CHECK: dist.permute %[[E]] targets [0, 2, 1, 3] over @mesh ["a", "b"] origin "cut by a (user), cut by b (user); needed as [{b}, {a}] by dist.reshard" : tensor<4x2xf32> to tensor<4x2xf32>
  %8 = dist.reshard %ca to <@mesh, [{"b"}, {"a"}]> : tensor<8x4xf32>
  // Another order of the axes in a dimension.
  // CHECK: dist.permute %{{.*}} targets [0, 2, 1, 3] over @mesh ["a", "b"] {{.*}} : tensor<2x4xf32> to tensor<2x4xf32>
  %9 = dist.reshard %cab to <@mesh, [{"b", "a"}, {}]> : tensor<8x4xf32>
  // The major axis goes, behind which the minor one moves up.
  // CHECK: %[[P:.*]] = dist.permute %{{.*}} targets [0, 2, 1, 3] over @mesh ["a", "b"] {{.*}} : tensor<2x4xf32> to tensor<2x4xf32>
  // CHECK: dist.all_gather %[[P]] dim 0 over @mesh ["a"] {{.*}} : tensor<2x4xf32> to tensor<4x4xf32>
  %10 = dist.reshard %cab to <@mesh, [{"b"}, {}]> : tensor<8x4xf32>
  return
}

// -----

// Partial to whole, to cut, and to still partial along another axis.
dist.mesh @mesh <a = 2, b = 2>
// CHECK-LABEL: func.func @partial(
func.func @partial(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"a", "b"}, {}]>}) {
  %s = dgc.reduce sum %x dims [0] : tensor<8x4xf32>
  // CHECK: dist.all_reduce sum %{{.*}} over @mesh ["a", "b"] {{.*}} : tensor<4xf32, #dist.partial<sum, @mesh ["a", "b"]>>
  %0 = dist.reshard %s to <@mesh, [{}]> : tensor<4xf32>
  // CHECK: dist.reduce_scatter sum %{{.*}} dim 0 over @mesh ["b"] {{.*}} : tensor<4xf32, #dist.partial<sum, @mesh ["a", "b"]>> to tensor<2xf32, #dist.partial<sum, @mesh ["a"]>>
  // CHECK: dist.all_reduce sum %{{.*}} over @mesh ["a"] {{.*}} : tensor<2xf32, #dist.partial<sum, @mesh ["a"]>>
  %1 = dist.reshard %s to <@mesh, [{"b"}]> : tensor<4xf32>
  // CHECK: dist.all_reduce sum %{{.*}} over @mesh ["b"] {{.*}} : tensor<4xf32, #dist.partial<sum, @mesh ["a", "b"]>>
  %2 = dist.reshard %s to <@mesh, [{}], unreduced = sum ["a"]> : tensor<4xf32>
  return
}

// -----

// A manual region is written for one device already.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @manual(
func.func @manual(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) -> tensor<8xf32> {
  // CHECK: %[[N:.*]] = dgc.negate %{{.*}} : tensor<4xf32>
  // CHECK: %[[R:.*]] = dist.all_reduce max %[[N]] over @mesh ["data"] origin "written in dist.manual at {{.*}}partition.mlir:[[#]]:8" : tensor<4xf32>
  // CHECK: dgc.negate %[[R]] : tensor<4xf32>
  %0 = dist.manual %x over @mesh ["data"] in [#dist.sharding<@mesh, [{"data"}]>]
      out [#dist.sharding<@mesh, [{"data"}]>] : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%l: tensor<4xf32>):
    %1 = dgc.negate %l : tensor<4xf32>
    %2 = dist.all_reduce max %1 over @mesh ["data"] : tensor<4xf32>
    dist.return %2 : tensor<4xf32>
  }
  %3 = dgc.negate %0 : tensor<8xf32>
  return %3 : tensor<8xf32>
}

// -----

// Without a mesh there is nothing to do.
// CHECK-LABEL: func.func @single(%{{.*}}: tensor<8xf32>) -> tensor<8xf32>
func.func @single(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = dgc.negate %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// What is written on a reshard is on the collective that it becomes: these two are not the same.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @uses
// CHECK: dist.all_gather %arg0 {{.*}}dgc.use = "forwards"
// CHECK: dist.all_gather %arg0 {{.*}}dgc.use = "backwards"
func.func @uses(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = dist.reshard %x to <@mesh, [{}]> {dgc.use = "forwards"} : tensor<4xf32>
  %1 = dist.reshard %x to <@mesh, [{}]> {dgc.use = "backwards"} : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A dimension that does not divide: blocks of three, the last with one element and padding. Elementwise ops carry the
// padding; before a reduction it becomes zero.
dist.mesh @mesh <data = 4>
// CHECK-LABEL: func.func @uneven(
// CHECK-SAME: %[[X:.*]]: tensor<3x2xf32> {dist.global_type = tensor<10x2xf32>
func.func @uneven(%x: tensor<10x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) -> tensor<2xf32> {
  // CHECK-NOT: dgc.select
  // CHECK: %[[E:.*]] = dgc.exponential %[[X]] : tensor<3x2xf32>
  %0 = dgc.exponential %x : tensor<10x2xf32>
  // CHECK-DAG: %[[P:.*]] = dist.axis_index @mesh ["data"]
  // CHECK-DAG: %[[THREE:.*]] = dgc.constant dense<3>
  // CHECK-DAG: %[[S:.*]] = dgc.multiply %[[P]], %[[THREE]]
  // CHECK-DAG: %[[I:.*]] = dgc.iota dim 0 from %[[S]] : tensor<3xi64>
  // CHECK-DAG: %[[N:.*]] = dgc.constant dense<10> : tensor<3xi64>
  // CHECK-DAG: %[[IN:.*]] = dgc.compare lt %[[I]], %[[N]]
  // CHECK-DAG: %[[B:.*]] = dgc.broadcast_in_dim %[[IN]] dims [0] to [3, 2]
  // CHECK-DAG: %[[ZERO:.*]] = dgc.constant dense<0.000000e+00> : tensor<f32>
  // CHECK-DAG: %[[ZEROS:.*]] = dgc.broadcast_in_dim %[[ZERO]] dims [] to [3, 2]
  // CHECK: %[[M:.*]] = dgc.select %[[B]], %[[E]], %[[ZEROS]]
  // CHECK: %[[R:.*]] = dgc.reduce sum %[[M]] dims [0]
  // CHECK: dist.all_reduce sum %[[R]]
  %1 = dgc.reduce sum %0 dims [0] : tensor<10x2xf32>
  return %1 : tensor<2xf32>
}

// -----

// The identity is that of the reduction; where parts are equal there is nothing to do.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @identities(
func.func @identities(%x: tensor<5xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>},
                      %y: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) -> (tensor<f32>, tensor<f32>) {
  // CHECK: %[[LOWEST:.*]] = dgc.constant dense<0xFF800000> : tensor<f32>
  // CHECK: %[[ALL:.*]] = dgc.broadcast_in_dim %[[LOWEST]]
  // CHECK: %[[M:.*]] = dgc.select %{{.*}}, %{{.*}}, %[[ALL]]
  // CHECK: dgc.reduce max %[[M]]
  %0 = dgc.reduce max %x dims [0] : tensor<5xf32>
  // CHECK-NOT: dgc.select
  // CHECK: dgc.reduce max
  // CHECK: return
  %1 = dgc.reduce max %y dims [0] : tensor<6xf32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// -----

// A convolution on a cut spatial dimension: each device sends one row to each neighbour. The ends have zeros, as the
// padding did, so nothing is masked.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @halo(
// CHECK-SAME: %[[X:.*]]: tensor<1x4x8x2xf32>
func.func @halo(%x: tensor<1x8x8x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"}, {}, {}]>}, %w: tensor<3x3x2x2xf32>)
    -> (tensor<1x8x8x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"}, {}, {}]>}) {
  // CHECK: %[[LAST:.*]] = dgc.slice %[[X]] from [0, 3, 0, 0] to [1, 4, 8, 2]
  // CHECK: %[[ABOVE:.*]] = dist.permute %[[LAST]] targets [1, -1] over @mesh ["data"] origin "halo of dimension 1 for dgc.convolution at {{.*}}"
  // CHECK: %[[FIRST:.*]] = dgc.slice %[[X]] from [0, 0, 0, 0] to [1, 1, 8, 2]
  // CHECK: %[[BELOW:.*]] = dist.permute %[[FIRST]] targets [-1, 0] over @mesh ["data"]
  // CHECK: %[[W:.*]] = dgc.concatenate %[[ABOVE]], %[[X]], %[[BELOW]] dim 1
  // CHECK-NOT: dgc.select
  // CHECK: dgc.convolution %[[W]], %{{.*}} padding {{\[}}[0, 0], [1, 1]] : tensor<1x6x8x2xf32>
  %0 = dgc.convolution %x, %w padding [[1, 1], [1, 1]] : tensor<1x8x8x2xf32>, tensor<3x3x2x2xf32>
  return %0 : tensor<1x8x8x2xf32>
}

// -----

// Channels with a filter of their own are cut with their groups, also where the part has a single one, and rows beside them.
dist.mesh @mesh <data = 2, model = 3>
// CHECK-LABEL: func.func @depthwise(
func.func @depthwise(%x: tensor<1x8x8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"}, {}, {"model"}]>},
                     %w: tensor<3x3x1x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"model"}]>},
                     %y: tensor<1x8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"model"}]>},
                     %v: tensor<3x1x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"model"}]>})
    -> (tensor<1x8x8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"}, {}, {"model"}]>},
        tensor<1x8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"model"}]>}) {
  // CHECK-NOT: dist.all_gather
  // CHECK: dgc.convolution %{{.*}}, %{{.*}} padding {{\[}}[0, 0], [1, 1]] groups 2 : tensor<1x6x8x2xf32>, tensor<3x3x1x2xf32>
  %0 = dgc.convolution %x, %w padding [[1, 1], [1, 1]] groups 6 : tensor<1x8x8x6xf32>, tensor<3x3x1x6xf32>
  // CHECK-NOT: dist
  // CHECK: dgc.convolution %{{.*}}, %{{.*}} padding {{\[}}[1, 1]] : tensor<1x8x1xf32>, tensor<3x1x1xf32>
  // CHECK-NOT: dist
  // CHECK: return
  %1 = dgc.convolution %y, %v padding [[1, 1]] groups 3 : tensor<1x8x3xf32>, tensor<3x1x3xf32>
  return %0, %1 : tensor<1x8x8x6xf32>, tensor<1x8x3xf32>
}

// -----

// The sizes of the gradient of an input are those of the part.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @pointwise(
func.func @pointwise(%dy: tensor<1x8x8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"}, {}, {}]>}, %w: tensor<1x1x4x6xf32>)
    -> (tensor<1x8x8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"}, {}, {}]>}) {
  // CHECK-NOT: dist.{{all|permute}}
  // CHECK: dgc.convolution_input_grad %{{.*}}, %{{.*}} input_size [4, 8] : tensor<1x4x8x6xf32>, tensor<1x1x4x6xf32>
  %0 = dgc.convolution_input_grad %dy, %w input_size [8, 8] : tensor<1x8x8x6xf32>, tensor<1x1x4x6xf32>
  return %0 : tensor<1x8x8x4xf32>
}

// -----

// Windows side by side in blocks of whole windows: nothing moves.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @tiled(
func.func @tiled(%x: tensor<8x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) {
  // CHECK-NOT: dist.{{all|permute}}
  // CHECK: dgc.reduce_window max %{{.*}} window [2, 1] strides [2, 1] {{.*}}: tensor<4x2xf32>
  %0 = dgc.reduce_window max %x window [2, 1] strides [2, 1] : tensor<8x2xf32>
  // CHECK-NOT: dist.{{all|permute}}
  // CHECK: return
  return %0 : tensor<4x2xf32>
}

// -----

// A window that reaches over more than a neighbour: the dimension is gathered, which is as many bytes. Each device has
// its window at another place.
dist.mesh @mesh <data = 4>
// CHECK-LABEL: func.func @wide(
func.func @wide(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  // CHECK: dist.all_gather %{{.*}} dim 0 over @mesh ["data"] origin "halo of dimension 0 for dgc.reduce_window at {{.*}}" : tensor<2xf32> to tensor<8xf32>
  // CHECK: dist.dynamic_slice %{{.*}} from %{{.*}} dim 0 size 16
  // CHECK: dgc.reduce_window sum %{{.*}} window [15] {{.*}}: tensor<16xf32>
  %0 = dgc.reduce_window sum %x window [15] padding [[7, 7]] : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Backwards: the blocks change places.
dist.mesh @mesh <data = 4>
// CHECK-LABEL: func.func @reverse(
// CHECK-SAME: %[[X:.*]]: tensor<2xf32>
func.func @reverse(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  // CHECK: %[[P:.*]] = dist.permute %[[X]] targets [3, 2, 1, 0]
  // CHECK-NOT: dist.{{all|permute}}
  // CHECK: %[[R:.*]] = dgc.reverse %[[P]] dims [0] : tensor<2xf32>
  // CHECK-NOT: dist.{{all|permute}}
  // CHECK: return %[[R]]
  %0 = dgc.reverse %x dims [0] : tensor<8xf32>
  return %0 : tensor<8xf32>
}
