// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-split-microbatches="count=4"

// More micro-batches than examples.
// expected-error@+1 {{the global batch of 3 cannot be split into 4 micro-batches: some would have no example; use at most 3}}
func.func @train(%x: tensor<3xf32> {dgc.batch_dim = 0 : i64}, %w: tensor<f32> {dgc.state = @w}) -> (tensor<f32> {dgc.state = @w}) {
  return %w : tensor<f32>
}

// -----

// Every example with every other, in a pipeline.
func.func @train(%x: tensor<8x4xf32> {dgc.batch_dim = 0 : i64}, %w: tensor<8x8xf32> {dgc.state = @w}) -> (tensor<8x8xf32> {dgc.state = @w}) {
  // expected-error@+1 {{'dgc.dot_general' needs the examples of the whole batch together, so the batch cannot be split into micro-batches: it pairs examples with each other}}
  %y = dgc.dot_general %x, %x contract [1] x [1] {dist.stage = 0 : i64} : tensor<8x4xf32>, tensor<8x4xf32>
  return %y : tensor<8x8xf32>
}

// -----

// Elements that move along the batch.
func.func @train(%x: tensor<8xf32> {dgc.batch_dim = 0 : i64}, %w: tensor<8xf32> {dgc.state = @w}) -> (tensor<8xf32> {dgc.state = @w}) {
  // expected-error@+1 {{'dgc.reverse' needs the examples of the whole batch together, so the batch cannot be split into micro-batches: it moves elements along the batch dimension}}
  %y = dgc.reverse %x dims [0] {dist.stage = 0 : i64} : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// A reshape that makes two dimensions of the batch.
func.func @train(%x: tensor<8xf32> {dgc.batch_dim = 0 : i64}, %w: tensor<2x4xf32> {dgc.state = @w}) -> (tensor<2x4xf32> {dgc.state = @w}) {
  // expected-error@+1 {{it splits the batch dimension of its operand 0}}
  %y = dgc.reshape %x to [2, 4] {dist.stage = 0 : i64} : tensor<8xf32>
  return %y : tensor<2x4xf32>
}

// -----

// Inputs of different batches.
// expected-error@+1 {{the inputs have batches of 8 and 4 examples; micro-batches need one}}
func.func @train(%x: tensor<8xf32> {dgc.batch_dim = 0 : i64}, %y: tensor<4xf32> {dgc.batch_dim = 0 : i64}, %w: tensor<f32> {dgc.state = @w}) -> (tensor<f32> {dgc.state = @w}) {
  return %w : tensor<f32>
}

// -----

// Micro-batches of one example, cut over two workers.
dist.mesh @mesh <data = 2>
// expected-warning@+1 {{a micro-batch of 1 examples over 2 workers leaves 1 of them without an example: use fewer micro-batches than 4, a larger --batch or fewer workers}}
func.func @train(%x: tensor<4xf32> {dgc.batch_dim = 0 : i64, dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) -> tensor<f32> {
  %s = dgc.reduce sum %x dims [0] : tensor<4xf32>
  return %s : tensor<f32>
}

// -----

// The last micro-batches have one example less.
dist.mesh @mesh <data = 2>
// expected-warning@+1 {{a micro-batch of 1 examples over 2 workers leaves 1 of them}}
func.func @train(%x: tensor<7xf32> {dgc.batch_dim = 0 : i64, dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) -> tensor<f32> {
  %s = dgc.reduce sum %x dims [0] : tensor<7xf32>
  return %s : tensor<f32>
}

// -----

// Two examples for two workers: no warning.
dist.mesh @mesh <data = 2>
func.func @train(%x: tensor<8xf32> {dgc.batch_dim = 0 : i64, dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) -> tensor<f32> {
  %s = dgc.reduce sum %x dims [0] : tensor<8xf32>
  return %s : tensor<f32>
}
