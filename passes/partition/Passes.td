#ifndef DGC_PASSES_PARTITION_TD
#define DGC_PASSES_PARTITION_TD

include "mlir/Pass/PassBase.td"

def PartitionPass : Pass<"dgc-partition", "::mlir::ModuleOp"> {
  let summary = "rewrite functions to the shapes that one device holds";
  let description = [{
    Input: functions that `dgc-verify-sharded` accepts. Output: the program of one device, the same for all,
    parameterised by its position in the mesh. Values have local shapes; a partial value says so in its encoding
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
  let dependentDialects = ["::mlir::dist::DistDialect", "::mlir::dgc::DGCDialect"];
}

def VerifyPartitionedPass : Pass<"dgc-verify-partitioned", "::mlir::ModuleOp"> {
  let summary = "check that a partitioned program combines what is partial, once";
  let description = [{
    Ends the phase `partition`. Checks in a module with a mesh that no op of the global level is left; that
    a partial value meets only collectives that combine it and ops that are linear in it, whose results are partial
    in the same way; and that no function takes or returns one.
  }];
}

#endif // DGC_PASSES_PARTITION_TD
