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

// expected-error @+1 {{'manual' in last_tile_dims: values that are manual, or on some devices alone, are not supported}}
func.func @subgroup(%a: tensor<8xf32> {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dims={manual}}"}) { return }

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
