// RUN: dgc-opt %s --split-input-file --verify-diagnostics

func.func @f(%t: tensor<5x6xf32>, %i: tensor<7xi32>) {
  // expected-error @+1 {{'dgc.gather' op 'dim' has dimension 2, but the tensor has rank 2}}
  %0 = dgc.gather %t, %i dim 2 : tensor<5x6xf32>, tensor<7xi32>
  return
}

// -----

func.func @f(%t: tensor<5x6xf32>, %i: tensor<7xf32>) {
  // expected-error @+1 {{operand #1 must be a tensor of static shape of integers}}
  %0 = dgc.gather %t, %i dim 0 : tensor<5x6xf32>, tensor<7xf32>
  return
}

// -----

func.func @f(%i: tensor<7xi32>, %u: tensor<6x4xf32>) {
  // expected-error @+1 {{'dgc.scatter_add' op has indices of type 'tensor<7xi32>' and updates of type 'tensor<6x4xf32>': the dimensions of the updates from 0 on must be those of the indices}}
  %0 = dgc.scatter_add %i, %u dim 0 size 3 : tensor<7xi32>, tensor<6x4xf32>
  return
}

// -----

func.func @f(%i: tensor<7xi32>, %u: tensor<7x4xf32>) {
  // expected-error @+1 {{'dgc.scatter_add' op would have a result of size -1 in dimension 0}}
  %0 = dgc.scatter_add %i, %u dim 0 size -1 : tensor<7xi32>, tensor<7x4xf32>
  return
}

// -----

func.func @f(%x: tensor<5x4xf32>, %u: tensor<2x3xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{has an operand of type 'tensor<5x4xf32>' and an update of type 'tensor<2x3xf32>': the update has the same element type, and the same sizes but for dimension 0, where it is not larger}}
  %0 = dgc.dynamic_update_slice %x, %u at %i dim 0 : tensor<5x4xf32>, tensor<2x3xf32>, tensor<i32>
  return
}

// -----

func.func @f(%x: tensor<5x4xf32>, %u: tensor<2x4xf32>, %i: tensor<2xi32>) {
  // expected-error @+1 {{begins at 'tensor<2xi32>': that must be one integer, as tensor<i32>}}
  %0 = dgc.dynamic_update_slice %x, %u at %i dim 0 : tensor<5x4xf32>, tensor<2x4xf32>, tensor<2xi32>
  return
}
