// RUN: dgc-opt %s --stablehlo-to-dgc --split-input-file --verify-diagnostics

// A function that is applied once for each of the updates of an element, in their order.

// expected-error @+1 {{dgc has no equivalent for 1 op of this program}}
module {
  func.func @main(%x: tensor<6x7xf32>, %i: tensor<4x1xi32>, %u: tensor<4x7xf32>) -> tensor<6x7xf32> {
    // expected-note @+1 {{1 x 'stablehlo.scatter': indices that may be equal, with a region that is neither the update nor one sum, difference, product, maximum, minimum, and or or}}
    %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.sqrt %a : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<6x7xf32>, tensor<4x1xi32>, tensor<4x7xf32>) -> tensor<6x7xf32>
    return %0 : tensor<6x7xf32>
  }
}

// -----

// A mask of 2^40 elements.

// expected-error @+1 {{dgc has no equivalent for 1 op of this program}}
module {
  func.func @main(%x: tensor<1048576xf32>, %i: tensor<1048576x1xi32>, %u: tensor<1048576xf32>) -> tensor<1048576xf32> {
    // expected-note @+1 {{1 x 'stablehlo.scatter': so many places and updates, of which two may be for one place}}
    %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      stablehlo.return %b : tensor<f32>
    }) : (tensor<1048576xf32>, tensor<1048576x1xi32>, tensor<1048576xf32>) -> tensor<1048576xf32>
    return %0 : tensor<1048576xf32>
  }
}
