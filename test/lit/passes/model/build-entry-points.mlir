// RUN: dgc-opt %s --dgc-infer-types=batch=4 --dgc-build-entry-points --split-input-file | FileCheck %s

// Variables become states, the model three functions; each takes what it uses, and the count of real examples, and is
// marked for dgc-mask-padding.

// CHECK: module @line attributes {dgc.global_batch = 4 : i64}
// CHECK: dgc.state @w weight glorot_uniform rng 0 : tensor<3x2xf32>
// CHECK: dgc.state @b weight constant 0.5 rng 1 : tensor<2xf32>
// CHECK-NOT: dgc.model

// CHECK-LABEL: func.func @train(
// CHECK-SAME: %[[W:.*]]: tensor<3x2xf32> {dgc.state = @w}
// CHECK-SAME: %[[B:.*]]: tensor<2xf32> {dgc.state = @b}
// CHECK-SAME: %[[X:.*]]: tensor<4x3xf32> {dgc.batch_dim = 0 : i64, dgc.input = "x", dgc.role = "data"}
// CHECK-SAME: %[[Y:.*]]: tensor<4x2xf32> {dgc.batch_dim = 0 : i64, dgc.input = "y", dgc.role = "data"}
// CHECK-SAME: %[[VALID:.*]]: tensor<i32> {dgc.input = "valid_count", dgc.role = "valid_count"}
// CHECK-SAME: %[[STEP:.*]]: tensor<i64> {dgc.input = "step", dgc.role = "step"}
// CHECK-NOT: seed
// CHECK-SAME: -> (tensor<3x2xf32> {dgc.state = @w}, tensor<2xf32> {dgc.state = @b},
// CHECK-SAME: tensor<f32> {dgc.output = "loss", dgc.role = "loss"}, tensor<f32> {dgc.output = "again", dgc.role = "metric"})
// CHECK-SAME: attributes {dgc.padded}
// What was written is as it was; each variable is updated with its own gradient of the loss and the rate of the step.
// CHECK: %[[P:.*]] = dgc.dense %[[X]], %[[W]], %[[B]]
// CHECK: %[[LOSS:.*]] = dgc.mean_squared_error %[[P]], %[[Y]] :
// CHECK-DAG: %[[G:.*]]:2 = dgc.gradient %[[LOSS]] wrt %[[W]], %[[B]]
// CHECK-DAG: %[[LR:.*]] = dgc.learning_rate %[[STEP]] 0.1 warm_up 5
// CHECK-DAG: %[[W1:.*]] = dgc.apply_optimizer sgd(%[[W]], %[[G]]#0, %[[LR]], %[[STEP]]) :
// CHECK-DAG: %[[B1:.*]] = dgc.apply_optimizer sgd(%[[B]], %[[G]]#1, %[[LR]], %[[STEP]]) :
// CHECK: return %[[W1]], %[[B1]], %[[LOSS]], %[[LOSS]]

// CHECK-LABEL: func.func @evaluate(
// CHECK-SAME: dgc.state = @w
// CHECK-SAME: valid_count
// CHECK-NOT: step
// CHECK-SAME: -> (tensor<f32> {dgc.output = "loss", dgc.role = "loss"}, tensor<f32> {dgc.output = "again", dgc.role = "metric"})
// CHECK-NOT: dgc.gradient

// CHECK-LABEL: func.func @predict(
// CHECK-NOT: "y"
// CHECK-SAME: -> (tensor<4x2xf32> {dgc.batch_dim = 0 : i64, dgc.output = "prediction", dgc.role = "prediction"})
// CHECK-NOT: dgc.mean_squared_error
dgc.model @line {
  %x = dgc.input "x" : tensor<?x3xf32>
  %y = dgc.input "y" : tensor<?x2xf32>
  %w = dgc.variable "w" glorot_uniform : tensor<3x2xf32>
  %b = dgc.variable "b" constant 0.5 : tensor<2xf32>
  %p = dgc.dense %x, %w, %b
  %loss = dgc.mean_squared_error %p, %y
  dgc.loss %loss
  dgc.metric "again" %loss
  dgc.output "prediction" %p
  dgc.optimizer sgd learning_rate 0.1 warm_up 5
}

// -----

// The state of the optimizer follows the variables, and is neither in evaluate nor in predict. Frozen variables are
// not trained.

// CHECK-DAG: dgc.state @w weight zeros
// CHECK-DAG: dgc.state @frozen weight zeros
// CHECK-DAG: dgc.state @w.adam_mean slot zeros
// CHECK-DAG: dgc.state @w.adam_square slot zeros
// CHECK-NOT: dgc.state
// CHECK-LABEL: func.func @train(
// CHECK-SAME: %[[W:.*]]: tensor<3x2xf32> {dgc.state = @w}, %[[F:.*]]: tensor<3x2xf32> {dgc.state = @frozen},
// CHECK-SAME: %[[M:.*]]: tensor<3x2xf32> {dgc.state = @w.adam_mean}, %[[V:.*]]: tensor<3x2xf32> {dgc.state = @w.adam_square}
// CHECK-SAME: -> (tensor<3x2xf32> {dgc.state = @w}, tensor<3x2xf32> {dgc.state = @w.adam_mean}, tensor<3x2xf32> {dgc.state = @w.adam_square}, tensor<f32>
// CHECK: %[[G:.*]] = dgc.gradient %{{.*}} wrt %[[W]]
// CHECK: %[[C:.*]] = dgc.clip_by_global_norm %[[G]] max 1.0
// CHECK: %[[W1:.*]], %[[S1:.*]]:2 = dgc.apply_optimizer adamw(%[[W]], %[[C]], %{{.*}}, %{{.*}}) state(%[[M]], %[[V]]) weight_decay 0.01
// CHECK: return %[[W1]], %[[S1]]#0, %[[S1]]#1
// CHECK-LABEL: func.func @evaluate(
// CHECK-NOT: adam
dgc.model @adam {
  %x = dgc.input "x" : tensor<?x3xf32>
  %y = dgc.input "y" : tensor<?xi64>
  %w = dgc.variable "w" zeros : tensor<3x2xf32>
  %f = dgc.variable "frozen" zeros frozen : tensor<3x2xf32>
  %a = dgc.dense %x, %w
  %b = dgc.dense %x, %f
  %p = dgc.add %a, %b
  %loss = dgc.cross_entropy %p, %y
  dgc.loss %loss
  dgc.optimizer adamw learning_rate 1e-3 weight_decay 0.01 clip_global_norm 1
}

// -----

// What dgc.assign writes is a statistic, written by train alone; batch normalization trains in train only.

// CHECK-DAG: dgc.state @mean statistic zeros
// CHECK-DAG: dgc.state @variance statistic constant 1.0
// CHECK-LABEL: func.func @train(
// CHECK-SAME: -> ({{.*}} {dgc.state = @mean}, tensor<3xf32> {dgc.state = @variance}, tensor<f32>
// CHECK: %{{.*}}, %[[MEAN:.*]], %[[VARIANCE:.*]] = dgc.batch_norm {{.*}} training : tensor<4x3xf32>
// CHECK: return {{.*}}, %[[MEAN]], %[[VARIANCE]], %{{[0-9]+}} :
// CHECK-LABEL: func.func @evaluate(
// CHECK: dgc.batch_norm
// CHECK-NOT: training
dgc.model @normalized {
  %x = dgc.input "x" : tensor<?x3xf32>
  %y = dgc.input "y" : tensor<?x3xf32>
  %scale = dgc.variable "scale" constant 1 : tensor<3xf32>
  %offset = dgc.variable "offset" zeros : tensor<3xf32>
  %mean = dgc.variable "mean" zeros : tensor<3xf32>
  %variance = dgc.variable "variance" constant 1 : tensor<3xf32>
  %n, %next_mean, %next_variance = dgc.batch_norm %x, %scale, %offset, %mean, %variance momentum 0.9
  dgc.assign %mean, %next_mean
  dgc.assign %variance, %next_variance
  %loss = dgc.mean_squared_error %n, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1 momentum 0.9
}

// -----

// What is assigned in predict, predict alone writes.

// CHECK-DAG: dgc.state @count statistic zeros
// CHECK-LABEL: func.func @train(
// CHECK-NOT: @count
// CHECK-LABEL: func.func @predict(
// CHECK-SAME: %[[N:[^:]+]]: tensor<i32> {dgc.state = @count}
// CHECK-SAME: -> (tensor<i32> {dgc.state = @count}, tensor<4x3xf32> {
// CHECK: %[[NEXT:.*]] = dgc.add %[[N]],
// CHECK: return %[[NEXT]], %{{.*}} :
dgc.model @counting {
  %x = dgc.input "x" : tensor<?x3xf32>
  %y = dgc.input "y" : tensor<?x3xf32>
  %w = dgc.variable "w" zeros : tensor<3x3xf32>
  %n = dgc.variable "count" zeros : tensor<i32>
  %next = dgc.add %n, 1
  dgc.assign %n, %next in predict
  %h = dgc.dense %x, %w
  %loss = dgc.mean_squared_error %h, %y
  dgc.output "h" %h
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}

// -----

// Without a loss there is no training, and nothing of it.

// CHECK-LABEL: func.func @predict(
// CHECK-NOT: func.func
dgc.model @predict_only {
  %x = dgc.input "x" : tensor<?x3xf32>
  %y = dgc.relu %x
  dgc.output "y" %y
}

// -----

// Each weight has the optimizer for its rank, with the fields of the last group that has its name; states may be reduced,
// and begin with a number. What is frozen by name is not trained.

// CHECK-DAG: dgc.state @w.row slot zeros {{.*}} : tensor<3x1xf32>
// CHECK-DAG: dgc.state @w.column slot zeros {{.*}} : tensor<1x2xf32>
// CHECK-DAG: dgc.state @bias.square slot zeros {{.*}} : tensor<2xf32>
// CHECK-NOT: dgc.state @frozen.w.
// CHECK-LABEL: func.func @train(
// CHECK: %[[RATE:.*]] = dgc.learning_rate
// CHECK: dgc.apply_optimizer adafactor(%{{.*}}, %{{.*}}, %[[RATE]], %{{.*}}) state(%{{.*}}, %{{.*}}) weight_decay 0.1 :
// CHECK: %[[SLOW:.*]] = dgc.multiply %[[RATE]]
// CHECK: dgc.apply_optimizer adafactor_whole(%{{.*}}, %{{.*}}, %[[SLOW]], %{{.*}}) state(%{{.*}}) threshold 2.0 weight_decay 0.0 :
// CHECK-NOT: dgc.apply_optimizer
dgc.model @groups {
  %x = dgc.input "x" : tensor<?x3xf32>
  %y = dgc.input "y" : tensor<?x2xf32>
  %w = dgc.variable "w" zeros : tensor<3x2xf32>
  %f = dgc.variable "frozen.w" zeros : tensor<3x2xf32>
  %b = dgc.variable "bias" zeros : tensor<2xf32>
  %a = dgc.dense %x, %w, %b
  %c = dgc.matmul %x, %f
  %p = dgc.add %a, %c
  %loss = dgc.mean_squared_error %p, %y
  dgc.loss %loss
  dgc.optimizer adafactor learning_rate 0.1 weight_decay 0.1
      for "*" threshold 3.0
      for "w" weight_decay 0.1
      for "b*" weight_decay 0.0 threshold 2.0 learning_rate_factor 0.5
      for "frozen.*" frozen
}

// -----

// CHECK: dgc.state @w.sum slot constant 0.5
dgc.model @accumulator {
  %x = dgc.input "x" : tensor<?x3xf32>
  %w = dgc.variable "w" zeros : tensor<3xf32>
  %p = dgc.multiply %x, %w
  %loss = dgc.mean_squared_error %p, %x
  dgc.loss %loss
  dgc.optimizer adagrad learning_rate 0.1 initial_accumulator 0.5
}

// -----

// A module without a model is left alone.

// CHECK-LABEL: func.func @f
// CHECK-NOT: dgc.state
func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : tensor<3xf32> }

// -----

// A running sum is a state that evaluate alone has, and with it what depends on it; it takes no random-number id.

// CHECK-DAG: dgc.state @w weight zeros rng 0 : tensor<3x2xf32>
// CHECK-DAG: dgc.state @counts total zeros rng 0 : tensor<2x2xf32>
// CHECK-DAG: dgc.state @w.momentum slot zeros rng 1 : tensor<3x2xf32>
// CHECK-NOT: dgc.state
// CHECK-LABEL: func.func @train(
// CHECK-NOT: @counts
// CHECK-NOT: dgc.confusion_matrix
// CHECK-NOT: "f1"
// CHECK-LABEL: func.func @evaluate(
// CHECK-SAME: %[[BEFORE:[^:]+]]: tensor<2x2xf32> {dgc.state = @counts}
// CHECK-SAME: -> (tensor<2x2xf32> {dgc.state = @counts}, tensor<f32> {dgc.output = "loss", dgc.role = "loss"}, tensor<f32> {dgc.function = "last", dgc.output = "f1", dgc.role = "metric"}, tensor<f32> {dgc.output = "again", dgc.role = "metric"})
// CHECK: %[[BATCH:.*]] = dgc.confusion_matrix
// CHECK: %[[SUM:.*]] = dgc.add %[[BEFORE]], %[[BATCH]] : tensor<2x2xf32>
// CHECK: %[[F1:.*]] = dgc.macro_f1 %[[SUM]]
// CHECK: return %[[SUM]], %{{.*}}, %[[F1]], %{{.*}} :
dgc.model @summing {
  %x = dgc.input "x" : tensor<?x3xf32>
  %y = dgc.input "y" : tensor<?xi32>
  %w = dgc.variable "w" zeros : tensor<3x2xf32>
  %h = dgc.dense %x, %w
  %loss = dgc.cross_entropy %h, %y
  %batch = dgc.confusion_matrix %h, %y
  %counts = dgc.running_sum "counts" %batch
  %f1 = dgc.macro_f1 %counts
  dgc.loss %loss
  dgc.metric "f1" %f1
  dgc.metric "again" %loss
  dgc.optimizer sgd learning_rate 0.1 momentum 0.9
}

// -----

// Without a loss there is evaluate alone, also where all metrics are of running sums.

// CHECK-DAG: dgc.state @sum total zeros rng 0 : tensor<f32>
// CHECK-LABEL: func.func @evaluate(
// CHECK-SAME: -> (tensor<f32> {dgc.state = @sum}, tensor<f32> {dgc.function = "last", dgc.output = "sum", dgc.role = "metric"})
// CHECK-NOT: func.func
dgc.model @evaluate_only {
  %x = dgc.input "x" : tensor<?x3xf32>
  %batch = dgc.reduce sum %x dims [0, 1]
  %sum = dgc.running_sum "sum" %batch
  dgc.metric "sum" %sum
}

// -----

// Metrics that are tensors: the last value of a sum, a quotient. What has no batch gets none, though its size is that.

// CHECK-LABEL: func.func @evaluate(
// CHECK-SAME: -> (tensor<4x4xf32> {dgc.state = @counts}, tensor<4x4xf32> {dgc.function = "last", dgc.output = "confusion", dgc.role = "metric"}, tensor<4xf32> {dgc.output = "rates", dgc.over = "rates.over", dgc.role = "metric"}, tensor<4xf32> {dgc.output = "rates.over", dgc.role = "metric"})
dgc.model @tensors {
  %x = dgc.input "x" : tensor<?x4xf32>
  %y = dgc.input "y" : tensor<?xi32>
  %batch = dgc.confusion_matrix %x, %y
  %counts = dgc.running_sum "counts" %batch
  %rows = dgc.reduce sum %batch dims [1]
  %columns = dgc.reduce sum %batch dims [0]
  dgc.metric "confusion" %counts
  dgc.metric "rates" %rows over %columns
}
