// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-verify-gradient=keep=dgc.gelu

// What is kept may be left.
func.func @kept(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dgc.gelu %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @composite(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{is a composite op that the target does not keep, and remains after the phase gradient}}
  %0 = dgc.relu %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @gradient(%x: tensor<f32>) -> tensor<f32> {
  %y = dgc.multiply %x, %x : tensor<f32>
  // expected-error @+1 {{remains after the phase gradient}}
  %g = dgc.gradient %y wrt %x : tensor<f32>, tensor<f32>
  return %g : tensor<f32>
}

// -----

// What needs no data is computed by each stage; all else has a stage where something has one.
func.func @staged(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = dgc.constant dense<1.0> : tensor<4xf32>
  %0 = dgc.exponential %x {dist.stage = 0} : tensor<4xf32>
  // expected-error @+1 {{has no stage after the phase gradient, and other ops have one}}
  %1 = dgc.add %0, %c : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

dgc.state @w weight zeros rng 0 : tensor<4xf32>
// expected-error @+1 {{takes the state @w, which has no stage after the phase gradient, and ops have one}}
func.func @state(%w: tensor<4xf32> {dgc.state = @w}) -> tensor<4xf32> {
  %0 = dgc.exponential %w {dist.stage = 0} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
