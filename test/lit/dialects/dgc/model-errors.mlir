// RUN: dgc-opt %s --split-input-file --verify-diagnostics

// A field that the optimizer does not have.

dgc.model @field {
  %x = dgc.input "x" : tensor<?x4xf32>
  // expected-error @+1 {{sgd has no field 'momentun': it takes learning_rate, momentum, nesterov, weight_decay, clip_global_norm or average; after the learning rate there may be}}
  dgc.optimizer sgd learning_rate 0.1 momentun 0.9
}

// -----

dgc.model @kind {
  // expected-error @+1 {{unknown optimizer 'adamax': write sgd, adam, adamw, rmsprop, adagrad, adafactor, lamb, lion, muon, or @NAME, with a 'dgc.optimizer_def @NAME' next to the model}}
  dgc.optimizer adamax learning_rate 0.1
}

// -----

dgc.model @no_rate {
  // expected-error @+2 {{the optimizer needs a learning rate, such as 'learning_rate 0.1'}}
  dgc.optimizer sgd momentum 0.9
}

// -----

dgc.model @cosine {
  // expected-error @+1 {{expected 'final', as in 'learning_rate 0.1 cosine steps STEPS final NUMBER'}}
  dgc.optimizer sgd learning_rate 0.1 cosine steps 20 momentum 0.9
}

// -----

dgc.model @twice {
  // expected-error @+1 {{field 'momentum' is given a second time}}
  dgc.optimizer sgd learning_rate 0.1 momentum 0.9 momentum 0.8
}

// -----

dgc.model @range {
  // expected-error @+1 {{'dgc.optimizer' op has momentum 1.000000e+00, which must be at least 0 and below 1}}
  dgc.optimizer sgd learning_rate 0.1 momentum 1
}

// -----

dgc.model @beyond_f32 {
  // expected-error @+1 {{'dgc.optimizer' op has learning_rate 1.000000e+39, beyond the range of f32, in which optimizers compute: the largest is 3.4e38}}
  dgc.optimizer sgd learning_rate 1e39
}

// -----

dgc.model @nesterov {
  // expected-error @+1 {{has nesterov but no momentum, which it needs: write 'momentum NUMBER' as well, not 0}}
  dgc.optimizer sgd learning_rate 0.1 nesterov
}

// -----

// One loss, one optimizer, and neither without the other.

dgc.model @second_loss {
  %x = dgc.input "x" : tensor<?x4xf32>
  %w = dgc.variable "w" zeros : tensor<4x2xf32>
  %p = dgc.matmul %x, %w
  %l = dgc.mean_squared_error %p, %p
  // expected-note @+1 {{the first one is here}}
  dgc.loss %l
  // expected-error @+1 {{'dgc.loss' op is the second one of this model, which may have one: add the losses with dgc.add and give their sum to one dgc.loss}}
  dgc.loss %l
  dgc.optimizer sgd learning_rate 0.1
}

// -----

dgc.model @no_optimizer {
  %x = dgc.input "x" : tensor<?x4xf32>
  %l = dgc.mean_squared_error %x, %x
  // expected-error @+1 {{'dgc.loss' op needs an optimizer: add a line such as 'dgc.optimizer sgd learning_rate 0.1' to the model, or make this a dgc.metric to evaluate it only}}
  dgc.loss %l
}

// -----

dgc.model @no_loss {
  %x = dgc.input "x" : tensor<?x4xf32>
  dgc.output "x" %x
  // expected-error @+1 {{'dgc.optimizer' op has nothing to make small: add 'dgc.loss %value' to the model, or remove the optimizer to have predict only}}
  dgc.optimizer sgd learning_rate 0.1
}

// -----

// expected-error @+1 {{'dgc.model' op computes nothing: it needs a dgc.loss (with a dgc.optimizer), a dgc.metric or a dgc.output}}
dgc.model @nothing {
  %x = dgc.input "x" : tensor<?x4xf32>
}

// -----

// Names are unique.

dgc.model @names {
  // expected-note @+1 {{first used here}}
  %x = dgc.input "x" : tensor<?x4xf32>
  // expected-error @+1 {{'dgc.input' op uses the name "x" again: every input of a model needs a name of its own}}
  %y = dgc.input "x" : tensor<?x4xf32>
  dgc.output "x" %x
}

// -----

// A variable that nobody trains.

dgc.model @untrained {
  %x = dgc.input "x" : tensor<?x4xf32>
  %w = dgc.variable "w" zeros : tensor<4x2xf32>
  // expected-error @+1 {{'dgc.variable' op is not trained: the loss does not depend on "v" and no dgc.assign writes it; use it, remove it, or write 'frozen' after its initializer to keep it as it is}}
  %v = dgc.variable "v" zeros : tensor<4x2xf32>
  %p = dgc.matmul %x, %w
  %l = dgc.mean_squared_error %p, %p
  dgc.loss %l
  dgc.optimizer sgd learning_rate 0.1
}

// -----

dgc.model @integer_weight {
  %x = dgc.input "x" : tensor<?x4xf32>
  // expected-error @+1 {{cannot be trained, as its elements are 'i32'}}
  %w = dgc.variable "w" zeros : tensor<4x2xi32>
  %v = dgc.convert %w to f32
  %p = dgc.matmul %x, %v
  %l = dgc.mean_squared_error %p, %p
  dgc.loss %l
  dgc.optimizer sgd learning_rate 0.1
}

// -----

// Initializers.

dgc.model @init {
  // expected-error @+1 {{unknown initializer 'xavier': write zeros, constant VALUE, uniform LOW HIGH, normal MEAN STD, truncated_normal MEAN STD, glorot_uniform, glorot_normal, he_uniform, he_normal, file "PATH" or stored dense<..> : TYPE}}
  %w = dgc.variable "w" xavier : tensor<4x2xf32>
}

// -----

dgc.model @fans {
  // expected-error @+1 {{cannot be initialized by glorot_uniform: 'tensor<4xf32>' has no fan in and fan out, for which weights need two dimensions or more; zeros is usual for a bias}}
  %w = dgc.variable "w" glorot_uniform : tensor<4xf32>
  dgc.output "w" %w
}

// -----

dgc.model @bounds {
  // expected-error @+1 {{needs a lower bound below the upper one in 'uniform LOW HIGH'}}
  %w = dgc.variable "w" uniform 1 0 : tensor<4xf32>
  dgc.output "w" %w
}

// -----

dgc.model @open_shape {
  // expected-error @+1 {{has the type 'tensor<?xf32>': the shape of a variable is written in numbers}}
  %w = dgc.variable "w" zeros : tensor<?xf32>
  dgc.output "w" %w
}

// -----

// Inputs leave one dimension open at most.

dgc.model @two_open {
  // expected-error @+1 {{has more than one '?' in 'tensor<?x?xf32>': only the batch dimension is left open}}
  %x = dgc.input "x" : tensor<?x?xf32>
  dgc.output "x" %x
}

// -----

dgc.model @batch_dim {
  // expected-error @+1 {{has no dimension 2: 'batch' takes a dimension of 'tensor<?x4xf32>', counted from 0}}
  %x = dgc.input "x" batch 2 : tensor<?x4xf32>
  dgc.output "x" %x
}

// -----

// What may be assigned.

dgc.model @assign_input {
  %x = dgc.input "x" : tensor<?x4xf32>
  // expected-error @+1 {{assigns to what is not a variable: its first operand must be the result of a dgc.variable}}
  dgc.assign %x, %x
  dgc.output "x" %x
}

// -----

dgc.model @assign_frozen {
  %w = dgc.variable "w" zeros frozen : tensor<4xf32>
  // expected-error @+1 {{assigns to "w", which is frozen}}
  dgc.assign %w, %w
  dgc.output "w" %w
}

// -----

// A member of a model makes no sense elsewhere.

// expected-error @+1 {{'dgc.input' op expects parent op 'dgc.model'}}
%x = dgc.input "x" : tensor<?x4xf32>

// -----

dgc.model @element {
  // expected-error @+1 {{there are no elements of type 'index' in a model; there are f16, bf16, f32, f64, i8 to i64, ui8 to ui64 and i1}}
  %x = dgc.input "x" : tensor<32x3xindex>
}

// -----

// Running statistics that stay as they were initialized: what to write.

dgc.model @statistics {
  %x = dgc.input "x" : tensor<8x3xf32>
  %s = dgc.variable "s" constant 1 : tensor<3xf32>
  %o = dgc.variable "o" zeros : tensor<3xf32>
  // expected-note @+1 {{the variable is here}}
  %m = dgc.variable "m" zeros : tensor<3xf32>
  %v = dgc.variable "v" constant 1 : tensor<3xf32>
  // expected-error @+1 {{'dgc.batch_norm' op leaves the running statistic "m" as it was initialized, which evaluate and predict would normalize with: give it the new value, result 1 of this op (counted from 0), as in 'dgc.assign %m, %next', or write 'frozen' after its initializer to keep it}}
  %y, %a, %b = dgc.batch_norm %x, %s, %o, %m, %v
  %l = dgc.mean_squared_error %y, %x
  dgc.loss %l
  dgc.optimizer sgd learning_rate 0.1
}

// -----

// One of two is not enough.

dgc.model @one_statistic {
  %x = dgc.input "x" : tensor<8x3xf32>
  %s = dgc.variable "s" constant 1 : tensor<3xf32>
  %o = dgc.variable "o" zeros : tensor<3xf32>
  %m = dgc.variable "m" zeros : tensor<3xf32>
  // expected-note @+1 {{the variable is here}}
  %v = dgc.variable "v" constant 1 : tensor<3xf32>
  // expected-error @+1 {{leaves the running statistic "v" as it was initialized, which evaluate and predict would normalize with: give it the new value, result 2 of this op}}
  %y, %a, %b = dgc.batch_norm %x, %s, %o, %m, %v
  dgc.assign %m, %a
  %l = dgc.mean_squared_error %y, %x
  dgc.loss %l
  dgc.optimizer sgd learning_rate 0.1
}

// -----

// Statistics that are kept on purpose, and a model that only predicts, are as they should be.

dgc.model @frozen_statistics {
  %x = dgc.input "x" : tensor<8x3xf32>
  %s = dgc.variable "s" constant 1 : tensor<3xf32>
  %o = dgc.variable "o" zeros : tensor<3xf32>
  %m = dgc.variable "m" file "mean.npy" frozen : tensor<3xf32>
  %v = dgc.variable "v" file "variance.npy" frozen : tensor<3xf32>
  %y, %a, %b = dgc.batch_norm %x, %s, %o, %m, %v
  %l = dgc.mean_squared_error %y, %x
  dgc.loss %l
  dgc.optimizer sgd learning_rate 0.1
}

// -----

dgc.model @predicts {
  %x = dgc.input "x" : tensor<8x3xf32>
  %s = dgc.variable "s" constant 1 : tensor<3xf32>
  %o = dgc.variable "o" zeros : tensor<3xf32>
  %m = dgc.variable "m" zeros : tensor<3xf32>
  %v = dgc.variable "v" constant 1 : tensor<3xf32>
  %y, %a, %b = dgc.batch_norm %x, %s, %o, %m, %v
  dgc.output "y" %y
}

// -----

// A gradient that stops trains nothing.

dgc.model @stopped {
  %x = dgc.input "x" : tensor<8x3xf32>
  // expected-error @+1 {{is not trained: the loss depends on "w" through dgc.stop_gradient alone; write 'frozen' after its initializer to keep it as it is, or let a dgc.assign write it}}
  %w = dgc.variable "w" zeros : tensor<3xf32>
  %v = dgc.variable "v" zeros : tensor<3xf32>
  %c = dgc.stop_gradient %w
  %d = dgc.stop_gradient %v
  %a = dgc.multiply %c, %d
  %b = dgc.multiply %a, %v
  %y = dgc.multiply %x, %b
  %l = dgc.mean_squared_error %y, %x
  dgc.loss %l
  dgc.optimizer sgd learning_rate 0.1
}

// -----

// Numbers: what is accepted.

dgc.model @not_a_number {
  // expected-error @+1 {{expected a number such as 0.1 or 1e-3, not 'nan'}}
  %w = dgc.variable "w" constant nan : tensor<4xf32>
}

// -----

dgc.model @not_finite {
  // expected-error @+1 {{expected a finite number; the largest is 1.7e308}}
  %w = dgc.variable "w" constant 1e999 : tensor<4xf32>
}

// -----

dgc.model @negative_infinity {
  // expected-error @+1 {{expected a finite number; the largest is 1.7e308}}
  %w = dgc.variable "w" constant -1.0E+999 : tensor<4xf32>
}

// -----

dgc.model @no_number {
  // expected-error @+1 {{expected a number such as 0.1 or 1e-3}}
  %w = dgc.variable "w" constant : tensor<4xf32>
}

// -----

dgc.model @stored {
  // expected-error @+1 {{has the type 'tensor<3xf32>', and its initial value 'tensor<2xf32>'}}
  %w = dgc.variable "w" stored dense<[1.0, 2.0]> : tensor<2xf32> : tensor<3xf32>
}

// -----

dgc.model @m {
  %x = dgc.input "x" : tensor<?x4xf32>
  %n = dgc.variable "n" zeros : tensor<i32>
  %w = dgc.variable "w" zeros : tensor<4x2xf32>
  %y = dgc.dense %x, %w
  %loss = dgc.mean %y
  %next = dgc.add %n, 1
  // expected-error @+1 {{'dgc.assign' op is done in predict, which the model does not have: add a dgc.output}}
  dgc.assign %n, %next in predict
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}
