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

// -----

// expected-error @+1 {{'dgc.literal' op attribute 'value' failed to satisfy constraint: a number: i64, ui64, f64 or i1}}
%0 = "dgc.literal"() <{value = "abc"}> : () -> !dgc.untyped

// -----

// expected-error @+1 {{'dgc.literal' op attribute 'value' failed to satisfy constraint: a number: i64, ui64, f64 or i1}}
%0 = "dgc.literal"() <{value = dense<1.0> : tensor<2xf64>}> : () -> !dgc.untyped

// -----

// expected-error @+1 {{'dgc.literal' op attribute 'value' failed to satisfy constraint: a number: i64, ui64, f64 or i1}}
%0 = "dgc.literal"() <{value = 1.0 : f32}> : () -> !dgc.untyped

// -----

// expected-error @+1 {{expected an integer from -9223372036854775808 to 18446744073709551615; a larger float has a decimal point, as in 1.0e20}}
%0 = dgc.literal 18446744073709551616

// -----

// expected-error @+1 {{expected an integer from -9223372036854775808 to 18446744073709551615}}
%0 = dgc.literal -9223372036854775809

// -----

// expected-error @+1 {{expected 0 or a number that f64 does not round to 0; the smallest is 5e-324}}
%0 = dgc.literal -1e-400

// -----

// expected-error @+1 {{expected 0 or a number that f64 does not round to 0; the smallest is 5e-324}}
%0 = dgc.literal 0.1e-400
