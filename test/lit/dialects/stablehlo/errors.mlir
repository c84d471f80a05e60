// RUN: dgc-opt %s --split-input-file --verify-diagnostics

func.func @broadcast(%x: tensor<4xf32>) {
  // expected-error @+1 {{cannot repeat dimension 0 of 'tensor<4xf32>' along dimension 1 of 'tensor<4x8xf32>'}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_sizes(%x: tensor<4xf32>) {
  // expected-error @+1 {{has a result of the shape [4, 2], but its operands make [2, 4]}}
  %0 = stablehlo.broadcast %x, sizes = [2] : (tensor<4xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @broadcast_dims(%x: tensor<4xf32>) {
  // expected-error @+1 {{has the dimension 2 in broadcast_dimensions, but the rank is 2}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [2] : (tensor<4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @slice(%x: tensor<4xf32>) {
  // expected-error @+1 {{cannot take elements 2 to 5 of 4}}
  %0 = stablehlo.slice %x [2:5] : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @reshape(%x: tensor<4xf32>) {
  // expected-error @+1 {{cannot make the 5 elements of 'tensor<5xf32>' of the 4 of 'tensor<4xf32>'}}
  %0 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @transpose(%x: tensor<4x5xf32>) {
  // expected-error @+1 {{has the dimension 1 twice in permutation}}
  %0 = stablehlo.transpose %x, dims = [1, 1] : (tensor<4x5xf32>) -> tensor<5x5xf32>
  return
}

// -----

func.func @dot(%x: tensor<4x5xf32>, %y: tensor<6x3xf32>) {
  // expected-error @+1 {{cannot pair dimension 1 of 'tensor<4x5xf32>' with dimension 0 of 'tensor<6x3xf32>'}}
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x5xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @dot_clause(%x: tensor<4x5xf32>, %y: tensor<5x3xf32>) {
  // expected-error @+1 {{'contracting' is none of batching_dims, contracting_dims, precision and algorithm}}
  %0 = stablehlo.dot_general %x, %y, contracting = [1] x [0] : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @convolution(%x: tensor<4x12x8xf32>, %w: tensor<3x4x16xf32>) {
  // expected-error @+1 {{cannot have 1 groups of features and 1 of batches of 'tensor<4x12x8xf32>' with weights 'tensor<3x4x16xf32>'}}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x12x8xf32>, tensor<3x4x16xf32>) -> tensor<4x10x16xf32>
  return
}

// -----

func.func @convolution_dims(%x: tensor<4x12x8xf32>, %w: tensor<3x8x16xf32>) {
  // expected-error @+1 {{spatial dimensions must be numbered from 0 on, each once}}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 1, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x12x8xf32>, tensor<3x8x16xf32>) -> tensor<4x10x16xf32>
  return
}

// -----

func.func @reduce(%x: tensor<4x8xf32>, %c: tensor<f32>) {
  // expected-error @+1 {{has a result of the shape [8], but its operands make [4]}}
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @reduce_applies(%x: tensor<4x8xf32>, %c: tensor<f32>) {
  // expected-error @+1 {{cannot combine two elements}}
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.exponential across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @gather(%x: tensor<48x24xf32>, %i: tensor<4x2xi32>) {
  // expected-error @+1 {{has index vectors of 2 numbers for 1 dimensions}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 24>}> : (tensor<48x24xf32>, tensor<4x2xi32>) -> tensor<4x24xf32>
  return
}

// -----

// expected-error @+1 {{has no field 'dims'}}
#dims = #stablehlo.gather<dims = 1>

// -----

func.func @while(%x: tensor<4xf32>) {
  // expected-error @+1 {{needs results of the types ('tensor<i1>') of its region 'cond', which returns ('tensor<4xf32>')}}
  %0 = stablehlo.while(%a = %x) : tensor<4xf32>
    cond {
      stablehlo.return %a : tensor<4xf32>
    } do {
      stablehlo.return %a : tensor<4xf32>
    }
  return
}

// -----

func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor}}
  %0 = stablehlo.exponential %x : tensor<?xf32>
  return
}

// -----

func.func @top_k(%x: tensor<4xf32>) {
  // expected-error @+1 {{cannot take the 5 largest elements of the last dimension of 'tensor<4xf32>'}}
  %values, %indices = chlo.top_k(%x, k = 5) : tensor<4xf32> -> (tensor<5xf32>, tensor<5xi32>)
  return
}

// -----

func.func @pad(%x: tensor<8xf32>, %c: tensor<f32>) {
  // expected-error @+1 {{cannot pad 8 elements with 1 before, 9223372036854775807 behind and 0 between them: the numbers are too large}}
  %0 = stablehlo.pad %x, %c, low = [1], high = [9223372036854775807], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
  return
}

// -----

func.func @pad_between(%x: tensor<4xf32>, %c: tensor<f32>) {
  // expected-error @+1 {{cannot pad 4 elements with 0 before, 0 behind and 4611686018427387904 between them: the numbers are too large}}
  %0 = stablehlo.pad %x, %c, low = [0], high = [0], interior = [4611686018427387904] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @concatenate(%x: tensor<9223372036854775807xf32>) {
  // expected-error @+1 {{cannot join tensors of so many elements along dimension 0}}
  %0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<9223372036854775807xf32>, tensor<9223372036854775807xf32>) -> tensor<8xf32>
  return
}

// -----

// A window that is as large as a number can be.
func.func @window(%x: tensor<8xf32>, %c: tensor<f32>) {
  // expected-error @+1 {{has a result of the shape [8], but its operands make [0]}}
  %0 = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2>, window_dilations = array<i64: 9223372036854775807>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @dilated(%x: tensor<2xf32>, %c: tensor<f32>) {
  // expected-error @+1 {{has a result of the shape [8], but its operands make [-1]}}
  %0 = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2>, base_dilations = array<i64: 9223372036854775807>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2xf32>, tensor<f32>) -> tensor<8xf32>
  return
}
