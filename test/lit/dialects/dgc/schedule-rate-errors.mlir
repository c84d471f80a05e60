// RUN: dgc-opt %s --split-input-file --verify-diagnostics --dgc-decompose

// A definition has its types from the step; what does not fit is said where it is written.

dgc.schedule_def @integer(%rate, %step) {
  // expected-error @+1 {{'dgc.return' op gives a value of type 'tensor<i64>' for the learning rate, which is a number, or a float of the type tensor<f32>}}
  dgc.return %step
}
func.func @f(%step: tensor<i64>) -> tensor<f32> {
  // expected-note @+1 {{in this learning rate}}
  %0 = dgc.learning_rate %step 0.1 @integer
  return %0 : tensor<f32>
}

// -----

dgc.schedule_def @vector(%rate, %step) {
  %i = dgc.iota dim 0 : tensor<4xf32>
  %y = dgc.multiply %i, %rate
  // expected-error @+1 {{'dgc.return' op gives a value of type 'tensor<4xf32>' for the learning rate, which is a number, or a float of the type tensor<f32>}}
  dgc.return %y
}
func.func @f(%step: tensor<i64>) -> tensor<f32> {
  // expected-note @+1 {{in this learning rate}}
  %0 = dgc.learning_rate %step 0.1 @vector warm_up 10
  return %0 : tensor<f32>
}

// -----

dgc.schedule_def @truth(%rate, %step) {
  %y = dgc.compare lt %rate, 1.0
  // expected-error @+1 {{'dgc.return' op gives a truth or an integer for the learning rate, which is a float}}
  dgc.return %y
}
func.func @f(%step: tensor<i64>) -> tensor<f32> {
  // expected-note @+1 {{in this learning rate}}
  %0 = dgc.learning_rate %step 0.1 @truth
  return %0 : tensor<f32>
}

// -----

dgc.schedule_def @mixed(%rate, %step) {
  // expected-error @+1 {{'dgc.multiply' op cannot take the number 0.1 as an element of type 'i64'}}
  %y = dgc.multiply %step, %rate
  dgc.return %y
}
func.func @f(%step: tensor<i64>) -> tensor<f32> {
  // expected-note @+1 {{in this learning rate}}
  %0 = dgc.learning_rate %step 0.1 @mixed
  return %0 : tensor<f32>
}
