// RUN: dgc-opt %s -split-input-file -dgc-cut-programs | FileCheck %s
// RUN: not dgc-opt %S/Inputs/stage-last.mlir -dgc-cut-programs 2>&1 | FileCheck %s --check-prefix=LAST
// LAST: the axis "stage" must be the first one of the mesh, so that each stage is a range of ranks; as in --mesh stage=2,data=2

// %1 is needed by two ops of stage 1 and is sent once; its receive waits for the first of them. The constant is not
// sent. What comes back is received before it is used. Names of the mesh become those of the part. Inputs and outputs keep the
// positions that they have in the whole.
dist.mesh @mesh <stage = 2, data = 3>
// CHECK: dist.mesh @mesh <stage = 2, data = 3>
// CHECK: dist.mesh @stage0 <stage = 1, data = 3>
// CHECK: dist.mesh @stage1 <stage = 1, data = 3, first = 3>

// CHECK-LABEL: func.func @f_stage0
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32> {dgc.argument = 0 : i64}) -> (tensor<4xf32> {dgc.result = 0 : i64
// CHECK-SAME: dist.mesh = @stage0, dist.step = "f"
// CHECK: %[[H:.*]] = dgc.exponential %[[X]]
// CHECK-NEXT: dist.send %[[H]] channel 0 from @stage0 to @stage1
// CHECK-NEXT: %[[C:.*]] = dgc.constant
// CHECK-NEXT: %[[T:.*]] = dgc.multiply %[[X]], %[[C]]
// CHECK-NEXT: %[[R:.*]] = dist.recv channel 1 from @stage1 to @stage0
// CHECK-NEXT: %[[S:.*]] = dgc.add %[[T]], %[[R]]
// CHECK-NEXT: return %[[S]]

// CHECK-LABEL: func.func @f_stage1
// CHECK-SAME: () -> (tensor<4xf32> {dgc.result = 1 : i64
// CHECK-SAME: dist.mesh = @stage1, dist.step = "f"
// CHECK: %[[C:.*]] = dgc.constant
// CHECK-NEXT: %[[N:.*]] = dgc.negate %[[C]]
// CHECK-NEXT: %[[H:.*]] = dist.recv channel 0 from @stage0 to @stage1
// CHECK-NEXT: %[[A:.*]] = dgc.multiply %[[H]], %[[N]]
// CHECK-NEXT: %[[B:.*]] = dgc.add %[[A]], %[[H]]
// CHECK-NEXT: dist.send %[[B]] channel 1 from @stage1 to @stage0
// CHECK-NEXT: %[[G:.*]] = dist.all_reduce sum %[[B]] over @stage1 ["data"]
// CHECK-NEXT: return %[[G]]
func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {dist.stage = 0 : i64}, tensor<4xf32> {dist.stage = 1 : i64}) {
  %h = dgc.exponential %x {dist.stage = 0} : tensor<4xf32>
  %c = dgc.constant dense<2.0> : tensor<4xf32>
  %n = dgc.negate %c {dist.stage = 1} : tensor<4xf32>
  %a = dgc.multiply %h, %n {dist.stage = 1} : tensor<4xf32>
  %t = dgc.multiply %x, %c {dist.stage = 0} : tensor<4xf32>
  %b = dgc.add %a, %h {dist.stage = 1} : tensor<4xf32>
  %g = dist.all_reduce sum %b over @mesh ["data"] {dist.stage = 1} : tensor<4xf32>
  %s = dgc.add %t, %b {dist.stage = 0} : tensor<4xf32>
  return %s, %g : tensor<4xf32>, tensor<4xf32>
}

// -----

// Without stages nothing is cut.
// CHECK-LABEL: func.func @whole(
dist.mesh @mesh <stage = 2, data = 3>
func.func @whole(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dgc.exponential %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Positions that are said stay. A state, and what the runtime gives, has none.
dist.mesh @mesh <stage = 2>
// CHECK-LABEL: func.func @said_stage0
// CHECK-SAME: (%{{.*}}: tensor<4xf32> {dgc.argument = 7 : i64})
// CHECK-LABEL: func.func @said_stage1
// CHECK-SAME: (%{{.*}}: tensor<4xf32> {dgc.input = "b"}, %{{.*}}: tensor<4xf32> {dgc.argument = 3 : i64, dgc.state = @w
// CHECK-SAME: -> (tensor<4xf32> {dgc.result = 5 : i64
// CHECK-LABEL: func.func @unsaid_stage1
// CHECK-SAME: (%{{.*}}: tensor<4xf32> {dgc.argument = 1 : i64}, %{{.*}}: tensor<4xf32> {dgc.state = @w, dist.stage = 1 : i64})
// CHECK-SAME: -> (tensor<4xf32> {dgc.result = 1 : i64, dist.stage = 1 : i64}, tensor<4xf32> {dgc.state = @w, dist.stage = 1 : i64})
dgc.state @w weight zeros rng 0 : tensor<4xf32>
func.func @said(%a: tensor<4xf32> {dgc.argument = 7 : i64}, %b: tensor<4xf32> {dgc.input = "b"},
                %w: tensor<4xf32> {dgc.state = @w, dgc.argument = 3 : i64, dist.stage = 1 : i64})
    -> (tensor<4xf32> {dgc.result = 5 : i64, dist.stage = 1 : i64}) {
  %h = dgc.exponential %a {dist.stage = 0} : tensor<4xf32>
  %g = dgc.add %h, %b {dist.stage = 1} : tensor<4xf32>
  %r = dgc.multiply %g, %w {dist.stage = 1} : tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func @unsaid(%a: tensor<4xf32>, %b: tensor<4xf32>, %w: tensor<4xf32> {dgc.state = @w, dist.stage = 1 : i64})
    -> (tensor<4xf32> {dist.stage = 0 : i64}, tensor<4xf32> {dist.stage = 1 : i64}, tensor<4xf32> {dgc.state = @w, dist.stage = 1 : i64}) {
  %h = dgc.exponential %a {dist.stage = 0} : tensor<4xf32>
  %g = dgc.add %h, %b {dist.stage = 1} : tensor<4xf32>
  %r = dgc.multiply %g, %w {dist.stage = 1} : tensor<4xf32>
  return %h, %g, %r : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
