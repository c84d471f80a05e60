// RUN: dgc-opt %s -split-input-file -dgc-verify-partition | FileCheck %s

// A sum stays one through what is linear in it, and is combined once: all is well, and nothing changes.
// CHECK-LABEL: func.func @combined(
// CHECK-NEXT: dgc.reduce
// CHECK-NEXT: dgc.negate
// CHECK-NEXT: dist.all_reduce
// CHECK-NEXT: dgc.exponential
dist.mesh @mesh <data = 2>
func.func @combined(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  %0 = dgc.reduce sum %x dims [0] {dgc.encodings = [#dist.partial<sum, @mesh ["data"]>]} : tensor<4x8xf32>
  %1 = dgc.negate %0 {dgc.encodings = [#dist.partial<sum, @mesh ["data"]>]} : tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>
  %2 = dist.all_reduce sum %1 over @mesh ["data"] : tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>
  %3 = dgc.exponential %2 : tensor<8xf32>
  return %3 : tensor<8xf32>
}

// -----

// Without a mesh there is nothing to check.
// CHECK-LABEL: func.func @one_device(
// CHECK-NEXT: dgc.negate
func.func @one_device(%x: tensor<7xf32>) -> tensor<7xf32> {
  %0 = dgc.negate %x : tensor<7xf32>
  return %0 : tensor<7xf32>
}
