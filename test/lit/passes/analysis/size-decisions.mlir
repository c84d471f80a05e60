// What passes decide by sizes is recorded in the module that asks for it, and done again in a module that says it.
// RUN: dgc-opt %s -split-input-file -dgc-combine-collectives="limit-bytes=24" | FileCheck %s

// The second all-reduce would make the group too large, the third does not.
// CHECK-LABEL: module @recorded
// CHECK-SAME: dgc.size_decisions = {"dgc-combine-collectives" = array<i1: true, false>}
// CHECK: dist.all_reduce sum %{{.*}} over @mesh ["data"] : tensor<4xf32>
// CHECK: dist.all_reduce sum %{{.*}}, %{{.*}} over @mesh ["data"] : tensor<2x2xf32>, tensor<f32>
module @recorded attributes {dgc.record_size_decisions} {
  dist.mesh @mesh <data = 2>
  func.func @f(%a: tensor<4xf32>, %b: tensor<2x2xf32>, %c: tensor<f32>) -> (tensor<4xf32>, tensor<2x2xf32>, tensor<f32>) {
    %0 = dist.all_reduce sum %a over @mesh ["data"] : tensor<4xf32>
    %1 = dist.all_reduce sum %b over @mesh ["data"] : tensor<2x2xf32>
    %2 = dist.all_reduce sum %c over @mesh ["data"] : tensor<f32>
    return %0, %1, %2 : tensor<4xf32>, tensor<2x2xf32>, tensor<f32>
  }
}

// -----

// With smaller sizes all would fit: what is said counts, and is used up. What follows is decided by sizes again.
// CHECK-LABEL: module @taken
// CHECK-SAME: dgc.size_decisions = {"dgc-combine-collectives" = array<i1>, "dgc-form-kernels" = array<i1: true>}
// CHECK: dist.all_reduce sum %{{.*}} over @mesh ["data"] : tensor<1xf32>
// CHECK: dist.all_reduce sum %{{.*}}, %{{.*}} over @mesh ["data"] : tensor<1x1xf32>, tensor<f32>
module @taken attributes {dgc.size_decisions = {"dgc-combine-collectives" = array<i1: true>, "dgc-form-kernels" = array<i1: true>}} {
  dist.mesh @mesh <data = 2>
  func.func @f(%a: tensor<1xf32>, %b: tensor<1x1xf32>, %c: tensor<f32>) -> (tensor<1xf32>, tensor<1x1xf32>, tensor<f32>) {
    %0 = dist.all_reduce sum %a over @mesh ["data"] : tensor<1xf32>
    %1 = dist.all_reduce sum %b over @mesh ["data"] : tensor<1x1xf32>
    %2 = dist.all_reduce sum %c over @mesh ["data"] : tensor<f32>
    return %0, %1, %2 : tensor<1xf32>, tensor<1x1xf32>, tensor<f32>
  }
}

// -----

// CHECK-LABEL: module @plain
// CHECK-NOT: dgc.size_decisions
// CHECK: dist.all_reduce sum %{{.*}}, %{{.*}} over
module @plain {
  dist.mesh @mesh <data = 2>
  func.func @f(%a: tensor<1xf32>, %b: tensor<1x1xf32>) -> (tensor<1xf32>, tensor<1x1xf32>) {
    %0 = dist.all_reduce sum %a over @mesh ["data"] : tensor<1xf32>
    %1 = dist.all_reduce sum %b over @mesh ["data"] : tensor<1x1xf32>
    return %0, %1 : tensor<1xf32>, tensor<1x1xf32>
  }
}
