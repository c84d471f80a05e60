// RUN: dgc-opt %s | dgc-opt --dgc-decompose --canonicalize --cse | FileCheck %s

// composites_test checks the numbers; here it is how they are computed.

// An update is elementwise; the learning rate is spread over it once. Without momentum and decay it is one product and
// one difference.

// CHECK-LABEL: func.func @sgd(
// CHECK-SAME:    %[[W:[^:]+]]: tensor<4xf32>, %[[G:[^:]+]]: tensor<4xf32>, %[[M:[^:]+]]: tensor<4xf32>, %[[RATE:[^:]+]]: tensor<f32>,
// CHECK-NOT:     dgc.reduce
// CHECK:         %[[RATES:.*]] = dgc.broadcast_in_dim %[[RATE]] dims [] to [4]
// CHECK-NOT:     dgc.broadcast_in_dim
// CHECK:         %[[STEP:.*]] = dgc.multiply %[[G]], %[[RATES]]
// CHECK-NEXT:    %[[PLAIN:.*]] = dgc.subtract %[[W]], %[[STEP]]
// CHECK-NEXT:    return %{{.*}}, %[[PLAIN]]
func.func @sgd(%w: tensor<4xf32>, %g: tensor<4xf32>, %m: tensor<4xf32>, %lr: tensor<f32>, %step: tensor<i64>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0, %1 = dgc.apply_optimizer sgd(%w, %g, %lr, %step) state(%m) momentum 0.9 nesterov weight_decay 0.1 : tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>
  %2 = dgc.apply_optimizer sgd(%w, %g, %lr, %step) : tensor<4xf32>, tensor<4xf32>, tensor<f32>
  return %1, %0, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// What Adam takes of the step is computed as scalars, once for all variables: 1 - beta^t for both betas, in a form that
// is exact while it is small, and the root of the second. What is left for an element is one root and one quotient.

// CHECK-LABEL: func.func @adam(
// CHECK-NOT:     dgc.power
// CHECK-COUNT-2: dgc.exponential_minus_one %{{.*}} : tensor<f32>
// CHECK-NOT:     dgc.{{exponential_minus_one|power|rsqrt}}
// CHECK:         dgc.rsqrt %{{.*}} : tensor<f32>
// CHECK-NOT:     dgc.{{sqrt|rsqrt|exponential_minus_one|power|reduce}}
// CHECK:         dgc.sqrt %{{.*}} : tensor<4xf32>
// CHECK-NOT:     dgc.{{sqrt|rsqrt|exponential_minus_one|reduce}}
// CHECK:         dgc.divide %{{.*}}, %{{.*}} : tensor<4xf32>
// CHECK-NOT:     dgc.{{divide|rsqrt|exponential_minus_one|reduce}}
// CHECK:         dgc.sqrt %{{.*}} : tensor<8xf32>
// CHECK-NOT:     dgc.{{sqrt|rsqrt|exponential_minus_one|reduce}}
// CHECK:         dgc.divide %{{.*}}, %{{.*}} : tensor<8xf32>
// CHECK-NOT:     dgc.{{divide|sqrt|rsqrt|exponential_minus_one|reduce}}
// CHECK:         return
func.func @adam(%w: tensor<4xf32>, %g: tensor<4xf32>, %v: tensor<8xf32>, %h: tensor<8xf32>, %lr: tensor<f32>, %step: tensor<i64>)
    -> (tensor<4xf32>, tensor<8xf32>) {
  %0, %1:2 = dgc.apply_optimizer adam(%w, %g, %lr, %step) state(%g, %w) beta1 0.9 beta2 0.99 epsilon 1e-8 : tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>
  %3, %4:2 = dgc.apply_optimizer adam(%v, %h, %lr, %step) state(%h, %v) beta1 0.9 beta2 0.99 epsilon 1e-8 : tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<8xf32>, tensor<8xf32>
  return %0, %3 : tensor<4xf32>, tensor<8xf32>
}

// Decoupled weight decay is of the weight, and not in the moments of the gradient.

// CHECK-LABEL: func.func @adamw(
// CHECK-SAME:    %[[W:[^:]+]]: tensor<4xf32>, %[[G:[^:]+]]: tensor<4xf32>,
// CHECK:         dgc.multiply %[[G]], %[[G]]
// CHECK:         %[[DECAY:.*]] = dgc.multiply %[[W]], %{{.*}}
// CHECK-NEXT:    %[[KEPT:.*]] = dgc.subtract %[[W]], %[[DECAY]]
// CHECK:         %[[NEW:.*]] = dgc.subtract %[[KEPT]], %{{.*}}
// CHECK:         return %[[NEW]]
func.func @adamw(%w: tensor<4xf32>, %g: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>, %lr: tensor<f32>, %step: tensor<i64>)
    -> tensor<4xf32> {
  %0, %1:2 = dgc.apply_optimizer adamw(%w, %g, %lr, %step) state(%m, %v) beta1 0.9 beta2 0.99 epsilon 1e-8 weight_decay 0.1 : tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A schedule is a few scalars of the step; where it warms up, a select chooses.

// CHECK-LABEL: func.func @schedule(
// CHECK-SAME:    %[[STEP:[^:]+]]: tensor<i64>)
// CHECK:         dgc.convert %[[STEP]] to f32 : tensor<i64>
// CHECK-NOT:     tensor<{{[0-9]}}
// CHECK:         %[[WARMS:.*]] = dgc.compare {{ *}}lt %[[STEP]], %{{.*}} : tensor<i64>
// CHECK-NEXT:    %[[RATE:.*]] = dgc.select %[[WARMS]], %{{.*}}, %{{.*}} : tensor<i1>, tensor<f32>, tensor<f32>
// CHECK-NEXT:    return %[[RATE]]
func.func @schedule(%step: tensor<i64>) -> tensor<f32> {
  %0 = dgc.learning_rate %step 0.1 step every 10 times 0.5 warm_up 3
  return %0 : tensor<f32>
}

// The global norm is one number of the gradients of all variables; there is one quotient, and it divides by no less than
// the limit.

// CHECK-LABEL: func.func @clip(
// CHECK-DAG:     dgc.reduce sum %{{.*}} dims [0] : tensor<4xf32>
// CHECK-DAG:     dgc.reduce sum %{{.*}} dims [0] : tensor<8xf32>
// CHECK-NOT:     dgc.{{reduce|divide}}
// CHECK:         %[[NORM:.*]] = dgc.sqrt %{{.*}} : tensor<f32>
// CHECK-NEXT:    %[[LEAST:.*]] = dgc.maximum %[[NORM]], %[[LIMIT:.*]] : tensor<f32>
// CHECK-NEXT:    dgc.divide %[[LIMIT]], %[[LEAST]] : tensor<f32>
// CHECK-NOT:     dgc.{{reduce|divide|sqrt}}
// CHECK:         return
func.func @clip(%g: tensor<4xf32>, %h: tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  %0:2 = dgc.clip_by_global_norm %g, %h max 1.0 : tensor<4xf32>, tensor<8xf32>
  return %0#0, %0#1 : tensor<4xf32>, tensor<8xf32>
}
