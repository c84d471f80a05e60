// RUN: dgc-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected four values, as in '(%w, %g, %rate, %step)': the weight, its gradient, the learning rate and the number of the step}}
dgc.optimizer_def @three(%w, %g, %rate) {
  dgc.return %w
}

// -----

// expected-error @+1 {{'dgc.optimizer_def' op gives 1 value, and has 1 state: end it with 'dgc.return' of the new weight and the new value of each state}}
dgc.optimizer_def @forgets(%w, %g, %rate, %step) state ("m" %m) {
  dgc.return %w
}

// -----

// expected-error @+2 {{expected a range such as [0, 1) or (0, inf): a bracket includes the number}}
dgc.optimizer_def @range(%w, %g, %rate, %step)
    parameters ("beta" %beta = 0.5 in 0) {
  dgc.return %w
}

// -----

// expected-error @+1 {{'dgc.optimizer_def' op has the parameter "beta" = 1.500000e+00, which must be at least 0 and below 1}}
dgc.optimizer_def @default(%w, %g, %rate, %step) parameters ("beta" %beta = 1.5 in [0, 1)) {
  dgc.return %w
}

// -----

// expected-error @+1 {{expected the value that the parameter has where a model gives none: a number, true or false}}
dgc.optimizer_def @no_default(%w, %g, %rate, %step) parameters ("beta" %beta = "x") {
  dgc.return %w
}

// -----

// expected-error @+1 {{'dgc.optimizer_def' op has a parameter "learning_rate": it is named by a word of letters, digits and _, other than those of all optimizers}}
dgc.optimizer_def @reserved(%w, %g, %rate, %step) parameters ("learning_rate" %r = 1.5) {
  dgc.return %w
}

// -----

// expected-error @+1 {{'dgc.optimizer_def' op has two parameters "a": each needs a name of its own}}
dgc.optimizer_def @twice(%w, %g, %rate, %step) parameters ("a" %a = 1.5, "a" %b = 2.0) {
  dgc.return %w
}

// -----

// expected-error @+1 {{'dgc.optimizer_def' op has "m", which needs "beta", and that is no parameter}}
dgc.optimizer_def @needs(%w, %g, %rate, %step) state ("m" %m needs "beta") {
  dgc.return %w, %m
}

// -----

// expected-error @+1 {{'dgc.optimizer_def' op has the state "m" that begins with "word": it is a number, or the name of a parameter that is one}}
dgc.optimizer_def @begins(%w, %g, %rate, %step) parameters ("word" %a = true) state ("m" %m = "word") {
  dgc.return %w, %m
}

// -----

// expected-error @+1 {{'dgc.optimizer_def' op has a state "a.b": each is named by a word of its own of letters, digits and _}}
dgc.optimizer_def @dot(%w, %g, %rate, %step) state ("a.b" %m) {
  dgc.return %w, %m
}

// -----

// expected-error @+1 {{'dgc.optimizer_def' op has the state "row" reduced along dimension -1, which not all weights have: write 'rank in [1, inf)' before the parameters, and 'else NAME' for the others}}
dgc.optimizer_def @rank(%w, %g, %rate, %step) state ("row" %m reduced [-1]) {
  dgc.return %w, %m
}

// -----

// expected-error @+1 {{'dgc.optimizer_def' op has the state "row" reduced along dimension 0: dimensions are counted from the last one, -1, and named once}}
dgc.optimizer_def @from_first(%w, %g, %rate, %step) rank in [1, inf) state ("row" %m reduced [0]) {
  dgc.return %w, %m
}

// -----

// expected-error @+1 {{'dgc.optimizer_def' op leaves weights of other ranks to itself, by way of @a}}
dgc.optimizer_def @a(%w, %g, %rate, %step) rank in [1, 1] else @b {
  dgc.return %w
}
dgc.optimizer_def @b(%w, %g, %rate, %step) rank in [2, 2] else @a {
  dgc.return %w
}

// -----

// expected-error @+1 {{'dgc.optimizer_def' op leaves other weights to @none, which there is not: write sgd, adam, adamw, rmsprop, adagrad, adafactor, lamb, lion, muon, or @NAME, with a 'dgc.optimizer_def @NAME' next to the model}}
dgc.optimizer_def @unknown(%w, %g, %rate, %step) rank in [1, 1] else @none {
  dgc.return %w
}

// -----

dgc.optimizer_def @variable(%w, %g, %rate, %step) {
  %y = dgc.repeat 2 "r" (%x = %w) {
    // expected-error @+1 {{'dgc.variable' op is not of an optimizer, which is a function of numbers: it has no variables, no gradients and nothing that differs between training and use}}
    %v = dgc.variable "v" zeros : tensor<4xf32>
    dgc.next %v
  }
  dgc.return %y
}

// -----

dgc.block @layer(%x) {
  %v = dgc.variable "v" zeros : tensor<4xf32>
  dgc.return %v
}
dgc.optimizer_def @calls(%w, %g, %rate, %step) {
  // expected-error @+1 {{'dgc.call' op is in an optimizer, and @layer has variables: an optimizer has states instead, after 'state'}}
  %y = dgc.call @layer "v" (%w)
  dgc.return %y
}

// -----

// expected-error @+1 {{'dgc.optimizer_def' op has 100000000 ops with its repeats written out, for each weight: it may have 16384}}
dgc.optimizer_def @long(%w, %g, %rate, %step) {
  %y = dgc.repeat 100000000 "r" (%x = %w) {
    %z = dgc.add %x, %x
    dgc.next %z
  }
  dgc.return %y
}

// -----

// What a model writes of an optimizer of its own is checked where it is.

dgc.optimizer_def @own(%w, %g, %rate, %step) parameters ("beta" %b = 0.5 in [0, 1), "word" %n = false needs "beta") {
  dgc.return %w
}
dgc.model @field {
  %x = dgc.input "x" : tensor<?x4xf32>
  %w = dgc.variable "w" zeros : tensor<4xf32>
  %y = dgc.multiply %x, %w
  %l = dgc.mean_squared_error %y, %x
  dgc.loss %l
  // expected-error @+1 {{@own has no field 'betta': it takes learning_rate, beta, word, clip_global_norm or average; after the learning rate there may be linear, cosine, polynomial, step, exponential or @SCHEDULE, and warm_up, and in the end for "NAMES"}}
  dgc.optimizer @own learning_rate 0.1 betta 0.9
}

// -----

dgc.optimizer_def @own(%w, %g, %rate, %step) parameters ("beta" %b = 0.5 in [0, 1), "word" %n = false needs "beta") {
  dgc.return %w
}
dgc.model @range_of_group {
  %x = dgc.input "x" : tensor<?x4xf32>
  %w = dgc.variable "w" zeros : tensor<4xf32>
  %y = dgc.multiply %x, %w
  %l = dgc.mean_squared_error %y, %x
  dgc.loss %l
  // expected-error @+1 {{'dgc.optimizer' op has beta 1.000000e+00, which must be at least 0 and below 1}}
  dgc.optimizer @own learning_rate 0.1 for "w" beta 1.0
}

// -----

dgc.optimizer_def @own(%w, %g, %rate, %step) parameters ("beta" %b = 0.5 in [0, 1), "word" %n = false needs "beta") {
  dgc.return %w
}
dgc.model @no_number {
  %x = dgc.input "x" : tensor<?x4xf32>
  %w = dgc.variable "w" zeros : tensor<4xf32>
  %y = dgc.multiply %x, %w
  %l = dgc.mean_squared_error %y, %x
  dgc.loss %l
  // expected-error @+1 {{'dgc.optimizer' op gives no number for beta: write 'beta NUMBER'}}
  dgc.optimizer @own learning_rate 0.1 beta
}

// -----

dgc.optimizer_def @own(%w, %g, %rate, %step) parameters ("beta" %b = 0.5 in [0, 1), "word" %n = false needs "beta") {
  dgc.return %w
}
dgc.model @number_for_word {
  %x = dgc.input "x" : tensor<?x4xf32>
  %w = dgc.variable "w" zeros : tensor<4xf32>
  %y = dgc.multiply %x, %w
  %l = dgc.mean_squared_error %y, %x
  dgc.loss %l
  // expected-error @+1 {{'dgc.optimizer' op gives a number for word, which is a word alone: write 'word'}}
  dgc.optimizer @own learning_rate 0.1 word 1.0
}

// -----

dgc.model @no_definition {
  %x = dgc.input "x" : tensor<?x4xf32>
  %w = dgc.variable "w" zeros : tensor<4xf32>
  %y = dgc.multiply %x, %w
  %l = dgc.mean_squared_error %y, %x
  dgc.loss %l
  // expected-error @+1 {{'dgc.optimizer' op is @own, which there is not: write sgd, adam}}
  dgc.optimizer @own learning_rate 0.1
}

// -----

dgc.model @patterns {
  // expected-error @+1 {{expected the names of variables, as in 'for "*.bias,*norm*" weight_decay 0.0'}}
  dgc.optimizer sgd learning_rate 0.1 for weight_decay 0.1
}

// -----

dgc.model @bad_pattern {
  // expected-error @+1 {{expected names, in which * is for any letters, not '[a'}}
  dgc.optimizer sgd learning_rate 0.1 for "w,[a" frozen
}

// -----

dgc.model @misplaced {
  // expected-error @+1 {{'learning_rate' is for all variables: write it before the first 'for', and 'learning_rate_factor NUMBER' behind it}}
  dgc.optimizer sgd learning_rate 0.1 for "w" learning_rate 0.2
}

// -----

dgc.model @size {
  %x = dgc.input "x" : tensor<?x4xf32>
  // expected-error @+1 {{'dgc.size' op expects parent op to be one of 'dgc.optimizer_def, dgc.repeat'}}
  %n = dgc.size %x dim 0
  dgc.output "n" %x
}

// -----

// The states are those that there are with the fields.

func.func @states(%w: tensor<4xf32>, %lr: tensor<f32>, %step: tensor<i64>) {
  // expected-error @+1 {{'dgc.apply_optimizer' op takes 1 state with these fields, not 0}}
  %0 = dgc.apply_optimizer sgd(%w, %w, %lr, %step) momentum 0.9 : tensor<4xf32>, tensor<4xf32>, tensor<f32>
  return
}

// -----

func.func @state_type(%w: tensor<4x3xf32>, %lr: tensor<f32>, %step: tensor<i64>) {
  // expected-error @+1 {{'dgc.apply_optimizer' op takes a state "row" of type 'tensor<4x1xf32>' with a weight of type 'tensor<4x3xf32>', not 'tensor<4x3xf32>'}}
  %0, %1:2 = dgc.apply_optimizer adafactor(%w, %w, %lr, %step) state(%w, %w) : tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>, tensor<4x3xf32>, tensor<4x3xf32>
  return
}

// -----

func.func @rank(%w: tensor<4xf32>, %lr: tensor<f32>, %step: tensor<i64>) {
  // expected-error @+1 {{'dgc.apply_optimizer' op is for weights whose rank is at least 2 and at most 2, not for 'tensor<4xf32>'}}
  %0, %1 = dgc.apply_optimizer muon(%w, %w, %lr, %step) state(%w) : tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>
  return
}

// -----

func.func @gradient(%w: tensor<4xf32>, %g: tensor<5xf32>, %lr: tensor<f32>, %step: tensor<i64>) {
  // expected-error @+1 {{'dgc.apply_optimizer' updates a weight of type 'tensor<4xf32>' with a gradient of type 'tensor<5xf32>': they must be the same}}
  %0 = dgc.apply_optimizer sgd(%w, %g, %lr, %step) : tensor<4xf32>, tensor<5xf32>, tensor<f32>
  return
}
