// RUN: dgc-opt %s -dgc-print-sharding-rules -verify-diagnostics -o /dev/null

// Elementwise: the same cut everywhere. Sums may be added, negated and scaled before they are whole.
func.func @elementwise(%x: tensor<4x8xf32>, %p: tensor<4x8xi1>, %i: tensor<4x8xi32>) {
  // expected-remark @+1 {{(a b), (a b) -> (a b) with a=4, b=8; linear in all}}
  %0 = dgc.add %x, %x : tensor<4x8xf32>
  // expected-remark @+1 {{(a b), (a b) -> (a b) with a=4, b=8; linear in all}}
  %1 = dgc.subtract %x, %0 : tensor<4x8xf32>
  // expected-remark @+1 {{(a b) -> (a b) with a=4, b=8; linear in all, 0}}
  %2 = dgc.negate %x : tensor<4x8xf32>
  // expected-remark @+1 {{(a b), (a b) -> (a b) with a=4, b=8; linear in 0, 1}}
  %3 = dgc.multiply %x, %0 : tensor<4x8xf32>
  // expected-remark @+1 {{(a b), (a b) -> (a b) with a=4, b=8; linear in 0}}
  %4 = dgc.divide %x, %0 : tensor<4x8xf32>
  // expected-remark-re @+1 {{(a b) -> (a b) with a=4, b=8{{$}}}}
  %5 = dgc.exponential %x : tensor<4x8xf32>
  // expected-remark @+1 {{(a b), (a b), (a b) -> (a b) with a=4, b=8; linear in all}}
  %6 = dgc.select %p, %x, %0 : tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>
  // expected-remark-re @+1 {{(a b), (a b) -> (a b) with a=4, b=8{{$}}}}
  %7 = dgc.divide %i, %i : tensor<4x8xi32>
  // expected-remark @+1 {{(a b) -> (a b) with a=4, b=8; linear in all, 0}}
  %8 = dgc.stop_gradient %x : tensor<4x8xf32>
  return
}

// Only a conversion that loses nothing may be done before a sum is whole.
func.func @convert(%x: tensor<4xf32>, %i: tensor<4xi32>) {
  // expected-remark @+1 {{(a) -> (a) with a=4; linear in all, 0}}
  %0 = dgc.convert %x to f64 : tensor<4xf32>
  // expected-remark-re @+1 {{(a) -> (a) with a=4{{$}}}}
  %1 = dgc.convert %x to bf16 : tensor<4xf32>
  // expected-remark-re @+1 {{(a) -> (a) with a=4{{$}}}}
  %2 = dgc.convert %i to f32 : tensor<4xi32>
  return
}

// A branch may be a partial sum when the other is zero.
func.func @select(%p: tensor<4xi1>, %x: tensor<4xf32>) {
  // expected-remark @+1 {{-> (a) with a=4}}
  %zero = dgc.constant dense<0.0> : tensor<4xf32>
  // expected-remark @+1 {{linear in all, 1}}
  %0 = dgc.select %p, %x, %zero : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>
  // expected-remark @+1 {{linear in all, 2}}
  %1 = dgc.select %p, %zero, %x : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>
  return
}

// Without operands. A constant with various elements is not the same in each part.
func.func @constants() {
  // expected-remark @+1 {{-> (a b) with a=4, b=8}}
  %0 = dgc.iota dim 1 : tensor<4x8xi32>
  // expected-remark @+1 {{-> (a) with a=2 whole}}
  %1 = dgc.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return
}

// A dimension that is repeated exists in the result alone.
func.func @broadcast(%x: tensor<8xf32>, %y: tensor<4x1xf32>, %s: tensor<f32>) {
  // expected-remark @+1 {{(b) -> (a b) with a=4, b=8; linear in all, 0}}
  %0 = dgc.broadcast_in_dim %x dims [1] to [4, 8] : tensor<8xf32>
  // expected-remark @+1 {{(a 1) -> (a b) with a=4, b=8; linear in all, 0}}
  %1 = dgc.broadcast_in_dim %y dims [0, 1] to [4, 8] : tensor<4x1xf32>
  // expected-remark @+1 {{() -> (a) with a=4; linear in all, 0}}
  %2 = dgc.broadcast_in_dim %s dims [] to [4] : tensor<f32>
  return
}

// Dimensions are split and merged factor by factor, from major to minor.
func.func @reshape(%x: tensor<32x28x28x1xf32>, %y: tensor<6x8xf32>, %z: tensor<4x6xf32>, %e: tensor<0x3xf32>) {
  // expected-remark @+1 {{(a b c 1) -> (a bc) with a=32, b=28, c=28; linear in all, 0}}
  %0 = dgc.reshape %x to [32, 784] : tensor<32x28x28x1xf32>
  // expected-remark @+1 {{(ab c) -> (a bc) with a=2, b=3, c=8; linear in all, 0}}
  %1 = dgc.reshape %y to [2, 24] : tensor<6x8xf32>
  // expected-remark @+1 {{(ab c) -> (1 a 1 b c) with a=2, b=3, c=8; linear in all, 0}}
  %2 = dgc.reshape %y to [1, 2, 1, 3, 8] : tensor<6x8xf32>
  // 4x6 and 8x3: after the common 4, the 6 is 2x3 on both sides.
  // expected-remark @+1 {{(a bc) -> (ab c) with a=4, b=2, c=3; linear in all, 0}}
  %3 = dgc.reshape %z to [8, 3] : tensor<4x6xf32>
  // 4x6 and 6x4: after the common 2, what is left of both has nothing in common.
  // expected-remark @+1 {{(ab d) -> (ac e) with a=2, b=2 whole, c=3 whole, d=6 whole, e=4 whole; linear in all, 0}}
  %4 = dgc.reshape %z to [6, 4] : tensor<4x6xf32>
  // expected-remark @+1 {{(a b) -> (c d) with a=0 whole, b=3 whole, c=3 whole, d=0 whole; linear in all, 0}}
  %5 = dgc.reshape %e to [3, 0] : tensor<0x3xf32>
  return
}

func.func @moves(%x: tensor<4x8xf32>, %y: tensor<4x2xf32>, %s: tensor<f32>) {
  // expected-remark @+1 {{(b a) -> (a b) with a=8, b=4; linear in all, 0}}
  %0 = dgc.transpose %x permutation [1, 0] : tensor<4x8xf32>
  // expected-remark @+1 {{(a b) -> (a b) with a=4, b=8 moves; linear in all, 0}}
  %1 = dgc.reverse %x dims [1] : tensor<4x8xf32>
  // expected-remark @+1 {{(a b) -> (a b) with a=4, b=3 moves; linear in all, 0}}
  %2 = dgc.slice %x from [0, 2] to [4, 8] strides [1, 2] : tensor<4x8xf32>
  // expected-remark @+1 {{(a b), () -> (a b) with a=4, b=9 moves; linear in all}}
  %3 = dgc.pad %x, %s low [0, 1] high [0, 0] : tensor<4x8xf32>, tensor<f32>
  // expected-remark @+1 {{(a b), (a c) -> (a d) with a=4, b=8 whole, c=2 whole, d=10 whole; linear in all}}
  %4 = dgc.concatenate %x, %y dim 1 : tensor<4x8xf32>, tensor<4x2xf32>
  return
}

// Padding with zeros may be done before a sum is whole.
func.func @pad_zero(%x: tensor<4xf32>) {
  // expected-remark @+1 {{-> ()}}
  %zero = dgc.constant dense<0.0> : tensor<f32>
  // expected-remark @+1 {{(a), () -> (a) with a=6 moves; linear in all, 0}}
  %0 = dgc.pad %x, %zero low [1] high [1] : tensor<4xf32>, tensor<f32>
  return
}
