// RUN: dgc-opt %s --dgc-take-shardings --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: dist.mesh @mesh <data = 2, model = 3>
sdy.mesh @mesh = <["data"=2, "model"=3]>
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {?}]>}
// CHECK-SAME: tensor<12xf32> {dist.sharding = #dist.sharding<@mesh, [{"model", "data"} round 1]>}
// CHECK-SAME: -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], replicated = ["model"]>})
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {?}]>},
                %y: tensor<12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model", "data"}p1]>}, %z: tensor<4xf32>)
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], replicated={"model"}>}) {
  // CHECK: %[[C:.*]] = dist.constraint %[[X]] to <@mesh, [{}, {"model", ?}]> : tensor<8x4xf32>
  // CHECK: stablehlo.negate %[[C]]
  %0 = sdy.sharding_constraint %x <@mesh, [{}, {"model", ?}]> : tensor<8x4xf32>
  %1 = stablehlo.negate %0 : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

// What is said of a mesh without axes says nothing. Without shardings nothing is done.
// CHECK-NOT: dist.
// CHECK-LABEL: func.func @nowhere(%{{.*}}: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT: stablehlo.negate
sdy.mesh @empty_mesh = <[]>
func.func @nowhere(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}]>}) -> tensor<8xf32> {
  %0 = sdy.sharding_constraint %x <@empty_mesh, [{}]> : tensor<8xf32>
  %1 = stablehlo.negate %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// An axis that shardings use parts of becomes several, wherever it is used; another mesh with an axis of this name does not.
// CHECK: dist.mesh @mesh <data_0 = 2, data_1 = 2, data_2 = 3, model = 2>
// CHECK: dist.mesh @other <data = 12>
// CHECK-LABEL: func.func @part
// CHECK-SAME: tensor<24xf32> {dist.sharding = #dist.sharding<@mesh, [{"data_0"}]>}
// CHECK-SAME: tensor<24x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"data_1", "model"}, {"data_2"}]>}
// CHECK-SAME: tensor<24xf32> {dist.sharding = #dist.sharding<@mesh, [{"data_0", "data_1", "data_2"}]>}
// CHECK-SAME: tensor<24xf32> {dist.sharding = #dist.sharding<@other, [{"data"}]>}
sdy.mesh @mesh = <["data"=12, "model"=2]>
sdy.mesh @other = <["data"=12]>
func.func @part(%w: tensor<24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data":(1)2}]>},
                %x: tensor<24x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data":(2)2, "model"}, {"data":(4)3}]>},
                %y: tensor<24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>},
                %z: tensor<24xf32> {sdy.sharding = #sdy.sharding<@other, [{"data"}]>}) {
  // CHECK: dist.constraint %{{.*}} to <@mesh, [{"data_1", "data_2"}]>
  %0 = sdy.sharding_constraint %w <@mesh, [{"data":(2)6}]> : tensor<24xf32>
  return
}

// -----

// expected-error @+1 {{axis "data" of size 6 has no parts that begin or end at 2 and 3: each has to divide the next}}
sdy.mesh @mesh = <["data"=6]>
func.func @part(%x: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data":(1)2}]>}, %y: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data":(1)3}]>}) {
  return
}

// -----

// expected-error @+1 {{axis "data" of size 4 has no parts that begin or end at 8 and 4}}
sdy.mesh @mesh = <["data"=4]>
func.func @large(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data":(1)8}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["data"=4]>
// expected-error @+1 {{a sharding has unreduced axes, which is not supported}}
func.func @unreduced(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"data"}>}) {
  return
}

// -----

sdy.mesh @mesh = <["data"=4]>
func.func @rank(%x: tensor<8xf32>) {
  // expected-error @+1 {{a sharding of 'tensor<8xf32>': }}
  %0 = sdy.sharding_constraint %x <@mesh, [{}, {"data"}]> : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["data"=4]>
// expected-error @+1 {{a sharding of 'tensor<8xf32>': }}
func.func @axis(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}]>}) {
  return
}

// -----

// expected-error @+1 {{mesh axis "data" has size 0; expected at least 1}}
sdy.mesh @mesh = <["data"=0]>

// -----

sdy.mesh @mesh = <["data"=4]>
// expected-error @+1 {{a sharding of 'tensor<8xf32>': an axis needs a name}}
func.func @no_name(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"", "data"}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["data"=4]>
// expected-error @+1 {{a sharding of 'tensor<8xf32>': an axis needs a name}}
func.func @no_name_replicated(%x: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], replicated={""}>}) {
  return %x : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["data"=4]>
func.func @no_name_part(%x: tensor<8xf32>) {
  // expected-error @+1 {{a sharding of 'tensor<8xf32>': an axis needs a name}}
  %0 = sdy.sharding_constraint %x <@mesh, [{"":(1)2, ?}]> : tensor<8xf32>
  return
}

// -----

// What is said in another form than the dialect has: bytecode may say anything.
sdy.mesh @mesh = <["data"=4]>
// expected-error @+1 {{a sharding of 'tensor<8xf32>': it is of another form than #sdy.sharding<@mesh, [{"x"}, {?}], replicated={"y"}>}}
func.func @form(%x: tensor<8xf32> {sdy.sharding = {mesh = @mesh, dims = [{axes = [{name = "data", size = 2}], is_closed = true, priority = 0}], replicated = []}}) {
  return
}

// -----

sdy.mesh @mesh = <["data"=4]>
func.func @absent(%x: tensor<8xf32>) {
  // expected-error @+1 {{a sharding names no mesh of the program}}
  %0 = "sdy.sharding_constraint"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// expected-error @+1 {{a mesh has a name and axes, each with a name and a size}}
"sdy.mesh"() {sym_name = "mesh", mesh = {axes = [{name = "data"}]}} : () -> ()

// -----

sdy.mesh @mesh = <["data"=4]>
func.func @manual(%x: tensor<8xf32>) {
  // expected-error @+1 {{a manual computation has names of axes and a body of one block}}
  "sdy.manual_computation"(%x) ({
  ^bb0(%y: tensor<2xf32>):
    sdy.return
  }) {in_shardings = [], out_shardings = [], manual_axes = [1]} : (tensor<8xf32>) -> ()
  return
}
