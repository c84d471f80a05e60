#ifndef DGC_PASSES_COMMUNICATE_TD
#define DGC_PASSES_COMMUNICATE_TD

include "mlir/Pass/PassBase.td"

def CombineCollectivesPass : Pass<"dgc-combine-collectives", "::mlir::ModuleOp"> {
  let summary = "merge collectives that can happen together";
  let description = [{
    All-reduces of the same kind, mesh, axes and element type, none of which depends on another, become one variadic
    all-reduce in the place of the last of them; ops between that use an earlier one move after it. So nothing
    is computed later than it could be, but for what waits for the merged op alone. The same goes for reduce-scatters
    and for all-gathers of the same dimension. It does not merge what
    would exceed `limit-bytes` or, where `links` knows the axes (see LinkModel.h), the bytes from which on latency no
    longer counts, unless one of the two is below an eighth of that; and it does not merge across sends and receives.
    Without links there is no limit for all-reduces; reduce-scatters and all-gathers, whose purpose is that not
    everything is whole at a time, have that of processes of one host.

    ```mlir
    %a = dist.all_reduce sum %x over @mesh ["data"] : tensor<4xf32>
    %b = dist.all_reduce sum %y over @mesh ["data"] : tensor<8xf32>
    // becomes
    %r:2 = dist.all_reduce sum %x, %y over @mesh ["data"] : tensor<4xf32>, tensor<8xf32>
    ```
  }];
  let options = [
    Option<"limitBytes", "limit-bytes", "int64_t", "0", "largest merged collective; 0: no limit">,
    Option<"limited", "limited", "bool", "false", "all-reduces have the limit of one host as well, where links are "
           "not known, and what is ready early comes first">,
    Option<"links", "links", "::dgc::LinkModel", "::dgc::LinkModel()", "AXIS=LATENCY:BANDWIDTH,..: data=5us:10GB/s">,
  ];
  let statistics = [Statistic<"numMerged", "merged", "Collectives that were merged into another">];
}

def ReassociateAllReducesPass : Pass<"dgc-reassociate-all-reduces", "::mlir::ModuleOp"> {
  let summary = "add before all-reduces, not after them";
  let description = [{
    In a sum of several terms, the operands of all-reduces by sum that have the same mesh, axes and type are added
    first, and combined by one all-reduce. A term that has another use stays as it is. The order of the terms
    changes, and with it the rounding.

    ```mlir
    %a = dist.all_reduce sum %x over @mesh ["data"] : tensor<4xf32>
    %b = dist.all_reduce sum %y over @mesh ["data"] : tensor<4xf32>
    %s = dgc.add %r, %a : tensor<4xf32>
    %t = dgc.add %s, %b : tensor<4xf32>
    // becomes
    %xy = dgc.add %x, %y : tensor<4xf32>
    %ab = dist.all_reduce sum %xy over @mesh ["data"] : tensor<4xf32>
    %t = dgc.add %r, %ab : tensor<4xf32>
    ```
  }];
  let statistics = [Statistic<"numFewer", "fewer", "All-reduces that are no longer needed">];
  let dependentDialects = ["::dgc::DGCDialect"];
}

def CreateReduceScattersPass : Pass<"dgc-create-reduce-scatters", "::mlir::ModuleOp"> {
  let summary = "turn all-reduces of which a part is used into reduce-scatters";
  let description = [{
    An all-reduce of which each device uses its part along some of the axes, and nothing else, becomes a
    reduce-scatter along these axes and, where there are others, an all-reduce of the part along those.

    ```mlir
    %a = dist.all_reduce sum %x over @mesh ["data"] : tensor<8xf32>
    %i = dist.axis_index @mesh ["data"]
    %s = dist.slice %a at %i dim 0 parts 2 : tensor<8xf32>
    // becomes
    %s = dist.reduce_scatter sum %x dim 0 over @mesh ["data"] : tensor<8xf32> to tensor<4xf32>
    ```
  }];
  let statistics = [Statistic<"numCreated", "created", "All-reduces that became reduce-scatters">];
}

def ScatterToServersPass : Pass<"dgc-scatter-to-servers", "::mlir::ModuleOp"> {
  let summary = "let each worker send parameter servers a part of the gradients";
  let description = [{
    Input: programs joined by transfers. An all-reduce over all devices of a mesh whose result only servers (meshes of one
    device) need, whole or by rows, becomes a reduce-scatter, and each device sends its part. Pushes to one server that
    follow each other, with no other transfer between it and the workers, are one bucket of up to 256 kB: one
    reduce-scatter and one transfer. A larger one is sent alone, without a copy. Lengths that the devices do not divide
    are padded with zeros. A number that all elements are multiplied with is multiplied with the parts, and a term of a
    sum that is the sum of the squares (the norm that gradients are clipped by) is computed from the parts, with one
    all-reduce of a scalar for all of them. What the workers need for anything else stays as it is.

    ```mlir
    %s = dist.all_reduce sum %x over @workers ["data"] : tensor<4x2xf32>
    dist.send %s channel 3 from @workers to @ps0 : tensor<4x2xf32>
    // becomes
    %f = dgc.reshape %x to [8] : tensor<4x2xf32>
    %p = dist.reduce_scatter sum %f dim 0 over @workers ["data"] : tensor<8xf32> to tensor<4xf32>
    dist.send gathered %p channel 3 from @workers to @ps0 : tensor<4xf32>
    ```
  }];
  let statistics = [Statistic<"numPushes", "pushes", "Values that are sent in parts">,
                    Statistic<"numBuckets", "buckets", "Transfers that they take">,
                    Statistic<"numNorms", "norms", "Norms that are computed from parts">];
  let dependentDialects = ["::dgc::DGCDialect"];
}

def SplitTransfersPass : Pass<"dgc-split-transfers", "::mlir::ModuleOp"> {
  let summary = "let each worker send parameter servers its part of a value, and get its part of one";
  let description = [{
    Input: programs joined by transfers. What all devices of a mesh put together along dimension 0 (`dist.all_gather`) for
    servers (meshes of one device) alone, each sends its part of. What a server sends to all devices of a mesh, each of which
    takes its part along dimension 0 (`dist.slice`) and nothing else, each gets its part of. So the indices and rows of
    tables that are looked up on servers (`dgc-send-rows`) are sent once.

    ```mlir
    %all = dist.all_gather %rows dim 0 over @workers ["data"] : tensor<4xi32> to tensor<8xi32>
    dist.send %all channel 0 from @workers to @ps0 : tensor<8xi32>
    %found = dist.recv channel 1 from @ps0 to @workers : tensor<8x8xf32>
    %i = dist.axis_index @workers ["data"]
    %y = dist.slice %found at %i dim 0 parts 2 : tensor<8x8xf32>
    // becomes
    dist.send gathered %rows channel 0 from @workers to @ps0 : tensor<4xi32>
    %y = dist.recv gathered channel 1 from @ps0 to @workers : tensor<4x8xf32>
    ```
  }];
  let statistics = [Statistic<"numSplit", "split", "Transfers that are now in parts">];
  let dependentDialects = ["::dgc::dist::DistDialect"];
}

def HierarchicalAllReducePass : Pass<"dgc-hierarchical-all-reduce", "::mlir::ModuleOp"> {
  let summary = "send little over slow links";
  let description = [{
    An all-reduce over axes of which some have slower links than others, by `links`, becomes a reduce-scatter over the
    fast ones, an all-reduce of a part over the slow ones, and a gather over the fast ones, where that takes less time
    by the model. Nothing changes for axes of which nothing is known.

    ```mlir
    %r = dist.all_reduce sum %x over @mesh ["host", "data"] : tensor<8xf32>     // links: host is slow
    // becomes
    %p = dist.reduce_scatter sum %x dim 0 over @mesh ["data"] : tensor<8xf32> to tensor<4xf32>
    %s = dist.all_reduce sum %p over @mesh ["host"] : tensor<4xf32>
    %r = dist.all_gather %s dim 0 over @mesh ["data"] : tensor<4xf32> to tensor<8xf32>
    ```
  }];
  let options = [
    Option<"links", "links", "::dgc::LinkModel", "::dgc::LinkModel()", "AXIS=LATENCY:BANDWIDTH,..: host=20us:1GB/s,data=1us:20GB/s">,
  ];
  let statistics = [Statistic<"numSplit", "split", "All-reduces that now work in two levels">];
  let dependentDialects = ["::dgc::DGCDialect"];
}

def SimplifyCollectivesPass : Pass<"dgc-simplify-collectives", "::mlir::ModuleOp"> {
  let summary = "remove communication that moves nothing";
  let description = [{
    A collective over groups of one device, and a permute in which every device sends to itself, is replaced by its
    operands. A partial value that is combined so was whole: its type states that afterwards.
  }];
  let statistics = [Statistic<"numRemoved", "removed", "Collectives that moved nothing">];
}

def CSECollectivesPass : Pass<"dgc-cse-collectives", "::mlir::ModuleOp"> {
  let summary = "communicate the same thing once";
  let description = [{
    Collectives that do the same to the same values are done once, in the place of the first, which has the causes
    of all of them. (`cse` keeps ops apart that differ in their cause.)
  }];
  let statistics = [Statistic<"numErased", "erased", "Collectives that were done twice">];
}

def LimitCommunicationPass : Pass<"dgc-limit-communication", "::mlir::ModuleOp"> {
  let summary = "refuse communication that is not wanted";
  let description = [{
    An error for each collective of a kind in `forbid`, and for each that leaves a value of more than
    `max-replicated-bytes` the same on all devices of the group: an all-gather of what was cut, an all-reduce of what is
    marked as partial, a broadcast. Each value counts by itself. The error names the op, the axes and the cause. It
    changes nothing. Values that were whole before do not count.
  }];
  let dependentDialects = ["::dgc::dist::DistDialect"];
  let options = [
    ListOption<"forbid", "forbid", "std::string", "kinds of collectives: all_gather, all_reduce, ..">,
    Option<"maxReplicatedBytes", "max-replicated-bytes", "int64_t", "-1", "largest value that may become whole on all devices; -1: any">,
  ];
}

def FlattenCollectivesPass : Pass<"dgc-flatten-collectives", "::mlir::ModuleOp"> {
  let summary = "make collectives work on whole ranges of memory";
  let description = [{
    Transports move contiguous ranges: a gather, scatter or all-to-all has to work on dimension 0. Those that work on
    another get reshapes and transposes around. Other collectives are left alone.

    ```mlir
    %r = dist.all_gather %x dim 1 over @mesh ["data"] : tensor<3x4xf32> to tensor<3x8xf32>
    // becomes
    %g = dist.all_gather %x dim 0 over @mesh ["data"] : tensor<3x4xf32> to tensor<6x4xf32>
    %s = dgc.reshape %g : tensor<6x4xf32> to tensor<2x3x4xf32>
    %t = dgc.transpose %s ... // tensor<3x2x4xf32>
    %r = dgc.reshape %t : tensor<3x2x4xf32> to tensor<3x8xf32>
    ```
  }];
  let statistics = [Statistic<"numFlattened", "flattened", "Collectives that were changed">];
  let dependentDialects = ["::dgc::DGCDialect"];
}

def OrderCollectivesPass : Pass<"dgc-order-collectives", "::mlir::ModuleOp"> {
  let summary = "put all communication of a function in one order";
  let description = [{
    Numbers collectives, sends and receives of each function in the order of the program, from 0, in `dist.order`.
    All devices run the same program, so all have the same order; what comes later keeps to it.
  }];
}

def CheckNumericsPass : Pass<"dgc-check-numerics", "::mlir::ModuleOp"> {
  let summary = "programs look for numbers that are not finite";
  let description = [{
    Input: functions whose communication is in order. Output: functions with one more result, `check_numerics`, a prediction
    that has no examples. It has a row of three i64 for each value that is checked (runtime/artifact/Numerics.h), and each
    device has rows of its own. `dgc.over` says what the rows are: the op, its place in the model, what the value is for, and
    where it is in the order of the step. A worker reads them after a step. Nothing that a function gives changes, and nothing
    is communicated more; a function without floating-point values stays as it is.

    `values=results`: outputs, new values of variables, what is sent, and what of these is computed before it is combined or
    updated: the local part of the loss, and the gradients. All elements that are not finite count.
    `values=every-op`: the values of all ops. An element counts only if the op is at fault: if it is NaN and no operand is, or
    infinite and all operands are finite, where operands of an elementwise op are the elements at the same place, and those of
    other ops all elements. So masks of -inf pass, and what becomes NaN because of them does not. Elements that a `dgc.select`
    leaves out again do not count. Of arguments NaN counts.

    What depends on the scale of the loss (`--precision=f16`) does not count in a step that makes that smaller: such a step is
    skipped. In a loop the row is that of the first round in which something was found. Elements of the padding of a block do
    not count in what a function gives; those of other values do.

    ```mlir
    func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {dgc.output = "y", ..}) {
      %y = dgc.log %x : tensor<4xf32>
      return %y : tensor<4xf32>
    }
    // becomes
    func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {dgc.output = "y", ..},
                                        tensor<1x3xi64> {dgc.output = "check_numerics", dgc.over = "..", ..}) {
      %y = dgc.log %x : tensor<4xf32>
      %finite = dgc.is_finite %y : tensor<4xf32>
      %wrong = dgc.not %finite : tensor<4xi1>
      ... // how many, and the first
      %row = dgc.concatenate %count, %first, %round dim 1 : tensor<1x1xi64>, ..
      return %y, %row : tensor<4xf32>, tensor<1x3xi64>
    }
    ```
  }];
  let options = [Option<"values", "values", "::dgc::NumericsChecks", "::dgc::NumericsChecks::Results",
                        "results or every-op">];
  let statistics = [Statistic<"numChecked", "checked", "Values that are checked">];
  let dependentDialects = ["::dgc::DGCDialect", "::dgc::dist::DistDialect"];
}

def VerifyCommunicatePass : Pass<"dgc-verify-communicate", "::mlir::ModuleOp"> {
  let summary = "prove that communication comes to an end";
  let description = [{
    Ends the phase `communicate`. From the program alone, without regard to how it was made: writes down for each
    device what it does in order (a collective in the group that its position gives, a send or receive if it is in
    the mesh that sends or receives), and simulates all of them (runtime/artifact/CommunicationOrder.h). It
    fails when a device waits for ever, when members of a group meet in different ops or types, or when the order of
    communication is not that of the program. A collective that has a `dist.done` counts twice, where it begins and
    where it ends, and all members must have reached both. This is stricter than necessary: no member may end before all
    have begun. Functions that run at the same time, each on devices of its own, say
    so by the same `dist.step`.

    A loop counts as one round, and a branch as both of its sides: members of a group do equally many rounds, and take the same
    side, as what decides a loop or branch with communication is proved to be the same on all devices (Uniformity.h). The op that
    makes it differ is in the diagnostic.
  }];
}

def ExplainPass : Pass<"dgc-explain", "::mlir::ModuleOp"> {
  let summary = "print what is communicated, and why";
  let description = [{
    A table for each function with communication: op, axes and size of the group, payload of a collective or size of
    a transfer in bytes on one device (runtime/artifact/Traffic.h), and cause; above it the sums. What is in a
    loop counts once for each round, and the sums are the least there is where how many these are is not known. Prints to the
    standard output and changes nothing.
  }];
}

#endif // DGC_PASSES_COMMUNICATE_TD
