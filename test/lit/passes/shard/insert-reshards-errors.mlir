// RUN: dgc-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect -dgc-propagate-shardings -dgc-insert-reshards

// An op of which nothing is known cannot take a part.
dist.mesh @mesh <a = 2>
func.func @unknown(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}]>}) -> tensor<8xf32> {
  // expected-error@+1 {{has no sharding rule, and an operand is spread as [{a}]; decompose the op first, or constrain the operand to be whole}}
  %0 = "test.unknown"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
