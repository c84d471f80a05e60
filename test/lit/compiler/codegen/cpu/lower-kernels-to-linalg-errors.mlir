// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-lower-kernels-to-linalg

// expected-error @below {{kernels are on tensors of known shape, not on 'tensor<?xf32>'}}
func.func @unknown_shape(%a: tensor<?xf32>) -> tensor<?xf32> {
  return %a : tensor<?xf32>
}
