// RUN: dgc-opt %s --stablehlo-to-dgc --split-input-file --verify-diagnostics

// What is not known before the program runs, and what does not fit, is refused by its name.

// expected-error @+1 {{dgc has no equivalent for 8 ops of this program}}
module {
  func.func @main(%x: tensor<4x4xf32>, %s: tensor<f32>, %n: tensor<2xi32>, %i: tensor<3xi32>, %k: tensor<2xindex>, %u: tensor<?xf32>, %m: tensor<i32>, %token: !stablehlo.token) -> tensor<4x4xf32> {
    %one = stablehlo.constant dense<1> : tensor<2xi32>
    // expected-note @+1 {{1 x 'stablehlo.dynamic_pad': edge_padding_high that is no constant}}
    %0 = stablehlo.dynamic_pad %x, %s, %one, %n, %one : (tensor<4x4xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<9x9xf32>
    // expected-note @+1 {{1 x 'stablehlo.real_dynamic_slice': start_indices that is no constant}}
    %1 = stablehlo.real_dynamic_slice %x, %n, %one, %one : (tensor<4x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x2xf32>
    // expected-note @+1 {{1 x 'stablehlo.dynamic_gather': slice_sizes that is no constant}}
    %2 = "stablehlo.dynamic_gather"(%x, %i, %n) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x4xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<3x4xf32>
    // expected-note @+1 {{1 x 'stablehlo.dynamic_iota': elements of the type index}}
    %3 = stablehlo.dynamic_iota %k, dim = 0 : (tensor<2xindex>) -> tensor<4x4xf32>
    // expected-note @+1 {{2 x 'stablehlo.dynamic_reshape': shapes that are not known; the first is here}}
    %4 = stablehlo.dynamic_reshape %u, %n : (tensor<?xf32>, tensor<2xi32>) -> tensor<4x4xf32>
    %5 = stablehlo.dynamic_reshape %x, %n : (tensor<4x4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
    // expected-note @+1 {{1 x 'stablehlo.set_dimension_size': sizes that are only known when the program runs}}
    %6 = "stablehlo.set_dimension_size"(%x, %m) <{dimension = 0 : i64}> : (tensor<4x4xf32>, tensor<i32>) -> tensor<4x4xf32>
    // expected-note @+1 {{1 x 'stablehlo.recv': an exchange with the host or another program}}
    %7:2 = "stablehlo.recv"(%token) : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
    return %4 : tensor<4x4xf32>
  }
}

// -----

// expected-error @+1 {{dgc has no equivalent for 5 ops of this program}}
module {
  func.func @main(%x: tensor<4x4xf32>, %s: tensor<f32>) -> tensor<4x4xf32> {
    %one = stablehlo.constant dense<1> : tensor<2xi32>
    %eight = stablehlo.constant dense<[8, 4]> : tensor<2xi32>
    %four = stablehlo.constant dense<4> : tensor<2xi32>
    // expected-note @+1 {{1 x 'stablehlo.dynamic_pad': has a result of the shape [9, 9], but its operands make [12, 12]}}
    %0 = stablehlo.dynamic_pad %x, %s, %four, %one, %one : (tensor<4x4xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<9x9xf32>
    // expected-note @+1 {{1 x 'stablehlo.real_dynamic_slice': cannot take elements 4 to 1 of 4}}
    %1 = stablehlo.real_dynamic_slice %x, %four, %one, %one : (tensor<4x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x2xf32>
    // expected-note @+1 {{1 x 'stablehlo.dynamic_iota': output_shape [1, 1] for a result of the shape [4, 4]}}
    %2 = stablehlo.dynamic_iota %one, dim = 0 : (tensor<2xi32>) -> tensor<4x4xf32>
    // expected-note @+1 {{1 x 'stablehlo.dynamic_broadcast_in_dim': cannot repeat dimension 0 of 'tensor<4x4xf32>' along dimension 0 of 'tensor<8x4xf32>'}}
    %3 = stablehlo.dynamic_broadcast_in_dim %x, %eight, dims = [0, 1] : (tensor<4x4xf32>, tensor<2xi32>) -> tensor<8x4xf32>
    // expected-note @+1 {{1 x 'stablehlo.dynamic_reshape': cannot make the 32 elements of 'tensor<8x4xf32>' of the 16 of 'tensor<4x4xf32>'}}
    %4 = stablehlo.dynamic_reshape %x, %eight : (tensor<4x4xf32>, tensor<2xi32>) -> tensor<8x4xf32>
    return %2 : tensor<4x4xf32>
  }
}

// -----

// Tuples that come from outside or go there, and what else is not there.

// expected-error @+1 {{dgc has no equivalent for 4 ops of this program}}
module {
  func.func @main(%x: tensor<4xf32>, %s: tensor<f32>, %b: tensor<i64>, %t: tuple<tensor<4xf32>>, %p: tensor<2xi1>) -> tuple<tensor<4xf32>> {
    // expected-note @+1 {{1 x 'stablehlo.get_tuple_element': values of the type tuple<tensor<4xf32>>}}
    %0 = stablehlo.get_tuple_element %t[0] : (tuple<tensor<4xf32>>) -> tensor<4xf32>
    %n = stablehlo.constant dense<4> : tensor<1xi64>
    %1 = stablehlo.rng %s, %s, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
    // expected-note @+1 {{1 x 'stablehlo.rng': random integers but of 8, 16 or 32 bits}}
    %r = stablehlo.rng %b, %b, %n, distribution = UNIFORM : (tensor<i64>, tensor<i64>, tensor<1xi64>) -> tensor<4xi64>
    // expected-note @+1 {{1 x 'stablehlo.einsum': a product of booleans}}
    %2 = stablehlo.einsum %p, %p, config = "a,a->" : (tensor<2xi1>, tensor<2xi1>) -> tensor<i1>
    // expected-note @+1 {{1 x 'stablehlo.tuple': values of the type tuple<tensor<4xf32>>}}
    %3 = stablehlo.tuple %1 : tuple<tensor<4xf32>>
    return %3 : tuple<tensor<4xf32>>
  }
}
