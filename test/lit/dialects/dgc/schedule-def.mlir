// RUN: dgc-opt %s --split-input-file | dgc-opt --split-input-file | FileCheck %s
// RUN: dgc-opt %s --split-input-file --mlir-print-op-generic | dgc-opt --split-input-file | FileCheck %s
// RUN: dgc-opt %source/dialects/dgc/Schedules.mlir | dgc-opt | FileCheck %s --check-prefix=LANGUAGE

// The schedules of the language are such definitions, and verified as others are. Two are for the compiler alone.
// LANGUAGE: dgc.schedule_def private @constant(
// LANGUAGE: dgc.schedule_def private @warm_up(
// LANGUAGE: dgc.schedule_def @linear(%{{.*}}, %{{.*}}) parameters ("steps" %{{.*}} integer in [1.0, inf), "final" %{{[^ ]*}}) {
// LANGUAGE: dgc.schedule_def @cosine(
// LANGUAGE: dgc.schedule_def @polynomial(
// LANGUAGE: dgc.schedule_def @step(
// LANGUAGE: dgc.schedule_def @exponential(

// A definition is printed as it is written.

// CHECK-LABEL: dgc.schedule_def @all(
// CHECK-SAME:  %[[RATE:[^,]*]], %[[STEP:[^)]*]])
// CHECK-SAME:  parameters ("every" %[[EVERY:[^ ]*]] integer in [1.0, inf), "times" %[[TIMES:[^ ]*]] = 0.5 in (0.0, 1.0], "count" %{{[^ ]*}} integer = 3, "word" %{{[^ ]*}} = false needs "times", "open" %{{[^ ]*}}) {
// CHECK:         dgc.convert %[[STEP]] to f32
// CHECK:         dgc.power %[[TIMES]]
// CHECK:         dgc.return
dgc.schedule_def @all(%rate, %step)
    parameters ("every" %every integer in [1, inf), "times" %times = 5.0e-1 in (0, 1], "count" %count integer = 3,
                "word" %word = false needs "times", "open" %open) {
  %t = dgc.convert %step to f32
  %n = dgc.divide %t, %every
  %part = dgc.power %times, %n
  %y = dgc.multiply %rate, %part
  dgc.return %y
}

// Values are printed as they are given: integers without a decimal point.

// CHECK-LABEL: dgc.model @uses
// CHECK: dgc.optimizer adam learning_rate 0.1 @all(every 10 open -2.5 times 1 word) warm_up 5 beta1 0.8 for "c" frozen
dgc.model @uses {
  %x = dgc.input "x" : tensor<?x4xf32>
  %w = dgc.variable "w" zeros : tensor<4x2xf32>
  %y = dgc.matmul %x, %w
  %c = dgc.variable "c" zeros : tensor<4x2xf32>
  %l = dgc.mean_squared_error %y, %y
  dgc.loss %l
  dgc.optimizer adam beta1 0.8 learning_rate 0.1 @all(every 10 times 1 word open -2.5) warm_up 5
      for "c" frozen
}

// -----

// The smallest definition: a number, or the scalar that a block makes of it.

// CHECK-LABEL: dgc.schedule_def private @least(
// CHECK-NOT:   parameters
dgc.schedule_def private @least(%rate, %step) {
  dgc.return %rate
}

// CHECK-LABEL: func.func @apply
// CHECK: dgc.learning_rate %{{.*}} 0.1 @least
// CHECK: dgc.learning_rate %{{.*}} 0.1 @least warm_up 3
// CHECK: dgc.learning_rate %{{.*}} 0.1 polynomial steps 10 final 0.0 power 2.0 warm_up 3
func.func @apply(%step: tensor<i64>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %0 = dgc.learning_rate %step 0.1 @least
  %1 = dgc.learning_rate %step 0.1 @least warm_up 3
  %2 = dgc.learning_rate %step 0.1 polynomial steps 10 final 0 power 2 warm_up 3
  return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<f32>
}
