// RUN: dgc-opt %s --split-input-file | dgc-opt --dgc-loop-repeats=batch=2 --split-input-file | FileCheck %s
// RUN: dgc-opt %s --dgc-loop-repeats="batch=2 rounds=4" --split-input-file | FileCheck %s --check-prefix=FOUR
// RUN: dgc-opt %s --dgc-loop-repeats=batch=2 --dgc-unroll-repeats --dgc-infer-types=batch=2 --dgc-build-entry-points --split-input-file \
// RUN:   | FileCheck %s --check-prefix=STATES

// The variables of all rounds are one; one from outside is the same in all rounds.

// CHECK-LABEL: dgc.model @layers
// CHECK-DAG: %[[X:.*]] = dgc.input "x"
// CHECK-DAG: %[[B:.*]] = dgc.variable "b"
// CHECK-DAG: %[[W:.*]] = dgc.variable "layer.*.w" stacked 1 glorot_uniform {dims = ["", "in", "out"]} : tensor<3x4x4xf32>
// CHECK: %[[Y:.*]] = dgc.scan (%[[H:.*]] = %[[X]]) over (%[[SLICE:.*]] = %[[W]]) with (%[[SAME:.*]] = %[[B]]) {
// CHECK-NEXT: %[[Z:.*]] = dgc.dense %[[H]], %[[SLICE]], %[[SAME]]
// CHECK-NEXT: %[[R:.*]] = dgc.relu %[[Z]]
// CHECK-NEXT: dgc.yield %[[R]]
// CHECK: dgc.bias_add %[[Y]]
// FOUR-LABEL: dgc.model @layers
// FOUR: dgc.repeat 3 "layer"
// The second of each layer has a number that is larger by one, and those of the next layer by two.
// STATES-DAG: dgc.state @b weight zeros rng 0 : tensor<4xf32>
// STATES-DAG: dgc.state @"layer.*.w" weight glorot_uniform rng 1 stacked [1] {dims = ["", "in", "out"]} : tensor<3x4x4xf32>
// STATES-DAG: dgc.state @last weight zeros rng 4 : tensor<4xf32>
dgc.model @layers {
  %x = dgc.input "x" : tensor<?x4xf32>
  %b = dgc.variable "b" zeros : tensor<4xf32>
  %y = dgc.repeat 3 "layer" (%h = %x) {
    %w = dgc.variable "w" glorot_uniform {dims = ["in", "out"]} : tensor<4x4xf32>
    %z = dgc.dense %h, %w, %b
    %r = dgc.relu %z
    dgc.next %r
  }
  %c = dgc.variable "last" zeros : tensor<4xf32>
  %o = dgc.bias_add %y, %c
  dgc.output "y" %o
}

// -----

// Repeats in repeats are loops in loops. Several values go around; a loop without variables has a count.

// CHECK-LABEL: dgc.model @nested
// CHECK: %[[V:.*]] = dgc.variable "outer.*.v" stacked 1 zeros : tensor<2x4xf32>
// CHECK: %[[W:.*]] = dgc.variable "outer.*.inner.*.w" stacked 2 zeros : tensor<2x3x4xf32>
// CHECK: dgc.scan (%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) over (%[[VS:.*]] = %[[V]], %[[WS:.*]] = %[[W]]) {
// CHECK: %[[I:.*]] = dgc.scan (%[[C:.*]] = %[[A]]) over (%[[WI:.*]] = %[[WS]]) {
// CHECK: %[[D:.*]] = dgc.bias_add %[[C]], %[[WI]]
// CHECK: dgc.yield %[[D]]
// CHECK: %[[F:.*]] = dgc.scan (%[[G:.*]] = %[[I]]) count 2 {
// CHECK: %[[E:.*]] = dgc.bias_add %[[B]], %[[VS]]
// CHECK: dgc.yield %[[E]], %[[F]]
// Written out they are outer.0.v, outer.0.inner.0.w, .1.w, .2.w, outer.1.v and so on.
// STATES-DAG: dgc.state @"outer.*.v" weight zeros rng 0 stacked [4] : tensor<2x4xf32>
// STATES-DAG: dgc.state @"outer.*.inner.*.w" weight zeros rng 1 stacked [4, 1] : tensor<2x3x4xf32>
dgc.model @nested {
  %x = dgc.input "x" : tensor<?x4xf32>
  %o:2 = dgc.repeat 2 "outer" (%a = %x, %b = %x) {
    %v = dgc.variable "v" zeros : tensor<4xf32>
    %i = dgc.repeat 3 "inner" (%c = %a) {
      %w = dgc.variable "w" zeros : tensor<4xf32>
      %d = dgc.bias_add %c, %w
      dgc.next %d
    }
    %f = dgc.repeat 2 "twice" (%g = %i) {
      %t = dgc.tanh %g
      dgc.next %t
    }
    %e = dgc.bias_add %b, %v
    dgc.next %e, %f
  }
  %s = dgc.add %o#0, %o#1
  dgc.output "y" %s
}

// -----

// These stay repeats: rounds that change statistics, those that take and give other types, those with devices, those with a
// name that has a star or that another one has, and those in which padding cannot be masked.

// CHECK-LABEL: dgc.model @others
// CHECK-NOT: dgc.scan
// CHECK-COUNT-7: dgc.repeat
// CHECK-NOT: dgc.scan
dgc.model @others {
  %x = dgc.input "x" : tensor<?x8x4x4xf32>
  %b = dgc.repeat 2 "counted" (%h = %x) {
    %n = dgc.variable "n" zeros : tensor<4xf32>
    %m = dgc.add %n, 1.0
    dgc.assign %n, %m
    %y = dgc.bias_add %h, %n
    dgc.next %y
  }
  %c = dgc.repeat 2 "halved" (%h = %b) {
    %s = dgc.max_pool %h window [2, 1]
    dgc.next %s
  }
  %d = dgc.repeat 2 "placed" (%h = %c) {
    %t = dgc.tanh %h {dist.stage = 0}
    dgc.next %t
  }
  %e = dgc.repeat 2 "star*" (%h = %d) {
    %t = dgc.tanh %h
    dgc.next %t
  }
  %f = dgc.repeat 2 "same" (%h = %e) {
    %t = dgc.tanh %h
    dgc.next %t
  }
  %g = dgc.repeat 2 "same" (%h = %f) {
    %t = dgc.tanh %h
    dgc.next %t
  }
  %j = dgc.repeat 2 "turned" (%h = %g) {
    %t = dgc.reverse %h dims [0]
    dgc.next %t
  }
  dgc.output "y" %j
}

// -----

// Rounds may combine examples: padding is masked in the loops.

// CHECK-LABEL: dgc.model @combined
// CHECK-NOT: dgc.repeat
// CHECK-COUNT-4: dgc.scan
dgc.model @combined {
  %x = dgc.input "x" : tensor<?x8x4xf32>
  %none = dgc.constant dense<0.0> : tensor<f32>
  %a = dgc.repeat 2 "sums" (%h = %x) {
    %s = dgc.reduce sum %h dims [0]
    %t = dgc.multiply %h, %s
    dgc.next %t
  }
  %b = dgc.repeat 2 "losses" (%h = %a) {
    %l = dgc.mean_squared_error %h, %x
    %t = dgc.multiply %h, %l
    dgc.next %t
  }
  %c, %uneven = dgc.repeat 2 "experts" (%h = %b, %before = %none) {
    %router = dgc.variable "router" zeros : tensor<4x3xf32>
    %w1 = dgc.variable "w1" zeros : tensor<3x4x5xf32>
    %b1 = dgc.variable "b1" zeros : tensor<3x5xf32>
    %w2 = dgc.variable "w2" zeros : tensor<3x5x4xf32>
    %b2 = dgc.variable "b2" zeros : tensor<3x4xf32>
    %e, %balance = dgc.mixture_of_experts %h, %router, %w1, %b1, %w2, %b2 top 1 capacity 1.25
    %t = dgc.add %h, %e
    %s = dgc.add %before, %balance
    dgc.next %t, %s
  }
  %d = dgc.repeat 2 "numbers" (%h = %c) {
    %i = dgc.iota dim 0 : tensor<?x8x4xf32>
    %m = dgc.reduce max %i dims [0]
    %t = dgc.add %h, %m
    dgc.next %t
  }
  dgc.output "y" %d
}

// -----

// What the optimizer says of one layer alone keeps that repeat, and not the other one.

// CHECK-LABEL: dgc.model @by_name
// CHECK: dgc.repeat 2 "a"
// CHECK: dgc.variable "b.*.w" stacked 1
// CHECK-NEXT: dgc.scan
dgc.model @by_name {
  %x = dgc.input "x" : tensor<?x4xf32>
  %p = dgc.repeat 2 "a" (%h = %x) {
    %w = dgc.variable "w" glorot_uniform : tensor<4x4xf32>
    %z = dgc.dense %h, %w
    dgc.next %z
  }
  %q = dgc.repeat 2 "b" (%h = %p) {
    %w = dgc.variable "w" glorot_uniform : tensor<4x4xf32>
    %z = dgc.dense %h, %w
    dgc.next %z
  }
  %loss = dgc.reduce sum %q dims [0, 1]
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1 for "a.1.*" learning_rate_factor 2.0 for "b.*" learning_rate_factor 3.0
}

// -----

// Each round draws random numbers of its own: the ids are those that the rounds have written out, as the step is added to 2^40
// times the id where bits are made. Outside of training nothing is drawn.

// STATES-LABEL: module @draws
// STATES: func.func @train
// STATES: %[[NUMBERS:.*]] = dgc.iota dim 0 : tensor<3xi64>
// STATES: %[[STRIDE:.*]] = dgc.constant dense<2199023255552> : tensor<3xi64>
// STATES: %[[SHIFTS:.*]] = dgc.multiply %[[NUMBERS]], %[[STRIDE]]
// STATES: %[[STEPS:.*]] = dgc.add %[[SHIFTS]],
// STATES: dgc.scan (%{{.*}}) over (%{{.*}}, %[[STEP:.*]] = %[[STEPS]]) with (%[[SEED:.*]] = %{{.*}}) :
// STATES: dgc.dropout %{{.*}} rate 0.5 keyed %[[SEED]], %[[STEP]] rng 3
// STATES: dgc.random_normal keyed %[[SEED]], %[[STEP]] rng 4
// STATES: dgc.yield
// STATES: dgc.dropout %{{.*}} rate 0.5 keyed %{{.*}}, %{{.*}} rng 9
// STATES: func.func @evaluate
// STATES: dgc.scan (%{{.*}}) over (%{{[a-z0-9]*}} = %{{[a-z0-9]*}}) :
// STATES-NOT: keyed
dgc.model @draws {
  %x = dgc.input "x" : tensor<?x4xf32>
  %y = dgc.repeat 3 "layer" (%h = %x) {
    %w = dgc.variable "w" glorot_uniform : tensor<4x4xf32>
    %z = dgc.dense %h, %w
    %d = dgc.dropout %z rate 0.5
    %n = dgc.random_normal : tensor<2x4xf32>
    %s = dgc.add %d, %n
    dgc.next %s
  }
  %e = dgc.dropout %y rate 0.5
  %loss = dgc.mean_squared_error %e, %x
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}
