// RUN: dgc-compile %s --batch 8 --compile-to model | FileCheck %s --check-prefix=MODEL
// RUN: dgc-compile %s --batch 8 --compile-to shard | FileCheck %s --check-prefix=SHARD
// RUN: dgc-compile %s --batch 8 --explain -o %t 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// RUN: not dgc-compile %s --batch 8 --mesh data=4 -o %t 2>&1 | FileCheck %s --check-prefix=OTHER

// The model says itself how values are spread, over a mesh of its own; no option is needed.
// OTHER: the module has '@mesh' already, and not as the mesh 'data=4' that was asked for
dist.mesh @mesh <batch = 2, model = 2>
dgc.model @mlp {
  // Annotations of inputs and variables are those of the arguments, also of what the optimizer keeps for a variable.
  // MODEL-LABEL: func.func @train(
  // MODEL-SAME: {dgc.state = @w1, dist.sharding = #dist.sharding<@mesh, [{?}, {"model"}]>}
  // MODEL-SAME: {dgc.state = @w1.momentum, dist.sharding = #dist.sharding<@mesh, [{?}, {"model"}]>}
  // MODEL-SAME: dgc.input = "x", dgc.role = "data", dist.sharding = #dist.sharding<@mesh, [{"batch"}, {}]>
  // MODEL-SAME: -> (tensor<8x16xf32> {dgc.state = @w1, dist.sharding = #dist.sharding<@mesh, [{?}, {"model"}]>}
  %x = dgc.input "x" {dist.sharding = #dist.sharding<@mesh, [{"batch"}, {}]>} : tensor<?x8xf32>
  %y = dgc.input "y" : tensor<?x8xf32>
  %w1 = dgc.variable "w1" glorot_uniform {dist.sharding = #dist.sharding<@mesh, [{?}, {"model"}]>} : tensor<8x16xf32>
  %w2 = dgc.variable "w2" glorot_uniform {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>} : tensor<16x8xf32>
  %h0 = dgc.dense %x, %w1
  %h1 = dgc.relu %h0
  // A constraint holds for the gradient as well.
  // SHARD-LABEL: func.func @train(
  // SHARD-COUNT-2: dist.constraint %{{.*}} to <@mesh, [{"batch"}, {?}]> {dist.shardings = [#dist.sharding<@mesh, [{"batch"}, {"model"}]>]}
  // SHARD-LABEL: func.func @evaluate(
  %h2 = dist.constraint %h1 to <@mesh, [{"batch"}, {?}]>
  %o = dgc.dense %h2, %w2
  %loss = dgc.mean_squared_error %o, %y
  dgc.loss %loss
  // EXPLAIN: @predict: 1 operation
  // EXPLAIN: reduce_scatter  model=2 {{.*}} needed as [{batch}, {model}] by result 0 of @predict (o)
  // MODEL-LABEL: func.func @predict(
  // MODEL-SAME: dgc.output = "o", dgc.role = "prediction", dist.sharding = #dist.sharding<@mesh, [{"batch"}, {"model"}]>
  dgc.output "o" %o {dist.sharding = #dist.sharding<@mesh, [{"batch"}, {"model"}]>}
  dgc.optimizer sgd learning_rate 0.1 momentum 0.9
}
