// RUN: dgc-opt %s -split-input-file --dgc-check-numerics | FileCheck %s
// RUN: dgc-opt %s -split-input-file --dgc-check-numerics=values=every-op | FileCheck %s --check-prefix=EVERY

// A result that is not finite is found by its op: how many elements, 4 times the place of the first and what that is. All that
// is added belongs to the check, so that kernels have none of it beside ops of the program.

// CHECK-LABEL: func.func @output
// CHECK-SAME: tensor<1x3xi64> {dgc.output = "check_numerics", dgc.over = "{{.*}}dgc.log at check-numerics.mlir:[[#@LINE+15]]:8\09the output \22y\22\0A", dgc.role = "prediction"}
// CHECK: %[[Y:.*]] = dgc.log
// CHECK: %[[FINITE:.*]] = dgc.is_finite %[[Y]] {dgc.use = "check"}
// CHECK: %[[WRONG:.*]] = dgc.not %[[FINITE]]
// CHECK: %[[COUNT:.*]] = dgc.reduce sum %{{.*}} dims [0]
// CHECK: %[[FIRST:.*]] = dgc.reduce min
// CHECK: %[[ROW:.*]] = dgc.concatenate
// CHECK: return %[[Y]], %[[ROW]] : tensor<4xf32>, tensor<1x3xi64>

// Of every op: an element counts where it is not finite and all operands are, or NaN and none is. Copies are looked at.

// EVERY-LABEL: func.func @output
// EVERY: %[[Y:.*]] = dgc.log %[[X:.*]] : tensor<4xf32>
// EVERY-NEXT: %[[COPY:.*]] = dgc.log %[[X]] {dgc.use = "check"}
func.func @output(%x: tensor<4xf32> {dgc.input = "x"}) -> (tensor<4xf32> {dgc.output = "y"}) {
  %y = dgc.log %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// EVERY: %[[NAN:.*]] = dgc.compare ne %[[X]], %[[X]]
// EVERY: %[[OPERAND:.*]] = dgc.is_finite %[[X]]
// EVERY: %[[FINITE:.*]] = dgc.is_finite %[[COPY]]
// EVERY: %[[WRONG:.*]] = dgc.not %[[FINITE]]
// EVERY: %[[ISNAN:.*]] = dgc.compare ne %[[COPY]], %[[COPY]]
// EVERY: %[[NONE:.*]] = dgc.not %[[NAN]]
// EVERY: %[[NEW:.*]] = dgc.and %[[ISNAN]], %[[NONE]]
// EVERY: %[[ATFAULT:.*]] = dgc.or %[[OPERAND]], %[[NEW]]
// EVERY: dgc.and %[[WRONG]], %[[ATFAULT]]
// EVERY: return %[[Y]], %{{.*}} : tensor<4xf32>, tensor<2x3xi64>

// -----

// A function without floating-point values stays as it is.

// CHECK-LABEL: func.func @integers
// CHECK-NOT: check
// EVERY-LABEL: func.func @integers
// EVERY-NOT: check
func.func @integers(%x: tensor<4xi32>) -> (tensor<4xi32> {dgc.output = "y"}) {
  %y = dgc.add %x, %x : tensor<4xi32>
  return %y : tensor<4xi32>
}

// -----

// The gradient is looked at before it is combined: only the device whose it is finds it. What a variable becomes is looked at
// in rows, and the gradient in the row in which the variable is wrong.

// EVERY-LABEL: func.func @train
// CHECK-LABEL: func.func @train
// CHECK-SAME: tensor<2x3xi64> {dgc.output = "check_numerics", dgc.over = "least{{.*}}dgc.dot_general {{.*}}in the gradient of \22w\22\0Aall{{.*}}dgc.subtract {{.*}}the new value of \22w\22\0A"
// CHECK: %[[LOCAL:.*]] = dgc.dot_general
// CHECK: %[[SUM:.*]] = dist.all_reduce
// CHECK: %[[NEW:.*]] = dgc.subtract %{{.*}}, %[[SUM]]
// CHECK: %[[ROWS:.*]] = dgc.reshape %[[NEW]] to [2, 512] {dgc.use = "check"}
// CHECK: %[[COUNTS:.*]] = dgc.reduce sum %{{.*}} dims [1]
// CHECK: %[[ROW:.*]] = dgc.reduce min %{{.*}} dims [0]
// CHECK: dist.dynamic_slice %{{.*}} from %[[ROW]] dim 0 size 1
// CHECK: dgc.reshape %[[LOCAL]] to [2, 512]
// CHECK: dist.dynamic_slice %{{.*}} from %[[ROW]] dim 0 size 1
// CHECK-NOT: dist.all_reduce
dist.mesh @mesh <data = 2>
dgc.state @w weight zeros rng 0 : tensor<32x32xf32>
func.func @train(%w: tensor<32x32xf32> {dgc.state = @w}, %x: tensor<8x32xf32>, %g: tensor<8x32xf32>)
    -> (tensor<32x32xf32> {dgc.state = @w}) {
  %local = dgc.dot_general %x, %g contract [0] x [0] {dgc.encodings = [#dist.partial<sum, @mesh ["data"]>]} : tensor<8x32xf32>, tensor<8x32xf32>
  %sum = dist.all_reduce sum %local over @mesh ["data"] {dist.order = 0 : i64} : tensor<32x32xf32, #dist.partial<sum, @mesh ["data"]>>
  %new = dgc.subtract %w, %sum : tensor<32x32xf32>
  return %new : tensor<32x32xf32>
}

// -----

// A loop carries the row of the first round in which something was found, and the number of the round.

// EVERY-LABEL: func.func @loop
// EVERY-SAME: dgc.over = "{{.*}}\094\095\09dgc.log
// EVERY: dgc.while rounds 5 (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %[[FOUND:.*]] = %{{.*}}, %[[ROUND:.*]] = %{{.*}}) : tensor<i32>, tensor<4xf32>, tensor<1x3xi64>, tensor<i64> {
// EVERY: } do {
// EVERY: dgc.log
// EVERY: dgc.broadcast_in_dim %[[ROUND]]
// EVERY: %[[COUNT:.*]] = dgc.slice %[[FOUND]]
// EVERY: dgc.compare gt %[[COUNT]]
// EVERY: %[[NEXT:.*]] = dgc.select %{{.*}}, %[[FOUND]]
// EVERY: dgc.yield %{{.*}}, %{{.*}}, %[[NEXT]], %{{.*}}
func.func @loop(%x: tensor<4xf32>) -> (tensor<4xf32> {dgc.output = "y"}) {
  %zero = dgc.constant dense<0> : tensor<i32>
  %n, %y = dgc.while rounds 5 (%i = %zero, %h = %x) : tensor<i32>, tensor<4xf32> {
    %five = dgc.constant dense<5> : tensor<i32>
    %more = dgc.compare lt %i, %five : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    %j = dgc.add %i, %one : tensor<i32>
    %next = dgc.log %h : tensor<4xf32>
    dgc.yield %j, %next : tensor<i32>, tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// What a select leaves out again does not count: the logarithm counts where the predicate holds.

// EVERY-LABEL: func.func @guarded
// EVERY: %[[IS:.*]] = dgc.compare gt %{{.*}}, %{{.*}} : tensor<4xf32>
// EVERY: %[[LOG:.*]] = dgc.log %{{.*}} {dgc.use = "check"}
// EVERY: dgc.is_finite %[[LOG]]
// EVERY: dgc.and %{{.*}}, %{{.*}}
func.func @guarded(%x: tensor<4xf32>) -> (tensor<4xf32> {dgc.output = "y"}) {
  %zero = dgc.constant dense<0.0> : tensor<4xf32>
  %is = dgc.compare gt %x, %zero : tensor<4xf32>
  %log = dgc.log %x : tensor<4xf32>
  %y = dgc.select %is, %log, %zero : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>
  return %y : tensor<4xf32>
}
