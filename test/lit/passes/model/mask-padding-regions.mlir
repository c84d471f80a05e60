// RUN: dgc-opt %s --dgc-infer-types=batch=4 --dgc-build-entry-points --dgc-mask-padding --split-input-file | FileCheck %s

// In a scan padding is masked where it is combined, with the count as an operand that is the same in all rounds. What is carried
// has examples from the second round on, so that it has them in all; slices have theirs where the tensor has them.

// CHECK-LABEL: module @rounds
// CHECK-NOT: dgc.whole_batches
// CHECK: func.func @predict
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x5x3xf32> {dgc.batch_dim
// CHECK-SAME: %[[N:[a-z0-9]+]]: tensor<i32> {dgc.input = "valid_count"
// CHECK-SAME: tensor<4x3xf32> {dgc.batch_dim = 0 : i64, dgc.output = "last"
// CHECK-SAME: tensor<4x5x3xf32> {dgc.batch_dim = 0 : i64, dgc.output = "all"
// CHECK: dgc.scan (%[[A:[a-z0-9]+]] = %{{.*}}, %[[BEFORE:.*]] = %{{.*}}) over (%{{.*}} = %[[X]]) with (%{{.*}} = %{{.*}}, %[[COUNT:.*]] = %[[N]]) dim 1
// CHECK: %[[WIDE:.*]] = dgc.broadcast_in_dim %[[COUNT]] dims [] to [4]
// CHECK: dgc.compare lt %{{.*}}, %[[WIDE]]
// CHECK: %[[MASKED:.*]] = dgc.select %{{.*}}, %[[A]],
// CHECK: dgc.reduce max %[[MASKED]] dims [0]
// The mean is over what is real.
// CHECK: %[[REAL:.*]] = dgc.convert %[[COUNT]] to f32
// CHECK: %[[ELEMENTS:.*]] = dgc.multiply %[[REAL]],
// CHECK: %[[MEAN:.*]] = dgc.divide %{{.*}}, %[[ELEMENTS]]
// CHECK: dgc.add %[[BEFORE]], %[[MEAN]]
dgc.model @rounds {
  %x = dgc.input "x" : tensor<?x5x3xf32>
  %w = dgc.variable "w" zeros : tensor<3x3xf32>
  %state = dgc.constant dense<0.0> : tensor<4x3xf32>
  %none = dgc.constant dense<0.0> : tensor<f32>
  %last, %sum, %all = dgc.scan (%a = %state, %before = %none) over (%s = %x) with (%m = %w) dim 1 {
    %d = dgc.dense %s, %m
    %largest = dgc.reduce max %a dims [0]
    %y = dgc.subtract %d, %largest
    %l = dgc.mean_squared_error %y, %s
    %next = dgc.add %before, %l
    dgc.yield %y, %next, %y
  }
  dgc.metric "sum" %sum
  dgc.output "last" %last
  dgc.output "all" %all
}

// -----

// What has examples in a later round is masked in all of them.

// CHECK-LABEL: module @later
// CHECK: dgc.scan (%[[A:[a-z0-9]+]] = %{{.*}}, %[[B:[a-z0-9]+]] = %{{.*}}) over (%{{.*}}) with (%[[COUNT:.*]] = %{{.*}}) dim 1
// CHECK: dgc.broadcast_in_dim %[[COUNT]] dims [] to [4]
// CHECK: %[[MASKED:.*]] = dgc.select %{{.*}}, %[[A]],
// CHECK: dgc.reduce max %[[MASKED]] dims [0]
// CHECK: dgc.yield %[[B]], %{{.*}}
dgc.model @later {
  %x = dgc.input "x" : tensor<?x5x3xf32>
  %none = dgc.constant dense<0.0> : tensor<4x3xf32>
  %last, %next = dgc.scan (%a = %none, %b = %none) over (%s = %x) dim 1 {
    %m = dgc.reduce max %a dims [0]
    %y = dgc.add %s, %m
    dgc.yield %b, %y
  }
  dgc.output "last" %last
}

// -----

// A scan that treats each example by itself is left as it is.

// CHECK-LABEL: module @alone
// CHECK: func.func @evaluate
// CHECK: dgc.scan (%{{[a-z0-9]+}} = %{{[a-z0-9]+}}) over (%{{[a-z0-9]+}} = %{{[a-z0-9]+}}) dim 1 :
// CHECK-NOT: dgc.select
// CHECK: dgc.yield
// CHECK: dgc.reduce max
// CHECK: dgc.select
// CHECK: func.func @predict
// CHECK-NOT: valid_count
dgc.model @alone {
  %x = dgc.input "x" : tensor<?x5x3xf32>
  %none = dgc.constant dense<0.0> : tensor<4x3xf32>
  %last = dgc.scan (%a = %none) over (%s = %x) dim 1 {
    %y = dgc.add %a, %s
    dgc.yield %y
  }
  %m = dgc.reduce max %last dims [1]
  %l = dgc.mean %m dims [0]
  dgc.metric "l" %l
  dgc.output "last" %last
}

// -----

// Whether there is another round, and which branch is taken, real examples say.

// CHECK-LABEL: module @branches
// CHECK: func.func @predict
// CHECK-SAME: %[[N:[a-z0-9]+]]: tensor<i32> {dgc.input = "valid_count"
// CHECK: dgc.while (%[[H:.*]] = %{{.*}}) with (%[[IN:.*]] = %[[N]])
// CHECK: dgc.broadcast_in_dim %[[IN]] dims [] to [4]
// CHECK: %[[MASKED:.*]] = dgc.select %{{.*}}, %[[H]],
// CHECK: dgc.reduce max %[[MASKED]] dims [0, 1]
// CHECK: dgc.condition
// CHECK: dgc.reduce max
// CHECK: dgc.if %{{.*}} (%[[A:[a-z0-9]+]] = %{{.*}}, %[[WITHIN:.*]] = %[[IN]])
// CHECK: dgc.broadcast_in_dim %[[WITHIN]] dims [] to [4]
// CHECK: %[[ZEROED:.*]] = dgc.select %{{.*}}, %[[A]],
// CHECK: dgc.reduce sum %[[ZEROED]] dims [0]
dgc.model @branches {
  %x = dgc.input "x" : tensor<?x3xf32>
  %v = dgc.while (%h = %x) {
    %most = dgc.reduce max %h dims [0, 1]
    %more = dgc.compare gt %most, 1.0
    dgc.condition %more
  } do {
    %most = dgc.reduce max %h dims [0, 1]
    %large = dgc.compare gt %most, 8.0
    %half = dgc.if %large (%a = %h) {
      %sum = dgc.reduce sum %a dims [0]
      %b = dgc.divide %a, %sum
      dgc.yield %b
    } else {
      %b = dgc.multiply %a, 0.5
      dgc.yield %b
    }
    dgc.yield %half
  }
  dgc.output "v" %v
}

// -----

// An op that is written with the batch has examples in a loop, too.

// CHECK-LABEL: module @drawn
// CHECK: dgc.scan (%{{.*}}) with (%[[COUNT:.*]] = %{{.*}}) count 2
// CHECK: %[[NUMBERS:.*]] = dgc.iota dim 0 : tensor<4x3xi32>
// CHECK: %[[MASKED:.*]] = dgc.select %{{.*}}, %[[NUMBERS]],
// CHECK: dgc.reduce sum %[[MASKED]] dims [0]
dgc.model @drawn {
  %x = dgc.input "x" : tensor<?x3xf32>
  %none = dgc.constant dense<0> : tensor<3xi32>
  %c = dgc.scan (%a = %none) count 2 {
    %i = dgc.iota dim 0 : tensor<?x3xi32>
    %s = dgc.reduce sum %i dims [0]
    %b = dgc.add %a, %s
    dgc.yield %b
  }
  %f = dgc.convert %c to f32
  %y = dgc.add %x, %f
  dgc.output "y" %y
}

// -----

// What cannot be masked in loops: examples that have rounds of their own, those that go from dimension to dimension, and those
// that move.

// CHECK-LABEL: module @examples_in_turn
// CHECK-SAME: predict = "dgc.scan at {{.*}}: it goes over the batch dimension of its operand 1"
// CHECK-NOT: valid_count
dgc.model @examples_in_turn {
  %x = dgc.input "x" : tensor<?x3xf32>
  %none = dgc.constant dense<0.0> : tensor<3xf32>
  %c = dgc.scan (%a = %none) over (%s = %x) {
    %b = dgc.add %a, %s
    dgc.yield %b
  }
  dgc.output "c" %c
}

// -----

// CHECK-LABEL: module @turns
// CHECK-SAME: predict = "dgc.scan at {{.*}}: its rounds, or branches, have the examples in different places"
// CHECK-NOT: valid_count
dgc.model @turns {
  %x = dgc.input "x" : tensor<?x4xf32>
  %c = dgc.scan (%a = %x) count 3 {
    %t = dgc.transpose %a permutation [1, 0]
    %s = dgc.tanh %t
    dgc.yield %s
  }
  dgc.output "c" %c
}

// -----

// CHECK-LABEL: module @reversed
// CHECK-SAME: predict = "dgc.reverse at {{.*}}: it moves elements along the batch dimension"
// CHECK-NOT: valid_count
dgc.model @reversed {
  %x = dgc.input "x" : tensor<?x4xf32>
  %r = dgc.scan (%a = %x) count 3 {
    %s = dgc.reverse %a dims [0]
    dgc.yield %s
  }
  dgc.output "r" %r
}
