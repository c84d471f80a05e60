// RUN: dgc-opt %s -split-input-file -verify-diagnostics

func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{sharding names the mesh @mesh, which the module does not have}}
  %0 = dist.constraint %a to <@mesh, [{}]> : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{sharding has 2 dimensions}}
  %0 = dist.reshard %a to <@mesh, [{}, {}]> : tensor<8xf32>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{names the mesh @mesh, which the module does not have}}
  %0 = dist.axis_index @mesh ["data"]
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @f() {
  // expected-error@+1 {{needs at least one axis of the mesh}}
  %0 = dist.axis_index @mesh []
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @f() {
  // expected-error@+1 {{mesh @mesh has no axis "model"}}
  %0 = dist.axis_index @mesh ["model"]
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @f() {
  // expected-error@+1 {{has the axis "data" twice}}
  %0 = dist.axis_index @mesh ["data", "data"]
  return
}

// -----

func.func @f(%a: tensor<8xf32>, %i: tensor<i64>) {
  // expected-error@+1 {{dimension 0 has size 8, which cannot be cut in 3 equal parts}}
  %0 = dist.slice %a at %i dim 0 parts 3 : tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<8xf32>, %i: tensor<i64>) {
  // expected-error@+1 {{dimension 1 is not one of}}
  %0 = dist.slice %a at %i dim 1 parts 2 : tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<8xf32>, %i: tensor<i64>) {
  // expected-error@+1 {{dimension 0 has 8 elements, of which 9 cannot be taken}}
  %0 = dist.dynamic_slice %a from %i dim 0 size 9 : tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<8xf32>, %i: tensor<i64>) {
  // expected-error@+1 {{dimension 1 is not one of}}
  %0 = dist.dynamic_slice %a from %i dim 1 size 1 : tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<7xf32>) {
  // expected-error@+1 {{operand 0: dimension 0 has size 7, which its axes (data = 2) do not divide into 2 equal parts; a region that is written for one device has equal parts only}}
  %0 = dist.manual %a over @mesh ["data"] in [#dist.sharding<@mesh, [{"data"}]>] out [#dist.sharding<@mesh, [{}]>] : (tensor<7xf32>) -> tensor<4xf32> {
  ^bb0(%local: tensor<4xf32>):
    dist.return %local : tensor<4xf32>
  }
  return
}

dist.mesh @mesh <data = 2>

// -----

dist.mesh @mesh <data = 2>
func.func @f(%a: tensor<8xf32>, %b: tensor<4xf64>) {
  // expected-error@+1 {{combines tensors of 'f32' and of 'f64'; they must be of one element type}}
  %0:2 = dist.all_reduce sum %a, %b over @mesh ["data"] : tensor<8xf32>, tensor<4xf64>
  return
}

// -----

// A partial sum is not combined by max.
dist.mesh @mesh <data = 2>
func.func @f(%a: tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>) {
  // expected-error@+1 {{combines by max over @mesh what is partial by sum over @mesh}}
  %0 = dist.all_reduce max %a over @mesh ["data"] : tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>
  return
}

// -----

// Combining along an axis along which the devices hold the same would count it twice.
dist.mesh @mesh <data = 2, model = 2>
func.func @f(%a: tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>) {
  // expected-error@+1 {{combines along "model", along which the operand is not partial}}
  %0 = dist.all_reduce sum %a over @mesh ["data", "model"] : tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @f() {
  // expected-error@+1 {{needs at least one operand}}
  "dist.all_reduce"() {kind = #dist<reduction sum>, mesh = @mesh, axes = ["data"]} : () -> ()
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{gives 'tensor<16xf32>', not 'tensor<8xf32>'}}
  %0 = dist.all_gather %a dim 0 over @mesh ["data"] : tensor<8xf32> to tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{dim 1 is not a dimension of 'tensor<8xf32>'}}
  %0 = dist.all_gather %a dim 1 over @mesh ["data"] : tensor<8xf32> to tensor<16xf32>
  return
}

// -----

dist.mesh @mesh <data = 3>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{dimension 0 has size 8, which 3 members do not divide}}
  %0 = dist.reduce_scatter sum %a dim 0 over @mesh ["data"] : tensor<8xf32> to tensor<2xf32>
  return
}

// -----

dist.mesh @mesh <data = 3>
func.func @f(%a: tensor<8x2xf32>) {
  // expected-error@+1 {{dimension 0 has size 8, which 3 members do not divide}}
  %0 = dist.all_to_all %a split 0 concat 1 over @mesh ["data"] : tensor<8x2xf32> to tensor<2x6xf32>
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{has 1 targets for 2 members}}
  %0 = dist.permute %a targets [0] over @mesh ["data"] : tensor<8xf32> to tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{target 2 is not a member; expected -1 to 1}}
  %0 = dist.permute %a targets [0, 2] over @mesh ["data"] : tensor<8xf32> to tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{member 1 would receive twice}}
  %0 = dist.permute %a targets [1, 1] over @mesh ["data"] : tensor<8xf32> to tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{root 2 is not a member; expected 0 to 1}}
  %0 = dist.broadcast %a root 2 over @mesh ["data"] : tensor<8xf32> to tensor<8xf32>
  return
}

// -----

dist.mesh @a <data = 2>
dist.mesh @b <data = 3, first = 2>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{goes from 2 devices to 3; both meshes must have as many, or one of them one}}
  dist.send %a channel 0 from @a to @b : tensor<8xf32>
  return
}

// -----

dist.mesh @a <data = 2>
dist.mesh @b <data = 2, first = 1>
func.func @f() {
  // expected-error@+1 {{goes between @a and @b, which share devices}}
  %0 = dist.recv channel 0 from @a to @b : tensor<8xf32>
  return
}

// -----

dist.mesh @a <data = 2>
dist.mesh @b <data = 2, first = 2>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{is gathered, from 2 devices to 2; that goes from several devices to one, or from one to several}}
  dist.send gathered %a channel 0 from @a to @b : tensor<8xf32>
  return
}

// -----

dist.mesh @a <data = 2>
dist.mesh @b <data = 1, first = 2>
func.func @f() {
  // expected-error@+1 {{gets 7 rows along dimension 0, which are no equal parts of 2 devices}}
  %0 = dist.recv gathered channel 0 from @a to @b : tensor<7xf32>
  return
}

// -----

dist.mesh @a <data = 1>
dist.mesh @b <data = 2, first = 1>
func.func @f(%a: tensor<7xf32>) {
  // expected-error@+1 {{sends 7 rows along dimension 0, which are no equal parts of 2 devices}}
  dist.send gathered %a channel 0 from @a to @b : tensor<7xf32>
  return
}

// -----

dist.mesh @a <data = 2>
dist.mesh @b <data = 1, first = 2>
func.func @f(%a: tensor<f32>) {
  // expected-error@+1 {{is gathered, and has no dimension 0}}
  dist.send gathered %a channel 0 from @a to @b : tensor<f32>
  return
}

// -----

dist.mesh @a <data = 2>
dist.mesh @b <data = 2, first = 2>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{has the channel -1; expected at least 0}}
  dist.send %a channel -1 from @a to @b : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{operand 0: has the type 'tensor<8xf32>' inside, where the part of a device is 'tensor<4xf32>'}}
  %0 = dist.manual %a over @mesh ["data"] in [#dist.sharding<@mesh, [{"data"}]>]
      out [#dist.sharding<@mesh, [{}]>] : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%x: tensor<8xf32>):
    dist.return %x : tensor<8xf32>
  }
  return
}

// -----

dist.mesh @mesh <data = 2, model = 2>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{operand 0: is cut by "model", which is not a manual axis}}
  %0 = dist.manual %a over @mesh ["data"] in [#dist.sharding<@mesh, [{"model"}]>]
      out [#dist.sharding<@mesh, [{}]>] : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%x: tensor<4xf32>):
    dist.return %x : tensor<4xf32>
  }
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{has 1 results outside, 0 inside and 1 shardings of them}}
  %0 = dist.manual %a over @mesh ["data"] in [#dist.sharding<@mesh, [{"data"}]>]
      out [#dist.sharding<@mesh, [{}]>] : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%x: tensor<4xf32>):
    dist.return
  }
  return
}

// -----

dist.mesh @mesh <data = 3>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{operand 0: dimension 0 has size 8, which its axes (data = 3) do not divide into 3 equal parts}}
  %0 = dist.manual %a over @mesh ["data"] in [#dist.sharding<@mesh, [{"data"}]>]
      out [#dist.sharding<@mesh, [{}]>] : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%x: tensor<4xf32>):
    dist.return %x : tensor<4xf32>
  }
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @f(%a: tensor<8xf32>, %b: tensor<8xf64>) {
  // expected-error@+1 {{combines tensors of 'f32' and of 'f64'; they must be of one element type}}
  %0:2 = dist.all_gather %a, %b dim 0 over @mesh ["data"] : tensor<8xf32>, tensor<8xf64> to tensor<16xf32>, tensor<16xf64>
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'dist.done' op takes all results of one collective, in order}}
  %0 = dist.done %a : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = dist.all_reduce sum %a over @mesh ["data"] : tensor<8xf32>
  // expected-note@+1 {{here}}
  %1 = dgc.negate %0 : tensor<8xf32>
  // expected-error@+1 {{ends a collective whose result is used before}}
  %2 = dist.done %0 : tensor<8xf32>
  return %2 : tensor<8xf32>
}
