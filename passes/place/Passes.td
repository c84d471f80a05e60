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
      variables and follows no marked op.
    - A variable that says where it is (`dist.stage` or `dist.device` on the argument, or a rule of `placement`, a pattern of
      names and a device) is there; it counts as an operand on that stage of the ops that
      read it.
    - With `servers`, the last stages are parameter servers: they have the variables and the state of the optimizer,
      each the next largest one where fewest bytes are so far, and all ops are on stage 0. A device of a variable is then
      `/job:ps/task:0`. A trained variable that is larger than what each server would have of all bytes is replaced by
      blocks of its rows (`dgc.block`), which fill up those servers that have less: ops get them put together, and each is
      updated with its rows of the gradient. One with a device, or whose new value is not that of an optimizer, is not.
    - Where nothing says anything and there are several groups, `solver` chooses: `chain` cuts the ops, in their order, so
      that fewest bytes are sent while the busiest group takes at most 10 % longer than in the most balanced cut; each range
      has an op that reads a variable, where there are enough. `greedy` and `exact` (up to 16 ops) need not keep to ranges.
      With `cuts` nothing is chosen: that many of the same ops, in their order, are on each stage.
    - A stage without a group of devices, or without ops, is an error.

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
    Option<"kind", "kind", "::dgc::DeviceKind", "::dgc::DeviceKind::Cpu", "the device of each worker: cpu or gpu">,
    Option<"serverKind", "server-kind", "::dgc::DeviceKind", "::dgc::DeviceKind::Cpu", "the device of each server: cpu or "
           "gpu">,
    Option<"solver", "solver", "::dgc::StageSolver", "::dgc::StageSolver::Chain", "chain, greedy or exact">,
    ListOption<"cuts", "cuts", "int64_t", "in place of the solver: how many ops each stage has">,
    Option<"capacity", "capacity", "int64_t", "0", "bytes that a worker of a group can hold; 0: any number">,
    Option<"placement", "placement", "::dgc::PlacementRules", "::dgc::PlacementRules()", "where variables and ops are, as in "
           "w1=task:0,w2=task:1">,
    Option<"repeat", "repeat", "bool", "false", "a group has several stages: stage s is that of group s modulo `stages`">,
  ];
  let dependentDialects = ["::dgc::dist::DistDialect"];
}

def VerifyPlacePass : Pass<"dgc-verify-place", "::mlir::ModuleOp"> {
  let summary = "check what the phase `place` promises";
  let description = [{
    Refuses a module in which an op or an argument of a function is placed by name, by `dist.device` or `dist.colocate`:
    what remains are stages. Meshes keep their device. A state is on the same stage in all functions that
    take it.
  }];
}

#endif // DGC_PASSES_PLACE_TD
