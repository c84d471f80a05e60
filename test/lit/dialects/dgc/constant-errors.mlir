// RUN: dgc-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{counts along dimension 1, but 'tensor<4xi32>' has rank 1}}
%0 = dgc.iota dim 1 : tensor<4xi32>

// -----

// expected-error @+1 {{result #0 must be a tensor of static shape of floats (f16, bf16, f32, f64) or integers (i8 to i64, ui8 to ui64), but got 'tensor<?xi32>'}}
%0 = dgc.iota dim 0 : tensor<?xi32>

// -----

// expected-error @+1 {{needs its result type: a tensor of static shape of numbers}}
%0 = dgc.iota dim 0 : !dgc.untyped

// -----

// expected-error @+1 {{needs the elements of a tensor, but got 'vector<4xf32>'; write dense<...> : tensor<...>}}
%0 = dgc.constant dense<1.0> : vector<4xf32>

// -----

func.func @offset(%k: tensor<i32>) {
  // expected-error @+1 {{operand #0 must be a scalar tensor<i64>, but got 'tensor<i32>'}}
  %0 = "dgc.iota"(%k) <{dimension = 0 : i64}> : (tensor<i32>) -> tensor<4xi32>
  return
}
