// RUN: dgc-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected two values, as in '(%rate, %step)': the learning rate that a model gives and the number of the step}}
dgc.schedule_def @one(%step) {
  dgc.return %step
}

// -----

// expected-error @+1 {{'dgc.schedule_def' op gives 2 values: end it with 'dgc.return' of the learning rate}}
dgc.schedule_def @two(%rate, %step) {
  dgc.return %rate, %step
}

// -----

// expected-error @+1 {{'dgc.schedule_def' op gives 0 values: end it with 'dgc.return' of the learning rate}}
dgc.schedule_def @none(%rate, %step) {
}

// -----

// expected-error @+1 {{'dgc.schedule_def' op has the parameter "times" = 1.500000e+00, which must be at least 0 and below 1}}
dgc.schedule_def @default(%rate, %step) parameters ("times" %times = 1.5 in [0, 1)) {
  dgc.return %rate
}

// -----

// expected-error @+1 {{expected an i64, as the parameter is an integer}}
dgc.schedule_def @integer(%rate, %step) parameters ("every" %every integer = 1.5) {
  dgc.return %rate
}

// -----

// expected-error @+1 {{'dgc.schedule_def' op has a parameter "a.b": it is named by a word of letters, digits and _}}
dgc.schedule_def @dot(%rate, %step) parameters ("a.b" %a) {
  dgc.return %rate
}

// -----

// expected-error @+1 {{'dgc.schedule_def' op has two parameters "a": each needs a name of its own}}
dgc.schedule_def @twice(%rate, %step) parameters ("a" %a = 1.5, "a" %b) {
  dgc.return %rate
}

// -----

// expected-error @+1 {{'dgc.schedule_def' op has "a", which needs "b", and that is no parameter}}
dgc.schedule_def @needs(%rate, %step) parameters ("a" %a = 1.5 needs "b") {
  dgc.return %rate
}

// -----

dgc.schedule_def @variable(%rate, %step) {
  %y = dgc.repeat 2 "r" (%x = %rate) {
    // expected-error @+1 {{'dgc.variable' op is not of a schedule, which is a function of numbers: it has no variables, no gradients and nothing that differs between training and use}}
    %v = dgc.variable "v" zeros : tensor<f32>
    dgc.next %v
  }
  dgc.return %y
}

// -----

dgc.block @layer(%x) {
  %v = dgc.variable "v" zeros : tensor<f32>
  dgc.return %v
}
dgc.schedule_def @calls(%rate, %step) {
  // expected-error @+1 {{'dgc.call' op is in a schedule, and @layer has variables: a schedule is a function of the step}}
  %y = dgc.call @layer "v" (%rate)
  dgc.return %y
}

// -----

// expected-error @+1 {{'dgc.schedule_def' op has 100000000 ops with its repeats written out: it may have 16384}}
dgc.schedule_def @long(%rate, %step) {
  %y = dgc.repeat 100000000 "r" (%x = %rate) {
    %z = dgc.add %x, %x
    dgc.next %z
  }
  dgc.return %y
}

// -----

// Parameters of an optimizer have values.

// expected-error @+1 {{expected '='}}
dgc.optimizer_def @open(%w, %g, %rate, %step) parameters ("beta" %beta) {
  dgc.return %w
}

// -----

// expected-error @+1 {{'dgc.optimizer_def' op has the parameter "beta" without a value where a model gives none: of an optimizer it is a number or a truth, with one}}
"dgc.optimizer_def"() <{sym_name = "open", parameters = [#dgc.parameter<name = "beta">], states = []}> ({
^bb0(%w: !dgc.untyped, %g: !dgc.untyped, %rate: !dgc.untyped, %step: !dgc.untyped, %beta: !dgc.untyped):
  dgc.return %w
}) : () -> ()

// -----

// What a model says of a schedule is checked where it is.

func.func @unknown(%step: tensor<i64>) {
  // expected-error @+1 {{'dgc.learning_rate' op has a learning rate that follows @one_cycle, which there is not: write linear, cosine, polynomial, step, exponential, or @NAME, with a 'dgc.schedule_def @NAME' next to the model}}
  %0 = dgc.learning_rate %step 0.1 @one_cycle(steps 10)
  return
}

// -----

dgc.optimizer_def @signed(%w, %g, %rate, %step) {
  dgc.return %w
}
dgc.model @no_schedule {
  %x = dgc.input "x" : tensor<?x4xf32>
  %w = dgc.variable "w" zeros : tensor<4xf32>
  %y = dgc.multiply %x, %w
  %l = dgc.mean_squared_error %y, %x
  dgc.loss %l
  // expected-error @+1 {{'dgc.optimizer' op has a learning rate that follows @signed, which there is not: write linear,}}
  dgc.optimizer sgd learning_rate 0.1 @signed
}

// -----

dgc.schedule_def @own(%rate, %step) parameters ("steps" %n integer in [1, inf), "peak" %p = 0.5 in [0, 1], "word" %w = false needs "peak") {
  dgc.return %rate
}
dgc.model @field {
  %x = dgc.input "x" : tensor<?x4xf32>
  %w = dgc.variable "w" zeros : tensor<4xf32>
  %y = dgc.multiply %x, %w
  %l = dgc.mean_squared_error %y, %x
  dgc.loss %l
  // expected-error @+1 {{@own has no parameter 'step': it takes steps, peak or word}}
  dgc.optimizer sgd learning_rate 0.1 @own(step 10)
}

// -----

dgc.schedule_def @own(%rate, %step) {
  dgc.return %rate
}
func.func @no_parameters(%step: tensor<i64>) {
  // expected-error @+1 {{@own has no parameter 'step': it has none}}
  %0 = dgc.learning_rate %step 0.1 @own(step 10)
  return
}

// -----

dgc.schedule_def @own(%rate, %step) parameters ("steps" %n integer in [1, inf), "peak" %p = 0.5 in [0, 1], "word" %w = false needs "peak") {
  dgc.return %rate
}
func.func @missing(%step: tensor<i64>) {
  // expected-error @+1 {{'dgc.learning_rate' op gives no steps, which has no value otherwise: write 'steps INTEGER'}}
  %0 = dgc.learning_rate %step 0.1 @own
  return
}

// -----

dgc.schedule_def @own(%rate, %step) parameters ("steps" %n integer in [1, inf), "peak" %p = 0.5 in [0, 1], "word" %w = false needs "peak") {
  dgc.return %rate
}
func.func @not_integer(%step: tensor<i64>) {
  // expected-error @+1 {{'dgc.learning_rate' op gives no integer for steps: write 'steps INTEGER', without a decimal point}}
  %0 = dgc.learning_rate %step 0.1 @own(steps 10.0)
  return
}

// -----

dgc.schedule_def @own(%rate, %step) parameters ("steps" %n integer in [1, inf), "peak" %p = 0.5 in [0, 1], "word" %w = false needs "peak") {
  dgc.return %rate
}
func.func @integer_range(%step: tensor<i64>) {
  // expected-error @+1 {{'dgc.learning_rate' op has steps 0, which must be 1 or more}}
  %0 = dgc.learning_rate %step 0.1 @own(steps 0)
  return
}

// -----

dgc.schedule_def @own(%rate, %step) parameters ("steps" %n integer in [1, inf), "peak" %p = 0.5 in [0, 1], "word" %w = false needs "peak") {
  dgc.return %rate
}
func.func @range(%step: tensor<i64>) {
  // expected-error @+1 {{'dgc.learning_rate' op has peak 1.500000e+00, which must be at least 0 and at most 1}}
  %0 = dgc.learning_rate %step 0.1 @own(steps 10 peak 1.5)
  return
}

// -----

dgc.schedule_def @own(%rate, %step) parameters ("steps" %n integer in [1, inf), "peak" %p = 0.5 in [0, 1], "word" %w = false needs "peak") {
  dgc.return %rate
}
func.func @no_number(%step: tensor<i64>) {
  // expected-error @+1 {{'dgc.learning_rate' op gives no number for peak: write 'peak NUMBER'}}
  %0 = dgc.learning_rate %step 0.1 @own(steps 10 peak)
  return
}

// -----

dgc.schedule_def @own(%rate, %step) parameters ("steps" %n integer in [1, inf), "peak" %p = 0.5 in [0, 1], "word" %w = false needs "peak") {
  dgc.return %rate
}
func.func @number_for_word(%step: tensor<i64>) {
  // expected-error @+1 {{'dgc.learning_rate' op gives a number for word, which is a word alone: write 'word'}}
  %0 = dgc.learning_rate %step 0.1 @own(steps 10 word 1)
  return
}

// -----

dgc.schedule_def @own(%rate, %step) parameters ("steps" %n integer in [1, inf), "peak" %p = 0.5 in [0, 1], "word" %w = false needs "peak") {
  dgc.return %rate
}
func.func @needed(%step: tensor<i64>) {
  // expected-error @+1 {{'dgc.learning_rate' op has word but no peak, which it needs: write 'peak NUMBER' as well, not 0}}
  %0 = dgc.learning_rate %step 0.1 @own(steps 10 peak 0 word)
  return
}

// -----

func.func @twice(%step: tensor<i64>) {
  // expected-error @+1 {{parameter 'steps' is given a second time}}
  %0 = dgc.learning_rate %step 0.1 @own(steps 10 steps 11)
  return
}

// -----

func.func @no_name(%step: tensor<i64>) {
  // expected-error @+1 {{expected the name of a parameter and its value, as in '(steps 100)'}}
  %0 = dgc.learning_rate %step 0.1 @own(10)
  return
}

// -----

// Those of the language are checked in the same way.

dgc.model @steps {
  %x = dgc.input "x" : tensor<?x4xf32>
  %w = dgc.variable "w" zeros : tensor<4xf32>
  %y = dgc.multiply %x, %w
  %l = dgc.mean_squared_error %y, %x
  dgc.loss %l
  // expected-error @+1 {{'dgc.optimizer' op has steps 0, which must be 1 or more}}
  dgc.optimizer sgd learning_rate 0.1 linear steps 0 final 0.0
}

// -----

func.func @power(%step: tensor<i64>) {
  // expected-error @+1 {{'dgc.learning_rate' op has power 0.000000e+00, which must be above 0}}
  %0 = dgc.learning_rate %step 0.1 polynomial steps 10 final 0.0 power 0.0
  return
}

// -----

func.func @word(%step: tensor<i64>) {
  // expected-error @+1 {{expected 'times', as in 'learning_rate 0.1 step every STEPS times NUMBER'}}
  %0 = dgc.learning_rate %step 0.1 step every 10 final 0.0
  return
}

// -----

func.func @warm_up(%step: tensor<i64>) {
  // expected-error @+1 {{expected a number of steps above 0, not 0}}
  %0 = dgc.learning_rate %step 0.1 warm_up 0
  return
}
