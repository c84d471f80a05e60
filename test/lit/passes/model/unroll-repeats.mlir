// RUN: dgc-opt %s | dgc-opt --dgc-unroll-repeats --split-input-file | FileCheck %s

// Every round has variables of its own; one from outside is shared.

// CHECK-LABEL: dgc.model @layers
// CHECK-DAG: %[[X:.*]] = dgc.input "x"
// CHECK-DAG: %[[B:.*]] = dgc.variable "b"
// CHECK-DAG: %[[W0:.*]] = dgc.variable "layer.0.w"
// CHECK-NOT: dgc.variable
// CHECK: %[[Y0:.*]] = dgc.dense %[[X]], %[[W0]], %[[B]]
// CHECK-DAG: %[[R0:.*]] = dgc.relu %[[Y0]]
// CHECK-DAG: %[[W1:.*]] = dgc.variable "layer.1.w"
// CHECK-NOT: dgc.variable
// CHECK: %[[Y1:.*]] = dgc.dense %[[R0]], %[[W1]], %[[B]]
// CHECK: %[[R1:.*]] = dgc.relu %[[Y1]]
// CHECK-NOT: dgc.{{repeat|relu}}
// CHECK: dgc.output "y" %[[R1]]
dgc.model @layers {
  %x = dgc.input "x" : tensor<?x4xf32>
  %b = dgc.variable "b" zeros : tensor<4xf32>
  %y = dgc.repeat 2 "layer" (%h = %x) {
    %w = dgc.variable "w" glorot_uniform : tensor<4x4xf32>
    %z = dgc.dense %h, %w, %b
    %r = dgc.relu %z
    dgc.next %r
  }
  dgc.output "y" %y
}

// -----

// Several values go around, here in turns; what is given on unchanged, or comes from outside, is that value.

// CHECK-LABEL: dgc.model @swap
// CHECK: %[[A:.*]] = dgc.input "a"
// CHECK: %[[B:.*]] = dgc.input "b"
// CHECK: %[[S0:.*]] = dgc.add %[[A]], %[[B]]
// CHECK: %[[S1:.*]] = dgc.add %[[B]], %[[S0]]
// CHECK: %[[S2:.*]] = dgc.add %[[S0]], %[[S1]]
// CHECK-NOT: dgc.add
// CHECK: dgc.output "s" %[[S1]]
// CHECK: dgc.output "t" %[[S2]]
// CHECK: dgc.output "u" %[[A]]
dgc.model @swap {
  %a = dgc.input "a" : tensor<?x4xf32>
  %b = dgc.input "b" : tensor<?x4xf32>
  %s, %t, %u = dgc.repeat 3 "round" (%p = %a, %q = %b, %r = %b) {
    %sum = dgc.add %p, %q
    dgc.next %q, %sum, %a
  }
  dgc.output "s" %s
  dgc.output "t" %t
  dgc.output "u" %u
}

// -----

// A repeat in a repeat. Statistics are assigned in each round.

// CHECK-LABEL: dgc.model @nested
// CHECK: %[[M:.*]] = dgc.variable "stage.0.block.0.mean"
// CHECK: dgc.assign %[[M]], %[[M]]
// CHECK: %[[M:.*]] = dgc.variable "stage.0.block.1.mean"
// CHECK: dgc.assign %[[M]], %[[M]]
// CHECK: %[[M:.*]] = dgc.variable "stage.1.block.0.mean"
// CHECK: dgc.assign %[[M]], %[[M]]
// CHECK: %[[M:.*]] = dgc.variable "stage.1.block.1.mean"
// CHECK: dgc.assign %[[M]], %[[M]]
// CHECK-NOT: dgc.{{assign|variable|repeat}}
dgc.model @nested {
  %x = dgc.input "x" : tensor<?x4xf32>
  %y = dgc.repeat 2 "stage" (%a = %x) {
    %b = dgc.repeat 2 "block" (%c = %a) {
      %m = dgc.variable "mean" zeros : tensor<4xf32>
      %d = dgc.bias_add %c, %m
      dgc.assign %m, %m
      dgc.next %d
    }
    dgc.next %b
  }
  dgc.output "y" %y
}

// -----

// Nothing to do.

// CHECK-LABEL: dgc.model @none
// CHECK: dgc.relu
dgc.model @none {
  %x = dgc.input "x" : tensor<?x4xf32>
  %y = dgc.relu %x
  dgc.output "y" %y
}
