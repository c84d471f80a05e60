// RUN: dgc-opt %s --split-input-file | dgc-opt --split-input-file | FileCheck %s --check-prefix=PARSED
// RUN: dgc-opt %s --dgc-inline-calls --split-input-file --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// Each call has variables of its own; a variable of the model that is given to both is shared.
// PARSED: dgc.block @layer(%[[X:.*]], %[[S:.*]]) {
// CHECK-NOT: dgc.block
dgc.block @layer(%x, %shared) {
  %w = dgc.variable "w" zeros frozen : tensor<4x4xf32>
  %z = dgc.dense %x, %w
  // PARSED: %[[Y:.*]] = dgc.bias_add %{{.*}}, %[[S]]
  %y = dgc.bias_add %z, %shared
  // PARSED: dgc.return %[[Y]], %[[X]]
  dgc.return %y, %x
}
// PARSED: dgc.model @two
// CHECK: dgc.model @two
dgc.model @two {
  %x = dgc.input "x" : tensor<?x4xf32>
  %s = dgc.variable "s" zeros frozen : tensor<4xf32>
  // CHECK: %[[X:.*]] = dgc.input
  // CHECK: %[[S:.*]] = dgc.variable "s"
  // CHECK-NEXT: %[[W1:.*]] = dgc.variable "first.w" {{.*}} loc("first"({{.*}}inline-calls.mlir
  // CHECK-NEXT: %[[Z1:.*]] = dgc.dense %[[X]], %[[W1]] loc("first"
  // CHECK-NEXT: %[[Y1:.*]] = dgc.bias_add %[[Z1]], %[[S]]
  // CHECK-NEXT: %[[W2:.*]] = dgc.variable "second.w"
  // CHECK-NEXT: %[[Z2:.*]] = dgc.dense %[[Y1]], %[[W2]] loc("second"
  // CHECK-NEXT: %[[Y2:.*]] = dgc.bias_add %[[Z2]], %[[S]]
  // PARSED: %[[A:.*]]:2 = dgc.call @layer "first" (%{{.*}}, %[[S1:.*]])
  // PARSED: %{{.*}}:2 = dgc.call @layer "second" (%[[A]]#0, %[[S1]])
  %a:2 = dgc.call @layer "first" (%x, %s)
  %b:2 = dgc.call @layer "second" (%a#0, %s)
  // CHECK-NEXT: dgc.output "y" %[[Y2]]
  dgc.output "y" %b#0
  // CHECK-NEXT: dgc.output "x" %[[Y1]]
  dgc.output "x" %b#1
}
// CHECK-NOT: dgc.block

// -----

// Calls in blocks, in repeats, and repeats in blocks: names from the outside in. What repeats stays one.
dgc.block @inner(%x) {
  %w = dgc.variable "w" zeros frozen : tensor<4xf32>
  %y = dgc.bias_add %x, %w
  dgc.return %y
}
dgc.block @outer(%x) {
  %y = dgc.repeat 2 "part" (%h = %x) {
    %z = dgc.call @inner "add" (%h)
    dgc.next %z
  }
  %z = dgc.call @inner "last" (%y)
  dgc.return %z
}
// CHECK: dgc.model @nested
dgc.model @nested {
  %x = dgc.input "x" : tensor<?x4xf32>
  // CHECK: dgc.repeat 3 "layer"
  %y = dgc.repeat 3 "layer" (%h = %x) {
    // CHECK: dgc.repeat 2 "block.part"
    // CHECK: dgc.variable "add.w"
    // CHECK: dgc.variable "block.last.w" {{.*}} loc("block.last"
    // CHECK: dgc.bias_add {{.*}} loc("block.last"
    %z = dgc.call @outer "block" (%h)
    dgc.next %z
  }
  dgc.output "y" %y
}

// -----

// Nothing to call.
// CHECK: dgc.model @none
dgc.model @none {
  %x = dgc.input "x" : tensor<?x4xf32>
  // CHECK: dgc.relu
  %y = dgc.relu %x
  dgc.output "y" %y
}
