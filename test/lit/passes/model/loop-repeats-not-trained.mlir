// RUN: dgc-opt %s --dgc-loop-repeats=batch=2 | FileCheck %s
// RUN: not dgc-opt %s --dgc-loop-repeats=batch=2 --dgc-unroll-repeats 2>&1 | FileCheck %s --check-prefix=ERROR

// Repeats with a variable that the loss does not depend on stay: it is refused when they are written out.

// ERROR: 'dgc.variable' op is not trained: the loss depends on "stopped.0.w" through dgc.stop_gradient alone
// CHECK-LABEL: dgc.model @not_trained
// CHECK-NOT: dgc.scan
// CHECK-COUNT-2: dgc.repeat
dgc.model @not_trained {
  %x = dgc.input "x" : tensor<?x4xf32>
  %p = dgc.repeat 2 "stopped" (%h = %x) {
    %w = dgc.variable "w" glorot_uniform : tensor<4x4xf32>
    %s = dgc.stop_gradient %w
    %z = dgc.dense %h, %s
    dgc.next %z
  }
  %q:2 = dgc.repeat 2 "last" (%h = %p, %k = %p) {
    %w = dgc.variable "w" glorot_uniform : tensor<4x4xf32>
    %z = dgc.dense %h, %w
    dgc.next %k, %z
  }
  %loss = dgc.reduce sum %q#0 dims [0, 1]
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}
