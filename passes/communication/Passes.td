#ifndef DGC_PASSES_COMMUNICATION_TD
#define DGC_PASSES_COMMUNICATION_TD

include "mlir/Pass/PassBase.td"

def CombineCollectivesPass : Pass<"dgc-combine-collectives", "::mlir::ModuleOp"> {
  let summary = "merge all-reduces that can happen together";
  let description = [{
    All-reduces of the same kind, mesh, axes and element type, none of which depends on another, become one variadic
    all-reduce in the place of the last of them; ops between that use an earlier one move behind it. So nothing
    is computed later than it could be, but for what waits for the merged op alone. It does not merge what
    would exceed `limit-bytes` (0: no limit), and does not merge across sends and receives.

    ```mlir
    %a = dist.all_reduce sum %x over @mesh ["data"] : tensor<4xf32>
    %b = dist.all_reduce sum %y over @mesh ["data"] : tensor<8xf32>
    // becomes
    %r:2 = dist.all_reduce sum %x, %y over @mesh ["data"] : tensor<4xf32>, tensor<8xf32>
    ```
  }];
  let options = [
    Option<"limitBytes", "limit-bytes", "int64_t", "0", "largest merged all-reduce; 0: no limit">,
  ];
  let statistics = [Statistic<"numMerged", "merged", "All-reduces that were merged into another">];
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
  let dependentDialects = ["::mlir::dgc::DGCDialect"];
}

def OrderCollectivesPass : Pass<"dgc-order-collectives", "::mlir::ModuleOp"> {
  let summary = "put all communication of a function in one order";
  let description = [{
    Numbers collectives, sends and receives of each function in the order of the program, from 0, in `dist.order`.
    All devices run the same program, so all have the same order; what comes later keeps to it.
  }];
}

def CheckPlanPass : Pass<"dgc-check-plan", "::mlir::ModuleOp"> {
  let summary = "prove that communication comes to an end";
  let description = [{
    Ends the phase `communicate`. From the program alone, without regard to how it was made: writes down for each
    device what it does in order (a collective in the group that its position gives, a send or receive if it is in
    the mesh that sends or receives), and simulates all of them (runtime/artifact/CommunicationOrder.h). It
    fails when a device waits for ever, when members of a group meet in different ops or types, or when the order of
    communication is not that of the program. Functions that run at the same time, each on devices of its own, say
    so by the same `dist.step`.
  }];
}

def ExplainPass : Pass<"dgc-explain", "::mlir::ModuleOp"> {
  let summary = "print what is communicated, and why";
  let description = [{
    A table for each function with communication: op, axes and size of the group, bytes of the operands on one device,
    and cause. Prints to the standard output and changes nothing.
  }];
}

#endif // DGC_PASSES_COMMUNICATION_TD
