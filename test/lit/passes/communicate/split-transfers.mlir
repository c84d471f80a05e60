// RUN: dgc-opt %s -dgc-split-transfers | FileCheck %s

dist.mesh @workers <stage = 1, data = 2>
dist.mesh @ps0 <stage = 1, data = 1, first = 2>
dist.mesh @ps1 <stage = 1, data = 1, first = 3>

// What is put together for servers alone each worker sends a part of, to both; of the rows that it gets it needs its part. The
// sum of the rows of both servers is of parts.
// CHECK-LABEL: func.func @train_workers(
// CHECK-SAME: %[[I:.*]]: tensor<4xi32>)
func.func @train_workers(%i: tensor<4xi32>) -> (tensor<4x3xf32>, tensor<8x3xf32>) attributes {dist.mesh = @workers, dist.step = "train"} {
  // CHECK-NOT: dist.all_gather
  // CHECK: dist.send gathered %[[I]] channel 0 from @workers to @ps0 : tensor<4xi32>
  // CHECK: dist.send gathered %[[I]] channel 1 from @workers to @ps1 : tensor<4xi32>
  %all = dist.all_gather %i dim 0 over @workers ["data"] : tensor<4xi32> to tensor<8xi32>
  dist.send %all channel 0 from @workers to @ps0 : tensor<8xi32>
  dist.send %all channel 1 from @workers to @ps1 : tensor<8xi32>
  // CHECK: %[[A:.*]] = dist.recv gathered channel 2 from @ps0 to @workers origin "rows" : tensor<4x3xf32>
  // CHECK: %[[B:.*]] = dist.recv gathered channel 3 from @ps1 to @workers : tensor<4x3xf32>
  // CHECK: dgc.add %[[A]], %[[B]]
  %a = dist.recv channel 2 from @ps0 to @workers origin "rows" : tensor<8x3xf32>
  %b = dist.recv channel 3 from @ps1 to @workers : tensor<8x3xf32>
  %at = dist.axis_index @workers ["data"]
  %a0 = dist.slice %a at %at dim 0 parts 2 : tensor<8x3xf32>
  %b0 = dist.slice %b at %at dim 0 parts 2 : tensor<8x3xf32>
  %sum = dgc.add %a0, %b0 : tensor<4x3xf32>
  // What a worker needs whole it gets whole.
  // CHECK: %[[C:.*]] = dist.recv channel 4 from @ps0 to @workers : tensor<8x3xf32>
  // CHECK: dist.slice %[[C]]
  %c = dist.recv channel 4 from @ps0 to @workers : tensor<8x3xf32>
  %c0 = dist.slice %c at %at dim 0 parts 2 : tensor<8x3xf32>
  %d = dgc.add %sum, %c0 : tensor<4x3xf32>
  return %d, %c : tensor<4x3xf32>, tensor<8x3xf32>
}

// CHECK-LABEL: func.func @train_ps0(
func.func @train_ps0(%t: tensor<9x3xf32>) attributes {dist.mesh = @ps0, dist.step = "train"} {
  // CHECK: %[[ALL:.*]] = dist.recv gathered channel 0 from @workers to @ps0 : tensor<8xi32>
  // CHECK: %[[ROWS:.*]] = dgc.gather %{{.*}}, %[[ALL]]
  // CHECK: dist.send gathered %[[ROWS]] channel 2 from @ps0 to @workers : tensor<8x3xf32>
  // CHECK: dist.send %[[ROWS]] channel 4 from @ps0 to @workers : tensor<8x3xf32>
  %i = dist.recv channel 0 from @workers to @ps0 : tensor<8xi32>
  %a = dgc.gather %t, %i dim 0 : tensor<9x3xf32>, tensor<8xi32>
  dist.send %a channel 2 from @ps0 to @workers : tensor<8x3xf32>
  dist.send %a channel 4 from @ps0 to @workers : tensor<8x3xf32>
  return
}
// CHECK-LABEL: func.func @train_ps1(
func.func @train_ps1(%t: tensor<9x3xf32>) attributes {dist.mesh = @ps1, dist.step = "train"} {
  // CHECK: dist.recv gathered channel 1
  // CHECK: dist.send gathered %{{.*}} channel 3 from @ps1 to @workers : tensor<8x3xf32>
  %i = dist.recv channel 1 from @workers to @ps1 : tensor<8xi32>
  %b = dgc.gather %t, %i dim 0 : tensor<9x3xf32>, tensor<8xi32>
  dist.send %b channel 3 from @ps1 to @workers : tensor<8x3xf32>
  return
}

// What the workers need themselves they put together.
// CHECK-LABEL: func.func @other_workers(
// CHECK: %[[ALL:.*]] = dist.all_gather
// CHECK: dist.send %[[ALL]] channel 0
func.func @other_workers(%i: tensor<4xi32>) -> tensor<8xi32> attributes {dist.mesh = @workers, dist.step = "other"} {
  %all = dist.all_gather %i dim 0 over @workers ["data"] : tensor<4xi32> to tensor<8xi32>
  dist.send %all channel 0 from @workers to @ps0 : tensor<8xi32>
  return %all : tensor<8xi32>
}
// CHECK-LABEL: func.func @other_ps0(
// CHECK: dist.recv channel 0
func.func @other_ps0() -> tensor<8xi32> attributes {dist.mesh = @ps0, dist.step = "other"} {
  %i = dist.recv channel 0 from @workers to @ps0 : tensor<8xi32>
  return %i : tensor<8xi32>
}
