// RUN: dgc-opt %s -split-input-file -verify-diagnostics

func.func @broadcast_length(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{needs a number for each dimension in 'dims': 2 for 'tensor<4x8xf32>', but got 1}}
  %0 = dgc.broadcast_in_dim %x dims [0] to [4, 8] : tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_size(%x: tensor<8xf32>) {
  // expected-error @+1 {{cannot make dimension 0 of 'tensor<8xf32>', of size 8, into dimension 0 of the result, of size 4; only a dimension of size 1 is repeated}}
  %0 = dgc.broadcast_in_dim %x dims [0] to [4, 8] : tensor<8xf32>
  return
}

// -----

func.func @broadcast_order(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{needs ascending 'dims', but got 1 before 0; use dgc.transpose}}
  %0 = dgc.broadcast_in_dim %x dims [1, 0] to [8, 4] : tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_rank(%x: tensor<8xf32>) {
  // expected-error @+1 {{has dimension 2 in 'dims', but the result has rank 2}}
  %0 = dgc.broadcast_in_dim %x dims [2] to [4, 8] : tensor<8xf32>
  return
}

// -----

func.func @broadcast_negative(%x: tensor<f32>) {
  // expected-error @+1 {{would have a result of size -4 in dimension 0}}
  %0 = dgc.broadcast_in_dim %x dims [] to [-4] : tensor<f32>
  return
}

// -----

func.func @broadcast_overflow(%x: tensor<f32>) {
  // expected-error @+1 {{would have a result of more than 2^63 elements}}
  %0 = dgc.broadcast_in_dim %x dims [] to [4611686018427387904, 4] : tensor<f32>
  return
}

// -----

func.func @reshape_count(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{cannot make the 32 elements of 'tensor<4x8xf32>' into the 35 of 'tensor<5x7xf32>'; the numbers of elements must be equal}}
  %0 = dgc.reshape %x to [5, 7] : tensor<4x8xf32>
  return
}

// -----

func.func @reshape_infer(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{cannot infer the size written as -1: the other sizes make 5 elements, which does not divide the 32 of 'tensor<4x8xf32>'}}
  %0 = dgc.reshape %x to [5, -1] : tensor<4x8xf32>
  return
}

// -----

func.func @reshape_twice(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has -1 more than once in its shape; only one size can be inferred}}
  %0 = dgc.reshape %x to [-1, -1] : tensor<4x8xf32>
  return
}

// -----

func.func @transpose_twice(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'permutation' has dimension 1 twice}}
  %0 = dgc.transpose %x permutation [1, 1] : tensor<4x8xf32>
  return
}

// -----

func.func @slice_bounds(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{takes elements from 2 to 9 along dimension 1 of 'tensor<4x8xf32>'; needs 0 <= from <= to <= 8}}
  %0 = dgc.slice %x from [0, 2] to [4, 9] : tensor<4x8xf32>
  return
}

// -----

func.func @slice_stride(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has stride 0 along dimension 1; at least 1 is needed}}
  %0 = dgc.slice %x from [0, 2] to [4, 8] strides [1, 0] : tensor<4x8xf32>
  return
}

// -----

func.func @pad_value(%x: tensor<4x8xf32>, %v: tensor<f64>) {
  // expected-error @+1 {{needs a padding value of type tensor<'f32'>, but got 'tensor<f64>'}}
  %0 = dgc.pad %x, %v low [0, 0] high [0, 0] : tensor<4x8xf32>, tensor<f64>
  return
}

// -----

func.func @pad_negative(%x: tensor<4x8xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{would have a result of size -1 in dimension 0; sizes are at least 0}}
  %0 = dgc.pad %x, %v low [-3, 0] high [-2, 0] : tensor<4x8xf32>, tensor<f32>
  return
}

// -----

func.func @pad_interior(%x: tensor<4x8xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{has -1 in 'interior' for dimension 1; at least 0 is needed}}
  %0 = dgc.pad %x, %v low [0, 0] high [0, 0] interior [0, -1] : tensor<4x8xf32>, tensor<f32>
  return
}

// -----

func.func @concatenate_size(%x: tensor<4x8xf32>, %y: tensor<5x8xf32>) {
  // expected-error @+1 {{cannot put 'tensor<5x8xf32>' after 'tensor<4x8xf32>' along dimension 1; the element type and all other dimensions must be equal}}
  %0 = dgc.concatenate %x, %y dim 1 : tensor<4x8xf32>, tensor<5x8xf32>
  return
}

// -----

func.func @concatenate_dim(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'dim' has dimension 2, but the tensor has rank 2}}
  %0 = dgc.concatenate %x dim 2 : tensor<4x8xf32>
  return
}

// -----

func.func @reverse_dim(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'dims' has dimension 2, but the tensor has rank 2}}
  %0 = dgc.reverse %x dims [2] : tensor<4x8xf32>
  return
}
