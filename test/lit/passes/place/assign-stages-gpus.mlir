// RUN: dgc-opt %s -dgc-assign-stages="stages=2 kind=gpu" | FileCheck %s

// In a plan for GPUs, the device of a worker is its gpu.
// CHECK-LABEL: func.func @gpus
// CHECK: dgc.exponential %{{.*}} {dist.stage = 0 : i64}
// CHECK: dgc.tanh %{{.*}} {dist.stage = 1 : i64}
func.func @gpus(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dgc.exponential %x {dist.device = #dist.device<"task:0">} : tensor<4xf32>
  %1 = dgc.tanh %0 {dist.device = #dist.device<"/job:worker/task:1/gpu:0">} : tensor<4xf32>
  return %1 : tensor<4xf32>
}
