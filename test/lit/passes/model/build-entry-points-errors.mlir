// RUN: dgc-opt %s --dgc-build-entry-points --split-input-file --verify-diagnostics

dgc.model @untyped {
  // expected-error @+1 {{this op is not typed yet: run dgc-infer-types first}}
  %x = dgc.input "x" : tensor<4x3xf32>
  dgc.output "x" %x
}

// -----

// expected-note @+1 {{the first one is here}}
dgc.model @one {
  %x = dgc.input "x" : tensor<4x3xf32> -> tensor<4x3xf32>
  dgc.output "x" %x : tensor<4x3xf32>
}
// expected-error @+1 {{a module holds one model: put this one in a file of its own}}
dgc.model @two {
  %x = dgc.input "x" : tensor<4x3xf32> -> tensor<4x3xf32>
  dgc.output "x" %x : tensor<4x3xf32>
}

// -----

// expected-error @+1 {{the name @predict is that of an entry point of the model @m: choose another}}
func.func @predict() { return }
dgc.model @m {
  %x = dgc.input "x" : tensor<4x3xf32> -> tensor<4x3xf32>
  dgc.output "x" %x : tensor<4x3xf32>
}

// -----

dgc.model @slot {
  %x = dgc.input "x" : tensor<4x3xf32> -> tensor<4x3xf32>
  // expected-error @+1 {{the name "w.momentum" is taken: it is that of an optimizer's state}}
  %w = dgc.variable "w" zeros : tensor<3xf32> -> tensor<3xf32>
  %v = dgc.variable "w.momentum" zeros : tensor<3xf32> -> tensor<3xf32>
  %y = dgc.bias_add %x, %w : tensor<4x3xf32>, tensor<3xf32>
  %z = dgc.bias_add %y, %v : tensor<4x3xf32>, tensor<3xf32>
  %loss = dgc.mean_squared_error %z, %x : tensor<4x3xf32>
  dgc.loss %loss : tensor<f32>
  dgc.optimizer sgd learning_rate 0.1 momentum 0.9
}

// -----

dgc.model @names {
  %x = dgc.input "x" : tensor<4x3xf32> -> tensor<4x3xf32>
  %w = dgc.variable "layer.bias" zeros : tensor<3xf32> -> tensor<3xf32>
  %y = dgc.bias_add %x, %w : tensor<4x3xf32>, tensor<3xf32>
  %loss = dgc.mean_squared_error %y, %x : tensor<4x3xf32>
  dgc.loss %loss : tensor<f32>
  // expected-error @+1 {{no variable is called '*.bais': there are layer.bias}}
  dgc.optimizer sgd learning_rate 0.1 for "*.bais" frozen
}

// -----

dgc.optimizer_def @matrices(%w, %g, %rate, %step) rank in [2, 2] {
  dgc.return %w
}
dgc.model @rank {
  %x = dgc.input "x" : tensor<4x3xf32> -> tensor<4x3xf32>
  // expected-note @+1 {{the variable is here}}
  %w = dgc.variable "b" zeros : tensor<3xf32> -> tensor<3xf32>
  %y = dgc.bias_add %x, %w : tensor<4x3xf32>, tensor<3xf32>
  %loss = dgc.mean_squared_error %y, %x : tensor<4x3xf32>
  dgc.loss %loss : tensor<f32>
  // expected-error @+1 {{@matrices does not train "b" of type 'tensor<3xf32>': name another optimizer for such weights behind its ranks, as in 'else adamw', or keep the variable as it is, with 'for "b" frozen'}}
  dgc.optimizer @matrices learning_rate 0.1
}
