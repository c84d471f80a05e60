// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-lower-kernels-to-linalg

// expected-error @below {{kernels are on tensors of known shape, not on 'tensor<?xf32>'}}
func.func @unknown_shape(%a: tensor<?xf32>) -> tensor<?xf32> {
  return %a : tensor<?xf32>
}

// -----

// A region of hand-written linalg may not use what is outside of it.
func.func @captured_scalar(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @below {{the value}}
  %two = arith.constant 2.0 : f32
  %empty = tensor.empty() : tensor<4xf32>
  // expected-error @below {{'linalg.generic' op has a region that uses a value from outside: in a kernel that must be an operand of the op, or be computed in the region}}
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %scaled = arith.mulf %in, %two : f32
    linalg.yield %scaled : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// Also one that is an argument of the kernel.
// expected-note @below {{the value}}
func.func @captured_argument(%a: tensor<4xf32>, %b: tensor<f32>) -> tensor<4xf32> {
  %empty = tensor.empty() : tensor<4xf32>
  // expected-error @below {{has a region that uses a value from outside}}
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %scale = tensor.extract %b[] : tensor<f32>
    %scaled = arith.mulf %in, %scale : f32
    linalg.yield %scaled : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}
