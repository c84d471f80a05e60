// The phases of the compiler: one table, from which come --compile-to, --dump-phases-to, the pipelines of dgc-opt and
// the page of phases.
//
// input -> model -> place -> gradient -> shard -> partition -> communicate -> kernel -> schedule -> artifact

#ifndef DGC_COMPILER_DRIVER_PHASES_H
#define DGC_COMPILER_DRIVER_PHASES_H

#include "compiler/target/Target.h"
#include "passes/communicate/Phase.h"
#include "passes/gradient/Phase.h"
#include "passes/model/Phase.h"
#include "passes/partition/Phase.h"
#include "passes/place/Phase.h"
#include "passes/schedule/Phase.h"
#include "passes/shard/Phase.h"

namespace dgc {

/// `input` is what was read; `artifact` makes code and writes the file, without passes.
enum class Phase { Input, Model, Place, Gradient, Shard, Partition, Communicate, Kernel, Schedule, Artifact };
template <> struct EnumNames<Phase> {
  static constexpr EnumValue<Phase> all[] = {{Phase::Input, "input"},
                                             {Phase::Model, "model"},
                                             {Phase::Place, "place"},
                                             {Phase::Gradient, "gradient"},
                                             {Phase::Shard, "shard"},
                                             {Phase::Partition, "partition"},
                                             {Phase::Communicate, "communicate"},
                                             {Phase::Kernel, "kernel"},
                                             {Phase::Schedule, "schedule"},
                                             {Phase::Artifact, "artifact"}};
};

/// The options of the phase kernel as text: which target, too.
struct KernelPhaseOptions {
  TargetSpec target = {"cpu"};
  Epilogues epilogues = Epilogues::Auto;
  bool fixedArithmetic = false;

  template <class Binder> void bind(Binder &b) {
    b("target", target, "what kernels are for, as dgc-compile's --target");
    b("epilogues", epilogues, "what library calls compute with products on GPUs: auto, all or bias");
    b("fixed-arithmetic", fixedArithmetic, "no bits depend on what a kernel computes together (CPUs)");
  }
};

/// The options of all phases.
struct PhaseOptions {
  ModelOptions model;
  PlaceOptions place;
  GradientOptions gradient;
  ShardOptions shard;
  PartitionOptions partition;
  CommunicateOptions communicate;
  KernelPhaseOptions kernel;
  ScheduleOptions schedule;
};

/// A phase: its passes, of which the last is `dgc-verify-<name>`.
struct PhaseInfo {
  Phase phase;
  llvm::StringLiteral promise; // what holds after it; its verifier checks that
  void (*build)(mlir::OpPassManager &, const PhaseOptions &);
  /// Registers `dgc-<name>-pipeline`.
  void (*registerPipeline)(llvm::StringRef name, llvm::StringRef summary);
  /// The same as dgc-opt takes it: "dgc-<name>-pipeline{..}".
  std::string (*text)(const PhaseOptions &);
};

/// The phases that are passes, in order.
llvm::ArrayRef<PhaseInfo> phaseTable();

/// The phase `kernel`: the passes of the target, then the verifier.
void buildKernelPhase(mlir::OpPassManager &manager, const KernelPhaseOptions &options);

void registerPhasePipelines();

} // namespace dgc

#endif // DGC_COMPILER_DRIVER_PHASES_H
