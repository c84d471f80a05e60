// RUN: dgc-opt %s --split-input-file | FileCheck %s --check-prefix=UNTYPED
// RUN: dgc-opt %s --split-input-file --dgc-infer-types | FileCheck %s

// In a model a manual region has no types; they are inferred from the local shapes.
dist.mesh @mesh <data = 2, model = 2>
// UNTYPED-LABEL: dgc.model @collectives
// CHECK-LABEL: dgc.model @collectives
dgc.model @collectives {
  %x = dgc.input "x" : tensor<8x6xf32>
  %w = dgc.variable "w" zeros frozen : tensor<6x4xf32>
  // UNTYPED: %[[R:.*]]:2 = dist.manual (%[[X:.*]] = %{{.*}}, %[[W:.*]] = %{{.*}}) over @mesh ["data", "model"] in [#dist.sharding<@mesh, [{"data"}, {}]>, #dist.sharding<@mesh, [{}, {"model"}]>] out [#dist.sharding<@mesh, [{"data"}, {}]>, #dist.sharding<@mesh, [{"model"}, {}]>] {
  // CHECK: dist.manual %{{.*}}, %{{.*}} over @mesh ["data", "model"] {{.*}} : (tensor<8x6xf32>, tensor<6x4xf32>) -> (tensor<8x4xf32>, tensor<4x16xf32>) {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<4x6xf32>, %{{.*}}: tensor<6x2xf32>):
  %r:2 = dist.manual (%lx = %x, %lw = %w) over @mesh ["data", "model"]
      in [#dist.sharding<@mesh, [{"data"}, {}]>, #dist.sharding<@mesh, [{}, {"model"}]>]
      out [#dist.sharding<@mesh, [{"data"}, {}]>, #dist.sharding<@mesh, [{"model"}, {}]>] {
    // UNTYPED: dgc.matmul %[[X]], %[[W]]{{ *$}}
    // CHECK: dgc.matmul %{{.*}}, %{{.*}} : tensor<4x6xf32>, tensor<6x2xf32>
    %h = dgc.matmul %lx, %lw
    // UNTYPED: dist.all_gather %{{.*}} dim 1 over @mesh ["model"]{{ *$}}
    // CHECK: dist.all_gather %{{.*}} dim 1 over @mesh ["model"] : tensor<4x2xf32> to tensor<4x4xf32>
    %g = dist.all_gather %h dim 1 over @mesh ["model"]
    // UNTYPED: dist.all_reduce {{.*}}sum %{{.*}}, %{{.*}} over @mesh ["data"]{{ *$}}
    // CHECK: dist.all_reduce {{.*}}sum %{{.*}}, %{{.*}} over @mesh ["data"] : tensor<4x4xf32>, tensor<4x2xf32>
    %s:2 = dist.all_reduce sum %g, %h over @mesh ["data"]
    // CHECK: dist.all_to_all %{{.*}} split 0 concat 1 over @mesh ["model"] : tensor<4x4xf32> to tensor<2x8xf32>
    %a = dist.all_to_all %s#0 split 0 concat 1 over @mesh ["model"]
    // CHECK: dist.permute %{{.*}} targets [1, 0] over @mesh ["data"] : tensor<2x8xf32> to tensor<2x8xf32>
    %p = dist.permute %a targets [1, 0] over @mesh ["data"]
    // UNTYPED: dist.reduce_scatter {{.*}}sum %{{.*}} dim 1 over @mesh ["data"]{{ *$}}
    // CHECK: dist.reduce_scatter {{.*}}sum %{{.*}} dim 1 over @mesh ["data"] : tensor<2x8xf32> to tensor<2x4xf32>
    %c = dist.reduce_scatter sum %p dim 1 over @mesh ["data"]
    // CHECK: dist.broadcast %{{.*}} root 0 over @mesh ["model"] : tensor<2x4xf32> to tensor<2x4xf32>
    %b = dist.broadcast %c root 0 over @mesh ["model"]
    %i = dist.axis_index @mesh ["model"]
    // UNTYPED: dist.slice %{{.*}} at %{{.*}} dim 0 parts 2{{ *$}}
    // CHECK: dist.slice %{{.*}} at %{{.*}} dim 0 parts 2 : tensor<2x4xf32>
    %l = dist.slice %b at %i dim 0 parts 2
    // CHECK: dgc.concatenate %{{.*}} : tensor<1x4xf32>
    %k = dgc.concatenate %l, %l, %l, %l dim 1
    %m = dgc.concatenate %k, %k dim 0
    // UNTYPED: dist.return %{{.*}}, %{{.*}}{{ *$}}
    // CHECK: dist.return %{{.*}}, %{{.*}} : tensor<4x4xf32>, tensor<2x16xf32>
    dist.return %g, %m
  }
  // CHECK: dgc.negate %{{.*}} : tensor<4x16xf32>
  %n = dgc.negate %r#1
  dgc.output "r" %r#0
  dgc.output "n" %n
}
