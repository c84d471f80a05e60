// RUN: dgc-opt %s --allow-unregistered-dialect --dgc-take-shardings --stablehlo-to-dgc --split-input-file --verify-diagnostics | FileCheck %s

// A manual computation is that of dist; groups of devices become the axes that number their members. An axis of which a part is used is
// split here, too.
sdy.mesh @mesh = <["x"=4, "y"=3]>
// CHECK: dist.mesh @mesh <x_0 = 2, x_1 = 2, y = 3>
// CHECK-LABEL: func.func @manual
func.func @manual(%a: tensor<12x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {}]>}) -> tensor<12x2xf32> {
  // CHECK: dist.manual %{{.*}} over @mesh ["x_0", "x_1", "y"] in [#dist.sharding<@mesh, [{"x_0", "x_1", "y"}, {}]>] out [#dist.sharding<@mesh, [{"x_0", "x_1", "y"}, {}]>]
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", "y"}, {}]>] out_shardings=[<@mesh, [{"x", "y"}, {}]>] manual_axes={"x", "y"} (%b: tensor<1x2xf32>) {
    // CHECK: dist.all_reduce product %{{.*}} over @mesh ["y"]
    %1 = "stablehlo.all_reduce"(%b) <{replica_groups = dense<[[3, 4, 5], [0, 1, 2], [6, 7, 8], [9, 10, 11]]> : tensor<4x3xi64>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %r = stablehlo.multiply %p, %q : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : (tensor<1x2xf32>) -> tensor<1x2xf32>
    // The minor axis of the mesh is the major one of the group.
    // CHECK: dist.all_gather %{{.*}} dim 0 over @mesh ["y", "x_0"]
    %2 = "stablehlo.all_gather"(%1) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 6, 1, 7, 2, 8], [3, 9, 4, 10, 5, 11]]> : tensor<2x6xi64>}> : (tensor<1x2xf32>) -> tensor<6x2xf32>
    // CHECK: dist.permute %{{.*}} targets [1, -1] over @mesh ["x_1"]
    %3 = "stablehlo.collective_permute"(%2) <{source_target_pairs = dense<[[0, 3], [1, 4], [2, 5], [6, 9], [7, 10], [8, 11]]> : tensor<6x2xi64>}> : (tensor<6x2xf32>) -> tensor<6x2xf32>
    // CHECK: %[[I:.*]] = dist.axis_index @mesh ["x_0", "x_1", "y"]
    // CHECK: dgc.convert %[[I]] to ui32 : tensor<i64>
    %4 = stablehlo.partition_id : tensor<ui32>
    %5 = stablehlo.convert %4 : (tensor<ui32>) -> tensor<f32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f32>) -> tensor<1x2xf32>
    %7 = stablehlo.slice %3 [0:1, 0:2] : (tensor<6x2xf32>) -> tensor<1x2xf32>
    %8 = stablehlo.add %6, %7 : tensor<1x2xf32>
    // CHECK: dist.return
    sdy.return %8 : tensor<1x2xf32>
  } : (tensor<12x2xf32>) -> tensor<12x2xf32>
  return %0 : tensor<12x2xf32>
}

// -----

// expected-error @+1 {{dgc has no equivalent for 6 ops of this program}}
module {
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @refused(%a: tensor<4x2xf32>) -> tensor<16x2xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<2x2xf32>) {
    // expected-note @+1 {{2 x 'stablehlo.collective_permute': its devices are not those along manual axes of the mesh; the first is here}}
    %1 = "stablehlo.collective_permute"(%b) <{source_target_pairs = dense<[[0, 2]]> : tensor<1x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = "stablehlo.collective_permute"(%1) <{source_target_pairs = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
    // expected-note @+1 {{1 x 'stablehlo.all_reduce': it combines in another way than by a sum, product, maximum or minimum}}
    %3 = "stablehlo.all_reduce"(%2) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %r = stablehlo.atan2 %p, %q : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    // expected-note @+1 {{1 x 'stablehlo.partition_id': not all axes of the mesh are manual}}
    %4 = stablehlo.partition_id : tensor<ui32>
    // expected-note @+1 {{1 x 'stablehlo.collective_broadcast'}}
    %5 = "stablehlo.collective_broadcast"(%3) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
    sdy.return %5 : tensor<2x2xf32>
  } : (tensor<4x2xf32>) -> tensor<4x2xf32>
  // expected-note @+1 {{1 x 'stablehlo.all_gather': it is outside of a manual computation (shard_map)}}
  %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<4x2xf32>) -> tensor<16x2xf32>
  return %1 : tensor<16x2xf32>
}
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @partial(%a: tensor<4x2xf32>) -> tensor<4x2xf32> {
  // expected-error @+1 {{operand 0: is cut by "y", which is not a manual axis}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x"} (%b: tensor<2x2xf32>) {
    sdy.return %b : tensor<2x2xf32>
  } : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

func.func @mesh(%a: tensor<4x2xf32>) -> tensor<4x2xf32> {
  // expected-error @+1 {{a manual computation needs a mesh with axes}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<2x2xf32>) {
    sdy.return %b : tensor<2x2xf32>
  } : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

// Of one device, as on a mesh of one, the result is the operand, outside of a manual computation, too.
// CHECK-LABEL: func.func @alone(
// CHECK-SAME: %[[X:.*]]: tensor<4x2xf32>
// CHECK-NEXT: return %[[X]]
func.func @alone(%a: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

// A list that its text repeats is not written out.
// expected-error @+1 {{dgc has no equivalent for 2 ops of this program}}
module {
func.func @many(%a: tensor<4x2xf32>) -> tensor<4x2xf32> {
  // expected-note @+1 {{1 x 'stablehlo.all_reduce': its replica_groups are for more than 1048576 devices}}
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<0> : tensor<1x4294967296xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  // expected-note @+1 {{1 x 'stablehlo.collective_permute': its source_target_pairs are for more than 1048576 devices}}
  %1 = "stablehlo.collective_permute"(%0) <{source_target_pairs = dense<0> : tensor<9223372036854775807x2xi64>}> : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}
}
