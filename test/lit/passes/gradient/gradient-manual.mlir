// RUN: dgc-opt %s --split-input-file --dgc-gradient --canonicalize --verify-diagnostics | FileCheck %s

// Megatron's pair: the all-reduce of the forward pass has none in the backward pass, and the gradient of the value that all
// devices share has one, though two matrices use it. That of the weights has none.
dist.mesh @mesh <model = 2>
// CHECK-LABEL: func.func @pair(
func.func @pair(%x: tensor<4x6xf32>, %u: tensor<6x8xf32>, %v: tensor<6x8xf32>, %d: tensor<8x6xf32>)
    -> (tensor<4x6xf32>, tensor<6x8xf32>, tensor<8x6xf32>) {
  %y = dist.manual %x, %u, %v, %d over @mesh ["model"]
      in [#dist.sharding<@mesh, [{}, {}]>, #dist.sharding<@mesh, [{}, {"model"}]>, #dist.sharding<@mesh, [{}, {"model"}]>,
          #dist.sharding<@mesh, [{"model"}, {}]>] out [#dist.sharding<@mesh, [{}, {}]>]
      : (tensor<4x6xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32> {
  ^bb0(%lx: tensor<4x6xf32>, %lu: tensor<6x4xf32>, %lv: tensor<6x4xf32>, %ld: tensor<4x6xf32>):
    %0 = dgc.matmul %lx, %lu : tensor<4x6xf32>, tensor<6x4xf32>
    %1 = dgc.matmul %lx, %lv : tensor<4x6xf32>, tensor<6x4xf32>
    %2 = dgc.multiply %0, %1 : tensor<4x4xf32>
    %3 = dgc.matmul %2, %ld : tensor<4x4xf32>, tensor<4x6xf32>
    %4 = dist.all_reduce sum %3 over @mesh ["model"] : tensor<4x6xf32>
    dist.return %4 : tensor<4x6xf32>
  }
  %loss = dgc.reduce sum %y dims [0, 1] : tensor<4x6xf32>
  // CHECK: %[[G:.*]]:3 = dist.manual
  // CHECK-SAME: out [#dist.sharding<@mesh, [{}, {}]>, #dist.sharding<@mesh, [{}, {"model"}]>, #dist.sharding<@mesh, [{"model"}, {}]>]
  // CHECK-NOT: dist.vary
  // CHECK: %[[SUM:.*]] = dgc.add
  // CHECK-NOT: dist.all_reduce
  // CHECK: %[[R:.*]] = dist.all_reduce {{.*}}sum %[[SUM]] over @mesh ["model"] origin "gradient of a value that devices share" : tensor<4x6xf32>
  // CHECK-NOT: dist.all_reduce
  // CHECK: dist.return %[[R]],
  // CHECK: return %[[G]]#0, %[[G]]#1, %[[G]]#2
  %g:3 = dgc.gradient %loss wrt %x, %u, %d : tensor<f32>, tensor<4x6xf32>, tensor<6x8xf32>, tensor<8x6xf32>
  return %g#0, %g#1, %g#2 : tensor<4x6xf32>, tensor<6x8xf32>, tensor<8x6xf32>
}

// -----

// A region that gives what is the same on all devices although nothing shows it: half of the gradient goes to each.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @ring(
func.func @ring(%x: tensor<4xf32>, %y: tensor<2xf32>) -> tensor<4xf32> {
  %r = dist.manual %x over @mesh ["data"] in [#dist.sharding<@mesh, [{"data"}]>] out [#dist.sharding<@mesh, [{}]>]
      : (tensor<4xf32>) -> tensor<2xf32> {
  ^bb0(%l: tensor<2xf32>):
    %0 = dist.permute %l targets [1, 0] over @mesh ["data"] : tensor<2xf32> to tensor<2xf32>
    %1 = dgc.add %l, %0 : tensor<2xf32>
    dist.return %1 : tensor<2xf32>
  }
  %p = dgc.multiply %r, %y : tensor<2xf32>
  %loss = dgc.reduce sum %p dims [0] : tensor<2xf32>
  // CHECK: dist.manual
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<2xf32>, %[[G:.*]]: tensor<2xf32>):
  // CHECK-NEXT: %[[C:.*]] = dgc.constant dense<5.000000e-01>
  // CHECK-NEXT: %[[H:.*]] = dgc.multiply %[[G]], %[[C]]
  // CHECK-NEXT: %[[B:.*]] = dist.permute %[[H]] targets [1, 0] over @mesh ["data"] origin "gradient of dist.permute"
  // CHECK-NEXT: dgc.add
  %g = dgc.gradient %loss wrt %x : tensor<f32>, tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

// What has no gradient is named, as anywhere.
dist.mesh @mesh <data = 2>
func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @+2 {{the value to differentiate by}}
  // expected-note-re @+1 {{the value flows argument #0 -> dist.all_reduce -> {{.*}} -> loss}}
  %r = dist.manual %x over @mesh ["data"] in [#dist.sharding<@mesh, [{"data"}]>] out [#dist.sharding<@mesh, [{}]>]
      : (tensor<4xf32>) -> tensor<2xf32> {
  ^bb0(%l: tensor<2xf32>):
    // expected-error @+1 {{'dist.all_reduce' op cannot be differentiated here}}
    %0 = dist.all_reduce product %l over @mesh ["data"] : tensor<2xf32>
    dist.return %0 : tensor<2xf32>
  }
  %loss = dgc.reduce sum %r dims [0] : tensor<2xf32>
  %g = dgc.gradient %loss wrt %x : tensor<f32>, tensor<4xf32>
  return %g : tensor<4xf32>
}
