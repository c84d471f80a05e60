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

// -----

// Operands that cannot be broadcast: the dimension at fault, and the way out.

dgc.model @unequal {
  %x = dgc.input "x" : tensor<8x3xf32>
  %w = dgc.variable "w" zeros : tensor<8xf32>
  // expected-error @+1 {{'dgc.add' op cannot broadcast 'tensor<8x3xf32>' and 'tensor<8xf32>' to one shape: dimensions are compared from the last one on, and where they differ (3 and 8) one of them must be 1 or missing; dgc.reshape or dgc.broadcast_in_dim makes them fit}}
  %y = dgc.add %x, %w
  dgc.output "y" %y
}

// -----

dgc.model @elements {
  %x = dgc.input "x" : tensor<8x3xf32>
  %n = dgc.input "n" : tensor<8x1xui8>
  // expected-error @+1 {{'dgc.add' op needs operands of the same element type, but got 'tensor<8x3xf32>' and 'tensor<8x3xui8>'; use dgc.convert on one of them}}
  %y = dgc.add %x, %n
  dgc.output "y" %y
}

// -----

// Numbers that are no elements of the type.

dgc.model @fraction {
  %n = dgc.input "n" : tensor<8xi32>
  // expected-error @+1 {{'dgc.add' op cannot take the number 0.5 as an element of type 'i32', as the other operands are integers: write an integer, or make floats of them with dgc.convert}}
  %y = dgc.add %n, 0.5
  dgc.output "y" %y
}

// -----

dgc.model @too_large {
  %n = dgc.input "n" : tensor<8xui8>
  // expected-error @+1 {{'dgc.add' op cannot take the number 256 as an element of type 'ui8', which does not hold it}}
  %y = dgc.add 256, %n
  dgc.output "y" %y
}

// -----

dgc.model @too_large_a_float {
  %x = dgc.input "x" : tensor<8xf32>
  // expected-error @+1 {{cannot take the number 1.0e+300 as an element of type 'f32', which does not hold it}}
  %y = dgc.multiply %x, 1e300
  dgc.output "y" %y
}

// -----

dgc.model @too_small_a_float {
  %x = dgc.input "x" : tensor<8xf32>
  // expected-error @+1 {{cannot take the number 1.0e-46 as an element of type 'f32', which rounds it to 0}}
  %y = dgc.multiply %x, 1e-46
  dgc.output "y" %y
}

// -----

dgc.model @unsigned_for_signed {
  %n = dgc.input "n" : tensor<8xi64>
  // expected-error @+1 {{cannot take the number 18446744073709551615 as an element of type 'i64', which does not hold it}}
  %y = dgc.add %n, 18446744073709551615
  dgc.output "y" %y
}

// -----

dgc.model @negative {
  %n = dgc.input "n" : tensor<8xui64>
  // expected-error @+1 {{cannot take the number -1 as an element of type 'ui64', which does not hold it}}
  %y = dgc.add %n, -1
  dgc.output "y" %y
}

// -----

dgc.model @truth {
  %x = dgc.input "x" : tensor<8xf32>
  // expected-error @+1 {{cannot take the number true as an element of type 'f32': the other operands are numbers}}
  %y = dgc.multiply %x, true
  dgc.output "y" %y
}

// -----

dgc.model @numbers_alone {
  %x = dgc.input "x" : tensor<8xf32>
  %p = dgc.compare lt %x, 0.0
  // expected-error @+1 {{'dgc.select' op has numbers alone where one operand must say which element type they have: give one of them a type, as in 'dgc.constant dense<1.0> : tensor<f32>'}}
  %y = dgc.select %p, 1.0, 0.0
  dgc.output "y" %y
}

// -----

dgc.model @not_elementwise {
  %x = dgc.input "x" : tensor<8x3xf32>
  %c = dgc.literal 0.5
  // expected-error @+1 {{'dgc.dense' op takes a tensor as operand #1, not the number 0.5: only elementwise ops take numbers; write 'dgc.constant dense<0.5> : tensor<4xf32>', with the type that is meant}}
  %y = dgc.dense %x, %c
  dgc.output "y" %y
}

// -----

// A `?` is the batch, which is known where an input has one.

dgc.model @open_count {
  %s = dgc.input "s" : tensor<f32>
  // expected-error @+1 {{'dgc.iota' op has the type 'tensor<?xf32>', whose '?' is the batch, and no input of the model has one: write a number, or give it (dgc-compile --batch N)}}
  %i = dgc.iota dim 0 : tensor<?xf32>
  %y = dgc.multiply %i, %s
  dgc.output "y" %y
}

// -----

dgc.model @two_open {
  %x = dgc.input "x" : tensor<8xf32>
  // expected-error @+1 {{'dgc.iota' op has more than one '?' in 'tensor<?x?xf32>': only the batch dimension is left open}}
  %i = dgc.iota dim 0 : tensor<?x?xf32>
  dgc.output "i" %i
}

// -----

// Outside of models operands have equal types, and numbers are none.

func.func @strict(%x: tensor<4x3xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{'dgc.add' op needs operands of the same shape, but got 'tensor<4x3xf32>' and 'tensor<3xf32>'}}
  %z = dgc.add %x, %y : tensor<4x3xf32>, tensor<3xf32>
  return
}

// -----

func.func @number(%x: tensor<4xf32>) {
  // expected-error @+1 {{only in a model may a number be an operand; write a dgc.constant for it, such as dgc.constant dense<0.5> : tensor<4xf32>}}
  %z = dgc.add %x, 0.5 : tensor<4xf32>
  return
}

// -----

dgc.model @m {
  %x = dgc.input "x" : tensor<2x4xf32>
  %s = dgc.reduce sum %x dims [0, 1]
  %r = dgc.reduce sum %x dims [1]
  // expected-error @+1 {{'dgc.metric' op is a quotient of a 'tensor<f32>' and a 'tensor<2xf32>', which must have one shape: take sums over the batch, as dgc.precision and dgc.reduce sum do}}
  dgc.metric "m" %s over %r
}
