// RUN: dgc-opt %s -dgc-hierarchical-all-reduce='links=host=20us:1GB/s,data=1us:20GB/s' | FileCheck %s
// RUN: dgc-opt %s -dgc-hierarchical-all-reduce | FileCheck %s --check-prefix=UNKNOWN
// RUN: dgc-opt %s -dgc-hierarchical-all-reduce='links=host=20us:1GB/s' | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN-NOT: dist.reduce_scatter
dist.mesh @mesh <host = 2, data = 4>

// Over the fast links first, and back; several values go together, and are padded to be cut.
// CHECK-LABEL: func.func @two_levels(
// CHECK-SAME: %[[X:.*]]: tensor<1024x3xf32>, %[[Y:.*]]: tensor<5xf32>
func.func @two_levels(%x: tensor<1024x3xf32>, %y: tensor<5xf32>) -> (tensor<1024x3xf32>, tensor<5xf32>) {
  // CHECK: %[[FX:.*]] = dgc.reshape %[[X]] to [3072]
  // CHECK: %[[FY:.*]] = dgc.reshape %[[Y]] to [5]
  // CHECK: %[[C:.*]] = dgc.concatenate %[[FX]], %[[FY]] dim 0
  // CHECK: %[[P:.*]] = dgc.pad %[[C]], %{{.*}} low [0] high [3]
  // CHECK: %[[S:.*]] = dist.reduce_scatter sum %[[P]] dim 0 over @mesh ["data"] origin "why" : tensor<3080xf32> to tensor<770xf32>
  // CHECK: %[[R:.*]] = dist.all_reduce sum %[[S]] over @mesh ["host"] origin "why" : tensor<770xf32>
  // CHECK: %[[G:.*]] = dist.all_gather %[[R]] dim 0 over @mesh ["data"] origin "why" : tensor<770xf32> to tensor<3080xf32>
  // CHECK: %[[GX:.*]] = dgc.slice %[[G]] from [0] to [3072]
  // CHECK: %[[RX:.*]] = dgc.reshape %[[GX]] to [1024, 3]
  // CHECK: %[[RY:.*]] = dgc.slice %[[G]] from [3072] to [3077]
  // CHECK: return %[[RX]], %[[RY]]
  %0:2 = dist.all_reduce sum %x, %y over @mesh ["host", "data"] origin "why" : tensor<1024x3xf32>, tensor<5xf32>
  return %0#0, %0#1 : tensor<1024x3xf32>, tensor<5xf32>
}

// One level, and so little that latency decides.
// CHECK-LABEL: func.func @one_level(
// CHECK-NOT: dist.reduce_scatter
func.func @one_level(%x: tensor<1024xf32>, %y: tensor<5xf32>) -> (tensor<1024xf32>, tensor<1024xf32>, tensor<5xf32>) {
  %0 = dist.all_reduce sum %x over @mesh ["host"] : tensor<1024xf32>
  %1 = dist.all_reduce sum %x over @mesh ["data"] : tensor<1024xf32>
  %2 = dist.all_reduce sum %y over @mesh ["host", "data"] : tensor<5xf32>
  return %0, %1, %2 : tensor<1024xf32>, tensor<1024xf32>, tensor<5xf32>
}
