#ifndef DGC_PASSES_SHARD_TD
#define DGC_PASSES_SHARD_TD

include "mlir/Pass/PassBase.td"

def PrintShardingRulesPass : Pass<"dgc-print-sharding-rules"> {
  let summary = "say for each op how its dimensions belong together";
  let description = [{
    A remark on each op that has a sharding rule, written like an einsum: the factors of the dimensions of its operands
    and results, their sizes, and the operands in which the op is linear, so that they may be partial sums. A factor
    along which a reduction goes has its kind after the size, one that must not be cut `whole`, and one along which
    elements move `moves`. It changes nothing.

    `dgc.dot_general %x, %w contract [1] x [0] : tensor<4x8xf32>, tensor<8x3xf32>` gives
    `(a c), (c b) -> (a b) with a=4, b=3, c=8 sum; linear in 0, 1`.
  }];
}

def PropagateShardingsPass : Pass<"dgc-propagate-shardings", "::mlir::ModuleOp"> {
  let summary = "decide how every value is cut, from what is annotated";
  let description = [{
    From `dist.sharding` on arguments and results of functions, `dist.shardings` on ops and `dist.constraint`,
    through the sharding rules of the ops, forwards and backwards, to a fixed point. A variable is one value in all
    functions, so it has one sharding; state of the optimizer that has no annotation of its own has that of its
    variable. Which axis wins a conflict is in the table of Propagation.h; the outcome does not depend on the order of
    the ops. Where several annotations compete for an axis (the rows of weights and of activations are cut by it, or
    the sequence of activations and the columns of weights), one may have to wait for the fixed point of the others:
    variables, arguments or values in between, then single ones of the same type and sharding. That choice wins with
    which `dgc-insert-reshards` makes a device receive the fewest bytes in the entry point that communicates most, then
    in all together, of those that compute at most 5 % more than when nothing waits. It writes `dist.shardings` on every op with a result that is cut, and `dist.sharding` on every
    argument and result; values without are whole on every device. Shardings go into loops and branches and out of them, through
    the values that are the same inside and outside; `dist.argument_shardings` says how the arguments of their regions are
    sharded. It changes no data flow, but for ops that
    merely make a value for each use (constants, broadcast scalars): each use gets its own, so that they do not
    tie values that have nothing else in common. A module without a mesh is left alone.

    ```mlir
    func.func @f(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>}, %w: tensor<4x3xf32>) {
      %0 = dgc.dot_general %x, %w contract [1] x [0] : tensor<8x4xf32>, tensor<4x3xf32>
    // becomes
      %0 = dgc.dot_general %x, %w contract [1] x [0] {dist.shardings = [#dist.sharding<@mesh, [{"data"}, {} ]>]} : ...
    ```
  }];
  let statistics = [
    Statistic<"numCut", "cut", "Values that are cut">,
    Statistic<"numSplit", "split", "Ops copied so that each use has its own">,
  ];
  let dependentDialects = ["::dgc::dist::DistDialect"];
}

def InsertReshardsPass : Pass<"dgc-insert-reshards", "::mlir::ModuleOp"> {
  let summary = "make explicit where a value needs another sharding";
  let description = [{
    Decides for each op how its factors are cut while it runs: as its operands and results agree or, where they do
    not, such that the fewest bytes have to move, a whole value being cut for free. An operand with another
    sharding goes through a `dist.reshard`, one for all uses that need the same. Factors that need replication or
    move elements between parts are not cut.

    A reduction over a cut factor gives a partial value: unreduced along these axes. It travels on as it is through
    ops that are linear in it, as long as it has no other user and does not grow; then it is made whole, once.
    So a gradient that is partial along `data` is combined just before the update of its variable.

    Ops in loops and branches are decided as all others are. What a loop carries is sharded in one way in all rounds. A sum that
    it carries from zeros on, and does nothing with but add to it, is partial in all of them, and made whole behind the loop.
    What is the same in all rounds is resharded before the loop. What decides is whole.

    It sets `dist.shardings` to what the ops give. It does not lower any reshard.

    ```mlir
    %g = dgc.dot_general %x, %dy contract [0] x [0] : ...        // both cut by data in the contracted dimension
    %n = dgc.subtract %w, %g : ...
    // becomes
    %g = dgc.dot_general %x, %dy contract [0] x [0] {dist.shardings = [#dist.sharding<@mesh, [{}, {} ], unreduced = sum ["data"]>]}
    %r = dist.reshard %g to <@mesh, [{}, {} ]> because "..."
    %n = dgc.subtract %w, %r : ...
    ```
  }];
  let statistics = [
    Statistic<"numReshards", "reshards", "Reshards inserted">,
    Statistic<"numPartial", "partial", "Reductions over a cut dimension">,
  ];
  let dependentDialects = ["::dgc::dist::DistDialect"];
}

def VerifyShardPass : Pass<"dgc-verify-shard", "::mlir::ModuleOp"> {
  let summary = "check that every op can run on local shapes";
  let description = [{
    Ends the phase `shard`. Checks, from the rules alone:
    - with `no-padding`: every cut dimension divides into equal parts;
    - the operands and results of an op cut each of its factors alike, and not at all where its rule forbids it;
    - a partial value meets only ops that are linear in it, and what a reduction over a cut factor gives is partial;
    - what a function returns has the sharding of its result, and is not partial;
    - a variable has the same sharding in all functions;
    - an op without a sharding rule has whole operands.

    A dimension that its axes do not divide is padded by the partitioner.
  }];
  let options = [
    Option<"noPadding", "no-padding", "bool", "false", "Refuse a dimension that its axes do not divide">,
  ];
}

def AddMeshPass : Pass<"dgc-add-mesh", "::mlir::ModuleOp"> {
  let summary = "add the mesh that was asked for";
  let description = [{
    Adds a `dist.mesh` of the given axes to the module, unless `mesh` is empty. A module that has a mesh of that
    name already must have it with the same axes.

    ```mlir
    // -dgc-add-mesh=mesh=data=4,model=2
    dist.mesh @mesh <data = 4, model = 2>
    ```
  }];
  let options = [
    Option<"mesh", "mesh", "::dgc::MeshShape", "::dgc::MeshShape()", "axes with their sizes, as in data=4,model=2">,
    Option<"name", "name", "std::string", "\"mesh\"", "name of the mesh">,
  ];
  let dependentDialects = ["::dgc::dist::DistDialect"];
}

def DataParallelPass : Pass<"dgc-strategy-data-parallel", "::mlir::ModuleOp"> {
  let summary = "cut the batch over the axis `data`, keep variables whole";
  let description = [{
    Writes annotations, and nothing else: the dimension `dgc.batch_dim` of arguments and results of functions is
    cut by the mesh axis `data`; variables and all other arguments and results are replicated along it. What
    is annotated already stays as it is. A module without a mesh is left alone.

    ```mlir
    func.func @f(%x: tensor<8x4xf32> {dgc.batch_dim = 0 : i64}, %w: tensor<4xf32> {dgc.state = @w})
    // becomes
    func.func @f(%x: tensor<8x4xf32> {dgc.batch_dim = 0 : i64,
                     dist.sharding = #dist.sharding<@mesh, [{"data" by strategy "data-parallel"}, {?} ]>},
                 %w: tensor<4xf32> {dgc.state = @w,
                     dist.sharding = #dist.sharding<@mesh, [{?} ], replicated = ["data" by strategy "data-parallel"]>})
    ```
  }];
  let dependentDialects = ["::dgc::dist::DistDialect"];
}

def ZeroPass : Pass<"dgc-strategy-zero", "::mlir::ModuleOp"> {
  let summary = "cut optimizer state, gradients and variables over the axis `data`";
  let description = [{
    Runs after `dgc-propagate-shardings`: it knows the shardings of all other values, and adds to them. Each state is cut
    by the dimension that leaves the fewest elements on a device: 1/N of them where one divides, else parts of ceil(n/N)
    of which the last ones are shorter. Of equals it is one that nothing else cuts, then the first. A scalar stays whole.

    - Stage 1: the optimizer's state (`slot`) is cut, and each device computes its part of the new value of a weight.
      The gradient is made whole before (all-reduce), and the new value after (all-gather).
    - Stage 2: a gradient that is partial goes to the parts right away (reduce-scatter); with micro-batches the addends
      do, and what is added up is a part. `pairwise`: they are added up first, and sums over what is computed of parts, as
      norms, are refused, so that no order of additions depends on the number of devices.
    - Stage 3: weights are cut as well, and a `dist.reshard` gathers them where they are used: once forwards and once
      backwards, for each micro-batch.

    A module without a mesh is left alone.

    ```mlir
    func.func @train(%w: tensor<4xf32> {dgc.state = @w}, %v: tensor<4xf32> {dgc.state = @w.momentum}, ..)
      %n = dgc.subtract %w, %u : tensor<4xf32>
    // becomes with stage 2
    func.func @train(%w: tensor<4xf32> {dgc.state = @w}, %v: tensor<4xf32> {dgc.state = @w.momentum,
        dist.sharding = #dist.sharding<@mesh, [{"data" by strategy "zero2"} ]>}, ..)
      %n = dgc.subtract %w, %u {dist.shardings = [#dist.sharding<@mesh, [{"data" by strategy "zero2"} ]>]} : ...
    ```
  }];
  let options = [
    Option<"stage", "stage", "int", "1", "1: optimizer state; 2: gradients, too; 3: variables, too">,
    Option<"pairwise", "pairwise", "bool", "false",
           "add the gradients of micro-batches up before they are cut, and refuse sums over their parts">,
  ];
  let dependentDialects = ["::dgc::dist::DistDialect"];
}

def TensorParallelPass : Pass<"dgc-strategy-tensor-parallel", "::mlir::ModuleOp"> {
  let summary = "cut dimensions of weights over the axis `model`";
  let description = [{
    `cut` is a list, separated by commas or by `+`. An item `PATTERN:DIM` cuts dimension DIM (from the end, if negative)
    of every weight whose name matches: `*.wq:1`. Any other item is the name of a dimension: it cuts that dimension of
    every weight that has `dims = ["embed", "mlp"]` with this name in it. Without a list the names `heads` and `mlp`
    are meant. The optimizer's state of a weight is cut alike.

    It annotates weights, and nothing else: how everything in between is cut follows from propagation. A matrix that is
    cut by columns, and after it one that is cut by rows, need one all-reduce after the second one. An item that
    matches nothing is an error. What is annotated already stays as it is. A module without a mesh is left alone.

    ```mlir
    // dgc-strategy-tensor-parallel{cut=w1:1}
    func.func @f(%w1: tensor<4x8xf32> {dgc.state = @w1})
    // becomes
    func.func @f(%w1: tensor<4x8xf32> {dgc.state = @w1,
                     dist.sharding = #dist.sharding<@mesh, [{?}, {"model" by strategy "tensor-parallel"} ]>})
    ```
  }];
  let options = [Option<"cut", "cut", "::dgc::WeightCuts", "::dgc::WeightCuts()", "what is cut: PATTERN:DIM or names of dimensions; empty: heads "
                        "and mlp">];
  let dependentDialects = ["::dgc::dist::DistDialect"];
}

def SequenceParallelPass : Pass<"dgc-strategy-sequence-parallel", "::mlir::ModuleOp"> {
  let summary = "cut activations along the sequence where no weight cuts them";
  let description = [{
    Runs after `dgc-strategy-tensor-parallel` and `dgc-strategy-data-parallel`. The dimension after the batch of every
    input is cut by `model`, from round 1 of propagation on: what the weights cut comes first, in round 0. So what is
    between a matrix that is cut by rows and the next one that is cut by columns (sums, norms, dropout) is cut along
    the sequence, and in place of an all-reduce there are a reduce-scatter and an all-gather. A model without such an
    input is an error; a module without a mesh is left alone.

    ```mlir
    func.func @f(%tokens: tensor<8x64xi32> {dgc.batch_dim = 0 : i64, ..})
    // becomes
    func.func @f(%tokens: tensor<8x64xi32> {dgc.batch_dim = 0 : i64, dist.sharding = #dist.sharding<@mesh,
                     [{"data" by strategy "data-parallel"}, {"model" by strategy "sequence-parallel"} round 1 ]>})
    ```
  }];
  let dependentDialects = ["::dgc::dist::DistDialect"];
}

#endif // DGC_PASSES_SHARD_TD
