// RUN: dgc-opt %s --split-input-file --verify-diagnostics

func.func @f(%t: tensor<65xf32>, %i: tensor<2x3xi32>) {
  // expected-error @+1 {{'dgc.embedding' has a table of type 'tensor<65xf32>', which must be a matrix of shape [symbols, features]}}
  %0 = dgc.embedding %t, %i : tensor<65xf32>, tensor<2x3xi32>
  return
}

// -----

func.func @f(%x: tensor<2x7x8xf32>, %t: tensor<5x8xf32>) {
  // expected-error @+1 {{'dgc.position_embedding' has a table of 5 rows for a sequence of 7: it needs a row for every place}}
  %0 = dgc.position_embedding %x, %t : tensor<2x7x8xf32>, tensor<5x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x7x8xf32>, %t: tensor<9x4xf32>) {
  // expected-error @+1 {{the table must be [positions, features], the input [.., positions, features]}}
  %0 = dgc.position_embedding %x, %t : tensor<2x7x8xf32>, tensor<9x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x8xf32>) {
  // expected-error @+1 {{'dgc.attention' divides 8 and 8 features among 3 heads: the number of heads must divide both}}
  %0 = dgc.attention %x, %x, %x heads 3 : tensor<2x3x8xf32>
  return
}

// -----

func.func @f(%q: tensor<2x3x8xf32>, %k: tensor<2x5x8xf32>) {
  // expected-error @+1 {{'dgc.attention' is causal, but the query has 3 places and the key 5: these must be the same}}
  %0 = dgc.attention %q, %k, %k heads 2 causal : tensor<2x3x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>
  return
}

// -----

func.func @f(%q: tensor<2x3x8xf32>, %k: tensor<2x3x4xf32>) {
  // expected-error @+1 {{they must be [b, t, h * d], [b, s, h * d] and [b, s, h * e]}}
  %0 = dgc.attention %q, %k, %k heads 2 : tensor<2x3x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%q: tensor<3x8xf32>) {
  // expected-error @+1 {{'dgc.attention' has an operand of type 'tensor<3x8xf32>', which must be [batch, places, features]}}
  %0 = dgc.attention %q, %q, %q heads 2 : tensor<3x8xf32>
  return
}

// -----

func.func @f(%a: tensor<3x8xf32>, %b: tensor<8x5xf32>) {
  // expected-error @+1 {{the last dimension of the left (8) must be the last of the right (5)}}
  %0 = dgc.matmul %a, %b transposed : tensor<3x8xf32>, tensor<8x5xf32>
  return
}
