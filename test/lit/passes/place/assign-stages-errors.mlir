// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-assign-stages="stages=2"
// RUN: echo 'func.func @f(%%x: tensor<4xf32> {dist.device = #dist.device<"cpu:0">}) { return }' > %t.mlir
// RUN: not dgc-opt %t.mlir -dgc-assign-stages="stages=2 kind=gpu" 2>&1 | FileCheck %s --check-prefix=GPU
// GPU: cannot be on the device "cpu:0": the plan is for the gpus of workers; place it on one, as in "/job:worker/task:0/gpu:0", or compile with another --target
// RUN: not dgc-opt %s -split-input-file -dgc-assign-stages="stages=5" 2>&1 | FileCheck %s --check-prefix=FIVE
// FIVE: nothing is on stage 1 of 5: the model has operations on the stages 0, 2; mark where stage 1 begins with {dist.stage = 1}, or number the stages from 0 on and use --mesh stage=2
// FIVE: the model has 3 operations that depend on its variables, too few for 5 stages; use a smaller mesh, as in --mesh stage=3
// RUN: not dgc-opt %s -split-input-file -dgc-assign-stages="stages=2 repeat=true" 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: nothing is on stage 1 of 4: the model has operations on the stages 0, 2; mark where stage 1 begins with {dist.stage = 1}, or number the stages from 0 on, as many as a multiple of 2
// TWICE: the model has 3 operations that depend on its variables, too few for 4 stages, two for each of 2 groups of workers; leave the axis stage out of the mesh
// RUN: not dgc-opt %t.mlir -dgc-assign-stages="kind=tpu" 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: for the --kind option: 'tpu': cpu or gpu is expected

func.func @beyond(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dgc.exponential %x {dist.stage = 0} : tensor<4xf32>
  // expected-error @+1 {{is on stage 2, but the mesh has 2 positions along its axis "stage"; use --mesh stage=3, or put the op on one of the stages 0 to 1}}
  %1 = dgc.tanh %0 {dist.stage = 2} : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// expected-error @+1 {{nothing is on stage 1 of 2: the model has operations on stage 0; mark where stage 1 begins with {dist.stage = 1}, or leave the axis stage out of the mesh}}
module {
  func.func @idle(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = dgc.exponential %x {dist.stage = 0} : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

func.func @gpu(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{cannot be on the device "/job:worker/task:1/gpu:0": the plan is for the cpus of workers; place it on one, as in "/job:worker/task:0/cpu:0", or compile with another --target}}
  %0 = dgc.exponential %x {dist.device = #dist.device<"/job:worker/task:1/gpu:0">} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @job(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{cannot be on the device "/job:ps/task:0": there is no job 'ps'; all workers are tasks of the job 'worker'}}
  %0 = dgc.exponential %x {dist.device = #dist.device<"/job:ps/task:0">} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @task(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{cannot be on the device "task:5": there are 2 groups of devices, task:0 and so on; give the mesh an axis stage of size 6 or more, as in --mesh stage=6}}
  %0 = dgc.exponential %x {dist.device = #dist.device<"task:5">} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @both(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{cannot be on the device "task:1": it has 'dist.stage' 0 as well}}
  %0 = dgc.exponential %x {dist.device = #dist.device<"task:1">, dist.stage = 0} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Three operations, and nothing says where they are.
func.func @few(%w: tensor<4xf32> {dgc.state = @w}) -> tensor<4xf32> {
  %0 = dgc.exponential %w : tensor<4xf32>
  %1 = dgc.tanh %0 : tensor<4xf32>
  %2 = dgc.negate %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
