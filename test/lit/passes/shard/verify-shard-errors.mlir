// RUN: dgc-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect -dgc-verify-shard=no-padding

// A dimension that does not divide, where padding is refused.
dist.mesh @mesh <data = 4>
// expected-error@+1 {{argument 0 of @uneven: dimension 0 has size 10, which its axes (data = 4) do not divide into 4 equal parts; make one a multiple of the other, or leave out --no-padding}}
func.func private @uneven(tensor<10xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>})

// -----

// An input, an output or a variable is known by its name, at the place where it is written.
dist.mesh @mesh <data = 4>
// expected-error@+1 {{input "x" of @named: dimension 0 has size 10, which its axes (data = 4) do not divide into 4 equal parts}}
func.func @named(%x: tensor<10xf32> {dgc.input = "x", dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  return
}

// -----

dist.mesh @mesh <data = 4>
// expected-error@+1 {{variable "w": dimension 0 has size 10}}
func.func private @held(tensor<10xf32> {dgc.state = @w, dist.sharding = #dist.sharding<@mesh, [{"data"}]>})

// -----

// The same inside of a function.
dist.mesh @mesh <data = 4>
func.func @uneven_inside(%x: tensor<10xf32>) {
  // expected-error@+1 {{result 0: dimension 0 has size 10, which its axes (data = 4) do not divide into 4 equal parts}}
  %0 = dgc.negate %x {dist.shardings = [#dist.sharding<@mesh, [{"data"}]>]} : tensor<10xf32>
  return
}

// -----

dist.mesh @mesh <data = 2>
// expected-error@+1 {{argument 0: is partial; arguments and results of functions are whole or cut}}
func.func private @partial_argument(tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = sum ["data"]>})

// -----

// A variable that is cut in one function and whole in another.
dist.mesh @mesh <data = 2>
func.func private @train(tensor<8xf32> {dgc.state = @w, dist.sharding = #dist.sharding<@mesh, [{"data"}]>})
// expected-error@+1 {{argument 0: the variable @w is spread as [{}] here and as [{data}] elsewhere}}
func.func private @predict(tensor<8xf32> {dgc.state = @w, dist.sharding = #dist.sharding<@mesh, [{}]>})

// -----

dist.mesh @mesh <data = 2>
func.func @operands(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}, %y: tensor<8xf32>) {
  // expected-error@+1 {{operand 1 is not cut as the op's other values are}}
  %0 = dgc.add %x, %y {dist.shardings = [#dist.sharding<@mesh, [{"data"}]>]} : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @results(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  // expected-error@+1 {{result 0 is not cut as the op's other values are}}
  %0 = dgc.negate %x : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @whole_needed(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  // expected-error@+1 {{operand 0 is cut in a dimension that the op needs whole}}
  %0 = dgc.concatenate %x, %x dim 0 {dist.shardings = [#dist.sharding<@mesh, [{"data"}]>]} : tensor<8xf32>, tensor<8xf32>
  return
}

// -----

// A reduction over a cut dimension whose result claims to be whole: the bug that gives each device its own loss.
dist.mesh @mesh <data = 2>
func.func @forgotten(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  // expected-error@+1 {{result 0 is spread as [], which is not what the op gives along the axes of its reductions}}
  %0 = dgc.reduce sum %x dims [0] : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @not_linear(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  %0 = dgc.reduce sum %x dims [0] {dist.shardings = [#dist.sharding<@mesh, [], unreduced = sum ["data"]>]} : tensor<8xf32>
  // expected-error@+1 {{operand 0 is partial, and the op is not linear in it}}
  %1 = dgc.exponential %0 {dist.shardings = [#dist.sharding<@mesh, [], unreduced = sum ["data"]>]} : tensor<f32>
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @returned(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) -> tensor<8xf32> {
  // expected-error@+1 {{operand 0 is spread as [{data}], but must be [{}]; dgc-insert-reshards puts a reshard in between}}
  return %x : tensor<8xf32>
}

// -----

dist.mesh @mesh <data = 2>
func.func @unknown(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  // expected-error@+1 {{operand 0 is spread as [{data}], but must be [{}]}}
  "test.unknown"(%x) : (tensor<8xf32>) -> ()
  return
}

// -----

// A round begins with what is cut, and gives what is whole.
dist.mesh @mesh <data = 2>
func.func @carried(%x: tensor<8xf32>) {
  // expected-error@+1 {{what is carried of operand 0 is spread as [{data}], and in the region as [{}]; dgc-insert-reshards puts a reshard in between}}
  %0 = dgc.scan (%h = %x) count 2 attributes {dist.shardings = [#dist.sharding<@mesh, [{"data"}]>]} : tensor<8xf32> -> tensor<8xf32> {
    dgc.yield %h : tensor<8xf32>
  }
  return
}

// -----

// The rounds would be cut.
dist.mesh @mesh <data = 2>
func.func @rounds(%x: tensor<8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) {
  // expected-error@+1 {{operand 0 is cut along dimension 0, of which each round has a slice}}
  %0 = dgc.scan () over (%h = %x) : tensor<8x3xf32> -> tensor<8x3xf32> {
    dgc.yield %h : tensor<3xf32>
  }
  return
}

// -----

// An invariant that is cut outside and whole inside.
dist.mesh @mesh <data = 2>
func.func @invariant(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}, %y: tensor<8xf32>) {
  // expected-error@+1 {{operand 1 is spread as [{data}], and in the region as [{}]}}
  %0 = dgc.scan (%h = %y) with (%i = %x) count 2 : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32> {
    %s = dgc.add %h, %i : tensor<8xf32>
    dgc.yield %s : tensor<8xf32>
  }
  return
}

// -----

// An op in a loop that forgets what it reduces over.
dist.mesh @mesh <data = 2>
func.func @inside(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}, %y: tensor<f32>) {
  %0 = dgc.scan (%h = %y) with (%i = %x) count 2 attributes {dist.argument_shardings = [#dist.sharding<@mesh, []>, #dist.sharding<@mesh, [{"data"}]>]} : tensor<f32>, tensor<8xf32> -> tensor<f32> {
    // expected-error@+1 {{result 0 is spread as [], which is not what the op gives along the axes of its reductions}}
    %s = dgc.reduce sum %i dims [0] : tensor<8xf32>
    dgc.yield %s : tensor<f32>
  }
  return
}

