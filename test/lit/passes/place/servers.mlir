// RUN: dgc-opt %s -split-input-file -dgc-assign-stages="stages=3 servers=2" | FileCheck %s
// RUN: dgc-opt %s -split-input-file -dgc-assign-stages="stages=3 servers=2 placement=w0=/job:ps/task:1" 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not dgc-opt %s -split-input-file -dgc-assign-stages="stages=3 servers=2 placement=w0=/job:worker/task:0" 2>&1 | FileCheck %s --check-prefix=WORKER
// WORKER: variable 'w0' cannot be on the device "{{.*}}": variables are on parameter servers, /job:ps/task:0 to /job:ps/task:1, and ops on all workers

// The largest variable is on the first server with its state; the next ones go where fewest bytes are. Ops are on the
// workers.
// CHECK-LABEL: func.func @train
// CHECK-SAME: {dgc.state = @w0, dist.stage = 1 : i64}
// CHECK-SAME: {dgc.state = @w0.momentum, dist.stage = 1 : i64}
// CHECK-SAME: {dgc.state = @w1, dist.stage = 2 : i64}
// CHECK-SAME: {dgc.state = @w2, dist.stage = 2 : i64}
// CHECK: dgc.add {{.*}} {dist.stage = 0 : i64}
// CHECK: dgc.multiply {{.*}} {dist.stage = 0 : i64}

// A rule says otherwise.
// FILE-LABEL: func.func @train
// FILE-SAME: {dgc.state = @w0, dist.stage = 2 : i64}
// FILE-SAME: {dgc.state = @w0.momentum, dist.stage = 2 : i64}
// FILE-SAME: {dgc.state = @w1, dist.stage = 1 : i64}
// FILE-SAME: {dgc.state = @w2, dist.stage = 1 : i64}
func.func @train(%w0: tensor<8xf32> {dgc.state = @w0}, %m: tensor<8xf32> {dgc.state = @w0.momentum},
    %w1: tensor<8xf32> {dgc.state = @w1}, %w2: tensor<8xf32> {dgc.state = @w2}, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = dgc.add %x, %w0 : tensor<8xf32>
  %1 = dgc.multiply %0, %w1 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
dgc.state @w0 weight zeros rng 0 : tensor<8xf32>
dgc.state @w0.momentum slot zeros rng 1 : tensor<8xf32>
dgc.state @w1 weight zeros rng 2 : tensor<8xf32>
dgc.state @w2 weight zeros rng 3 : tensor<8xf32>

// -----

// A derivative within an imported step is of the workers, and so is what follows from it; that of variables is left alone.
// CHECK-LABEL: func.func @step
// CHECK: dgc.gradient %{{.*}} wrt %{{[0-9]+}} {dist.stage = 0 : i64}
// CHECK: dgc.multiply %{{.*}} {dist.stage = 0 : i64}
// CHECK: dgc.gradient %{{.*}} wrt %{{[0-9]+}} :
// CHECK: dgc.negate %{{[0-9]+}} :
func.func @step(%w0: tensor<8xf32> {dgc.state = @w0}, %x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = dgc.add %x, %w0 : tensor<8xf32>
  %1 = dgc.reduce sum %0 dims [0] : tensor<8xf32>
  %2 = dgc.gradient %1 wrt %0 : tensor<f32>, tensor<8xf32>
  %3 = dgc.multiply %2, %w0 : tensor<8xf32>
  %4 = dgc.gradient %1 wrt %w0 : tensor<f32>, tensor<8xf32>
  %5 = dgc.negate %4 : tensor<8xf32>
  return %3, %5 : tensor<8xf32>, tensor<8xf32>
}
dgc.state @w0 weight zeros rng 0 : tensor<8xf32>
