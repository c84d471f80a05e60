// RUN: dgc-opt %s -dgc-lower-to-programs -split-input-file -verify-diagnostics

func.func @left(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{is left in an entry function when it is scheduled}}
  %0 = dgc.add %a, %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh <data = 2>
func.func @no_order(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{has no place in the order of communication; dgc-order-collectives gives it one}}
  %0 = dist.all_reduce sum %a over @mesh ["data"] : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh <data = 2>
func.func @inner_dimension(%a: tensor<8x2xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{works on dimension 1; the executor moves whole ranges of memory, so it must be 0}}
  %0 = dist.all_gather %a dim 1 over @mesh ["data"] {dist.order = 0 : i64} : tensor<8x2xf32> to tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

dist.mesh @mesh <data = 2>
func.func @other_root(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{has the root 1; in an artifact the first member is the root}}
  %0 = dist.broadcast %a root 1 over @mesh ["data"] {dist.order = 0 : i64} : tensor<8xf32> to tensor<8xf32>
  return %0 : tensor<8xf32>
}
