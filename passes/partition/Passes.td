#ifndef DGC_PASSES_PARTITION_TD
#define DGC_PASSES_PARTITION_TD

include "mlir/Pass/PassBase.td"

def PartitionPass : Pass<"dgc-partition", "::mlir::ModuleOp"> {
  let summary = "rewrite functions to the shapes that one device holds";
  let description = [{
    Input: functions that `dgc-verify-shard` accepts. Output: the program of one device, the same for all,
    parameterised by its position in the mesh. Values have local shapes; a partial value is marked in its encoding
    (`#dist.partial`). Arguments and results keep `dist.sharding` and get `dist.global_type`. A `dist.reshard`
    becomes what the difference of the two shardings takes, in this order: reduce-scatter and all-reduce of
    what is partial, slice, all-to-all, all-gather. Ops whose elements depend on their place get the offsets of the
    part. Where the parts of a dimension are not equal, the last blocks are padded with values that mean nothing; what
    an op reduces over such a dimension is first replaced there by the identity of the reduction, and all other ops carry
    the padding along. Communication is obviously correct here, and not yet good: one collective for
    each reshard. A module without a mesh is left alone.

    ```mlir
    %g = dgc.dot_general %x, %dy ... {dist.shardings = [#dist.sharding<@mesh, [{} ], unreduced = sum ["data"]>]} : ...
    %r = dist.reshard %g to <@mesh, [{} ]> because "dgc.subtract at model.mlir:7:3" : tensor<8xf32>
    // becomes
    %g = dgc.dot_general %x, %dy ... : ... // tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>
    %r = dist.all_reduce sum %g over @mesh ["data"] origin "..." : tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>
    ```
  }];
  let statistics = [
    Statistic<"numReshards", "reshards", "Reshards lowered">,
    Statistic<"numMasks", "masks", "Operands whose padding had to be made neutral">,
  ];
  let dependentDialects = ["::dgc::dist::DistDialect", "::dgc::DGCDialect"];
}

def VerifyPartitionPass : Pass<"dgc-verify-partition", "::mlir::ModuleOp"> {
  let summary = "check that a partitioned program combines what is partial, once";
  let description = [{
    Ends the phase `partition`. Checks in a module with a mesh that no op of the global level and no sharding of a result
    is left; that arguments have the shapes of one device's part of the value; that
    a partial value meets only collectives that combine it and ops that are linear in it, whose results are partial
    in the same way; that nothing is added up along an axis along which a collective has combined it before; and that no
    function takes or returns a partial value.
  }];
}

def OrderMicrobatchesPass : Pass<"dgc-order-microbatches", "::mlir::ModuleOp"> {
  let summary = "put the ops of a pipeline in the order of its schedule";
  let description = [{
    Input: functions in which every op has a stage (`dgc-complete-stages`) and those of a micro-batch say which
    (`dgc.microbatch`), and a mesh with an axis `stage`. `name` is that of a schedule (gpipe, 1f1b, interleaved, zb-h1);
    without one, or without micro-batches, the pass does nothing. Output: the ops of all stages in one order, by the time
    at which the schedule has their slots, with `dist.slot`, the number of that time. What loss, metrics and predictions depend on is
    the forward pass. The part of the backward pass of a stage and micro-batch after which nothing is contracted and
    nothing sent is the weight gradient, which zb-h1 does later. What belongs to no micro-batch comes as soon as it can
    where an op of a micro-batch needs it, and at the end otherwise.

    Ops that need a value of all micro-batches (statistics of the batch, a denominator that the model counts) divide the
    schedule into rounds. A round is all slots of the schedule, in its order, with those ops of each slot that are of this
    round: the one that `dgc.microbatch_level` says, or the first one after it in which the slot does not begin before an
    operand is available. So every function gets an order. A forward pass that goes to a lower stage is a remark: it works, and
    costs a round.

    A loop over the micro-batches whose ops have stages (`dgc-split-microbatches`) becomes the slots before the steady state
    of the schedule, a loop with a round for what comes again and again in it, and the slots after it. What a micro-batch has
    in one round and needs in a later one is carried.

    The order is one for all stages, so that `dgc-cut-programs` gives programs whose communication comes to an end. The
    module gets `dist.pipeline`, which says how it was made, for `--explain`: also how many rounds there are, and which ops
    begin them.
  }];
  let options = [Option<"name", "name", "::dgc::PipelineScheduleKind", "::dgc::PipelineScheduleKind::GPipe",
                        "the schedule: gpipe, 1f1b, interleaved or zb-h1">];
  let statistics = [Statistic<"numOrdered", "ordered-functions", "Functions that were put in the order of a schedule">,
                    Statistic<"numPipelined", "pipelined-loops", "Loops that were put in the order of a schedule">];
  let dependentDialects = ["::dgc::dist::DistDialect"];
}

def SendRowsPass : Pass<"dgc-send-rows", "::mlir::ModuleOp"> {
  let summary = "send touched rows of the tables on parameter servers, and not the tables";
  let description = [{
    Input: functions after `dgc-complete-stages`, and a mesh with an axis `stage` whose last `servers` positions are parameter
    servers. A variable on a server, or one in blocks of rows on several, that the workers only look rows up in (`dgc.gather`
    along dimension 0) stays there: the lookup is an op of the server, which gets the indices of all workers. With blocks
    each server finds zeros for what is not in its block, and the workers add up what they get. A gradient that is a sum of
    scattered rows (`dgc.scatter_add` along dimension 0) and that servers alone need is added up by them from the rows and
    their indices; the updates stay what they are. Both are done only where indices and rows are fewer bytes than what
    they replace. What the workers need otherwise (a table that is an output layer, too, or a gradient that is part of a norm)
    stays as it is, as does what is looked up in a loop.

    `dist.all_gather` puts the parts of the workers together, and each takes its part of the rows; `dgc-split-transfers`
    lets each worker send and get its part alone.

    ```mlir
    %y = dgc.gather %table, %rows dim 0 {dist.stage = 0} : tensor<1000x8xf32>, tensor<4xi32>
    // becomes, where %table is on stage 1, and two workers have other rows each
    %all = dist.all_gather %rows dim 0 over @mesh ["data"] {dist.stage = 0} : tensor<4xi32> to tensor<8xi32>
    %found = dgc.gather %table, %all dim 0 {dist.stage = 1} : tensor<1000x8xf32>, tensor<8xi32>
    %i = dist.axis_index @mesh ["data"]
    %y = dist.slice %found at %i dim 0 parts 2 {dist.stage = 0} : tensor<8x8xf32>
    ```
  }];
  let options = [
    Option<"servers", "servers", "int64_t", "0", "how many of the last positions are parameter servers">,
  ];
  let statistics = [Statistic<"numLookups", "lookups", "Lookups that servers do">,
                    Statistic<"numGradients", "gradients", "Gradients of tables that servers add up">];
  let dependentDialects = ["::dgc::dist::DistDialect", "::dgc::DGCDialect"];
}

def CutProgramsPass : Pass<"dgc-cut-programs", "::mlir::ModuleOp"> {
  let summary = "cut functions by stage into programs joined by send and receive";
  let description = [{
    Input: functions after `dgc-complete-stages`, and a mesh with an axis `stage`, its first one. Output: for each
    function one for each position along `stage`, with `dist.step` (the name that it had) and `dist.mesh`, a new mesh of
    these devices. Stage s is at position s modulo the size of the axis. Functions without stages get a copy for each
    position.

    With `servers` the last positions are parameter servers, of one device each; the mesh of all devices is then larger
    than what there is. Each device of the workers gets what a server sends, and the first of them sends to the server:
    what differs between them cannot be sent, and is an error. Servers read no data: what they need of it the workers send.
    With `host-servers` their meshes say that they are on CPUs
    (`dist.device`), where the workers have GPUs.

    A value that is needed at another position is sent once, however many ops need it there, right after its
    producer. All programs keep the order of the function, so their communication is in one order and comes to an end;
    a receive moves down to the first use or the next communication of its program.

    ```mlir
    %h = dgc.relu %x {dist.stage = 0} : tensor<4xf32>
    %y = dgc.exponential %h {dist.stage = 1} : tensor<4xf32>
    // becomes, in @f_stage0 and @f_stage1,
    dist.send %h channel 0 from @stage0 to @stage1 origin "dgc.exponential at model.mlir:3:8" : tensor<4xf32>
    %h = dist.recv channel 0 from @stage0 to @stage1 origin "dgc.exponential at model.mlir:3:8" : tensor<4xf32>
    ```
  }];
  let options = [
    Option<"servers", "servers", "int64_t", "0", "how many of the last positions are parameter servers">,
    Option<"hostServers", "host-servers", "bool", "false", "the servers are on CPUs, the workers on GPUs">,
  ];
  let statistics = [Statistic<"numTransfers", "transfers", "Values sent from one position to another">];
  let dependentDialects = ["::dgc::dist::DistDialect", "::mlir::func::FuncDialect"];
}

#endif // DGC_PASSES_PARTITION_TD
