// RUN: dgc-opt %s -dgc-assign-stages="stages=2 placement=w0=/job:worker/task:0,w[12]=task:1" | FileCheck %s
// RUN: not dgc-opt %s -dgc-assign-stages="stages=2 placement=w9=task:0" 2>&1 | FileCheck %s --check-prefix=NOBODY
// RUN: not dgc-opt %s -dgc-assign-stages="stages=2 placement=w0=task:7" 2>&1 | FileCheck %s --check-prefix=BEYOND
// RUN: not dgc-opt %s -dgc-assign-stages="stages=2 placement=w0" 2>&1 | FileCheck %s --check-prefix=SHORT
// NOBODY: placement 'w9=task:0': no variable and no op is called 'w9'
// BEYOND: placement 'w0=task:7': variable 'w0' cannot be on the device "task:7": there are 2 groups of devices
// SHORT: 'w0': expected PATTERN=DEVICE, as in w1*=/job:worker/task:1
// RUN: dgc-opt %s -dgc-assign-stages="stages=2 placement=w0=task:0,head.*=/job:worker/task:1/cpu:0" | FileCheck %s --check-prefix=OPS
// RUN: not dgc-opt %s -dgc-assign-stages="stages=2 placement=head.*=task:1,head.multiply=task:0" 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: placement 'head.multiply=task:0': 'head.multiply' cannot be on the device "task:0": it has 'dist.stage' 1 as well

// Variables are where the rules say, and so are the ops that read them.
// CHECK-LABEL: func.func @train
// CHECK-SAME: {dgc.state = @w0, dist.stage = 0 : i64}
// CHECK-SAME: {dgc.state = @w1, dist.stage = 1 : i64}
// CHECK: dgc.add {{.*}} {dist.stage = 0 : i64}
// CHECK: dgc.multiply {{.*}} {dist.stage = 1 : i64}
func.func @train(%w0: tensor<4xf32> {dgc.state = @w0}, %w1: tensor<4xf32> {dgc.state = @w1}, %x: tensor<4xf32>)
    -> tensor<4xf32> {
  %0 = dgc.add %x, %w0 : tensor<4xf32>
  %1 = dgc.multiply %0, %w1 : tensor<4xf32> loc("head.multiply")
  return %1 : tensor<4xf32>
}

// Ops are named as for `recompute`: their block, and what they are.
// OPS-LABEL: func.func @train
// OPS: dgc.add {{.*}} {dist.stage = 0 : i64}
// OPS: dgc.multiply {{.*}} {dist.stage = 1 : i64}
