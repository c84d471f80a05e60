// RUN: dgc-opt %s -split-input-file -verify-diagnostics

// A name that the dialect does not have, on an argument, a result, an op and a module.
// expected-error@+1 {{argument 0: 'dgc.place': is not an attribute; the dialect dgc has 'dgc.input', 'dgc.role', 'dgc.state', 'dgc.batch_dim', 'dgc.argument', 'dgc.index_limit' here}}
func.func private @f(tensor<8xf32> {dgc.place = 1})

// -----

// expected-error@+1 {{result 0: 'dgc.place': is not an attribute; the dialect dgc has 'dgc.output', 'dgc.role', 'dgc.state', 'dgc.batch_dim', 'dgc.result', 'dgc.over', 'dgc.function' here}}
func.func private @f() -> (tensor<8xf32> {dgc.place = 1})

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error-re@+1 {{'dgc.negate' op 'dgc.microbath': is not an attribute; the dialect dgc has 'dgc.batch_dim', 'dgc.microbatch', {{.*}}, 'dgc.encodings' here}}
  %0 = dgc.negate %x {dgc.microbath = 0} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// expected-error@+1 {{'builtin.module' op 'dgc.batch': is not an attribute; the dialect dgc has 'dgc.batch_dim', 'dgc.global_batch'}}
module attributes {dgc.batch = 8 : i64} {}

// -----

// A known name in another place.
// expected-error@+1 {{argument 0: 'dgc.output': is for results of functions}}
func.func private @f(tensor<8xf32> {dgc.output = "y"})

// -----

// expected-error@+1 {{result 0: 'dgc.index_limit': is for arguments of functions}}
func.func private @f() -> (tensor<8xi32> {dgc.index_limit = 8})

// -----

// expected-error@+1 {{'func.func' op 'dgc.role': is for arguments of functions; results of functions}}
func.func private @f() attributes {dgc.role = "data"}

// -----

// expected-error@+1 {{'func.func' op 'dgc.tf32': is for modules}}
func.func private @f() attributes {dgc.tf32}

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'dgc.negate' op 'dgc.loss_scale': is for states}}
  %0 = dgc.negate %x {dgc.loss_scale} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Values of another kind.
// expected-error@+1 {{'dgc.tf32': expected no value, got true}}
module attributes {dgc.tf32 = true} {}

// -----

// expected-error@+1 {{'dgc.global_batch': expected an integer of 64 bits of at least 0, got 8 : i32}}
module attributes {dgc.global_batch = 8 : i32} {}

// -----

// expected-error@+1 {{argument 0: 'dgc.batch_dim': expected an integer of 64 bits of at least 0, got -1}}
func.func private @f(tensor<8xf32> {dgc.batch_dim = -1})

// -----

// expected-error@+1 {{argument 0: 'dgc.input': expected a name, as a string, got @x}}
func.func private @f(tensor<8xf32> {dgc.input = @x})

// -----

// expected-error@+1 {{argument 0: 'dgc.state': expected the name of a symbol, as in @name, got "w"}}
func.func private @f(tensor<8xf32> {dgc.state = "w"})

// -----

// expected-error@+1 {{argument 0: 'dgc.role': expected data, step, seed, valid_count, loss, metric or prediction, as a string, got "label"}}
func.func private @f(tensor<8xf32> {dgc.role = "label"})

// -----

// expected-error@+1 {{'dgc.whole_batches': expected a dictionary of strings}}
module attributes {dgc.whole_batches = {train = 1}} {}

// -----

// expected-error@+1 {{'dgc.inplace': expected array<i64: ..>, got [0]}}
func.func private @f(tensor<8xf32>) -> tensor<8xf32> attributes {dgc.inplace = [0]}

// -----

// expected-error@+1 {{'dgc.launches': expected an array of [string, integer, integer]}}
module attributes {dgc.launches = [["k", 1]]} {}

// -----

// expected-error@+1 {{'dgc.workspace': expected an array of integers of at least 0}}
module attributes {dgc.workspace = [-1]} {}

// -----

// A block of rows says of what, from where on and of which type.
// expected-error@+1 {{'dgc.block': expected {of = string, first = integer, type = tensor type}}}
dgc.state @w weight zeros rng 0 {dgc.block = {of = "w", first = 4}} : tensor<4x8xf32>

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'dgc.negate' op 'dgc.encodings': has 2 entries for 1 results}}
  %0 = dgc.negate %x {dgc.encodings = [unit, unit]} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
