// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-verify-model

// expected-error @+1 {{remains after the phase model}}
dgc.model @m {
  %x = dgc.input "x" : tensor<4x2xf32>
  dgc.output "y" %x
}

// -----

// expected-error @+1 {{counts the padding of its batch: 'dgc.padded' is left}}
func.func @evaluate(%x: tensor<4xf32> {dgc.batch_dim = 0 : i64}) attributes {dgc.padded} {
  return
}

// -----

// expected-error @+1 {{argument 0 is of the state @w, which there is not}}
func.func @train(%w: tensor<4xf32> {dgc.state = @w}) {
  return
}

// -----

dgc.state @w weight zeros rng 0 : tensor<4xf32>
// expected-error @+1 {{result 0 has the type 'tensor<8xf32>', and its state @w has 'tensor<4xf32>'}}
func.func @train(%x: tensor<8xf32>) -> (tensor<8xf32> {dgc.state = @w}) {
  return %x : tensor<8xf32>
}
