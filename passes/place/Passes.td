#ifndef DGC_PASSES_PLACE_TD
#define DGC_PASSES_PLACE_TD

include "mlir/Pass/PassBase.td"

def AssignStagesPass : Pass<"dgc-assign-stages", "::mlir::ModuleOp"> {
  let summary = "give every op of the forward pass its stage";
  let description = [{
    Runs before `dgc-gradient`, so that what is built for the gradient of an op is on the stage of the op. `stages` is
    the number of groups of devices; 0: the size of the axis `stage` of the mesh that the module has. With one, or none,
    `dist.stage` is taken away.

    - `dist.device` on an op becomes `dist.stage`: `/job:worker/task:1` (or `task:1`) is stage 1. A device that there
      is not is an error.
    - An op without a stage is on the highest stage of its operands; one without such operands on the lowest of its
      users. So it is enough to mark where each stage begins. Where nothing is marked as on stage 0, it has what reads
      variables and is behind no mark.
    - A variable that says where it is (`dist.stage` or `dist.device` on the argument, or a line of `placement`, a file of
      lines `PATTERN DEVICE` for names of variables) is there; it counts as an operand on that stage of the ops that
      read it.
    - With `servers`, the last stages are parameter servers: they have the variables and the state of the optimizer,
      each the next largest one where fewest bytes are so far, and all ops are on stage 0. A device of a variable is then
      `/job:ps/task:0`. A trained variable that is larger than what each server would have of all bytes is replaced by
      blocks of its rows (`dgc.block`), which fill up those servers that have less: ops get them put together, and each is
      updated with its rows of the gradient. One with a device, or whose new value is not that of an optimizer, is not.
    - Where nothing says anything and there are several groups, `solver` chooses: `chain` cuts the ops, in their order, so
      that fewest bytes are sent while the busiest group takes at most 10 % longer than in the most balanced cut; each range
      has an op that reads a variable, where there are enough. `greedy` and `exact` (up to 16 ops) need not keep to ranges.
    - A stage that there is no group for, or that nothing is on, is an error.

    Ops that depend on a `dgc.gradient` are left alone (`dgc-complete-stages` does them), as is what any device can
    compute from constants and the scalars that the runtime gives to all.

    ```mlir
    %h = dgc.dense %x, %w1, %b1 : ...                     // becomes {dist.stage = 0 : i64}
    %y = dgc.dense %h, %w2, %b2 {dist.stage = 1} : ...
    %z = dgc.relu %y : ...                                // becomes {dist.stage = 1 : i64}
    ```
  }];
  let options = [
    Option<"stages", "stages", "int64_t", "0", "groups of devices; 0: as the mesh of the module says">,
    Option<"servers", "servers", "int64_t", "0", "how many of the last stages are parameter servers">,
    Option<"kind", "kind", "std::string", "\"cpu\"", "the device of each worker: cpu or gpu">,
    Option<"serverKind", "server-kind", "std::string", "\"\"", "the device of each server: cpu or gpu; empty: as `kind`">,
    Option<"solver", "solver", "std::string", "\"chain\"", "chain, greedy or exact">,
    Option<"capacity", "capacity", "int64_t", "0", "bytes that a worker of a group can hold; 0: any number">,
    Option<"placement", "placement", "std::string", "\"\"", "file that says where variables are; empty: none">,
    Option<"repeat", "repeat", "bool", "false", "a group has several stages: stage s is that of group s modulo `stages`">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def CompleteStagesPass : Pass<"dgc-complete-stages", "::mlir::ModuleOp"> {
  let summary = "give every op and variable its stage";
  let description = [{
    Runs on partitioned functions in which at least one op has `dist.stage`; without one it does nothing. Afterwards
    every op has a stage that is not to be computed by whoever needs it, as have arguments that are state, and results.

    - A variable is on the lowest stage of the ops that read it, in the first function that has it; the state of the
      optimizer is with the ops that update it.
    - What computes the new value of a variable, and says nothing else, is with the variable, as is a gather of it;
      collectives before it are with their operands. What several variables depend on (a norm of all gradients) is not;
      but a gradient that is added up of addends on several stages is with its variable.
    - An op that computes nothing and gives more than it takes (a broadcast) is on each stage that needs it; any other
      gather where its result is needed first.
    - Any other op is on the highest stage of its operands, or else on the lowest of its users.
    - Loss and metrics are results on stage 0, which tells the user; predictions stay where they are.
    - Constants, positions, scalars that the runtime gives to all (step, seed, valid count) and what follows from
      these alone have no stage: every device computes them.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def ReassociateStageSumsPass : Pass<"dgc-reassociate-stage-sums", "::mlir::ModuleOp"> {
  let summary = "add what one stage has before it is sent to another";
  let description = [{
    Runs behind `dgc-complete-stages`. In a sum of several terms, those of each stage are added on that stage, and then the
    sums of the stages, where the whole sum was: of each stage one value is sent. Stages at one position along the axis
    `stage` count as one. A sum for which fewer values are sent as it is stays so. The order of the terms changes, and
    with it the rounding.

    ```mlir
    %s = dgc.add %a0, %b1 {dist.stage = 1} : tensor<f32>   // %a0 and %c0 are on stage 0, %b1 on stage 1
    %t = dgc.add %s, %c0 {dist.stage = 1} : tensor<f32>
    // becomes
    %s = dgc.add %a0, %c0 {dist.stage = 0} : tensor<f32>
    %t = dgc.add %s, %b1 {dist.stage = 1} : tensor<f32>
    ```
  }];
  let options = [
    Option<"positions", "positions", "int64_t", "0", "groups of devices: stage s is that of group s modulo this; 0: each "
           "stage has one">,
  ];
  let statistics = [Statistic<"numFewer", "fewer", "Values that are no longer sent">];
  let dependentDialects = ["::mlir::dgc::DGCDialect"];
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
    what differs between them cannot be sent, and is an error. With `host-servers` their meshes say that they are on CPUs
    (`dist.device`), where the workers have GPUs.

    A value that is needed at another position is sent once, however many ops need it there, right behind its
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
    Option<"hostServers", "host-servers", "bool", "false", "these are on CPUs, beside workers with GPUs">,
  ];
  let statistics = [Statistic<"numTransfers", "transfers", "Values sent from one position to another">];
  let dependentDialects = ["::mlir::dist::DistDialect", "::mlir::func::FuncDialect"];
}

#endif // DGC_PASSES_PLACE_TD
