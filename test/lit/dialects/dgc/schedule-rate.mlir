// RUN: dgc-opt %s --split-input-file --dgc-decompose --canonicalize | FileCheck %s

// A number is a constant, also behind a warm-up.

dgc.schedule_def @least(%rate, %step) {
  dgc.return %rate
}

// CHECK-LABEL: func.func @constant(
// CHECK-SAME:    %[[STEP:[^:]+]]: tensor<i64>)
// CHECK:         %[[CONSTANT:.*]] = dgc.constant dense<1.000000e-01> : tensor<f32>
// CHECK:         %[[WARM:.*]] = dgc.select %{{.*}}, %{{.*}}, %[[CONSTANT]]
// CHECK:         return %[[CONSTANT]], %[[WARM]]
func.func @constant(%step: tensor<i64>) -> (tensor<f32>, tensor<f32>) {
  %0 = dgc.learning_rate %step 0.1 @least
  %1 = dgc.learning_rate %step 0.1 @least warm_up 3
  return %0, %1 : tensor<f32>, tensor<f32>
}

// -----

// An integer is an i64 among integers, and a number otherwise; what is computed of numbers is a number. A select by a truth is
// one of its operands.

dgc.block @restarted(%step, %every) {
  %n = dgc.remainder %step, %every
  dgc.return %n
}
dgc.schedule_def @saw(%rate, %step) parameters ("every" %every integer in [1, inf), "falls" %falls = true) {
  %n = dgc.call @restarted "n" (%step, %every)
  %t = dgc.convert %n to f32
  %slope = dgc.divide %rate, %every
  %down = dgc.multiply %t, %slope
  %y = dgc.subtract %rate, %down
  %chosen = dgc.select %falls, %y, %rate
  dgc.return %chosen
}

// CHECK-LABEL: func.func @numbers(
// CHECK-SAME:    %[[STEP:[^:]+]]: tensor<i64>)
// CHECK-DAG:     %[[EVERY:.*]] = dgc.constant dense<8> : tensor<i64>
// CHECK-DAG:     %[[SLOPE:.*]] = dgc.constant dense<6.250000e-02> : tensor<f32>
// CHECK-DAG:     %[[BASE:.*]] = dgc.constant dense<5.000000e-01> : tensor<f32>
// CHECK:         %[[N:.*]] = dgc.remainder %[[STEP]], %[[EVERY]] : tensor<i64>
// CHECK-NEXT:    %[[T:.*]] = dgc.convert %[[N]] to f32
// CHECK-NEXT:    %[[DOWN:.*]] = dgc.multiply %[[T]], %[[SLOPE]]
// CHECK-NEXT:    %[[Y:.*]] = dgc.subtract %[[BASE]], %[[DOWN]]
// CHECK-NEXT:    return %[[Y]], %[[BASE]]
// CHECK-NOT:     dgc.schedule_def
func.func @numbers(%step: tensor<i64>) -> (tensor<f32>, tensor<f32>) {
  %0 = dgc.learning_rate %step 0.5 @saw(every 8)
  %1 = dgc.learning_rate %step 0.5 @saw(every 8 falls false)
  return %0, %1 : tensor<f32>, tensor<f32>
}
