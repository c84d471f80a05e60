#ifndef DGC_PASSES_SCHEDULE_TD
#define DGC_PASSES_SCHEDULE_TD

include "mlir/Pass/PassBase.td"

def LowerToProgramsPass : Pass<"dgc-lower-to-programs", "::mlir::ModuleOp"> {
  let summary = "turn entry functions into exec programs on buffers";
  let description = [{
    Input: entry functions on local tensors whose bodies have only `exec` steps, `dist` collectives, `dgc.reshape` and
    `dgc.constant`. Output: one `exec.program` a function, in the same order of steps, and an `exec.variable` for each
    `dgc.state`.

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
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let statistics = [
    Statistic<"copies", "copies", "Copies inserted">,
    Statistic<"inPlace", "in-place", "Results written over an operand or a variable">,
  ];
}

def SchedulePipelinePass : Pass<"dgc-schedule-pipeline", "::mlir::ModuleOp"> {
  let summary = "put the ops of a pipeline in the order of its schedule";
  let description = [{
    Input: functions in which every op has a stage (`dgc-complete-stages`) and those of a micro-batch say which
    (`dgc.microbatch`), and a mesh with an axis `stage`. `name` is that of a schedule (gpipe, 1f1b, interleaved, zb-h1);
    without one, or without micro-batches, the pass does nothing. Output: the ops of all stages in one order, by the time
    at which the schedule has their slots, with `dist.slot`, the number of that time. What loss, metrics and predictions depend on is
    the forward pass. The part of the backward pass of a stage and micro-batch behind which nothing is contracted and
    nothing sent is that to the weights, which zb-h1 does later. What belongs to no micro-batch comes as soon as it can
    where an op of a micro-batch needs it, and at the end otherwise.

    Ops that need a value of all micro-batches (statistics of the batch, a denominator that the model counts) divide the
    schedule into rounds. A round is all slots of the schedule, in its order, with those ops of each slot that are of this
    round: the one that `dgc.microbatch_level` says, or the first one behind it in which the slot does not begin before an
    operand is there. So every function gets an order. A forward pass that goes to a lower stage is a remark: it works, and
    costs a round.

    The order is one for all stages, so that `dgc-cut-programs` gives programs whose communication comes to an end. The
    module gets `dist.pipeline`, which says how it was made, for `--explain`: also how many rounds there are, and which ops
    begin them.
  }];
  let options = [Option<"name", "name", "std::string", "\"\"", "name of the schedule; empty: none">];
  let statistics = [Statistic<"numOrdered", "ordered-functions", "Functions that were put in the order of a schedule">];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

#endif // DGC_PASSES_SCHEDULE_TD
