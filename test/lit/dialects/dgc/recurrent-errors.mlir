// RUN: dgc-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<7x4xf32>, %w: tensor<4x12xf32>, %u: tensor<3x12xf32>, %b: tensor<12xf32>) {
  // expected-error @+1 {{has an input of type 'tensor<7x4xf32>', which must be [batch, time, features]}}
  %0:3 = dgc.lstm %x, %w, %u, %b : tensor<7x4xf32>, tensor<4x12xf32>, tensor<3x12xf32>, tensor<12xf32>
  return
}

// -----

func.func @f(%x: tensor<2x7x4xf32>, %w: tensor<4x12xf32>, %u: tensor<4x12xf32>, %b: tensor<12xf32>) {
  // expected-error @+1 {{has recurrent weights of type 'tensor<4x12xf32>', which must be [n, 4 * n]}}
  %0:3 = dgc.lstm %x, %w, %u, %b : tensor<2x7x4xf32>, tensor<4x12xf32>, tensor<4x12xf32>, tensor<12xf32>
  return
}

// -----

func.func @f(%x: tensor<2x7x4xf32>, %w: tensor<5x9xf32>, %u: tensor<3x9xf32>, %b: tensor<9xf32>) {
  // expected-error @+1 {{has weights of type 'tensor<5x9xf32>', which must be a matrix of 4 by 9}}
  %0:2 = dgc.gru %x, %w, %u, %b, %b : tensor<2x7x4xf32>, tensor<5x9xf32>, tensor<3x9xf32>, tensor<9xf32>, tensor<9xf32>
  return
}

// -----

func.func @f(%x: tensor<2x7x4xf32>, %w: tensor<4x9xf32>, %u: tensor<3x9xf32>, %b: tensor<9xf32>, %d: tensor<3xf32>) {
  // expected-error @+1 {{has a bias of type 'tensor<3xf32>', which must be a vector of 9 elements}}
  %0:2 = dgc.gru %x, %w, %u, %b, %d : tensor<2x7x4xf32>, tensor<4x9xf32>, tensor<3x9xf32>, tensor<9xf32>, tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x7x4xf32>, %w: tensor<4x12xf32>, %u: tensor<3x12xf32>, %b: tensor<12xf32>, %h: tensor<2x3xf32>) {
  // expected-error @+1 {{begins with 1 values; it carries 2}}
  %0:3 = dgc.lstm %x, %w, %u, %b initial %h : tensor<2x7x4xf32>, tensor<4x12xf32>, tensor<3x12xf32>, tensor<12xf32>, tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x7x4xf32>, %w: tensor<4x9xf32>, %u: tensor<3x9xf32>, %b: tensor<9xf32>, %h: tensor<3x2xf32>) {
  // expected-error @+1 {{begins with a value of type 'tensor<3x2xf32>', which must be 'tensor<2x3xf32>'}}
  %0:2 = dgc.gru %x, %w, %u, %b, %b initial %h : tensor<2x7x4xf32>, tensor<4x9xf32>, tensor<3x9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<3x2xf32>
  return
}
