// RUN: dgc-opt %s --split-input-file --verify-diagnostics --dgc-decompose

// A definition has its types from the weights; what does not fit is said where it is written.

dgc.optimizer_def @shape(%w, %g, %rate, %step) {
  // expected-error @+2 {{'dgc.return' op gives a tensor of type 'tensor<f32>' for the new weight, which is 'tensor<4xf32>' of a weight of type 'tensor<4xf32>'}}
  %w1 = dgc.mean %w
  dgc.return %w1
}
func.func @f(%w: tensor<4xf32>, %lr: tensor<f32>, %step: tensor<i64>) -> tensor<4xf32> {
  // expected-note @+1 {{in the update of a weight of type 'tensor<4xf32>'}}
  %0 = dgc.apply_optimizer @shape(%w, %w, %lr, %step) : tensor<4xf32>, tensor<4xf32>, tensor<f32>
  return %0 : tensor<4xf32>
}

// -----

dgc.optimizer_def @number(%w, %g, %rate, %step) parameters ("beta" %beta = 0.5) {
  %part = dgc.subtract 1, %beta
  // expected-error @+1 {{'dgc.return' op gives a number for the new weight, which is a tensor: of a weight of type 'tensor<4xf32>' it is 'tensor<4xf32>'}}
  dgc.return %part
}
func.func @f(%w: tensor<4xf32>, %lr: tensor<f32>, %step: tensor<i64>) -> tensor<4xf32> {
  // expected-note @+1 {{in the update of a weight of type 'tensor<4xf32>'}}
  %0 = dgc.apply_optimizer @number(%w, %w, %lr, %step) : tensor<4xf32>, tensor<4xf32>, tensor<f32>
  return %0 : tensor<4xf32>
}

// -----

dgc.optimizer_def @broadcast(%w, %g, %rate, %step) {
  %wt = dgc.transpose %w permutation [1, 0]
  // expected-error @+1 {{'dgc.add' op cannot broadcast 'tensor<4x3xf32>' and 'tensor<3x4xf32>' to one shape}}
  %w1 = dgc.add %w, %wt
  dgc.return %w1
}
func.func @f(%w: tensor<4x3xf32>, %lr: tensor<f32>, %step: tensor<i64>) -> tensor<4x3xf32> {
  // expected-note @+1 {{in the update of a weight of type 'tensor<4x3xf32>'}}
  %0 = dgc.apply_optimizer @broadcast(%w, %w, %lr, %step) : tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>
  return %0 : tensor<4x3xf32>
}

// -----

// A number is infinite where it is used.

dgc.optimizer_def @infinite(%w, %g, %rate, %step) parameters ("beta" %beta = 0.0) {
  %ln = dgc.log %beta
  // expected-error @+1 {{'dgc.multiply' op cannot take the number -inf as an element of type 'f32', which does not hold it}}
  %w1 = dgc.multiply %w, %ln
  dgc.return %w1
}
func.func @f(%w: tensor<4xf32>, %lr: tensor<f32>, %step: tensor<i64>) -> tensor<4xf32> {
  // expected-note @+1 {{in the update of a weight of type 'tensor<4xf32>'}}
  %0 = dgc.apply_optimizer @infinite(%w, %w, %lr, %step) : tensor<4xf32>, tensor<4xf32>, tensor<f32>
  return %0 : tensor<4xf32>
}

// -----

dgc.optimizer_def @dim(%w, %g, %rate, %step) {
  // expected-error @+1 {{'dgc.size' op asks for dimension -3 of 'tensor<4x3xf32>'}}
  %n = dgc.size %w dim -3
  %w1 = dgc.multiply %w, %n
  dgc.return %w1
}
func.func @f(%w: tensor<4x3xf32>, %lr: tensor<f32>, %step: tensor<i64>) -> tensor<4x3xf32> {
  // expected-note @+1 {{in the update of a weight of type 'tensor<4x3xf32>'}}
  %0 = dgc.apply_optimizer @dim(%w, %w, %lr, %step) : tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>
  return %0 : tensor<4x3xf32>
}

// -----

dgc.block @a(%x) {
  // expected-error @+1 {{'dgc.call' op is inside of 64 others: does a block call itself?}}
  %y = dgc.call @a "again" (%x)
  dgc.return %y
}
dgc.optimizer_def @recursive(%w, %g, %rate, %step) {
  %w1 = dgc.call @a "a" (%w)
  dgc.return %w1
}
func.func @f(%w: tensor<4xf32>, %lr: tensor<f32>, %step: tensor<i64>) -> tensor<4xf32> {
  // expected-note @+1 {{in the update of a weight of type 'tensor<4xf32>'}}
  %0 = dgc.apply_optimizer @recursive(%w, %w, %lr, %step) : tensor<4xf32>, tensor<4xf32>, tensor<f32>
  return %0 : tensor<4xf32>
}
