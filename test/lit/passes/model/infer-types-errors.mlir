// RUN: dgc-opt %s --dgc-infer-types --split-input-file --verify-diagnostics

// What, where, what would be accepted: the batch.

dgc.model @open {
  // expected-error @+1 {{input "x" leaves the batch open: give the global batch (dgc-compile --batch N, or dgc-infer-types=batch=N), or write it instead of '?'}}
  %x = dgc.input "x" : tensor<?x3xf32>
  dgc.output "x" %x
}

// -----

dgc.model @disagree {
  // expected-note @+1 {{"x" is here}}
  %x = dgc.input "x" : tensor<8x3xf32>
  // expected-error @+1 {{input "y" has a batch of 9, but "x" has one of 8: all inputs must agree}}
  %y = dgc.input "y" : tensor<9xi32>
  dgc.output "x" %x
}

// -----

dgc.model @no_example {
  // expected-error @+1 {{input "x" has a batch of 0: a batch has at least one example; write '?' and give the global batch when compiling}}
  %x = dgc.input "x" : tensor<0x3xf32>
  dgc.output "x" %x
}

// -----

dgc.model @misspelt {
  %x = dgc.input "x" : tensor<8x3xf32>
  // expected-error @+1 {{'dgc.relu' op has an attribute 'blok', which nothing knows; in a model there may be block, dims, and those of dialects, as in dist.sharding}}
  %y = dgc.relu %x {blok = "one"}
  dgc.output "x" %y
}

// -----

dgc.model @huge {
  // expected-error @+1 {{'dgc.input' op gives a value of type 'tensor<1099511627777xf32>', which has more than 2^40 elements; give a smaller batch (dgc-compile --batch N) or smaller shapes}}
  %x = dgc.input "x" : tensor<1099511627777xf32>
  dgc.output "x" %x
}

// -----

// An operand of the wrong element type is reported at the op that takes it.

dgc.model @bytes {
  %x = dgc.input "x" : tensor<8x3xui8>
  // expected-error @+1 {{'dgc.relu' op operand #0 must be a tensor of static shape of f16, bf16, f32 or f64, but got 'tensor<8x3xui8>'}}
  %y = dgc.relu %x
  dgc.output "y" %y
}

// -----

// Shapes that do not go together.

dgc.model @shapes {
  %x = dgc.input "x" : tensor<8x3xf32>
  %w = dgc.variable "w" zeros : tensor<4x2xf32>
  // expected-error @+1 {{'dgc.dense' multiplies 'tensor<8x3xf32>' by 'tensor<4x2xf32>': the last dimension of the left (3) must be the last but one of the right (4)}}
  %y = dgc.dense %x, %w
  dgc.output "y" %y
}

// -----

dgc.model @image_to_dense {
  %x = dgc.input "x" : tensor<8x5x5xf32>
  %w = dgc.variable "w" zeros : tensor<25x2xf32>
  // expected-error @+1 {{the last dimension of the input must be 25; where the input is an image, flatten it first: dgc.flatten %x}}
  %y = dgc.dense %x, %w
  dgc.output "y" %y
}

// -----

// A loss is a scalar.

dgc.model @per_example {
  %x = dgc.input "x" : tensor<8x3xf32>
  %w = dgc.variable "w" zeros : tensor<3x2xf32>
  %y = dgc.matmul %x, %w
  // expected-error @+1 {{'dgc.loss' op takes a scalar, but its operand is a 'tensor<8x2xf32>': take the mean over the batch}}
  dgc.loss %y
  dgc.optimizer sgd learning_rate 0.1
}

// -----

// Labels that are floats are distributions.

dgc.model @float_labels {
  %x = dgc.input "x" : tensor<8x3xf32>
  %l = dgc.input "l" : tensor<8xf32>
  // expected-error @+1 {{'dgc.cross_entropy' has labels of type 'tensor<8xf32>' for logits of type 'tensor<8x3xf32>': distributions have the shape of the logits, [batch, .., classes]; the numbers of classes must be integers}}
  %y = dgc.cross_entropy %x, %l
  dgc.metric "m" %y
}

// -----

dgc.block @layer(%x) {
  dgc.return %x
}
dgc.model @called {
  %x = dgc.input "x" : tensor<8x4xf32>
  // expected-error @+1 {{'dgc.call' op is still there: run dgc-inline-calls first}}
  %y = dgc.call @layer "first" (%x)
  dgc.output "y" %y
}
