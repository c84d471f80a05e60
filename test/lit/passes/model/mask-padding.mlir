// RUN: dgc-opt %s --dgc-infer-types=batch=4 --dgc-build-entry-points --dgc-mask-padding --split-input-file | FileCheck %s

// A loss that treats each example by itself is told the count, and nothing is masked; predict does not take the count.

// CHECK-LABEL: module @separate
// CHECK-NOT: dgc.whole_batches
// CHECK: func.func @train
// CHECK-SAME: %[[N:[a-z0-9]+]]: tensor<i32> {dgc.input = "valid_count"
// CHECK-NOT: dgc.padded
// CHECK-NOT: dgc.select
// CHECK: dgc.cross_entropy %{{.*}}, %{{.*}} valid %[[N]]
// CHECK: func.func @evaluate
// CHECK: dgc.cross_entropy %{{.*}} valid
// CHECK: func.func @predict
// CHECK-NOT: valid_count
// CHECK-NOT: dgc.select
// CHECK-SAME: tensor<4x3xf32> {dgc.batch_dim = 0 : i64, dgc.output = "h"
dgc.model @separate {
  %x = dgc.input "x" : tensor<?x2xf32>
  %y = dgc.input "y" : tensor<?xi32>
  %w = dgc.variable "w" zeros : tensor<2x3xf32>
  %h = dgc.dense %x, %w
  %loss = dgc.cross_entropy %h, %y
  dgc.loss %loss
  dgc.output "h" %h
  dgc.optimizer sgd learning_rate 0.1
}

// -----

// Of the tokens of all examples in one dimension, so many are real for each real example. A mean over weights counts
// all of them.

// CHECK-LABEL: module @flattened
// CHECK: func.func @evaluate
// CHECK-SAME: %[[N:[a-z0-9]+]]: tensor<i32> {dgc.input = "valid_count"
// CHECK: %[[THREE:.*]] = dgc.constant dense<3> : tensor<i32>
// CHECK: %[[TOKENS:.*]] = dgc.multiply %[[N]], %[[THREE]] : tensor<i32>
// CHECK: dgc.cross_entropy %{{.*}}, %{{.*}} valid %[[TOKENS]]
// CHECK: dgc.mean_squared_error %{{[^ ]*}}, %{{[^ ]*}} : tensor<2x5xf32>
dgc.model @flattened {
  %x = dgc.input "x" : tensor<?x3x2xf32>
  %y = dgc.input "y" : tensor<?x3xi32>
  %w = dgc.variable "w" zeros : tensor<2x5xf32>
  %z = dgc.variable "z" zeros frozen : tensor<2x5xf32>
  %f = dgc.reshape %x to [-1, 2]
  %l = dgc.reshape %y to [-1]
  %h = dgc.dense %f, %w
  %c = dgc.cross_entropy %h, %l
  %r = dgc.mean_squared_error %w, %z
  dgc.metric "c" %c
  dgc.metric "r" %r
}

// -----

// What an op makes of no examples has some where its type is written with the batch: padding is masked, and outputs are
// cut. Nothing says so afterwards.

// CHECK-LABEL: module @counted
// CHECK: func.func @evaluate
// CHECK: %[[I:.*]] = dgc.iota dim 0 : tensor<4xf32>
// CHECK: %[[REAL:.*]] = dgc.compare
// CHECK: %[[MASKED:.*]] = dgc.select %[[REAL]], %[[I]]
// CHECK: dgc.reduce sum %[[MASKED]] dims [0]
// CHECK: func.func @predict
// CHECK-SAME: tensor<4xf32> {dgc.batch_dim = 0 : i64, dgc.output = "i"
// CHECK-NOT: dgc.iota {{.*}}dgc.batch_dim
dgc.model @counted {
  %x = dgc.input "x" : tensor<?xf32>
  %i = dgc.iota dim 0 : tensor<?xf32>
  %n = dgc.reduce sum %i dims [0]
  %j = dgc.iota dim 0 : tensor<4xf32>
  %m = dgc.reduce sum %j dims [0]
  %c = dgc.add %n, %m
  dgc.metric "n" %c
  dgc.output "i" %i
  dgc.output "x" %x
}

// -----

// A reduction over examples has its identity in place of padding.

// CHECK-LABEL: module @reduced
// CHECK: func.func @predict
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x2xf32>
// CHECK-SAME: %[[N:[a-z0-9]+]]: tensor<i32> {dgc.input = "valid_count"
// CHECK-SAME: -> (tensor<2xf32> {dgc.output = "most", dgc.role = "prediction"}
// CHECK: %[[NUMBERS:.*]] = dgc.iota dim 0 : tensor<4xi32>
// CHECK: %[[COUNT:.*]] = dgc.broadcast_in_dim %[[N]] dims [] to [4]
// CHECK: %[[REAL:.*]] = dgc.compare lt %[[NUMBERS]], %[[COUNT]]
// CHECK: %[[WIDE:.*]] = dgc.broadcast_in_dim %[[REAL]] dims [0] to [4, 2]
// CHECK: %[[LOWEST:.*]] = dgc.constant dense<0xFF800000> : tensor<f32>
// CHECK: %[[OTHER:.*]] = dgc.broadcast_in_dim %[[LOWEST]] dims [] to [4, 2]
// CHECK: %[[MASKED:.*]] = dgc.select %[[WIDE]], %[[X]], %[[OTHER]]
// CHECK: dgc.reduce max %[[MASKED]] dims [0]
// Along the features nothing is masked.
// CHECK: dgc.reduce max %[[X]] dims [1]
dgc.model @reduced {
  %x = dgc.input "x" : tensor<?x2xf32>
  %most = dgc.reduce max %x dims [0]
  %each = dgc.reduce max %x dims [1]
  dgc.output "most" %most
  dgc.output "each" %each
}

// -----

// What pairs examples: the composite whose classes are examples is decomposed, the product is not.

// CHECK-LABEL: module @pairs
// CHECK: func.func @train
// CHECK: dgc.matmul %{{.*}} transposed
// CHECK-NOT: dgc.cross_entropy
// CHECK: %[[MASKED:.*]] = dgc.select
// CHECK: dgc.reduce max %[[MASKED]] dims [1]
// CHECK: dgc.reduce sum %{{.*}} dims [1]
// CHECK: dgc.gradient
dgc.model @pairs {
  %x = dgc.input "x" : tensor<?x2xf32>
  %y = dgc.input "y" : tensor<?xi32>
  %w = dgc.variable "w" zeros : tensor<2x2xf32>
  %h = dgc.dense %x, %w
  %s = dgc.matmul %h, %h transposed
  %loss = dgc.cross_entropy %s, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}

// -----

// A mean over pairs of examples, all of which count: they are as many as the square of the count.

// CHECK-LABEL: module @similar
// CHECK: func.func @evaluate
// CHECK-SAME: %[[N:[a-z0-9]+]]: tensor<i32> {dgc.input = "valid_count"
// CHECK: %[[COUNT:.*]] = dgc.convert %[[N]] to i64
// CHECK: %[[SQUARE:.*]] = dgc.multiply %[[COUNT]], %[[COUNT]]
// CHECK: %[[TOTAL:.*]] = dgc.reduce sum %{{.*}} dims [0, 1] : tensor<4x4xf32>
// CHECK: %[[DIVISOR:.*]] = dgc.convert %[[SQUARE]] to f32
// CHECK: dgc.divide %[[TOTAL]], %[[DIVISOR]]
dgc.model @similar {
  %x = dgc.input "x" : tensor<?x2xf32>
  %s = dgc.matmul %x, %x transposed
  %t = dgc.tanh %s
  %m = dgc.mean_squared_error %s, %t
  dgc.metric "m" %m
}

// -----

// What cannot be masked is left as it is, and the module says why: of the entries that have it.

// CHECK-LABEL: module @moved
// CHECK-SAME: dgc.whole_batches = {evaluate = "dgc.reverse at mask-padding.mlir:{{[0-9]+}}:{{[0-9]+}}: it moves elements along the batch dimension", train = "dgc.reverse
// CHECK-NOT: predict =
// CHECK: func.func @train
// CHECK-NOT: valid %
// CHECK: func.func @evaluate
// CHECK: func.func @predict
// CHECK-SAME: dgc.batch_dim = 0
dgc.model @moved {
  %x = dgc.input "x" : tensor<?x2xf32>
  %w = dgc.variable "w" zeros : tensor<2x2xf32>
  %h = dgc.dense %x, %w
  %r = dgc.reverse %h dims [0]
  %loss = dgc.mean_squared_error %h, %r
  dgc.loss %loss
  dgc.output "h" %h
  dgc.optimizer sgd learning_rate 0.1
}

// -----

// CHECK-LABEL: module @sliced
// CHECK-SAME: predict = "dgc.slice at {{.*}}: it moves elements along the batch dimension"
dgc.model @sliced {
  %x = dgc.input "x" : tensor<?x2xf32>
  %s = dgc.slice %x from [0, 0] to [2, 2]
  dgc.output "s" %s
}

// -----

// A composite that can be told how many elements it counts is.

// CHECK-LABEL: module @normalized
// CHECK-NOT: dgc.whole_batches
// CHECK: func.func @predict
// CHECK-SAME: %[[N:[a-z0-9]+]]: tensor<i32> {dgc.input = "valid_count"
// CHECK: %[[COUNT:.*]] = dgc.convert %[[N]] to i64
// CHECK: dgc.select
// CHECK: %[[TOTAL:.*]] = dgc.reduce sum %{{.*}} dims [1]
// CHECK: %[[DIVISOR:.*]] = dgc.convert %[[COUNT]] to f32
// CHECK: %[[DIVISORS:.*]] = dgc.broadcast_in_dim %[[DIVISOR]]
// CHECK: dgc.divide %[[TOTAL]], %[[DIVISORS]]
dgc.model @normalized {
  %x = dgc.input "x" : tensor<?x2xf32>
  %scale = dgc.variable "scale" constant 1.0 : tensor<4xf32>
  %offset = dgc.variable "offset" zeros : tensor<4xf32>
  %t = dgc.transpose %x permutation [1, 0]
  %n = dgc.layer_norm %t, %scale, %offset
  dgc.output "n" %n
}

// -----

// CHECK-LABEL: module @split
// CHECK-SAME: predict = "dgc.reshape at {{.*}}: it splits the batch dimension of its operand 0"
dgc.model @split {
  %x = dgc.input "x" : tensor<?x2xf32>
  %s = dgc.reshape %x to [2, 2, 2]
  dgc.output "s" %s
}

// -----

// CHECK-LABEL: module @matrix
// CHECK-SAME: predict = "the output \22s\22 has the batch in several dimensions"
dgc.model @matrix {
  %x = dgc.input "x" : tensor<?x2xf32>
  %s = dgc.matmul %x, %x transposed
  dgc.output "s" %s
}

// -----

// A variable that keeps examples would keep padding. An output along whose dimension the examples are says so, also
// where it is not the first one.

// CHECK-LABEL: module @kept
// CHECK-SAME: dgc.whole_batches = {train = "the variable \22memory\22 is assigned values of the single examples"}
// CHECK: func.func @predict
// CHECK-SAME: tensor<2x4xf32> {dgc.batch_dim = 1 : i64, dgc.output = "t"
dgc.model @kept {
  %x = dgc.input "x" : tensor<?x2xf32>
  %y = dgc.input "y" : tensor<?x2xf32>
  %w = dgc.variable "w" zeros : tensor<2x2xf32>
  %memory = dgc.variable "memory" zeros : tensor<4x2xf32>
  %h = dgc.dense %x, %w
  dgc.assign %memory, %h
  %loss = dgc.mean_squared_error %h, %y
  dgc.loss %loss
  %t = dgc.transpose %h permutation [1, 0]
  dgc.output "t" %t
  dgc.optimizer sgd learning_rate 0.1
}

// -----

// The scale of attention comes from the number of features, unless it is written; it cannot be told another.

// CHECK-LABEL: module @features
// CHECK-SAME: predict = "dgc.attention at {{.*}}: it depends on the size of the batch dimension"
dgc.model @features {
  %x = dgc.input "x" : tensor<?x2x3xf32>
  %t = dgc.transpose %x permutation [1, 2, 0]
  %a = dgc.attention %t, %t, %t heads 1
  dgc.output "a" %a
}

// -----

// CHECK-LABEL: module @scaled
// CHECK-NOT: dgc.whole_batches
// CHECK: func.func @predict
// CHECK: dgc.select
dgc.model @scaled {
  %x = dgc.input "x" : tensor<?x2x3xf32>
  %t = dgc.transpose %x permutation [1, 2, 0]
  %a = dgc.attention %t, %t, %t heads 1 scale 0.5
  dgc.output "a" %a
}

// -----

// Two views of each example behind each other are two batches: both have padding at their ends. A slice takes one of
// them.

// CHECK-LABEL: module @views
// CHECK-NOT: dgc.whole_batches
// CHECK: func.func @predict
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x2xf32>
// CHECK: %[[BOTH:.*]] = dgc.concatenate
// CHECK: dgc.slice %[[BOTH]] from [4, 0] to [8, 2]
// CHECK: %[[NUMBERS:.*]] = dgc.iota dim 1 : tensor<2x4x1xi32>
// CHECK: dgc.reshape %[[NUMBERS]] to [8]
// CHECK: %[[MASKED:.*]] = dgc.select %{{.*}}, %[[BOTH]]
// CHECK: dgc.reduce sum %[[MASKED]] dims [0]
dgc.model @views {
  %x = dgc.input "x" : tensor<?x2xf32>
  %n = dgc.negate %x
  %both = dgc.concatenate %x, %n dim 0
  %second = dgc.slice %both from [4, 0] to [8, 2]
  %total = dgc.reduce sum %both dims [0]
  dgc.output "second" %second
  dgc.output "total" %total
}

// -----

// Rows that belong to no example are always real: of a queue, or of padding that the model writes.

// CHECK-LABEL: module @queue
// CHECK-NOT: dgc.whole_batches
// CHECK: func.func @predict
// CHECK: %[[ALL:.*]] = dgc.concatenate
// CHECK: %[[PADDED:.*]] = dgc.pad %[[ALL]]
// CHECK: %[[OF:.*]] = dgc.constant dense<[-1, 0, 1, 2, 3, -1, -1, -1]> : tensor<8xi32>
// CHECK: dgc.compare lt %[[OF]]
// CHECK: %[[MASKED:.*]] = dgc.select %{{.*}}, %[[PADDED]]
// CHECK: dgc.reduce sum %[[MASKED]] dims [0]
dgc.model @queue {
  %x = dgc.input "x" : tensor<?x2xf32>
  %queue = dgc.variable "queue" zeros : tensor<2x2xf32>
  %all = dgc.concatenate %x, %queue dim 0
  %value = dgc.constant dense<1.0> : tensor<f32>
  %padded = dgc.pad %all, %value low [1, 0] high [1, 0]
  %total = dgc.reduce sum %padded dims [0]
  dgc.output "total" %total
}

// -----

// Examples that are in other places of the operands would meet others than without padding.

// CHECK-LABEL: module @shifted
// CHECK-SAME: predict = "dgc.add at {{.*}}: its operands have their examples in different places along the batch dimension"
dgc.model @shifted {
  %x = dgc.input "x" : tensor<?x2xf32>
  %value = dgc.constant dense<0.0> : tensor<f32>
  %down = dgc.pad %x, %value low [1, 0] high [0, 0]
  %up = dgc.pad %x, %value low [0, 0] high [1, 0]
  %sum = dgc.add %down, %up
  %total = dgc.reduce sum %sum dims [0]
  dgc.output "total" %total
}

// -----

// The logits and labels of an area under a curve are results of the examples, wherever these are; a tensor that is reported
// is not.

// CHECK-LABEL: module @area
// CHECK-NOT: dgc.whole_batches
// CHECK: func.func @evaluate
// CHECK-SAME: -> (tensor<2x4xf32> {dgc.batch_dim = 1 : i64, dgc.function = "area_under_curve", dgc.output = "auc", dgc.over = "auc.labels", dgc.role = "metric"}, tensor<2x4xf32> {dgc.batch_dim = 1 : i64, dgc.output = "auc.labels", dgc.role = "metric"}, tensor<4xf32> {dgc.output = "sums", dgc.role = "metric"})
dgc.model @area {
  %x = dgc.input "x" : tensor<?x2xf32>
  %l = dgc.input "l" : tensor<?x2xf32>
  %t = dgc.transpose %x permutation [1, 0]
  %u = dgc.transpose %l permutation [1, 0]
  %z = dgc.concatenate %x, %l dim 1
  %sums = dgc.reduce sum %z dims [0]
  dgc.metric "auc" area_under_curve %t labels %u
  dgc.metric "sums" %sums
}

// -----

// A region that is written for one device, with some of the examples: what treats each by itself works.

dist.mesh @mesh <data = 2, model = 2>
// CHECK-LABEL: module @region
// CHECK-NOT: dgc.whole_batches
// CHECK: func.func @predict
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x2xf32>
// CHECK-NOT: valid_count
// CHECK-SAME: dgc.batch_dim = 0
// CHECK-NOT: dgc.select
dgc.model @region {
  %x = dgc.input "x" : tensor<?x2xf32>
  %r = dist.manual (%l = %x) over @mesh ["data", "model"] in [#dist.sharding<@mesh, [{"data"}, {"model"}]>]
      out [#dist.sharding<@mesh, [{"data"}, {}]>] {
    %t = dgc.tanh %l
    %all = dist.all_gather %t dim 1 over @mesh ["model"]
    %s = dgc.softmax %all dim 1
    dist.return %s
  }
  dgc.output "r" %r
}

// -----

dist.mesh @mesh <data = 2>
// CHECK-LABEL: module @combined
// CHECK-SAME: predict = "dgc.softmax at {{.*}}: it combines examples in a dist.manual, in which padding is not masked"
dgc.model @combined {
  %x = dgc.input "x" : tensor<?x2xf32>
  %r = dist.manual (%l = %x) over @mesh ["data"] in [#dist.sharding<@mesh, [{"data"}, {}]>]
      out [#dist.sharding<@mesh, [{"data"}, {}]>] {
    %s = dgc.softmax %l dim 0
    dist.return %s
  }
  dgc.output "r" %r
}

// -----

dist.mesh @mesh <data = 2>
// CHECK-LABEL: module @exchanged
// CHECK-SAME: predict = "dist.permute at {{.*}}: it is between devices that have different examples"
dgc.model @exchanged {
  %x = dgc.input "x" : tensor<?x2xf32>
  %r = dist.manual (%l = %x) over @mesh ["data"] in [#dist.sharding<@mesh, [{"data"}, {}]>]
      out [#dist.sharding<@mesh, [{"data"}, {}]>] {
    %p = dist.permute %l targets [1, 0] over @mesh ["data"]
    dist.return %p
  }
  dgc.output "r" %r
}
