// RUN: dgc-opt %s -split-input-file -dgc-overlap-collectives | FileCheck %s

// Begins behind what it needs, the reshape along, and is waited for where it is needed.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @both_ways(
// CHECK-SAME: %[[A:.*]]: tensor<2x2xf32>, %[[B:.*]]: tensor<4xf32>
func.func @both_ways(%a: tensor<2x2xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NOT: dgc.exponential
  // CHECK: %[[N:.*]] = dgc.negate %[[A]]
  // CHECK: %[[V:.*]] = dgc.reshape %[[N]]
  // CHECK-NOT: dgc.exponential
  // CHECK: %[[S:.*]] = dist.all_reduce sum %[[V]]
  // CHECK-NOT: dist.done
  // CHECK: %[[E:.*]] = dgc.exponential %[[B]]
  // CHECK-NOT: dist.done
  // CHECK: %[[F:.*]] = dgc.exponential %[[E]]
  // CHECK: %[[R:.*]] = dist.done %[[S]] : tensor<4xf32>
  // CHECK: %[[W:.*]] = dgc.reshape %[[R]]
  // CHECK: %[[X:.*]] = dgc.reshape %[[W]]
  // CHECK: dgc.add %[[F]], %[[X]]
  %n = dgc.negate %a : tensor<2x2xf32>
  %e = dgc.exponential %b : tensor<4xf32>
  %v = dgc.reshape %n to [4] : tensor<2x2xf32>
  %s = dist.all_reduce sum %v over @mesh ["data"] : tensor<4xf32>
  %r = dist.done %s : tensor<4xf32>
  %w = dgc.reshape %r to [2, 2] : tensor<4xf32>
  %x = dgc.reshape %w to [4] : tensor<2x2xf32>
  %f = dgc.exponential %e : tensor<4xf32>
  %y = dgc.add %f, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Nothing to do meanwhile: no beginning and end.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @undone(
// CHECK: %[[S:.*]] = dist.all_reduce
// CHECK-NOT: dist.done
// CHECK: dgc.exponential %[[S]]
// CHECK-NOT: dist.done
func.func @undone(%a: tensor<4xf32>) -> tensor<4xf32> {
  %s = dist.all_reduce sum %a over @mesh ["data"] : tensor<4xf32>
  %r = dist.done %s : tensor<4xf32>
  %e = dgc.exponential %r : tensor<4xf32>
  return %e : tensor<4xf32>
}

// -----

// The order stays, and the third begins when the first has ended: what is gathered takes memory.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @two_at_a_time(
// CHECK-SAME: %[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<5xf32>, %[[C:.*]]: tensor<6xf32>, %[[X:.*]]: tensor<f32>
func.func @two_at_a_time(%a: tensor<4xf32>, %b: tensor<5xf32>, %c: tensor<6xf32>, %x: tensor<f32>)
    -> (tensor<8xf32>, tensor<10xf32>, tensor<12xf32>) {
  // Both begin before anything is computed.
  // CHECK-NOT: dgc.exponential
  // CHECK: %[[SA:.*]] = dist.all_gather %[[A]]
  // CHECK-NOT: {{dgc.exponential|dist}}
  // CHECK: %[[SB:.*]] = dist.all_gather %[[B]]
  // CHECK-NOT: dist
  // CHECK: dgc.exponential %[[X]]
  // The third fills the place of the first before what needs the first.
  // CHECK-NOT: dist
  // CHECK: %[[RA:.*]] = dist.done %[[SA]]
  // CHECK-NOT: {{dgc.exponential|dist}}
  // CHECK: %[[SC:.*]] = dist.all_gather %[[C]]
  // CHECK-NOT: dist
  // CHECK: dgc.exponential %[[RA]]
  // Each of the others ends right before what needs it.
  // CHECK-NOT: dist
  // CHECK: %[[RB:.*]] = dist.done %[[SB]]
  // CHECK-NOT: dist
  // CHECK: dgc.exponential %[[RB]]
  // CHECK-NOT: dist
  // CHECK: %[[RC:.*]] = dist.done %[[SC]]
  // CHECK: dgc.exponential %[[RC]]
  %0 = dgc.exponential %x : tensor<f32>
  %sa = dist.all_gather %a dim 0 over @mesh ["data"] : tensor<4xf32> to tensor<8xf32>
  %ra = dist.done %sa : tensor<8xf32>
  %ea = dgc.exponential %ra : tensor<8xf32>
  %sb = dist.all_gather %b dim 0 over @mesh ["data"] : tensor<5xf32> to tensor<10xf32>
  %rb = dist.done %sb : tensor<10xf32>
  %eb = dgc.exponential %rb : tensor<10xf32>
  %sc = dist.all_gather %c dim 0 over @mesh ["data"] : tensor<6xf32> to tensor<12xf32>
  %rc = dist.done %sc : tensor<12xf32>
  %ec = dgc.exponential %rc : tensor<12xf32>
  return %ea, %eb, %ec : tensor<8xf32>, tensor<10xf32>, tensor<12xf32>
}

// -----

// Not past a send.
dist.mesh @here <data = 1>
dist.mesh @there <data = 1, first = 1>
// CHECK-LABEL: func.func @transfers(
// CHECK-NOT: dist.all_reduce
// CHECK: dist.send
// CHECK-NOT: dgc.exponential
// CHECK: dist.all_reduce
// CHECK-NOT: dist
// CHECK: dgc.exponential
// CHECK: dist.done
// CHECK-NOT: dgc.exponential
// CHECK: dist.send
func.func @transfers(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  dist.send %b channel 0 from @here to @there : tensor<4xf32>
  %e = dgc.exponential %b : tensor<4xf32>
  %s = dist.all_reduce sum %a over @here ["data"] : tensor<4xf32>
  %r = dist.done %s : tensor<4xf32>
  dist.send %b channel 1 from @here to @there : tensor<4xf32>
  %f = dgc.exponential %e : tensor<4xf32>
  return %r, %f : tensor<4xf32>, tensor<4xf32>
}

// -----

// What comes behind a loop that communicates begins behind it: the order stays. What goes on from before may end behind it.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @loop(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<5xf32>, %[[Z:.*]]: tensor<6xf32>
func.func @loop(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<6xf32>) -> (tensor<4xf32>, tensor<5xf32>, tensor<6xf32>) {
  // CHECK: %[[SZ:.*]] = dist.all_reduce sum %[[Z]]
  // CHECK: dgc.scan
  // CHECK: dist.all_reduce
  // CHECK-NOT: dist.done
  // CHECK: dgc.yield
  // CHECK: %[[SY:.*]] = dist.all_reduce sum %[[Y]]
  // CHECK: dgc.exponential
  // CHECK-DAG: dist.done %[[SY]]
  // CHECK-DAG: dist.done %[[SZ]]
  // CHECK: return
  %sz = dist.all_reduce sum %z over @mesh ["data"] : tensor<6xf32>
  %rz = dist.done %sz : tensor<6xf32>
  %0 = dgc.scan (%h = %x) count 3 : tensor<4xf32> -> tensor<4xf32> {
    %s = dist.all_reduce sum %h over @mesh ["data"] : tensor<4xf32>
    dgc.yield %s : tensor<4xf32>
  }
  %e = dgc.exponential %0 : tensor<4xf32>
  %sy = dist.all_reduce sum %y over @mesh ["data"] : tensor<5xf32>
  %ry = dist.done %sy : tensor<5xf32>
  return %e, %ry, %rz : tensor<4xf32>, tensor<5xf32>, tensor<6xf32>
}
