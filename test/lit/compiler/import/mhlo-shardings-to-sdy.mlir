// RUN: dgc-opt %s --allow-unregistered-dialect --dgc-mhlo-shardings-to-sdy --dgc-take-shardings --split-input-file --verify-diagnostics | FileCheck %s

// The mesh has an axis for each part of the numbers of devices that a sharding cuts by. Shardings of arguments, results and ops,
// and calls of @Sharding, where propagation may go on along dimensions that are not specified.
// CHECK: dist.mesh @mesh <axis0 = 2, axis1 = 2>
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[W:.*]]: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"axis1"}]>}
// CHECK-SAME: %[[X:.*]]: tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"axis0"}, {}]>}
// CHECK-SAME: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"axis0", "axis1"}]>}
// CHECK-SAME: tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>}
// CHECK-SAME: %{{[^:]*}}: tensor<8xf32>)
// CHECK-SAME: -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"axis1", "axis0"}]>}, tensor<8x4xf32>)
func.func @main(%w: tensor<6x4xf32> {mhlo.sharding = "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}"},
                %x: tensor<8x6xf32> {mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dims={replicated} metadata={op_name=\"x\"}}"},
                %y: tensor<8xf32> {mhlo.sharding = "{devices=[4]0,1,2,3}"}, %s: tensor<f32> {mhlo.sharding = "{replicated}"},
                %u: tensor<8xf32> {mhlo.sharding = "{unknown}"})
    -> (tensor<4xf32> {mhlo.sharding = "{devices=[4]<=[2,2]T(1,0)}"}, tensor<8x4xf32>) {
  // CHECK: %[[H:.*]] = stablehlo.dot_general
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: %[[C:.*]] = dist.constraint %[[H]] to <@mesh, [{"axis0"}, {"axis1"}]>
  // CHECK-NEXT: stablehlo.tanh %[[C]]
  %1 = stablehlo.custom_call @Sharding(%0) {backend_config = "", mhlo.sharding = "{devices=[2,2]<=[4]}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.tanh %1 : tensor<8x4xf32>
  // CHECK-NEXT: dist.constraint %{{.*}} to <@mesh, [{"axis0"}, {?}]>
  %3 = stablehlo.custom_call @Sharding(%2) {backend_config = "unspecified_dims=[1]", mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: %[[N:.*]] = stablehlo.negate
  // CHECK-NEXT: %[[R:.*]] = dist.constraint %[[N]] to <@mesh, [{}, {}]>
  %4 = stablehlo.negate %3 {mhlo.sharding = "{replicated}"} : tensor<8x4xf32>
  // CHECK: return %{{.*}}, %[[R]]
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %5, %4 : tensor<4xf32>, tensor<8x4xf32>
}

// -----

// Six devices as 3 x 2 and, transposed, in one dimension; a tuple with a sharding for each result.
// CHECK: dist.mesh @mesh <axis0 = 3, axis1 = 2>
// CHECK-LABEL: func.func @six
// CHECK-SAME: [{"axis0"}, {"axis1"}]>}
// CHECK-SAME: [{"axis1", "axis0"}]>}
func.func @six(%a: tensor<6x4xf32> {mhlo.sharding = "{devices=[3,2]<=[6]}"}, %b: tensor<12xf32> {mhlo.sharding = "{devices=[6]<=[3,2]T(1,0)}"}) -> tensor<12xf32> {
  %i = stablehlo.constant dense<0> : tensor<i32>
  // CHECK: %[[W:.*]]:2 = "stablehlo.case"
  // CHECK: dist.constraint %[[W]]#{{[01]}} to
  // CHECK: dist.constraint %[[W]]#{{[01]}} to
  %0:2 = "stablehlo.case"(%i) ({ stablehlo.return %b, %a : tensor<12xf32>, tensor<6x4xf32> }) {mhlo.sharding = "{{devices=[6]<=[3,2]T(1,0)}, /*index=1*/{replicated}}"} : (tensor<i32>) -> (tensor<12xf32>, tensor<6x4xf32>)
  return %0#0 : tensor<12xf32>
}

// -----

// What is whole needs no mesh.
// CHECK-LABEL: func.func @whole(%{{.*}}: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT: return
func.func @whole(%a: tensor<8xf32> {mhlo.sharding = "{replicated}"}) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{replicated}"} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// expected-error @+1 {{the sharding '{maximal device=0}': the value is on one device, and the others do not have it: a mesh has no such sharding}}
func.func @maximal(%a: tensor<8xf32> {mhlo.sharding = "{maximal device=0}"}) { return }

// -----

// expected-error @+1 {{the sharding '{manual}': the value is written for one device (shard_map)}}
func.func @manual(%a: tensor<8xf32> {mhlo.sharding = "{manual}"}) { return }

// -----

// expected-error @+1 {{last_tile_dims={manual}}': the value is written for one device (shard_map), and is not between @SPMDFullToShardShape and @SPMDShardToFullShape}}
func.func @subgroup(%a: tensor<8xf32> {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dims={manual}}"}) { return }

// -----

// expected-error @+1 {{'maximal' in last_tile_dims: values that are on some devices alone are not supported}}
func.func @some(%a: tensor<8xf32> {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dims={maximal}}"}) { return }

// -----

// expected-error @+1 {{last_tile_dims has manual twice}}
func.func @twice(%a: tensor<8xf32> {mhlo.sharding = "{devices=[2,2,1]<=[4] last_tile_dims={manual, manual}}"}) { return }

// -----

// expected-error @+1 {{the sharding '{devices=[4]3,1,2,0}': its devices are in an order that no mesh has}}
func.func @order(%a: tensor<8xf32> {mhlo.sharding = "{devices=[4]3,1,2,0}"}) { return }

// -----

// expected-error @+1 {{it is over 4 devices, and another one over 2}}
func.func @count(%a: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}, %b: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) { return }

// -----

// expected-error @+1 {{there is no mesh for both}}
func.func @cuts(%a: tensor<6x6xf32> {mhlo.sharding = "{devices=[3,2]<=[6]}"}, %b: tensor<6x6xf32> {mhlo.sharding = "{devices=[2,3]<=[6]}"}) { return }

// -----

// expected-error @+1 {{it is of 2 dimensions, and not for 'tensor<8xf32>'}}
func.func @rank(%a: tensor<8xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}) { return }

// -----

// expected-error @+1 {{it has 4 parts, and 3 devices}}
func.func @parts(%a: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[3]}"}) { return }

// -----

// expected-error @+1 {{T(..) is no order of the dimensions before it}}
func.func @transposed(%a: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[2,2]T(0,0)}"}) { return }

// -----

// expected-error @+1 {{'somewhere}' is not known; replicated or devices=[..] is expected}}
func.func @text(%a: tensor<8xf32> {mhlo.sharding = "{somewhere}"}) { return }

// -----

module attributes {mhlo.num_partitions = 4 : i32} {
  // expected-error @+1 {{values are cut over 2 devices, and mhlo.num_partitions is 4}}
  func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) { return }
}

// -----

// A computation for one device begins at the calls of @SPMDFullToShardShape and ends at those of @SPMDShardToFullShape; the next
// one begins behind these. What goes in is cut as @Sharding in front of it says, what comes out as the last call says. A
// constant that is used outside as well is there twice.
// CHECK: dist.mesh @mesh <axis0 = 2, axis1 = 2>
// CHECK-LABEL: func.func @shard_maps
// CHECK-SAME: (%[[W:.*]]: tensor<6x4xf32>, %[[X:.*]]: tensor<8x6xf32>)
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant
// CHECK-NEXT: %[[M:.*]]:2 = dist.manual %[[W]], %[[X]] over @mesh ["axis0", "axis1"]
// CHECK-SAME: in [#dist.sharding<@mesh, [{}, {"axis1"}]>, #dist.sharding<@mesh, [{"axis0"}, {}]>]
// CHECK-SAME: out [#dist.sharding<@mesh, [{"axis0"}, {"axis1"}]>, #dist.sharding<@mesh, [{}]>]
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<6x2xf32>, %[[B:.*]]: tensor<4x6xf32>):
// CHECK-NEXT: %[[D:.*]] = stablehlo.constant
// CHECK-NEXT: %[[Y:.*]] = stablehlo.dot_general %[[B]], %[[A]]
// CHECK-NEXT: dist.return %[[Y]], %[[D]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[T:.*]] = stablehlo.tanh %[[M]]#0
// CHECK-NEXT: %[[N:.*]] = dist.manual %[[T]] over @mesh ["axis0", "axis1"]
// CHECK-SAME: in [#dist.sharding<@mesh, [{"axis0", "axis1"}, {}]>] out [#dist.sharding<@mesh, [{"axis0", "axis1"}, {}]>]
// CHECK-NEXT: ^bb0(%[[P:.*]]: tensor<2x4xf32>):
// CHECK-NEXT: dist.return %[[P]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[S:.*]] = stablehlo.add %[[M]]#1, %[[C]]
// CHECK-NEXT: return %[[M]]#0, %[[S]], %[[N]]
func.func @shard_maps(%w: tensor<6x4xf32>, %x: tensor<8x6xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<8x4xf32>) {
  %c = stablehlo.constant dense<2.0> : tensor<4xf32>
  %0 = stablehlo.custom_call @Sharding(%w) {backend_config = "", mhlo.sharding = "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}"} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {backend_config = "", mhlo.sharding = "{manual}"} : (tensor<6x4xf32>) -> tensor<6x2xf32>
  %2 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %3 = stablehlo.custom_call @SPMDFullToShardShape(%2) {mhlo.sharding = "{manual}"} : (tensor<8x6xf32>) -> tensor<4x6xf32>
  %4 = stablehlo.dot_general %3, %1, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x2xf32>) -> tensor<4x2xf32>
  %5 = stablehlo.custom_call @Sharding(%4) {mhlo.sharding = "{manual}"} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %6 = stablehlo.custom_call @SPMDShardToFullShape(%5) {mhlo.sharding = "{devices=[2,2]<=[4]}"} : (tensor<4x2xf32>) -> tensor<8x4xf32>
  %7 = stablehlo.custom_call @Sharding(%c) {mhlo.sharding = "{manual}"} : (tensor<4xf32>) -> tensor<4xf32>
  %8 = stablehlo.custom_call @SPMDShardToFullShape(%7) {mhlo.sharding = "{replicated}"} : (tensor<4xf32>) -> tensor<4xf32>
  %9 = stablehlo.tanh %6 : tensor<8x4xf32>
  %10 = stablehlo.custom_call @Sharding(%9) {mhlo.sharding = "{devices=[4,1]<=[4]}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %11 = stablehlo.custom_call @SPMDFullToShardShape(%10) {mhlo.sharding = "{manual}"} : (tensor<8x4xf32>) -> tensor<2x4xf32>
  %12 = stablehlo.custom_call @Sharding(%11) {mhlo.sharding = "{manual}"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %13 = stablehlo.custom_call @SPMDShardToFullShape(%12) {mhlo.sharding = "{devices=[4,1]<=[4]}"} : (tensor<2x4xf32>) -> tensor<8x4xf32>
  %14 = stablehlo.add %8, %c : tensor<4xf32>
  return %6, %14, %13 : tensor<8x4xf32>, tensor<4xf32>, tensor<8x4xf32>
}

// -----

// The mesh has the axes along which the computation communicates, too. The number of the device goes in, and what no result
// needs is left out.
// CHECK: dist.mesh @mesh <axis0 = 2, axis1 = 2>
// CHECK-LABEL: func.func @groups
// CHECK-NEXT: dist.manual %{{.*}} over @mesh ["axis0", "axis1"] in [#dist.sharding<@mesh, [{"axis0", "axis1"}]>]
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<2xf32>):
// CHECK-NEXT: %[[I:.*]] = stablehlo.partition_id
// CHECK-NEXT: %[[R:.*]] = stablehlo.reshape %[[I]]
// CHECK-NEXT: %[[S:.*]] = "stablehlo.all_reduce"(%[[A]])
// CHECK: dist.return %[[S]], %[[R]]
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @groups(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<4xui32>) {
  %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<2xf32>
  %2 = stablehlo.custom_call @Sharding(%y) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<8xf32>) -> tensor<8xf32>
  %3 = stablehlo.custom_call @SPMDFullToShardShape(%2) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<2xf32>
  %4 = stablehlo.tanh %3 : tensor<2xf32>
  %5 = stablehlo.partition_id : tensor<ui32>
  %6 = stablehlo.reshape %5 : (tensor<ui32>) -> tensor<1xui32>
  %7 = "stablehlo.all_reduce"(%1) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  %8 = stablehlo.custom_call @Sharding(%7) {mhlo.sharding = "{manual}"} : (tensor<2xf32>) -> tensor<2xf32>
  %9 = stablehlo.custom_call @SPMDShardToFullShape(%8) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<2xf32>) -> tensor<8xf32>
  %10 = stablehlo.custom_call @Sharding(%6) {mhlo.sharding = "{manual}"} : (tensor<1xui32>) -> tensor<1xui32>
  %11 = stablehlo.custom_call @SPMDShardToFullShape(%10) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<1xui32>) -> tensor<4xui32>
  return %9, %11 : tensor<8xf32>, tensor<4xui32>
}

// -----

// Where nothing is cut, the number of devices is that of the module.
module attributes {mhlo.num_partitions = 2 : i32} {
  // CHECK: dist.mesh @mesh <axis0 = 2>
  // CHECK-LABEL: func.func @whole_parts
  // CHECK-NEXT: dist.manual %{{.*}} over @mesh ["axis0"] in [#dist.sharding<@mesh, [{}]>] out [#dist.sharding<@mesh, [{}]>]
  func.func @whole_parts(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{replicated}"} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<8xf32>
    %2 = stablehlo.custom_call @Sharding(%1) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<8xf32>
    %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = "{replicated}"} : (tensor<8xf32>) -> tensor<8xf32>
    return %3 : tensor<8xf32>
  }
}

// -----

// One device: an axis of size 1.
module attributes {mhlo.num_partitions = 1 : i32} {
  // CHECK: dist.mesh @mesh <axis0 = 1>
  // CHECK-LABEL: func.func @one
  // CHECK-NEXT: dist.manual %{{.*}} over @mesh ["axis0"]
  func.func @one(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.custom_call @SPMDShardToFullShape(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

// -----

// Some axes alone are manual. What is said of values inside cuts none of them, in regions, either.
// CHECK: dist.mesh @mesh <axis0 = 2, axis1 = 2>
// CHECK-LABEL: func.func @partial
// CHECK-NEXT: %[[M:.*]] = dist.manual %{{.*}} over @mesh ["axis0"]
// CHECK-SAME: in [#dist.sharding<@mesh, [{"axis0"}, {}]>] out [#dist.sharding<@mesh, [{}, {}]>]
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4x4xf32>):
// CHECK-NEXT: %[[S:.*]] = "stablehlo.all_reduce"(%[[A]])
// CHECK: %[[P:.*]] = stablehlo.add
// CHECK-NEXT: stablehlo.return %[[P]]
// CHECK: dist.return %[[S]]
// CHECK-NEXT: }
// CHECK-NEXT: return %[[M]]
func.func @partial(%x: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.custom_call @Sharding(%x) {backend_config = "unspecified_dims=[0,1]", mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {backend_config = "unspecified_dims=[0,1]", mhlo.sharding = "{devices=[1,1,2,2]<=[4] last_tile_dims={manual, replicated}}"} : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %2 = "stablehlo.all_reduce"(%1) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %6 = stablehlo.add %p, %q : tensor<f32>
    %7 = stablehlo.custom_call @Sharding(%6) {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dims={manual, replicated}}"} : (tensor<f32>) -> tensor<f32>
    stablehlo.return %7 : tensor<f32>
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = stablehlo.custom_call @Sharding(%2) {backend_config = "unspecified_dims=[0,1]", mhlo.sharding = "{devices=[1,1,2,2]<=[4] last_tile_dims={manual, replicated}}"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {backend_config = "unspecified_dims=[0,1]", mhlo.sharding = "{replicated}"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// -----

func.func @leaves(%x: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) -> tensor<2xf32> {
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<2xf32>
  // expected-error @+1 {{uses a value that is written for one device (shard_map), and of which no @SPMDShardToFullShape makes one of all devices}}
  return %0 : tensor<2xf32>
}

// -----

func.func @enters(%x: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}, %y: tensor<2xf32>) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<2xf32>
  // expected-error @+1 {{a value of all devices is used in a computation for one device (shard_map), without @SPMDFullToShardShape in front of it}}
  %1 = stablehlo.add %0, %y : tensor<2xf32>
  %2 = stablehlo.custom_call @SPMDShardToFullShape(%1) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<2xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

func.func @nested(%x: tensor<8xf32> {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"}) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}"} : (tensor<8xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[2,2]<=[2,2]T(1,0) last_tile_dims={manual}}"} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{a computation for one device (shard_map) in another one is not supported: write one over the axes of both}}
  %2 = stablehlo.custom_call @SPMDFullToShardShape(%1) {mhlo.sharding = "{manual}"} : (tensor<4xf32>) -> tensor<2xf32>
  %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = "{devices=[2,2]<=[2,2]T(1,0) last_tile_dims={manual}}"} : (tensor<2xf32>) -> tensor<4xf32>
  %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"} : (tensor<4xf32>) -> tensor<8xf32>
  return %4 : tensor<8xf32>
}

// -----

func.func @devices(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{nothing says over how many devices a computation for one device (shard_map) is: the module needs mhlo.num_partitions}}
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = stablehlo.custom_call @SPMDShardToFullShape(%0) {mhlo.sharding = "{replicated}"} : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

func.func @cut(%x: tensor<8xf32> {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"}) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}"} : (tensor<8xf32>) -> tensor<4xf32>
  // expected-error @+1 {{inside of a computation for one device (shard_map) a value cannot be cut along the other axes}}
  %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[2,2]<=[2,2]T(1,0) last_tile_dims={manual}}"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.tanh %1 : tensor<4xf32>
  %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"} : (tensor<4xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}

// -----

func.func @other(%x: tensor<8xf32> {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"}) -> tensor<8xf32> {
  // expected-error @+1 {{other axes are manual than for another value of the same computation for one device (shard_map)}}
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}"} : (tensor<8xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{manual}"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.custom_call @SPMDShardToFullShape(%1) {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"} : (tensor<4xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

func.func @unsaid(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{nothing says how the operand is cut: a call of @Sharding with mhlo.sharding is expected in front of it}}
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @SPMDShardToFullShape(%0) {mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<4xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

func.func @unknown(%x: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) -> tensor<8xf32> {
  // expected-error @+1 {{the sharding '{unknown}': how a value is cut that goes into a computation for one device (shard_map), or comes out of it, has to be said}}
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @SPMDShardToFullShape(%0) {mhlo.sharding = "{unknown}"} : (tensor<4xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

func.func @spread(%x: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) -> tensor<8xf32> {
  // expected-error @+1 {{the sharding '{replicated}': a value that is written for one device (shard_map) is whole on its devices}}
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{replicated}"} : (tensor<8xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @SPMDShardToFullShape(%0) {mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<4xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// One computation goes directly into the next; the value is cut as the first one says.
// CHECK-LABEL: func.func @chained
// CHECK-NEXT: %[[M:.*]] = dist.manual %{{.*}} out [#dist.sharding<@mesh, [{"axis0"}]>]
// CHECK: %[[N:.*]] = dist.manual %[[M]] over @mesh ["axis0"] in [#dist.sharding<@mesh, [{"axis0"}]>]
// CHECK: stablehlo.tanh
// CHECK: return %[[N]]
func.func @chained(%x: tensor<8xf32> {mhlo.sharding = "{replicated}"}) -> tensor<8xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = stablehlo.slice %0 [0:4] : (tensor<8xf32>) -> tensor<4xf32>
  %2 = stablehlo.add %1, %c : tensor<4xf32>
  %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<4xf32>) -> tensor<8xf32>
  %4 = stablehlo.custom_call @SPMDFullToShardShape(%3) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<4xf32>
  %5 = stablehlo.tanh %4 : tensor<4xf32>
  %6 = stablehlo.custom_call @SPMDShardToFullShape(%5) {mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<4xf32>) -> tensor<8xf32>
  return %6 : tensor<8xf32>
}

// -----

// The parts are those that the shardings say.
func.func @parts_of_all(%x: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) -> tensor<8xf32> {
  // expected-error @+1 {{operand 0: has the type 'tensor<2xf32>' inside, where the part of a device is 'tensor<4xf32>'}}
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<2xf32>
  %1 = stablehlo.custom_call @SPMDShardToFullShape(%0) {mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<2xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
