#ifndef DGC_PASSES_MEMORY_TD
#define DGC_PASSES_MEMORY_TD

include "mlir/Pass/PassBase.td"

def PlanMemoryPass : Pass<"dgc-plan-memory", "::mlir::ModuleOp"> {
  let summary = "give every buffer its offset";
  let description = [{
    Input: `exec` programs on buffers without offsets. Output: every `exec.variable` and `exec.buffer` has one, and the
    module has `exec.private_bytes` and `exec.shared_bytes`. Where programs are for the workers of different meshes, each
    kind of worker has arenas of its own, whose sizes are in `exec.mesh_bytes`, and these are the largest. Variables come first in the private arena; behind them
    the programs, of which one runs at a time, share the same bytes. Within a program two buffers share bytes when
    they are not alive at the same step. It changes neither the order of steps nor what shares a buffer.

    ```mlir
    %0 = exec.buffer private "h" : memref<16xf32>         // before
    %0 = exec.buffer private at 64 "h" : memref<16xf32>   // after
    ```
  }];
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let statistics = [
    Statistic<"peakBytes", "peak-bytes", "Bytes of the private and the shared arena">,
    Statistic<"liveBytesBound", "live-bytes", "Bytes alive at the worst step of the largest program, and variables">,
  ];
}

#endif // DGC_PASSES_MEMORY_TD
