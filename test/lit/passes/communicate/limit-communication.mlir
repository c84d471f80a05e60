// RUN: dgc-opt %s -dgc-limit-communication='forbid=all_to_all,permute max-replicated-bytes=96' | FileCheck %s
// RUN: dgc-opt %s -dgc-limit-communication | FileCheck %s

// Nothing of what is forbidden, a gather that stays within the limit, and a combination of what was whole before.
dist.mesh @mesh <a = 2>
// CHECK-LABEL: func.func @allowed(
func.func @allowed(%x: tensor<4x3xf32>, %g: tensor<64xf32>) -> (tensor<8x3xf32>, tensor<64xf32>) {
  // CHECK: dist.all_gather
  %0 = dist.all_gather %x dim 0 over @mesh ["a"] : tensor<4x3xf32> to tensor<8x3xf32>
  // CHECK: dist.all_reduce
  %1 = dist.all_reduce sum %g over @mesh ["a"] : tensor<64xf32>
  return %0, %1 : tensor<8x3xf32>, tensor<64xf32>
}
