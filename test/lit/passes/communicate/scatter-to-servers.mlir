// RUN: dgc-opt %s -split-input-file -dgc-scatter-to-servers | FileCheck %s

dist.mesh @workers <stage = 1, data = 2>
dist.mesh @ps0 <stage = 1, data = 1, first = 2>
dist.mesh @ps1 <stage = 1, data = 1, first = 3>

// Two gradients for one server are one reduce-scatter of 8 + 3 elements and one of padding, and one transfer; the rows of
// the first one that are for another server are sent there. The loss, which the workers need, stays an all-reduce.
// CHECK-LABEL: func.func @train_workers(
// CHECK-SAME: %[[W:.*]]: tensor<6x2xf32>, %[[B:.*]]: tensor<3xf32>, %[[L:.*]]: tensor<f32>
func.func @train_workers(%w: tensor<6x2xf32>, %b: tensor<3xf32>, %l: tensor<f32>) -> tensor<f32>
    attributes {dist.mesh = @workers, dist.step = "train"} {
  // CHECK: %[[LOSS:.*]] = dist.all_reduce sum %[[L]]
  %loss = dist.all_reduce sum %l over @workers ["data"] origin "loss" : tensor<f32>
  %0 = dist.all_reduce sum %w over @workers ["data"] origin "w" : tensor<6x2xf32>
  %1 = dgc.slice %0 from [0, 0] to [4, 2] : tensor<6x2xf32>
  dist.send %1 channel 0 from @workers to @ps0 origin "update" : tensor<4x2xf32>
  %2 = dgc.slice %0 from [4, 0] to [6, 2] : tensor<6x2xf32>
  dist.send %2 channel 1 from @workers to @ps1 : tensor<2x2xf32>
  %3 = dist.all_reduce sum %b over @workers ["data"] origin "b" : tensor<3xf32>
  dist.send %3 channel 2 from @workers to @ps0 : tensor<3xf32>
  // CHECK: %[[R1:.*]] = dgc.slice %[[W]] from [4, 0] to [6, 2]
  // CHECK: %[[F1:.*]] = dgc.reshape %[[R1]] to [4]
  // CHECK: %[[P1:.*]] = dist.reduce_scatter sum %[[F1]] dim 0 over @workers ["data"] origin "w" : tensor<4xf32> to tensor<2xf32>
  // CHECK: dist.send gathered %[[P1]] channel 1 from @workers to @ps1 : tensor<2xf32>
  // CHECK: %[[R0:.*]] = dgc.slice %[[W]] from [0, 0] to [4, 2]
  // CHECK: %[[F0:.*]] = dgc.reshape %[[R0]] to [8]
  // CHECK: %[[C:.*]] = dgc.concatenate %[[F0]], %{{.*}} dim 0
  // CHECK: %[[PAD:.*]] = dgc.pad %[[C]]
  // CHECK: %[[P0:.*]] = dist.reduce_scatter sum %[[PAD]] dim 0 over @workers ["data"] origin "w", "b" : tensor<12xf32> to tensor<6xf32>
  // CHECK: dist.send gathered %[[P0]] channel 2 from @workers to @ps0 : tensor<6xf32>
  // CHECK-NOT: dist.
  // CHECK: return %[[LOSS]]
  return %loss : tensor<f32>
}
// CHECK-LABEL: func.func @train_ps0(
func.func @train_ps0() -> (tensor<4x2xf32>, tensor<3xf32>) attributes {dist.mesh = @ps0, dist.step = "train"} {
  // CHECK: %[[ALL:.*]] = dist.recv gathered channel 2 from @workers to @ps0 {{.*}}: tensor<12xf32>
  // CHECK: %[[S0:.*]] = dgc.slice %[[ALL]] from [0] to [8]
  // CHECK: %[[W0:.*]] = dgc.reshape %[[S0]] to [4, 2]
  // CHECK: %[[B0:.*]] = dgc.slice %[[ALL]] from [8] to [11]
  // CHECK: return %[[W0]], %[[B0]]
  %0 = dist.recv channel 0 from @workers to @ps0 origin "update" : tensor<4x2xf32>
  %1 = dist.recv channel 2 from @workers to @ps0 : tensor<3xf32>
  return %0, %1 : tensor<4x2xf32>, tensor<3xf32>
}
func.func @train_ps1() -> tensor<2x2xf32> attributes {dist.mesh = @ps1, dist.step = "train"} {
  %0 = dist.recv channel 1 from @workers to @ps1 : tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

dist.mesh @workers <stage = 1, data = 2>
dist.mesh @ps0 <stage = 1, data = 1, first = 2>

// A transfer back between two pushes may wait for the first one: they are not one bucket. What the workers use as well,
// and what is no sum over all of them, is sent by the first worker.
// CHECK-LABEL: func.func @step_workers(
func.func @step_workers(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>) -> tensor<4xf32>
    attributes {dist.mesh = @workers, dist.step = "step"} {
  // CHECK: dist.send gathered {{.*}} channel 0 {{.*}} : tensor<2xf32>
  // CHECK: dist.recv channel 1
  // CHECK: dist.send gathered {{.*}} channel 2 {{.*}} : tensor<2xf32>
  // CHECK: %[[C:.*]] = dist.all_reduce sum
  // CHECK: dist.send %[[C]] channel 3
  // CHECK: dist.send %{{.*}} channel 4
  %0 = dist.all_reduce sum %a over @workers ["data"] : tensor<4xf32>
  dist.send %0 channel 0 from @workers to @ps0 : tensor<4xf32>
  %1 = dist.recv channel 1 from @ps0 to @workers : tensor<4xf32>
  %2 = dist.all_reduce sum %b over @workers ["data"] : tensor<4xf32>
  dist.send %2 channel 2 from @workers to @ps0 : tensor<4xf32>
  %3 = dist.all_reduce sum %c over @workers ["data"] : tensor<4xf32>
  dist.send %3 channel 3 from @workers to @ps0 : tensor<4xf32>
  dist.send %1 channel 4 from @workers to @ps0 : tensor<4xf32>
  return %3 : tensor<4xf32>
}
func.func @step_ps0() -> tensor<4xf32> attributes {dist.mesh = @ps0, dist.step = "step"} {
  %0 = dist.recv channel 0 from @workers to @ps0 : tensor<4xf32>
  dist.send %0 channel 1 from @ps0 to @workers : tensor<4xf32>
  %1 = dist.recv channel 2 from @workers to @ps0 : tensor<4xf32>
  %2 = dist.recv channel 3 from @workers to @ps0 : tensor<4xf32>
  %3 = dist.recv channel 4 from @workers to @ps0 : tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

dist.mesh @workers <stage = 1, data = 2>
dist.mesh @ps0 <stage = 1, data = 1, first = 2>
dist.mesh @ps1 <stage = 1, data = 1, first = 3>

// Gradients that are scaled by the norm of all of them: the norm has the squares of the parts, added up as one number,
// and of %n, which the workers need, as before. What the workers scale they scale in parts; the others go as they are.
// CHECK-LABEL: func.func @clip_workers(
// CHECK-SAME: %[[W:.*]]: tensor<6x2xf32>, %[[B:.*]]: tensor<3xf32>, %[[N:.*]]: tensor<4xf32>
func.func @clip_workers(%w: tensor<6x2xf32>, %b: tensor<3xf32>, %n: tensor<4xf32>) -> tensor<4xf32>
    attributes {dist.mesh = @workers, dist.step = "clip"} {
  // CHECK-DAG: %[[W0:.*]] = dist.reduce_scatter sum %{{.*}} : tensor<8xf32> to tensor<4xf32>
  // CHECK-DAG: %[[W1:.*]] = dist.reduce_scatter sum %{{.*}} : tensor<4xf32> to tensor<2xf32>
  // CHECK-DAG: %[[PB:.*]] = dist.reduce_scatter sum %{{.*}} : tensor<4xf32> to tensor<2xf32>
  // CHECK: dist.send gathered %[[PB]] channel 0
  // CHECK: %[[SN:.*]] = dist.all_reduce sum %[[N]]
  // CHECK: %[[QN:.*]] = dgc.multiply %[[SN]], %[[SN]]
  // CHECK: %[[NN:.*]] = dgc.reduce sum %[[QN]] dims [0]
  // CHECK-DAG: dgc.multiply %[[W0]], %[[W0]]
  // CHECK-DAG: dgc.multiply %[[W1]], %[[W1]]
  // CHECK-DAG: dgc.multiply %[[PB]], %[[PB]]
  // CHECK: %[[ALL:.*]] = dist.all_reduce sum %{{.*}} : tensor<f32>
  // CHECK: %[[SUM:.*]] = dgc.add %[[ALL]], %[[NN]]
  // CHECK: %[[NORM:.*]] = dgc.sqrt %[[SUM]]
  // CHECK: dist.send %[[NORM]] channel 1
  // CHECK: %[[F0:.*]] = dgc.broadcast_in_dim %[[NORM]] dims [] to [4]
  // CHECK: %[[S0:.*]] = dgc.multiply %[[W0]], %[[F0]]
  // CHECK: dist.send gathered %[[S0]] channel 2 from @workers to @ps0 : tensor<4xf32>
  // CHECK: %[[F1:.*]] = dgc.broadcast_in_dim %[[NORM]] dims [] to [2]
  // CHECK: %[[S1:.*]] = dgc.multiply %[[W1]], %[[F1]]
  // CHECK: dist.send gathered %[[S1]] channel 3 from @workers to @ps1 : tensor<2xf32>
  // CHECK-NOT: dist.
  // CHECK: return %[[SN]]
  %gw = dist.all_reduce sum %w over @workers ["data"] : tensor<6x2xf32>
  %gb = dist.all_reduce sum %b over @workers ["data"] : tensor<3xf32>
  dist.send %gb channel 0 from @workers to @ps0 : tensor<3xf32>
  %gn = dist.all_reduce sum %n over @workers ["data"] : tensor<4xf32>
  %0 = dgc.multiply %gw, %gw : tensor<6x2xf32>
  %1 = dgc.reduce sum %0 dims [0, 1] : tensor<6x2xf32>
  %2 = dgc.multiply %gb, %gb : tensor<3xf32>
  %3 = dgc.reduce sum %2 dims [0] : tensor<3xf32>
  %4 = dgc.multiply %gn, %gn : tensor<4xf32>
  %5 = dgc.reduce sum %4 dims [0] : tensor<4xf32>
  %6 = dgc.add %1, %3 : tensor<f32>
  %7 = dgc.add %6, %5 : tensor<f32>
  %8 = dgc.sqrt %7 : tensor<f32>
  dist.send %8 channel 1 from @workers to @ps0 : tensor<f32>
  %9 = dgc.broadcast_in_dim %8 dims [] to [6, 2] : tensor<f32>
  %10 = dgc.multiply %gw, %9 : tensor<6x2xf32>
  %11 = dgc.slice %10 from [0, 0] to [4, 2] : tensor<6x2xf32>
  dist.send %11 channel 2 from @workers to @ps0 : tensor<4x2xf32>
  %12 = dgc.slice %10 from [4, 0] to [6, 2] : tensor<6x2xf32>
  dist.send %12 channel 3 from @workers to @ps1 : tensor<2x2xf32>
  return %gn : tensor<4xf32>
}
func.func @clip_ps0() -> (tensor<3xf32>, tensor<f32>, tensor<4x2xf32>)
    attributes {dist.mesh = @ps0, dist.step = "clip"} {
  %0 = dist.recv channel 0 from @workers to @ps0 : tensor<3xf32>
  %1 = dist.recv channel 1 from @workers to @ps0 : tensor<f32>
  %2 = dist.recv channel 2 from @workers to @ps0 : tensor<4x2xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<f32>, tensor<4x2xf32>
}
func.func @clip_ps1() -> tensor<2x2xf32> attributes {dist.mesh = @ps1, dist.step = "clip"} {
  %0 = dist.recv channel 3 from @workers to @ps1 : tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

dist.mesh @workers <stage = 1, data = 2>
dist.mesh @ps0 <stage = 1, data = 1, first = 2>

// The parts of what is sent are not all that the norm is of, and the other norm is none: both are sent whole.
// CHECK-LABEL: func.func @part_workers(
// CHECK-NOT: reduce_scatter
// CHECK: return
func.func @part_workers(%w: tensor<6x2xf32>, %b: tensor<3x2xf32>) -> (tensor<f32>, tensor<3xf32>)
    attributes {dist.mesh = @workers, dist.step = "part"} {
  %gw = dist.all_reduce sum %w over @workers ["data"] : tensor<6x2xf32>
  %0 = dgc.slice %gw from [0, 0] to [4, 2] : tensor<6x2xf32>
  dist.send %0 channel 0 from @workers to @ps0 : tensor<4x2xf32>
  %1 = dgc.multiply %gw, %gw : tensor<6x2xf32>
  %2 = dgc.reduce sum %1 dims [0, 1] : tensor<6x2xf32>
  %gb = dist.all_reduce sum %b over @workers ["data"] : tensor<3x2xf32>
  dist.send %gb channel 1 from @workers to @ps0 : tensor<3x2xf32>
  %3 = dgc.multiply %gb, %gb : tensor<3x2xf32>
  %4 = dgc.reduce sum %3 dims [1] : tensor<3x2xf32>
  return %2, %4 : tensor<f32>, tensor<3xf32>
}
func.func @part_ps0() -> (tensor<4x2xf32>, tensor<3x2xf32>) attributes {dist.mesh = @ps0, dist.step = "part"} {
  %0 = dist.recv channel 0 from @workers to @ps0 : tensor<4x2xf32>
  %1 = dist.recv channel 1 from @workers to @ps0 : tensor<3x2xf32>
  return %0, %1 : tensor<4x2xf32>, tensor<3x2xf32>
}
