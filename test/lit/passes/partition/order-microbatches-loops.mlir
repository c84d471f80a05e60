// RUN: dgc-opt %s -split-input-file -dgc-order-microbatches="name=1f1b" -verify-diagnostics | FileCheck %s
// RUN: dgc-opt %s -split-input-file -dgc-order-microbatches="name=zb-h1" -verify-diagnostics | FileCheck %s --check-prefix=ZERO
// RUN: dgc-opt %s -split-input-file -dgc-order-microbatches="name=gpipe" -verify-diagnostics | FileCheck %s --check-prefix=GPIPE
// RUN: dgc-opt %s -split-input-file -dgc-order-microbatches="name=1f1b" -dgc-cut-programs -verify-diagnostics | FileCheck %s --check-prefix=CUT

// Two stages, 12 micro-batches: the first slots, five rounds of two micro-batches, so that
// what is carried is not copied, the last slots. The first addend is not added to
// zeros. What stage 0 has of one micro-batch for its backward pass is carried, and nothing for stage 1.
// CHECK: module attributes {dist.pipeline = {chunks = 1 : i64, microbatches = 12 : i64, positions = 2 : i64, schedule = "1f1b"}}
// CHECK-LABEL: func.func @train
// CHECK: dgc.tanh {{.*}} dist.stage = 0
// CHECK: dgc.while rounds 5 (%[[I:[^ ]*]] = %{{[^ ]*}}, %{{[^ ]*}} = %{{[^ ]*}}, %{{[^ ]*}} = %{{[^ ]*}}, %{{[^ ]*}} = %{{[^ ]*}}, %{{[^ ]*}} = %{{[^ ]*}}) with
// CHECK-SAME: attributes {dgc.counted, dgc.microbatch_loop, dist.slot = {{[0-9]+}} : i64}
// CHECK: dgc.compare lt %[[I]]
// CHECK: } do {
// CHECK: dgc.constant dense<2> : tensor<i32>
// CHECK: dgc.multiply %[[I]], %{{.*}} : tensor<i32>
// CHECK-COUNT-2: dgc.tanh
// CHECK-NOT: dgc.tanh
// CHECK: dgc.yield
// CHECK: }
// CHECK: dgc.exponential
// CHECK: dgc.subtract %{{.*}}, %{{.*}} {dist.slot = {{[0-9]+}} : i64, dist.stage = 0 : i64}
// CHECK-NEXT: return

// The gradient of the weights comes after what is sent, and a micro-batch later on stage 1.
// ZERO: dgc.while rounds

// Forward passes are a loop, which fills arrays with what backward passes need, and these are another one. Both leave alone what
// the other one adds up.
// GPIPE-LABEL: func.func @train
// GPIPE: dgc.constant dense<0.000000e+00> : tensor<12x4xf32>
// GPIPE: dgc.tanh
// GPIPE: dgc.dynamic_update_slice %{{[0-9]+}}, %{{.*}} at %{{.*}} dim 0 {{.*}}dist.stage = 0
// GPIPE: %[[F:.*]]:{{[0-9]}} = dgc.while rounds 5 ({{.*}}) with
// GPIPE: } do {
// GPIPE-COUNT-2: dgc.tanh
// GPIPE: dgc.dynamic_update_slice
// GPIPE-NOT: dgc.negate
// GPIPE: dgc.yield
// GPIPE: dgc.dynamic_update_slice
// GPIPE: dgc.while rounds {{[0-9]+}} ({{.*}}) with
// GPIPE: } do {
// GPIPE: %[[ROW:.*]] = dgc.gather %{{.*}}, %{{.*}} dim 0 {dist.slot = {{[0-9]+}} : i64, dist.stage = 1 : i64} : tensor<12x4xf32>
// GPIPE-NEXT: dgc.reshape %[[ROW]] to [4]
// GPIPE-NEXT: dgc.negate
// GPIPE-NOT: dgc.tanh
// GPIPE: dgc.yield
// GPIPE: return

// Each stage has a loop with what it needs of what is carried, and transfers in it.
// CUT-LABEL: func.func @train_stage0
// CUT: dist.send %{{.*}} channel 0 from @stage0 to @stage1
// CUT: dgc.while rounds 5
// CUT: } do {
// CUT-COUNT-2: dist.send %{{.*}} from @stage0 to @stage1
// CUT-NOT: dist.send
// CUT: dgc.yield
// CUT-LABEL: func.func @train_stage1
// CUT: dgc.while rounds 5
// CUT: } do {
// CUT-COUNT-2: dist.send %{{.*}} from @stage1 to @stage0
// CUT-NOT: dist.send
// CUT: dgc.yield
module {
dist.mesh @mesh <stage = 2>
func.func @train(%w: tensor<4xf32> {dgc.state = @w, dist.stage = 0 : i64}, %x: tensor<12x4xf32>)
    -> (tensor<4xf32> {dgc.state = @w, dist.stage = 0 : i64}, tensor<f32> {dgc.role = "loss", dist.stage = 0 : i64}) {
  %zero = dgc.constant dense<0> : tensor<i32>
  %zeros = dgc.constant dense<0.0> : tensor<4xf32>
  %none = dgc.constant dense<0.0> : tensor<f32>
  %r:3 = dgc.while rounds 12 (%i = %zero, %g = %zeros, %l = %none) with (%xs = %x, %v = %w) attributes {dgc.counted, dgc.microbatch_loop} : tensor<i32>, tensor<4xf32>, tensor<f32>, tensor<12x4xf32>, tensor<4xf32> {
    %n = dgc.constant dense<12> : tensor<i32>
    %more = dgc.compare lt %i, %n : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    %at = dgc.reshape %i to [1] : tensor<i32>
    %slice = dgc.gather %xs, %at dim 0 {dist.stage = 0} : tensor<12x4xf32>, tensor<1xi32>
    %xi = dgc.reshape %slice to [4] {dist.stage = 0} : tensor<1x4xf32>
    %h = dgc.multiply %xi, %v {dist.stage = 0} : tensor<4xf32>
    %t = dgc.tanh %h {dist.stage = 0} : tensor<4xf32>
    %k = dgc.reshape %t to [1, 4] {dist.stage = 0} : tensor<4xf32>
    %d = dgc.dot_general %k, %k contract [1] x [1] {dist.stage = 0} : tensor<1x4xf32>, tensor<1x4xf32>
    %y = dgc.exponential %t {dist.stage = 1} : tensor<4xf32>
    %s = dgc.reduce sum %y dims [0] {dist.stage = 1} : tensor<4xf32>
    %p = dgc.add %l, %s {dist.stage = 1} : tensor<f32>
    %e = dgc.negate %y {dist.stage = 1} : tensor<4xf32>
    %b = dgc.multiply %e, %t {dist.stage = 0} : tensor<4xf32>
    %c = dgc.multiply %b, %xi {dist.stage = 0} : tensor<4xf32>
    %q = dgc.add %g, %c {dist.stage = 0} : tensor<4xf32>
    %j = dgc.add %i, %one : tensor<i32>
    dgc.yield %j, %q, %p : tensor<i32>, tensor<4xf32>, tensor<f32>
  }
  %u = dgc.subtract %w, %r#1 {dist.stage = 0} : tensor<4xf32>
  return %u, %r#2 : tensor<4xf32>, tensor<f32>
}
}

// -----

// Stage 0 needs in the forward pass what stage 1 computes there: its slot comes before that.
module {
dist.mesh @mesh <stage = 2>
// CHECK-LABEL: func.func @back
// CHECK: dgc.while rounds 12
// CHECK-NOT: dgc.while
func.func @back(%w: tensor<4xf32> {dgc.state = @w, dist.stage = 0 : i64}, %x: tensor<12x4xf32>)
    -> (tensor<4xf32> {dgc.role = "loss", dist.stage = 0 : i64}) {
  %zero = dgc.constant dense<0> : tensor<i32>
  %zeros = dgc.constant dense<0.0> : tensor<4xf32>
  // expected-remark @+1 {{the micro-batches go through the stages one after the other: the model does not give the stages their work in the order of the schedule}}
  %r:2 = dgc.while rounds 12 (%i = %zero, %g = %zeros) with (%xs = %x, %v = %w) attributes {dgc.counted, dgc.microbatch_loop} : tensor<i32>, tensor<4xf32>, tensor<12x4xf32>, tensor<4xf32> {
    %n = dgc.constant dense<12> : tensor<i32>
    %more = dgc.compare lt %i, %n : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    %h = dgc.tanh %v {dist.stage = 1} : tensor<4xf32>
    %k = dgc.reshape %h to [4, 1] {dist.stage = 1} : tensor<4xf32>
    %m = dgc.dot_general %k, %k contract [1] x [1] {dist.stage = 1} : tensor<4x1xf32>, tensor<4x1xf32>
    %s = dgc.reduce sum %m dims [1] {dist.stage = 0} : tensor<4x4xf32>
    %q = dgc.add %g, %s {dist.stage = 0} : tensor<4xf32>
    %j = dgc.add %i, %one : tensor<i32>
    dgc.yield %j, %q : tensor<i32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}
}
