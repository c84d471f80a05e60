#ifndef DGC_PASSES_STRATEGY_TD
#define DGC_PASSES_STRATEGY_TD

include "mlir/Pass/PassBase.td"

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
    Option<"mesh", "mesh", "std::string", "\"\"", "axes with their sizes, as in data=4,model=2">,
    Option<"name", "name", "std::string", "\"mesh\"", "name of the mesh">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
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
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def SplitMicrobatchesPass : Pass<"dgc-split-microbatches", "::mlir::ModuleOp"> {
  let summary = "compute the global batch in parts, one after the other";
  let description = [{
    Input: functions after `dgc-gradient` and `dgc-decompose`. What is computed of the examples of a batch (arguments
    with `dgc.batch_dim`) is computed `count` times, each time for the examples whose number modulo `count` is that of
    the micro-batch: a batch that is cut over workers stays where it is. Everything else is computed once, as late as it
    can be. What is reduced over the batch is added up, right where an addend is there; so gradients are summed before
    anything else happens to them, and there is one update. Results with the batch are put together. The result is that
    of the whole
    batch, up to the order of additions: also with padding at its end, random numbers and batch statistics.

    Ops of micro-batch m have `dgc.microbatch = m`, those that wait n times for all micro-batches
    `dgc.microbatch_level = n`, and the function has `dgc.microbatches = count`. The ops of one
    micro-batch, forwards and backwards, come before those of the next one. An op that needs the examples of the whole
    batch at once (a sort along it, a product that pairs examples) is an error. Where the count does not divide the
    batch, the last micro-batches have one example less. A function without a batch is left alone.

    Where micro-batches wait for each other (a sum over the batch that is needed as a whole, such as a number of tokens
    or the statistics of batch normalization), what inputs alone give is computed when it is needed, not before.

    ```mlir
    func.func @f(%x: tensor<8x4xf32> {dgc.batch_dim = 0 : i64}, %w: tensor<4xf32> {dgc.state = @w}) -> (tensor<4xf32> {dgc.state = @w}) {
      %g = dgc.reduce sum %x dims [0] : tensor<8x4xf32>
      %n = dgc.subtract %w, %g : tensor<4xf32>
    // becomes with count = 2, but for the slices that take every second example
      %0 = dgc.reduce sum %x0 dims [0] {dgc.microbatch = 0 : i64} : tensor<4x4xf32>
      %1 = dgc.reduce sum %x1 dims [0] {dgc.microbatch = 1 : i64} : tensor<4x4xf32>
      %g = dgc.add %0, %1 {dgc.microbatch = 1 : i64} : tensor<4xf32>
      %n = dgc.subtract %w, %g : tensor<4xf32>
    ```
  }];
  let options = [Option<"count", "count", "int64_t", "1", "number of micro-batches">];
  let dependentDialects = ["::mlir::dgc::DGCDialect"];
}

def ZeroPass : Pass<"dgc-strategy-zero", "::mlir::ModuleOp"> {
  let summary = "cut optimizer state, gradients and variables over the axis `data`";
  let description = [{
    Runs behind `dgc-propagate-shardings`: it knows how everything else is spread, and adds to that. Each state is cut
    by the dimension that leaves the fewest elements on a device: 1/N of them where one divides, else parts of ceil(n/N)
    of which the last ones are shorter. Of equals it is one that nothing else cuts, then the first. A scalar stays whole.

    - Stage 1: the optimizer's state (`slot`) is cut, and each device computes its part of the new value of a weight.
      The gradient is made whole before (all-reduce), and the new value after (all-gather).
    - Stage 2: a gradient that is partial goes to the parts right away (reduce-scatter); with micro-batches the addends
      do, and what is added up is a part.
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
  let options = [Option<"stage", "stage", "int", "1", "1: optimizer state; 2: gradients, too; 3: variables, too">];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def TensorParallelPass : Pass<"dgc-strategy-tensor-parallel", "::mlir::ModuleOp"> {
  let summary = "cut dimensions of weights over the axis `model`";
  let description = [{
    `cut` is a list, separated by commas or by `+`. An item `PATTERN:DIM` cuts dimension DIM (from the end, if negative)
    of every weight whose name matches: `*.wq:1`. Any other item is the name of a dimension: it cuts that dimension of
    every weight that has `dims = ["embed", "mlp"]` with this name in it. Without a list the names `heads` and `mlp`
    are meant. The optimizer's state of a weight is cut alike.

    It annotates weights, and nothing else: how everything in between is cut follows from propagation. A matrix that is
    cut by columns, and behind it one that is cut by rows, need one all-reduce behind the second one. An item that
    matches nothing is an error. What is annotated already stays as it is. A module without a mesh is left alone.

    ```mlir
    // dgc-strategy-tensor-parallel{cut=w1:1}
    func.func @f(%w1: tensor<4x8xf32> {dgc.state = @w1})
    // becomes
    func.func @f(%w1: tensor<4x8xf32> {dgc.state = @w1,
                     dist.sharding = #dist.sharding<@mesh, [{?}, {"model" by strategy "tensor-parallel"} ]>})
    ```
  }];
  let options = [Option<"cut", "cut", "std::string", "\"heads,mlp\"", "what is cut: PATTERN:DIM or names of dimensions">];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def SequenceParallelPass : Pass<"dgc-strategy-sequence-parallel", "::mlir::ModuleOp"> {
  let summary = "cut activations along the sequence where no weight cuts them";
  let description = [{
    Runs behind `dgc-strategy-tensor-parallel` and `dgc-strategy-data-parallel`. The dimension behind the batch of every
    input is cut by `model`, from round 1 of propagation on: what the weights cut comes first, in round 0. So what lies
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
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def RecomputePass : Pass<"dgc-strategy-recompute", "::mlir::ModuleOp"> {
  let summary = "compute values of the forward pass again in the backward pass";
  let description = [{
    Input: functions after `dgc-gradient` and `dgc-decompose`. `values` is a pattern, or several with `+` between them,
    for the names that `dgc-build-entry-points` gives to what an op of the model computes: `relu`, and `features.relu`
    in a block of that name. What matches and what the backward pass needs is not kept until then, but computed again
    from what does not match, and from what other blocks and stages give. All of one block (an op without a block is one
    of its own), micro-batch and stage is computed together, right before the first op of the backward pass, behind all of
    it, that needs some of it; the copies have `dgc.recompute` with a number for each block, which keeps them apart from
    the originals. The same random numbers are drawn. A pattern that nothing
    needed matches is an error.

    ```mlir
    %h = dgc.tanh %x : tensor<8x4xf32>             // loc("tanh")
    %loss = dgc.reduce sum %h dims [0, 1] : ...
    %d = dgc.multiply %h, %h : tensor<8x4xf32>     // in the backward pass
    // becomes
    %h = dgc.tanh %x : tensor<8x4xf32>
    %loss = dgc.reduce sum %h dims [0, 1] : ...
    %h2 = dgc.tanh %x {dgc.recompute = 0 : i64} : tensor<8x4xf32>
    %d = dgc.multiply %h2, %h2 : tensor<8x4xf32>
    ```
  }];
  let options = [Option<"values", "values", "std::string", "\"*\"", "patterns of the names of values">];
  let statistics = [Statistic<"numOps", "ops", "Ops that are computed again">];
  let dependentDialects = ["::mlir::dgc::DGCDialect"];
}

#endif // DGC_PASSES_STRATEGY_TD
