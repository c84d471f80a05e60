// RUN: dgc-opt %s -split-input-file -verify-diagnostics

func.func @shape(%x: tensor<4x8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{needs operands of the same shape, but got 'tensor<4x8xf32>' and 'tensor<8xf32>'; dgc.bias_add adds a vector along the last dimension, dgc.broadcast_in_dim repeats one for any op}}
  %0 = dgc.add %x, %b : tensor<4x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @scalar(%x: tensor<4x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{repeat the scalar with dgc.broadcast_in_dim}}
  %0 = dgc.multiply %x, %s : tensor<4x8xf32>, tensor<f32>
  return
}

// -----

func.func @transposed(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) {
  // expected-error @+1 {{needs operands of the same shape, but got 'tensor<4x8xf32>' and 'tensor<8x4xf32>'; shapes are never broadcast silently}}
  %0 = dgc.compare lt %x, %y : tensor<4x8xf32>, tensor<8x4xf32>
  return
}

// -----

func.func @element(%x: tensor<4xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{needs operands of the same element type, but got 'tensor<4xf32>' and 'tensor<4xi32>'; use dgc.convert on one of them}}
  %0 = dgc.maximum %x, %y : tensor<4xf32>, tensor<4xi32>
  return
}

// -----

func.func @integers(%x: tensor<4xi32>) {
  // expected-error @+1 {{operand #0 must be a tensor of static shape of f16, bf16, f32 or f64, but got 'tensor<4xi32>'}}
  %0 = dgc.exponential %x : tensor<4xi32>
  return
}

// -----

func.func @floats(%x: tensor<4xf32>) {
  // expected-error @+1 {{operand #0 must be a tensor of static shape of integers (i8 to i64, ui8 to ui64) or i1, but got 'tensor<4xf32>'}}
  %0 = dgc.not %x : tensor<4xf32>
  return
}

// -----

func.func @not_a_tensor(%x: f32) {
  // expected-error @+1 {{needs tensors of static shape, but operand #0 is 'f32'}}
  %0 = dgc.negate %x : f32
  return
}

// -----

func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error @+1 {{needs tensors of static shape, but operand #0 is 'tensor<?xf32>'}}
  %0 = dgc.negate %x : tensor<?xf32>
  return
}

// -----

func.func @predicate(%p: tensor<4xi8>, %x: tensor<4xf32>) {
  // expected-error @+1 {{operand #0 must be a tensor of static shape of i1, but got 'tensor<4xi8>'}}
  %0 = dgc.select %p, %x, %x : tensor<4xi8>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @predicate_shape(%p: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @+1 {{needs operands of the same shape, but got 'tensor<i1>' and 'tensor<4xf32>'; repeat the scalar with dgc.broadcast_in_dim}}
  %0 = dgc.select %p, %x, %x : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @convert_element(%x: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'element_type' failed to satisfy constraint}}
  %0 = "dgc.convert"(%x) <{element_type = complex<f32>}> : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @count(%x: tensor<4xf32>) {
  // expected-error @+1 {{3 types for 2 operands: write one type for each operand, or a single one where all operands have the same type}}
  %0 = dgc.add %x, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @direction(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a relation before the operands: eq, ne, lt, le, gt or ge, as in 'dgc.compare lt %x, %y'}}
  %0 = dgc.compare less %x, %x : tensor<4xf32>
  return
}

// -----

func.func @wrong_result(%x: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<5xf32>'}}
  %0 = "dgc.negate"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @no_exponent(%x: tensor<4xf32>) {
  // expected-error @+1 {{keeps 0 bits of the exponent; at least one is needed}}
  %0 = dgc.reduce_precision %x exponent 0 mantissa 7 : tensor<4xf32>
  return
}

// -----

func.func @negative_mantissa(%x: tensor<4xf32>) {
  // expected-error @+1 {{keeps -1 bits of the mantissa; expected 0 or more}}
  %0 = dgc.reduce_precision %x exponent 8 mantissa -1 : tensor<4xf32>
  return
}

// -----

func.func @operand(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a value such as %x or, in a model, a number such as 0.5}}
  %0 = dgc.add %x, half : tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'dgc.bitcast_convert' op has elements of type 'f32' and 'i16'; bits become a number of the same width}}
  %0 = dgc.bitcast_convert %x to i16 : tensor<4xf32>
  return
}
