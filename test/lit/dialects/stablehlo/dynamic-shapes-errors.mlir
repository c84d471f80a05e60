// RUN: dgc-opt %s --split-input-file --verify-diagnostics

func.func @broadcast(%x: tensor<4xf32>, %n: tensor<3xi32>) {
  // expected-error @+1 {{has 3 numbers in output_dimensions, one is needed for each of 2 dimensions}}
  %0 = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [0] : (tensor<4xf32>, tensor<3xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_dims(%x: tensor<4xf32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{has the dimension 2 in broadcast_dimensions, but the rank is 2}}
  %0 = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [2] : (tensor<4xf32>, tensor<2xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @expanding(%x: tensor<4xf32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{has the dimension 0 twice in the dimensions of which it is known whether they are repeated}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%x, %n) <{broadcast_dimensions = array<i64: 0>, known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 0>}> : (tensor<4xf32>, tensor<2xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @iota(%n: tensor<2xi32>) {
  // expected-error @+1 {{has the dimension 2 in iota_dimension, but the rank is 2}}
  %0 = stablehlo.dynamic_iota %n, dim = 2 : (tensor<2xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @pad(%x: tensor<4xf32>, %n: tensor<1xi32>) {
  // expected-error @+1 {{needs a padding value that is a scalar}}
  %0 = stablehlo.dynamic_pad %x, %x, %n, %n, %n : (tensor<4xf32>, tensor<4xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
  return
}

// -----

func.func @reshape(%x: tensor<4xf32>, %n: tensor<1xi32>) {
  // expected-error @+1 {{has another element type than its operand}}
  %0 = stablehlo.dynamic_reshape %x, %n : (tensor<4xf32>, tensor<1xi32>) -> tensor<4xi32>
  return
}

// -----

func.func @slice(%x: tensor<4xf32>, %n: tensor<1xi32>) {
  // expected-error @+1 {{needs a result of the rank 1, as its operand has}}
  %0 = stablehlo.real_dynamic_slice %x, %n, %n, %n : (tensor<4xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @gather(%x: tensor<4x5xf32>, %i: tensor<2xi32>, %n: tensor<1xi32>) {
  // expected-error @+1 {{has 1 numbers in slice_sizes, one is needed for each of 2 dimensions}}
  %0 = "stablehlo.dynamic_gather"(%x, %i, %n) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x5xf32>, tensor<2xi32>, tensor<1xi32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @conv(%x: tensor<1x8x8x2xf32>, %w: tensor<3x3x2x4xf32>, %p: tensor<1x2xi32>) {
  // expected-error @+1 {{has padding of the type 'tensor<1x2xi32>', which must have two numbers for each of 2 dimensions}}
  %0 = "stablehlo.dynamic_conv"(%x, %w, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x2xf32>, tensor<3x3x2x4xf32>, tensor<1x2xi32>) -> tensor<1x8x8x4xf32>
  return
}

// -----

func.func @einsum_parts(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has the config "ab->ba": it is written as "ab,bc->ac", with a letter for each dimension}}
  %0 = stablehlo.einsum %x, %x, config = "ab->ba" : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @einsum_letters(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has the config "a1,ab->b": each part has letters, and '...' once at most}}
  %0 = stablehlo.einsum %x, %x, config = "a1,ab->b" : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @einsum_rank(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has the config "abc,ab->b", where 'abc' is for an operand of the type 'tensor<4x8xf32>'}}
  %0 = stablehlo.einsum %x, %x, config = "abc,ab->b" : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @einsum_result(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has the config "ab,ab->c": each letter of the result is there once, and one of an operand}}
  %0 = stablehlo.einsum %x, %x, config = "ab,ab->c" : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @einsum_sizes(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has dimensions of 8 and 4 elements for one letter}}
  %0 = stablehlo.einsum %x, %x, config = "ab,bc->ac" : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @unary_einsum(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has a result of the shape [4], but its operands make [8]}}
  %0 = stablehlo.unary_einsum %x, config = "ab->b" : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @index_select(%x: tensor<4x8xf32>, %i: tensor<3x2xi32>) {
  // expected-error @+1 {{has other batch dimensions in 'tensor<4x8xf32>' than in the indices 'tensor<3x2xi32>'}}
  %0 = stablehlo.torch_index_select %x, %i, dim = 1, batch_dims = 1 : (tensor<4x8xf32>, tensor<3x2xi32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @index_select_dim(%x: tensor<4x8xf32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{has dim 0 and batch_dims 1 for 'tensor<4x8xf32>' and indices 'tensor<4xi32>': batch_dims is at most dim and the rank of the indices, and dim a dimension}}
  %0 = stablehlo.torch_index_select %x, %i, dim = 0, batch_dims = 1 : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @tuple(%x: tensor<4xf32>) {
  // expected-error @+1 {{needs a result of the types of the operands}}
  %0 = "stablehlo.tuple"(%x) : (tensor<4xf32>) -> tuple<tensor<5xf32>>
  return
}

// -----

func.func @element(%x: tuple<tensor<4xf32>>) {
  // expected-error @+1 {{takes element 1 of 1}}
  %0 = stablehlo.get_tuple_element %x[1] : (tuple<tensor<4xf32>>) -> tensor<4xf32>
  return
}

// -----

func.func @element_type(%x: tuple<tensor<4xf32>>) {
  // expected-error @+1 {{needs a result of the type 'tensor<4xf32>'}}
  %0 = stablehlo.get_tuple_element %x[0] : (tuple<tensor<4xf32>>) -> tensor<5xf32>
  return
}

// -----

func.func @rng(%a: tensor<i32>, %n: tensor<1xi64>) {
  // expected-error @+1 {{needs floats for a normal distribution, not 'i32'}}
  %0 = stablehlo.rng %a, %a, %n, distribution = NORMAL : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<4xi32>
  return
}

// -----

func.func @rng_shape(%a: tensor<f32>, %n: tensor<2xi64>) {
  // expected-error @+1 {{has a shape of 2 dimensions for 'tensor<4xf32>'}}
  %0 = stablehlo.rng %a, %a, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @bitcast(%x: tensor<4xcomplex<f32>>) {
  // expected-error @+1 {{makes complex numbers of complex numbers alone, and nothing else of them}}
  %0 = stablehlo.bitcast_convert %x : (tensor<4xcomplex<f32>>) -> tensor<4xf64>
  return
}
