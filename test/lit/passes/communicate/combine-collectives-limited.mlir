// RUN: dgc-opt %s -dgc-combine-collectives='limited=true' | FileCheck %s

// What is ready first comes first: the sum that is there early goes with the small one, not with the one that is
// needed first, which is there last.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @order(
func.func @order(%x: tensor<300x300xf32>, %loss: tensor<f32, #dist.partial<sum, @mesh ["data"]>>)
    -> (tensor<f32>, tensor<300x300xf32>, tensor<300x300xf32>) {
  // CHECK: %[[A:.*]] = dgc.dot_general
  // CHECK-NEXT: dist.all_reduce sum %{{.*}}, %[[A]] over
  // CHECK: %[[E:.*]] = dgc.tanh
  // CHECK: %[[B:.*]] = dgc.dot_general
  // CHECK-NEXT: dist.all_reduce sum %[[B]] over
  %a = dgc.dot_general %x, %x contract [0] x [0] {dgc.encodings = [#dist.partial<sum, @mesh ["data"]>]} : tensor<300x300xf32>, tensor<300x300xf32>
  %e = dgc.tanh %x : tensor<300x300xf32>
  %b = dgc.dot_general %e, %x contract [0] x [0] {dgc.encodings = [#dist.partial<sum, @mesh ["data"]>]} : tensor<300x300xf32>, tensor<300x300xf32>
  %0 = dist.all_reduce sum %loss over @mesh ["data"] : tensor<f32, #dist.partial<sum, @mesh ["data"]>>
  %2 = dist.all_reduce sum %b over @mesh ["data"] : tensor<300x300xf32, #dist.partial<sum, @mesh ["data"]>>
  %1 = dist.all_reduce sum %a over @mesh ["data"] : tensor<300x300xf32, #dist.partial<sum, @mesh ["data"]>>
  return %0, %1, %2 : tensor<f32>, tensor<300x300xf32>, tensor<300x300xf32>
}
