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

func.func @f(%q: tensor<2x7x8xf32>, %k: tensor<2x5x8xf32>) {
  // expected-error @+1 {{'dgc.attention' is causal, but the query has 7 places and the key 5: the places of the query are the last ones of the key, and must not be more}}
  %0 = dgc.attention %q, %k, %k heads 2 causal : tensor<2x7x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>
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

// -----

func.func @f(%q: tensor<2x3x8xf32>, %k: tensor<2x5x4xf32>) {
  // expected-error @+1 {{'dgc.attention' has 4 heads for queries and 3 for keys and values: the second number must divide the first}}
  %0 = dgc.attention %q, %k, %k heads 4 kv_heads 3 : tensor<2x3x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>
  return
}

// -----

func.func @f(%q: tensor<2x3x8xf32>, %k: tensor<2x5x8xf32>) {
  // expected-error @+1 {{they must be [b, t, 4 * d], [b, s, 2 * d] and [b, s, 2 * e]}}
  %0 = dgc.attention %q, %k, %k heads 4 kv_heads 2 : tensor<2x3x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>
  return
}

// -----

func.func @f(%q: tensor<2x3x8xf32>, %m: tensor<2x3x3xi1>) {
  // expected-error @+1 {{'dgc.attention' has a mask of type 'tensor<2x3x3xi1>' for scores of shape [2, 4, 3, 3], [batch, heads, places of the query, places of the key]: each dimension, from the last one on, must be 1 or that of the scores}}
  %0 = dgc.attention %q, %q, %q mask %m heads 4 : tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x3xi1>
  return
}

// -----

func.func @f(%q: tensor<2x3x8xf32>, %m: tensor<3x3xf64>) {
  // expected-error @+1 {{'dgc.attention' has a mask of type 'tensor<3x3xf64>' for a query of type 'tensor<2x3x8xf32>': its elements must be i1, or those of the query: 'dgc.convert %m to f32'}}
  %0 = dgc.attention %q, %q, %q mask %m heads 4 : tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<3x3xf64>
  return
}

// -----

func.func @f(%q: tensor<2x3x8xf32>, %m: tensor<3x3xi32>) {
  // expected-error @+1 {{'dgc.attention' has a mask of type 'tensor<3x3xi32>' for a query of type 'tensor<2x3x8xf32>': its elements must be i1, or those of the query: 'dgc.convert %m to f32'}}
  %0 = dgc.attention %q, %q, %q mask %m heads 4 : tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<3x3xi32>
  return
}

// -----

func.func @f(%x: tensor<2x3x6xf32>) {
  // expected-error @+1 {{'dgc.rotary_embedding' makes pairs of 6 features in 2 heads: each head must have the same even number of features}}
  %0 = dgc.rotary_embedding %x heads 2 : tensor<2x3x6xf32>
  return
}

// -----

func.func @f(%x: tensor<6xf32>) {
  // expected-error @+1 {{'dgc.rotary_embedding' has an input of type 'tensor<6xf32>', which must be [.., places, features]}}
  %0 = dgc.rotary_embedding %x : tensor<6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x6xf32>, %p: tensor<2xi32>) {
  // expected-error @+1 {{'dgc.rotary_embedding' has an input of type 'tensor<2x3x6xf32>' and places of type 'tensor<2xi32>': there must be one for each place of the sequence, [3], or for each place of each example, of the shape of the input without its last dimension}}
  %0 = dgc.rotary_embedding %x at %p : tensor<2x3x6xf32>, tensor<2xi32>
  return
}

// -----

func.func @f(%x: tensor<2x3x6xf32>) {
  // expected-error @+1 {{'dgc.rotary_embedding' has the base 0.000000e+00, which must be above 0}}
  %0 = dgc.rotary_embedding %x base 0 : tensor<2x3x6xf32>
  return
}

// -----

func.func @f(%t: tensor<65x4xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{'dgc.embedding_bag' adds up along the last dimension of the numbers, but 'tensor<i32>' has none; dgc.embedding takes one row for a number}}
  %0 = dgc.embedding_bag %t, %i : tensor<65x4xf32>, tensor<i32>
  return
}

// -----

func.func @f(%t: tensor<65xf32>, %i: tensor<2x3xi32>) {
  // expected-error @+1 {{'dgc.embedding_bag' has a table of type 'tensor<65xf32>', which must be a matrix of shape [symbols, features]}}
  %0 = dgc.embedding_bag %t, %i : tensor<65xf32>, tensor<2x3xi32>
  return
}

// -----

func.func @f(%x: tensor<2x6x8xf32>, %r: tensor<7x4xf32>, %w: tensor<4x8x8xf32>, %b: tensor<4x8xf32>) {
  // expected-error @+1 {{'dgc.mixture_of_experts' has an input of type 'tensor<2x6x8xf32>' and a router of type 'tensor<7x4xf32>', which must be [8, experts]}}
  %0, %1 = dgc.mixture_of_experts %x, %r, %w, %b, %w, %b top 2 capacity 1
      : tensor<2x6x8xf32>, tensor<7x4xf32>, tensor<4x8x8xf32>, tensor<4x8xf32>, tensor<4x8x8xf32>, tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x6x8xf32>, %r: tensor<8x4xf32>, %w: tensor<4x8x8xf32>, %b: tensor<3x8xf32>) {
  // expected-error @+1 {{with 4 experts and 8 features they must be [4, 8, h], [4, h], [4, h, e] and [4, e]}}
  %0, %1 = dgc.mixture_of_experts %x, %r, %w, %b, %w, %b top 2 capacity 1
      : tensor<2x6x8xf32>, tensor<8x4xf32>, tensor<4x8x8xf32>, tensor<3x8xf32>, tensor<4x8x8xf32>, tensor<3x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x6x8xf32>, %r: tensor<8x4xf32>, %w: tensor<4x8x8xf32>, %b: tensor<4x8xf32>) {
  // expected-error @+1 {{'dgc.mixture_of_experts' gives each token to 5 of 4 experts: there must be as many, and at least one}}
  %0, %1 = dgc.mixture_of_experts %x, %r, %w, %b, %w, %b top 5 capacity 1
      : tensor<2x6x8xf32>, tensor<8x4xf32>, tensor<4x8x8xf32>, tensor<4x8xf32>, tensor<4x8x8xf32>, tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x6x8xf32>, %r: tensor<8x4xf32>, %w: tensor<4x8x8xf32>, %b: tensor<4x8xf32>) {
  // expected-error @+1 {{'dgc.mixture_of_experts' has the capacity 0.000000e+00, which must be above 0 and at most 1e6}}
  %0, %1 = dgc.mixture_of_experts %x, %r, %w, %b, %w, %b top 2 capacity 0
      : tensor<2x6x8xf32>, tensor<8x4xf32>, tensor<4x8x8xf32>, tensor<4x8xf32>, tensor<4x8x8xf32>, tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<70000x8xf32>, %r: tensor<8x32768xf32>, %w: tensor<32768x8x8xf32>, %b: tensor<32768x8xf32>) {
  // expected-error @+1 {{'dgc.mixture_of_experts' has 32768 experts that take 70000 tokens each: together they must take less than 2147483648; lower the capacity}}
  %0, %1 = dgc.mixture_of_experts %x, %r, %w, %b, %w, %b top 1 capacity 1e6
      : tensor<70000x8xf32>, tensor<8x32768xf32>, tensor<32768x8x8xf32>, tensor<32768x8xf32>, tensor<32768x8x8xf32>, tensor<32768x8xf32>
  return
}
