#include "compiler/driver/Phases.h"
#include "passes/analysis/PhaseOptionsText.h"
#include "passes/kernel/Passes.h"

namespace dgc {

void buildKernelPhase(mlir::OpPassManager &manager, const KernelPhaseOptions &options) {
  std::string wrong;
  std::unique_ptr<Target> target = TargetRegistry::builtin().create(options.target.spec, wrong);
  assert(target && "options have a target that there is");
  target->buildKernelPhase(manager, {.epilogues = options.epilogues, .fixedArithmetic = options.fixedArithmetic});
  manager.addPass(createVerifyKernelPass({.controlFlow = target->traits().controlFlow}));
}

/// A row of the table, from the member of PhaseOptions and the function that builds the pipeline.
template <auto member, auto build> static constexpr PhaseInfo row(Phase phase, llvm::StringLiteral promise) {
  using T = std::remove_cvref_t<decltype(PhaseOptions().*member)>;
  return {phase, promise,
          [](mlir::OpPassManager &manager, const PhaseOptions &options) { build(manager, options.*member); },
          [](llvm::StringRef name, llvm::StringRef summary) { registerPhasePipeline<T>(name, summary, build); },
          [](const PhaseOptions &options) { return textOf(options.*member); }};
}

static constexpr PhaseInfo table[] = {
    row<&PhaseOptions::model, buildModelPhase>(
        Phase::Model,
        "each entry point is a pure function on typed tensors; no model, block, repeat or literal is left"),
    row<&PhaseOptions::place, buildPlacePhase>(
        Phase::Place, "stages of ops, arguments and states say which group of devices has them; nothing is placed by "
                      "name"),
    row<&PhaseOptions::gradient, buildGradientPhase>(
        Phase::Gradient, "every op is primitive or kept for the target; no gradient is left to compute; every op and "
                         "variable of several stages has one"),
    row<&PhaseOptions::shard, buildShardPhase>(
        Phase::Shard, "every op can run on local shapes with the shardings of its operands and results"),
    row<&PhaseOptions::partition, buildPartitionPhase>(
        Phase::Partition, "shapes are those of one device; what is partial is combined, once; no reshard is left"),
    row<&PhaseOptions::communicate, buildCommunicatePhase>(
        Phase::Communicate, "all communication is in one order, matches, and comes to an end"),
    row<&PhaseOptions::kernel, buildKernelPhase>(Phase::Kernel,
                                                 "what computes is a launch of a kernel or a call of a library"),
    row<&PhaseOptions::schedule, buildSchedulePhase>(
        Phase::Schedule, "programs are steps on buffers; every buffer has an offset inside of its arena"),
};

llvm::ArrayRef<PhaseInfo> phaseTable() { return table; }

void registerPhasePipelines() {
  for (const PhaseInfo &phase : table)
    phase.registerPipeline(("dgc-" + nameOf(phase.phase) + "-pipeline").str(),
                           ("The phase " + nameOf(phase.phase) + ". Behind it, " + phase.promise).str());
}

} // namespace dgc
