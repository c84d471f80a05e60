// RUN: dgc-opt %s -split-input-file -verify-diagnostics

// A mesh without axes.
// expected-error@+1 {{a mesh needs at least one axis, as in <data = 2>}}
dist.mesh @mesh <>

// -----

// A mesh axis of size 0.
// expected-error@+1 {{mesh axis "data" has size 0; expected at least 1}}
dist.mesh @mesh <data = 0>

// -----

// Two mesh axes of one name.
// expected-error@+1 {{mesh axis "data" appears twice}}
dist.mesh @mesh <data = 2, data = 3>

// -----

// More devices than can be numbered.
// expected-error@+1 {{a mesh has at most 2147483647 devices}}
dist.mesh @mesh <data = 1000000, model = 1000000>

// -----

// A first device that does not exist.
// expected-error@+1 {{the first device of a mesh is -1; expected at least 0}}
dist.mesh @mesh <data = 2, first = -1>

// -----

// expected-error@+1 {{'first' comes last in a mesh}}
dist.mesh @mesh <first = 1, data = 2>

// -----

// An axis in two dimensions.
// expected-error@+1 {{axis "data" appears twice in a sharding}}
func.func @f(%a: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {"data"}]>}) { return }

// -----

// An axis twice in one dimension.
// expected-error@+1 {{axis "data" cuts a dimension twice}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "data"}]>}) { return }

// -----

// An axis that both cuts and is unreduced.
// expected-error@+1 {{axis "data" appears twice in a sharding}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}], unreduced = sum ["data"]>}) { return }

// -----

// expected-error@+1 {{axis "data" appears twice in a sharding}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}], replicated = ["data", "data"]>}) { return }

// -----

// expected-error@+1 {{a kind of reduction needs unreduced axes}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = max []>}) { return }

// -----

// expected-error@+1 {{unknown reduction 'mean'; expected sum, product, max or min}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = mean ["data"]>}) { return }

// -----

// expected-error@+1 {{round -1 of propagation; expected at least 0}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{?} round -1]>}) { return }

// -----

// expected-error@+1 {{a closed dimension without axes takes no part in propagation and has no round}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{} round 1]>}) { return }

// -----

// expected-error@+1 {{'?' comes last in a dimension}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{?, "data"}]>}) { return }

// -----

// expected-error@+1 {{unknown origin 'compiler'; expected user, strategy or op}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data" by compiler}]>}) { return }

// -----

// expected-error@+1 {{an origin has a name exactly when it is a strategy or an op}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data" by strategy ""}]>}) { return }

// -----

// expected-error@+1 {{sharding names the mesh @mesh, which the module does not have}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) { return }

// -----

dist.mesh @mesh <data = 2>
// expected-error@+1 {{argument 0: sharding has 1 dimensions, but the value has the type 'tensor<8x8xf32>'}}
func.func @f(%a: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) { return }

// -----

dist.mesh @mesh <data = 2>
// expected-error@+1 {{result 0: mesh @mesh has no axis "model"}}
func.func private @f() -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}]>})

// -----

dist.mesh @mesh <data = 2, model = 2>
// expected-error@+1 {{listed in the order of the mesh; "data" comes too late}}
func.func private @f(tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}], replicated = ["model", "data"]>})

// -----

dist.mesh @mesh <data = 2>
// expected-error@+1 {{a boolean tensor cannot be unreduced by sum}}
func.func private @f(tensor<8xi1> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = sum ["data"]>})

// -----

// expected-error@+1 {{argument 0: 'dist.sharding': expected a #dist.sharding, got 1 : i64}}
func.func private @f(tensor<8xi1> {dist.sharding = 1})

// -----

// expected-error@+1 {{'dist.global_type': expected a tensor type, got i32}}
func.func private @f(tensor<8xi1> {dist.global_type = i32})

// -----

// expected-error@+1 {{argument 0: 'dist.place': is not an attribute; the dialect dist has 'dist.sharding', 'dist.global_type', 'dist.device', 'dist.colocate', 'dist.stage' here}}
func.func private @f(tensor<8xi1> {dist.place = 1})

// -----

dist.mesh @mesh <data = 2>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'dist.shardings': has 2 entries for 1 results}}
  %0 = dgc.add %a, %a {dist.shardings = [#dist.sharding<@mesh, [{}]>, #dist.sharding<@mesh, [{}]>]} : tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'dist.shardings': expected an array of #dist.sharding}}
  %0 = dgc.add %a, %a {dist.shardings = 1} : tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'dist.order': is for collectives and transfers}}
  %0 = dgc.add %a, %a {dist.order = 1} : tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'dist.device': expected a #dist.device}}
  %0 = dgc.add %a, %a {dist.device = "cpu:0"} : tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'dist.whatever': is not an attribute; the dialect dist has 'dist.shardings', 'dist.argument_shardings', 'dist.device', 'dist.colocate', 'dist.stage', 'dist.slot' here}}
  %0 = dgc.add %a, %a {dist.whatever = "cpu:0"} : tensor<8xf32>
  return
}

// -----

// expected-error@+1 {{argument 0: 'dist.slot': is for ops}}
func.func private @f(tensor<8xi1> {dist.slot = 1})

// -----

// expected-error@+1 {{'dist.pipeline': is for modules}}
func.func private @f() attributes {dist.pipeline = {}}

// -----

// expected-error@+1 {{'dist.pipeline': expected a dictionary with schedule, positions, microbatches and chunks, got {}}}
module attributes {dist.pipeline = {}} {}

// -----

// expected-error@+1 {{'dist.mesh': expected the name of a symbol, as in @name, got "mesh"}}
func.func private @f() attributes {dist.mesh = "mesh"}

// -----

// expected-error@+1 {{'dist.step': expected a name, as a string, got @train}}
func.func private @f() attributes {dist.step = @train}

// -----

// expected-error@+1 {{result 0: 'dist.stage': expected an integer of 64 bits of at least 0, got -1 : i64}}
func.func private @f() -> (tensor<8xi1> {dist.stage = -1})

// -----

// expected-error@+1 {{a partial value needs the axes along which it is partial}}
func.func private @f(tensor<8xf32, #dist.partial<sum, @mesh []>>)

// -----

// expected-error@+1 {{axis "data" appears twice}}
func.func private @f(tensor<8xf32, #dist.partial<sum, @mesh ["data", "data"]>>)

// -----

// expected-error@+1 {{a boolean tensor cannot be partial by sum}}
func.func private @f(tensor<8xi1, #dist.partial<sum, @mesh ["data"]>>)

// -----

// expected-error@+1 {{'tpu:0' is not expected here; a device is written as}}
func.func private @f(tensor<8xi1> {dist.device = #dist.device<"/job:worker/tpu:0">})

// -----

// expected-error@+1 {{'job:b' is not expected here}}
func.func private @f(tensor<8xi1> {dist.device = #dist.device<"/job:a/job:b">})

// -----

// expected-error@+1 {{'gpu:x' is not expected here}}
func.func private @f(tensor<8xi1> {dist.device = #dist.device<"gpu:x">})

// -----

// expected-error@+1 {{'' is not expected here}}
func.func private @f(tensor<8xi1> {dist.device = #dist.device<"">})

// -----

dist.mesh @mesh <data = 2>
dgc.model @m {
  // expected-error @+1 {{'dgc.variable' op 'dist.sharding': sharding has 1 dimensions, but the value has the type 'tensor<2x3xf32>'}}
  %w = dgc.variable "w" zeros {dist.sharding = #dist.sharding<@mesh, [{"data"}]>} : tensor<2x3xf32>
  dgc.output "w" %w
}

// -----

dist.mesh @mesh <data = 2>
dgc.model @m {
  %w = dgc.variable "w" zeros : tensor<2x3xf32>
  // expected-error @+1 {{'dgc.negate' op 'dist.sharding': is for inputs, variables and outputs of a model; dist.constraint spreads other values}}
  %n = dgc.negate %w {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}
  dgc.output "n" %n
}

// -----

dgc.model @m {
  %w = dgc.variable "w" zeros : tensor<2x3xf32>
  // expected-error @+1 {{'dist.constraint' op names the mesh @mesh, which the module does not have}}
  %n = dist.constraint %w to <@mesh, [{"data"}, {}]>
  dgc.output "n" %n
}

// -----

dist.mesh @mesh <data = 2>
func.func @f(%x: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error@+1 {{'dist.argument_shardings': is for loops and branches}}
  %0 = dgc.negate %x {dist.argument_shardings = [#dist.sharding<@mesh, [{}]>]} : tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

dist.mesh @mesh <data = 2>
func.func @f(%x: tensor<6xf32>, %n: tensor<i32>) -> tensor<6xf32> {
  // expected-error@+1 {{'dist.argument_shardings': has 1 entries for 2 arguments}}
  %0 = dgc.scan (%h = %x) with (%i = %n) count 2 attributes {dist.argument_shardings = [#dist.sharding<@mesh, [{}]>]} : tensor<6xf32>, tensor<i32> -> tensor<6xf32> {
    dgc.yield %h : tensor<6xf32>
  }
  return %0 : tensor<6xf32>
}
