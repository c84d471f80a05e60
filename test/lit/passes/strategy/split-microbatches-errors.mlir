// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-split-microbatches="count=4"

// More micro-batches than examples.
// expected-error@+1 {{the global batch of 3 cannot be split into 4 micro-batches: some would have no example; use at most 3}}
func.func @train(%x: tensor<3xf32> {dgc.batch_dim = 0 : i64}, %w: tensor<f32> {dgc.state = @w}) -> (tensor<f32> {dgc.state = @w}) {
  return %w : tensor<f32>
}

// -----

// Every example with every other.
func.func @train(%x: tensor<8x4xf32> {dgc.batch_dim = 0 : i64}, %w: tensor<8x8xf32> {dgc.state = @w}) -> (tensor<8x8xf32> {dgc.state = @w}) {
  // expected-error@+1 {{'dgc.dot_general' needs the examples of the whole batch together, so the batch cannot be split into micro-batches: it pairs examples with each other}}
  %y = dgc.dot_general %x, %x contract [1] x [1] : tensor<8x4xf32>, tensor<8x4xf32>
  return %y : tensor<8x8xf32>
}

// -----

// Elements that move along the batch.
func.func @train(%x: tensor<8xf32> {dgc.batch_dim = 0 : i64}, %w: tensor<8xf32> {dgc.state = @w}) -> (tensor<8xf32> {dgc.state = @w}) {
  // expected-error@+1 {{'dgc.reverse' needs the examples of the whole batch together, so the batch cannot be split into micro-batches: it moves elements along the batch dimension}}
  %y = dgc.reverse %x dims [0] : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// A reshape that makes two dimensions of the batch.
func.func @train(%x: tensor<8xf32> {dgc.batch_dim = 0 : i64}, %w: tensor<2x4xf32> {dgc.state = @w}) -> (tensor<2x4xf32> {dgc.state = @w}) {
  // expected-error@+1 {{it splits the batch dimension of its operand 0}}
  %y = dgc.reshape %x to [2, 4] : tensor<8xf32>
  return %y : tensor<2x4xf32>
}

// -----

// Inputs of different batches.
// expected-error@+1 {{the inputs have batches of 8 and 4 examples; micro-batches need one}}
func.func @train(%x: tensor<8xf32> {dgc.batch_dim = 0 : i64}, %y: tensor<4xf32> {dgc.batch_dim = 0 : i64}, %w: tensor<f32> {dgc.state = @w}) -> (tensor<f32> {dgc.state = @w}) {
  return %w : tensor<f32>
}
