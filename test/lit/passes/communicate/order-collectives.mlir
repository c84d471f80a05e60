// RUN: dgc-opt %s -dgc-order-collectives | FileCheck %s

dist.mesh @a <data = 2>
dist.mesh @b <data = 2, first = 2>

// Collectives and transfers, counted for each function.
// CHECK-LABEL: func.func @one
func.func @one(%x: tensor<4xf32>) {
  // CHECK: dist.all_reduce {{.*}} {dist.order = 0 : i64}
  %0 = dist.all_reduce sum %x over @a ["data"] : tensor<4xf32>
  // CHECK: dist.send {{.*}} {dist.order = 1 : i64}
  dist.send %0 channel 0 from @a to @b : tensor<4xf32>
  // CHECK: dgc.negate
  // CHECK-NOT: dist.order
  // CHECK: dist.all_reduce {{.*}} {dist.order = 2 : i64}
  %1 = dgc.negate %0 : tensor<4xf32>
  %2 = dist.all_reduce sum %1 over @a ["data"] : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @two
func.func @two() {
  // CHECK: dist.recv {{.*}} {dist.order = 0 : i64}
  %0 = dist.recv channel 0 from @a to @b : tensor<4xf32>
  return
}
