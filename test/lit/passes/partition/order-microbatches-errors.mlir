// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-order-microbatches="name=1f1b"

// Stage 0 needs, in the forward pass, what stage 1 computes: this works, in two rounds, and costs time and memory.
dist.mesh @mesh <stage = 2>
func.func @train(%x: tensor<4xf32>) -> (tensor<4xf32> {dgc.role = "loss"}) {
  // expected-remark @+2 {{on stage 0 needs, in the forward pass, a value of stage 1, which comes later in the pass: all micro-batches wait for each other there, and what they have computed is held; mark the op with stage 1 or a later one to avoid it}}
  %0 = dgc.tanh %x {dgc.microbatch = 0, dist.stage = 1} : tensor<4xf32>
  %1 = dgc.tanh %0 {dgc.microbatch = 0, dist.stage = 0} : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// It is said once for all functions.
func.func @evaluate(%x: tensor<4xf32>) -> (tensor<4xf32> {dgc.role = "loss"}) {
  %0 = dgc.tanh %x {dgc.microbatch = 0, dist.stage = 1} : tensor<4xf32>
  %1 = dgc.tanh %0 {dgc.microbatch = 0, dist.stage = 0} : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Four stages on two positions are for another schedule.
// expected-error @+1 {{the schedule 1f1b has one stage for each position; there are 4 stages for 2 positions: use interleaved}}
module {
  dist.mesh @mesh <stage = 2>
  func.func @train(%x: tensor<4xf32>) -> (tensor<4xf32> {dgc.role = "loss"}) {
    %0 = dgc.tanh %x {dgc.microbatch = 0, dist.stage = 3} : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
