// RUN: dgc-opt %s -dgc-assign-stages="stages=3 servers=2 kind=gpu server-kind=cpu" | FileCheck %s
// RUN: not dgc-opt %s -dgc-assign-stages="stages=3 servers=2 kind=gpu server-kind=gpu" 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not dgc-opt %s -dgc-assign-stages="stages=3 servers=2 server-kind=tpu" 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// Servers beside workers with GPUs are on CPUs, and that is what the device of a variable says then.
// CHECK-LABEL: func.func @f
// CHECK-SAME: dgc.state = @w, dist.stage = 2 : i64
// KIND: argument 0 cannot be on the device "/job:ps/task:1/cpu:0": the servers of the plan are on gpus; place it on one, as in "/job:ps/task:0/gpu:0", or compile with another --server-target
// UNKNOWN: for the --server-kind option: 'tpu': cpu or gpu is expected
func.func @f(%w: tensor<4xf32> {dgc.state = @w, dist.device = #dist.device<"/job:ps/task:1/cpu:0">}, %x: tensor<4xf32>)
    -> tensor<4xf32> {
  %m = dgc.multiply %x, %w : tensor<4xf32>
  return %m : tensor<4xf32>
}
dgc.state @w weight zeros rng 0 : tensor<4xf32>
