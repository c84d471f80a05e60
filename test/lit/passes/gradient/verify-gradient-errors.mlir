// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-verify-gradient=keep=dgc.gelu

// What is kept may be left.
func.func @kept(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dgc.gelu %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @composite(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{is a composite op that the target does not keep, and is left behind the phase gradient}}
  %0 = dgc.relu %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @gradient(%x: tensor<f32>) -> tensor<f32> {
  %y = dgc.multiply %x, %x : tensor<f32>
  // expected-error @+1 {{is left behind the phase gradient}}
  %g = dgc.gradient %y wrt %x : tensor<f32>, tensor<f32>
  return %g : tensor<f32>
}
