// RUN: dgc-opt %s --dgc-infer-types=batch=4 --dgc-build-entry-points --dgc-mask-padding --split-input-file --verify-diagnostics

// A metric is of the batch.

dgc.model @single {
  %x = dgc.input "x" : tensor<?x2xf32>
  // expected-error @+1 {{the metric "m" has values of the single examples, a 'tensor<4x2xf32>': take the mean or a sum over the batch (dgc.mean, dgc.reduce), or make it a dgc.output}}
  %y = dgc.tanh %x
  dgc.metric "m" %y
}

// -----

dgc.model @pairs {
  %x = dgc.input "x" : tensor<?x2xf32>
  %t = dgc.transpose %x permutation [1, 0]
  // expected-error @+1 {{the metric "m" has values of the single examples, a 'tensor<4x4xf32>'}}
  %y = dgc.matmul %x, %t
  dgc.metric "m" %y
}

// -----

dgc.model @quotient {
  %x = dgc.input "x" : tensor<?x2xf32>
  // expected-error @+1 {{the metric "m" has values of the single examples, a 'tensor<4xf32>'}}
  %y = dgc.reduce sum %x dims [1]
  %z = dgc.abs %y
  dgc.metric "m" %y over %z
}
