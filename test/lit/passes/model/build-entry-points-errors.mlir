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

// -----

dgc.model @loss {
  %x = dgc.input "x" : tensor<4x3xf32> -> tensor<4x3xf32>
  %w = dgc.variable "w" zeros : tensor<3xf32> -> tensor<3xf32>
  %y = dgc.bias_add %x, %w : tensor<4x3xf32>, tensor<3xf32>
  %mean = dgc.mean_squared_error %y, %x : tensor<4x3xf32>
  // expected-note @+1 {{the running sum is here}}
  %sum = dgc.running_sum "sum" %mean : tensor<f32>
  // expected-error @+1 {{'dgc.loss' op depends on the running sum "sum", which only evaluate has: let a dgc.metric report the value, or take the sum over one batch, the operand of dgc.running_sum}}
  dgc.loss %sum : tensor<f32>
  dgc.optimizer sgd learning_rate 0.1
}

// -----

dgc.model @output {
  %x = dgc.input "x" : tensor<4x3xf32> -> tensor<4x3xf32>
  // expected-note @+1 {{the running sum is here}}
  %sum = dgc.running_sum "sum" %x : tensor<4x3xf32>
  %y = dgc.relu %sum : tensor<4x3xf32>
  // expected-error @+1 {{'dgc.output' op depends on the running sum "sum", which only evaluate has}}
  dgc.output "y" %y : tensor<4x3xf32>
}

// -----

dgc.model @assigned {
  %x = dgc.input "x" : tensor<4x3xf32> -> tensor<4x3xf32>
  %last = dgc.variable "last" zeros : tensor<4x3xf32> -> tensor<4x3xf32>
  // expected-note @+1 {{the running sum is here}}
  %sum = dgc.running_sum "sum" %x : tensor<4x3xf32>
  // expected-error @+1 {{'dgc.assign' op depends on the running sum "sum", which only evaluate has}}
  dgc.assign %last, %sum in predict : tensor<4x3xf32>
  dgc.output "x" %x : tensor<4x3xf32>
}

// -----

dgc.model @rooted {
  %x = dgc.input "x" : tensor<4x3xf32> -> tensor<4x3xf32>
  %batch = dgc.reduce sum %x dims [0, 1] : tensor<4x3xf32>
  // expected-note @+1 {{the running sum is here}}
  %sum = dgc.running_sum "sum" %batch : tensor<f32>
  // expected-error @+1 {{'dgc.metric' op depends on the running sum "sum", so that its last value is reported, and not a mean or a quotient over all batches: write dgc.exponential, dgc.sqrt or dgc.divide instead of 'exp', 'sqrt' or 'over'}}
  dgc.metric "root" sqrt %sum : tensor<f32>
}

// -----

dgc.model @quotient {
  %x = dgc.input "x" : tensor<4x3xf32> -> tensor<4x3xf32>
  %batch = dgc.reduce sum %x dims [0, 1] : tensor<4x3xf32>
  // expected-note @+1 {{the running sum is here}}
  %sum = dgc.running_sum "sum" %batch : tensor<f32>
  // expected-error @+1 {{'dgc.metric' op depends on the running sum "sum", so that its last value is reported}}
  dgc.metric "part" %batch over %sum : tensor<f32>
}

// -----

dgc.model @area {
  %x = dgc.input "x" : tensor<4x3xf32> -> tensor<4x3xf32>
  // expected-note @+1 {{the running sum is here}}
  %sum = dgc.running_sum "sum" %x : tensor<4x3xf32>
  // expected-error @+1 {{'dgc.metric' op depends on the running sum "sum", and the area is that of the logits and labels of single examples: take those of the batch, or dgc.area_under_curve of sums}}
  dgc.metric "auc" area_under_curve %sum labels %x : tensor<4x3xf32>
}

// -----

dgc.model @unused {
  %x = dgc.input "x" : tensor<4x3xf32> -> tensor<4x3xf32>
  %batch = dgc.reduce sum %x dims [0, 1] : tensor<4x3xf32>
  // expected-error @+1 {{'dgc.running_sum' op is used by no dgc.metric: report what depends on it, or remove it}}
  %sum = dgc.running_sum "sum" %batch : tensor<f32>
  dgc.metric "batch" %batch : tensor<f32>
}
