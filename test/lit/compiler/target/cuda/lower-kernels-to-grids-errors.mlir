// RUN: dgc-opt %s -split-input-file -verify-diagnostics --dgc-lower-kernels-to-linalg --dgc-lower-kernels-to-grids

// Each result would overwrite what the other is computed from.
// expected-error @below {{a result would overwrite an argument that is still needed}}
func.func @crossed(%a: tensor<8x16xf32>, %b: tensor<16x8xf32>) -> (tensor<8x16xf32>, tensor<16x8xf32>)
    attributes {dgc.inplace = array<i64: 0, 1>} {
  %0 = dgc.transpose %b permutation [1, 0] : tensor<16x8xf32>
  %1 = dgc.transpose %a permutation [1, 0] : tensor<8x16xf32>
  return %0, %1 : tensor<8x16xf32>, tensor<16x8xf32>
}

// -----

func.func @generated() -> tensor<2xindex> {
  // expected-error @below {{cannot be part of a kernel: there is no rule for its elements}}
  %r = tensor.generate {
  ^bb0(%k: index):
    tensor.yield %k : index
  } : tensor<2xindex>
  return %r : tensor<2xindex>
}
