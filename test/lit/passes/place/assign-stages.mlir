// RUN: dgc-opt %s -split-input-file -dgc-assign-stages="stages=2" | FileCheck %s

// An op is on the highest stage of its operands; one that reads data alone on the lowest of its users. What any device
// can compute, and what follows from a gradient, is left alone.
// CHECK-LABEL: func.func @f
// CHECK: dgc.exponential %{{.*}} {dist.stage = 0 : i64}
// CHECK: dgc.tanh %{{.*}} {dist.stage = 1 : i64}
// CHECK: dgc.abs %{{.*}} {dist.stage = 1 : i64}
// CHECK: dgc.add %{{.*}}, %{{.*}} {dist.stage = 1 : i64}
// CHECK: dgc.constant dense<1.0
// CHECK-NOT: dist.stage
// CHECK: dgc.multiply {{.*}} {dist.stage = 1 : i64}
// CHECK: dgc.reduce sum {{.*}} {dist.stage = 1 : i64}
// CHECK: dgc.gradient
// CHECK-NOT: dist.stage
// CHECK: return
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %0 = dgc.exponential %x {dist.stage = 0} : tensor<4xf32>
  %1 = dgc.tanh %0 {dist.stage = 1} : tensor<4xf32>
  %2 = dgc.abs %y : tensor<4xf32>
  %3 = dgc.add %1, %2 : tensor<4xf32>
  %4 = dgc.constant dense<1.0> : tensor<4xf32>
  %5 = dgc.multiply %3, %4 : tensor<4xf32>
  %6 = dgc.reduce sum %5 dims [0] : tensor<4xf32>
  %7 = dgc.gradient %6 wrt %x : tensor<f32>, tensor<4xf32>
  %8 = dgc.negate %7 : tensor<4xf32>
  return %8, %6 : tensor<4xf32>, tensor<f32>
}

// -----

// A device is a stage.
// CHECK-LABEL: func.func @devices
// CHECK: dgc.exponential %{{.*}} {dist.stage = 0 : i64}
// CHECK: dgc.tanh %{{.*}} {dist.stage = 1 : i64}
// CHECK-NOT: dist.device
func.func @devices(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dgc.exponential %x {dist.device = #dist.device<"/job:worker/task:0/cpu:0">} : tensor<4xf32>
  %1 = dgc.tanh %0 {dist.device = #dist.device<"task:1">} : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Nothing says where it is, and there is no variable: nothing is said.
// CHECK-LABEL: func.func @nothing
// CHECK-NOT: dist.stage
func.func @nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dgc.exponential %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Where only the beginning of stage 1 is marked, what follows from a variable and not from that is on stage 0.
// CHECK-LABEL: func.func @before
// CHECK: dgc.abs %{{.*}} {dist.stage = 1 : i64}
// CHECK: dgc.sine %{{.*}} {dist.stage = 0 : i64}
// CHECK: dgc.multiply {{.*}} {dist.stage = 0 : i64}
// CHECK: dgc.tanh %{{.*}} {dist.stage = 0 : i64}
// CHECK: dgc.exponential %{{.*}} {dist.stage = 1 : i64}
// CHECK: dgc.add {{.*}} {dist.stage = 1 : i64}
func.func @before(%w: tensor<4xf32> {dgc.state = @w}, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dgc.abs %y : tensor<4xf32>
  %1 = dgc.sine %x : tensor<4xf32>
  %2 = dgc.multiply %1, %w : tensor<4xf32>
  %3 = dgc.tanh %2 : tensor<4xf32>
  %4 = dgc.exponential %3 {dist.stage = 1} : tensor<4xf32>
  %5 = dgc.add %4, %0 : tensor<4xf32>
  return %5 : tensor<4xf32>
}
