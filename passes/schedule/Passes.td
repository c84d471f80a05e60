#ifndef DGC_PASSES_SCHEDULE_TD
#define DGC_PASSES_SCHEDULE_TD

include "mlir/Pass/PassBase.td"

def OverlapCollectivesPass : Pass<"dgc-overlap-collectives", "::mlir::ModuleOp"> {
  let summary = "begin collectives early and wait for them late";
  let description = [{
    A `dist.done` moves before the first op that needs what it gives; then its collective moves after the last op that it
    needs. All communication begins in the order in which it did, none moves past a send or receive, and a collective does
    not begin before the last but one has ended: so at most two are under way, which bounds the memory. Where nothing is
    left to do between beginning and end, the two are one again.

    ```mlir
    %s = dist.all_reduce sum %x over @mesh ["data"] : tensor<4xf32>
    %r = dist.done %s : tensor<4xf32>
    %y = dgc.exponential %a : tensor<4xf32>
    %z = dgc.add %r, %y : tensor<4xf32>
    // becomes
    %s = dist.all_reduce sum %x over @mesh ["data"] : tensor<4xf32>
    %y = dgc.exponential %a : tensor<4xf32>
    %r = dist.done %s : tensor<4xf32>
    %z = dgc.add %r, %y : tensor<4xf32>
    ```
  }];
  let statistics = [Statistic<"numOverlapped", "overlapped", "Collectives that overlap with computation">];
}

def SplitCollectivesPass : Pass<"dgc-split-collectives", "::mlir::ModuleOp"> {
  let summary = "tell where a collective begins from where it has ended";
  let description = [{
    Inserts a `dist.done` after each collective, and replaces the uses of its results by those of the `dist.done`. Sends and receives stay, and so do
    collectives in loops and branches.

    ```mlir
    %r = dist.all_reduce sum %x over @mesh ["data"] : tensor<4xf32>
    // becomes
    %s = dist.all_reduce sum %x over @mesh ["data"] : tensor<4xf32>
    %r = dist.done %s : tensor<4xf32>
    ```
  }];
  let statistics = [Statistic<"numSplit", "split", "Collectives that now have an end">];
}

def LowerToProgramsPass : Pass<"dgc-lower-to-programs", "::mlir::ModuleOp"> {
  let summary = "turn entry functions into exec programs on buffers";
  let description = [{
    Input: entry functions on local tensors whose bodies have only `exec` steps, `dist` collectives, `dgc.reshape` and
    `dgc.constant`. Output: one `exec.program` a function, in the same order of steps, and an `exec.variable` for each
    `dgc.state`. Functions without a body are removed.

    - A variable is updated in place: the step that computes its new value writes to its buffer when the old value is
      not needed later (by any step, or by that step other than element by element). Otherwise the value is copied at
      the end.
    - What a collective works on is written by its producers into one buffer of the shared arena; a value that is
      needed as it was before the collective is copied there.
    - A reshape is a view.
    - A step may write over an operand that it allows to, when that is not needed later.

    It plans no offsets (`dgc-plan-memory` does).

    ```mlir
    func.func @train(%w: tensor<8xf32> {dgc.state = @w}) -> (tensor<8xf32> {dgc.state = @w}) {
      %0 = exec.launch @kernels::@k(%w) {inplace = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    // becomes
    exec.program @train {
      %0 = exec.get_variable @w : memref<8xf32>
      exec.launch @kernels::@k(%0) outs(%0 : memref<8xf32>) : (memref<8xf32>) -> ()
    }
    ```
  }];
  let dependentDialects = ["::dgc::exec::ExecDialect"];
  let statistics = [
    Statistic<"copies", "copies", "Copies inserted">,
    Statistic<"inPlace", "in-place", "Results written over an operand or a variable">,
  ];
}

def PlanMemoryPass : Pass<"dgc-plan-memory", "::mlir::ModuleOp"> {
  let summary = "give every buffer its offset";
  let description = [{
    Input: `exec` programs on buffers without offsets. Output: every `exec.variable` and `exec.buffer` has one, and the
    module has `exec.private_bytes` and `exec.shared_bytes`. Where programs are for the workers of different meshes, each
    kind of worker has arenas of its own, whose sizes are in `exec.mesh_bytes`, and these are the largest. Variables come first in the private arena; after them
    the programs, of which one runs at a time, share the same bytes. Within a program two buffers share bytes when
    they are not alive at the same step. It changes neither the order of steps nor what shares a buffer.

    ```mlir
    %0 = exec.buffer private "h" : memref<16xf32>         // before
    %0 = exec.buffer private at 64 "h" : memref<16xf32>   // after
    ```
  }];
  let dependentDialects = ["::dgc::exec::ExecDialect"];
  let statistics = [
    Statistic<"peakBytes", "peak-bytes", "Bytes of the private and the shared arena">,
    Statistic<"liveBytesBound", "live-bytes", "Bytes alive at the worst step of the largest program, and variables">,
  ];
}

def VerifySchedulePass : Pass<"dgc-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "check what the phase `schedule` promises";
  let description = [{
    Refuses a module with a function, with an `exec.variable` or `exec.buffer` that has no offset, or one that is not
    within its arena, and with variables that share bytes.
  }];
}

#endif // DGC_PASSES_SCHEDULE_TD
