// RUN: dgc-opt %s --split-input-file | dgc-opt --split-input-file | FileCheck %s
// RUN: dgc-opt %s --split-input-file --mlir-print-op-generic | dgc-opt --split-input-file | FileCheck %s
// RUN: dgc-opt %source/dialects/dgc/Optimizers.mlir | dgc-opt | FileCheck %s --check-prefix=LANGUAGE

// The optimizers of the language are such definitions, and verified as others are. One is for others alone.
// LANGUAGE: dgc.optimizer_def @sgd(
// LANGUAGE: dgc.optimizer_def @adafactor(%{{.*}}) rank in [2.0, inf) else @adafactor_whole parameters (
// LANGUAGE: dgc.optimizer_def private @adafactor_whole(
// LANGUAGE: dgc.optimizer_def @muon(%{{.*}}) rank in [2.0, 2.0] else @adamw

// A definition is printed as it is written; zeros at first and what is not restricted are left out.

// CHECK-LABEL: dgc.optimizer_def @all(
// CHECK-SAME:  %[[W:[^,]*]], %[[G:[^,]*]], %[[RATE:[^,]*]], %[[STEP:[^)]*]]) rank in [2.0, inf) else sgd
// CHECK-SAME:  parameters ("beta" %[[BETA:[^ ]*]] = 0.9 in [0.0, 1.0), "momentum" %{{[^ ]*}} = 0.5 in (0.0, inf) needs "beta", "word" %{{[^ ]*}} = true)
// CHECK-SAME:  state ("momentum" %[[M:[^,]*]], "row" %{{[^ ]*}} = 2.0 reduced [-1], "corner" %{{[^ ]*}} = "momentum" reduced [-1, -2] needs "word") {
// CHECK:         dgc.multiply %[[M]], %[[BETA]]
// CHECK:         dgc.literal 1.0
// CHECK:         dgc.size %[[W]] dim -1
// CHECK:         dgc.return
dgc.optimizer_def @all(%w, %g, %rate, %step) rank in [2, inf) else sgd
    parameters ("beta" %beta = 0.9 in [0, 1), "momentum" %momentum = 5.0e-1 in (0, inf) needs "beta", "word" %word = true)
    state ("momentum" %m = 0, "row" %r = 2 reduced [-1], "corner" %c = "momentum" reduced [-1, -2] needs "word") {
  %kept = dgc.multiply %m, %beta
  %part = dgc.subtract 1.0, %beta
  %n = dgc.size %w dim -1
  %w1 = dgc.multiply %w, %n
  dgc.return %w1, %kept, %r, %c
}

// CHECK-LABEL: dgc.model @groups
// CHECK: dgc.optimizer @all learning_rate 0.1 polynomial steps 10 final 0.0 power 2.0 beta 0.8 word false clip_global_norm 1.0 for "w,b*" beta 0.7 word learning_rate_factor 0.5 for "c" frozen
dgc.model @groups {
  %x = dgc.input "x" : tensor<?x4xf32>
  %w = dgc.variable "w" zeros : tensor<4x2xf32>
  %y = dgc.matmul %x, %w
  %c = dgc.variable "c" zeros : tensor<4x2xf32>
  %l = dgc.mean_squared_error %y, %y
  dgc.loss %l
  dgc.optimizer @all clip_global_norm 1 beta 0.8 word false learning_rate 0.1 polynomial steps 10 final 0 power 2
      for "w, b*" beta 0.7 word learning_rate_factor 0.5
      for "c" frozen
}

// -----

// CHECK-LABEL: dgc.optimizer_def private @least(
// CHECK-NOT:   parameters
// CHECK-NOT:   state
// CHECK:         dgc.repeat 3 "twice"
dgc.optimizer_def private @least(%w, %g, %rate, %step) {
  %h = dgc.repeat 3 "twice" (%x = %g) {
    %y = dgc.add %x, %x
    dgc.next %y
  }
  dgc.return %h
}

// CHECK-LABEL: func.func @apply
// CHECK: %{{.*}} = dgc.apply_optimizer @least(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : tensor<4xf32>, tensor<4xf32>, tensor<f32>
// CHECK: %{{.*}}, %{{.*}}:2 = dgc.apply_optimizer rmsprop(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) state(%{{.*}}, %{{.*}}) centered epsilon 1.0e-08 : tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>
func.func @apply(%w: tensor<4xf32>, %lr: tensor<f32>, %step: tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = dgc.apply_optimizer @least(%w, %w, %lr, %step) : tensor<4xf32>, tensor<4xf32>, tensor<f32>
  %1, %2:2 = dgc.apply_optimizer rmsprop(%w, %w, %lr, %step) state(%w, %w) epsilon 1e-8 centered : tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
