// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-limit-communication='forbid=all_to_all,permute max-replicated-bytes=95'

// A forbidden collective: op, axes and cause.
dist.mesh @mesh <a = 2, b = 3>
func.func @forbidden(%x: tensor<4x6xf32>) -> tensor<8x3xf32> {
  // expected-error @+1 {{'dist.all_to_all' op is forbidden: over axis a (of 2 devices), of 96 bytes on each; cause: cut by a (user); needed as [{}, {a}] by dgc.reverse at x.mlir:1:1; spread the two ends alike, or forbid less (--forbid)}}
  %0 = dist.all_to_all %x split 1 concat 0 over @mesh ["a"] origin "cut by a (user); needed as [{}, {a}] by dgc.reverse at x.mlir:1:1" : tensor<4x6xf32> to tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// -----

// Every one that is too much is named, not only the first.
dist.mesh @mesh <a = 2, b = 3>
func.func @replicated(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>) -> (tensor<8x3xf32>, tensor<24x3xf32>) {
  // expected-error @+1 {{'dist.all_gather' op leaves the same 96 bytes on every device of axis a (of 2 devices), and 95 are allowed; keep the value cut, or allow more (--max-replicated-bytes)}}
  %0 = dist.all_gather %x dim 0 over @mesh ["a"] : tensor<4x3xf32> to tensor<8x3xf32>
  // expected-error @+1 {{'dist.all_gather' op leaves the same 288 bytes on every device of axes a, b (of 6 devices), and 95 are allowed; cause: z; keep the value cut}}
  %1 = dist.all_gather %y dim 0 over @mesh ["a", "b"] origin "z" : tensor<4x3xf32> to tensor<24x3xf32>
  return %0, %1 : tensor<8x3xf32>, tensor<24x3xf32>
}

// -----

// A sum that every device gets, and what one gives to all, are whole on all of them as well; the larger one of two counts.
dist.mesh @mesh <a = 2>
func.func @sum(%x: tensor<24xf32, #dist.partial<sum, @mesh ["a"]>>, %y: tensor<2xf32, #dist.partial<sum, @mesh ["a"]>>, %z: tensor<30xf32>)
    -> (tensor<24xf32>, tensor<2xf32>, tensor<30xf32>) {
  // expected-error @+1 {{'dist.all_reduce' op leaves the same 96 bytes on every device of axis a (of 2 devices), and 95 are allowed}}
  %0:2 = dist.all_reduce sum %x, %y over @mesh ["a"] : tensor<24xf32, #dist.partial<sum, @mesh ["a"]>>, tensor<2xf32, #dist.partial<sum, @mesh ["a"]>>
  // expected-error @+1 {{'dist.broadcast' op leaves the same 120 bytes on every device of axis a (of 2 devices), and 95 are allowed}}
  %1 = dist.broadcast %z root 0 over @mesh ["a"] : tensor<30xf32> to tensor<30xf32>
  return %0#0, %0#1, %1 : tensor<24xf32>, tensor<2xf32>, tensor<30xf32>
}
