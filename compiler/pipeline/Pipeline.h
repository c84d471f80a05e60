//===- Pipeline.h - the phases of the compiler -----------------------------===//
//
// model -> gradient -> place -> shard -> partition -> communicate -> kernel -> schedule -> artifact
//
// A phase is a list of passes, written as text that dgc-opt takes as well, and ends with the verifier. The last one
// makes machine code and writes the artifact.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_PIPELINE_PIPELINE_H
#define DGC_COMPILER_PIPELINE_PIPELINE_H

#include "compiler/codegen/common/CompiledKernels.h"
#include "mlir/IR/BuiltinOps.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace dgc {

enum class Phase { Input, Model, Gradient, Place, Shard, Partition, Communicate, Kernel, Schedule, Artifact };

/// The phases by name, in order; `input` is what was read.
llvm::ArrayRef<llvm::StringRef> phaseNames();
llvm::StringRef nameOf(Phase phase);
std::optional<Phase> phaseFromName(llvm::StringRef name);

struct CompileOptions {
  int64_t batch = 0;                    // the global batch; 0: as the model says
  std::string mesh;                     // "data=2,model=4"; empty: that of the module, or one worker
  std::string placement;                // file that says where variables are; empty: none
  int64_t microbatches = 0;             // of the strategy pipeline; 0: none
  std::string strategy;                 // "data-parallel,accumulate=4"; passes/strategy/Registry.h
  std::string target = "cpu";           // cpu (this machine), x86-64-v3, x86-64-v4, cuda:sm_90
  std::string serverTarget;             // of parameter servers: as `target`; empty: cpu
  std::string precision = "f32";        // of products: f32, tf32, bf16, f16
  std::string attention = "auto";       // auto, fused, expanded: is attention one op up to the phase kernel?
  std::string epilogues = "all";        // all, bias: what cuBLASLt computes with products
  bool noPadding = false;               // refuse dimensions that their axes do not divide
  Phase from = Phase::Input;            // the phase that the input has been through
  Phase to = Phase::Artifact;           // the last phase to run
  bool annotated = false;               // set for a module with a mesh of its own that needs no strategy
  int64_t servers = 0;                  // set for strategies with parameter servers; the mesh has a stage for each
  std::string links;                    // "host=20us:1GB/s,data=1us:20GB/s": how fast the links along axes are
  bool overlap = false;                 // collectives go on beside what does not need them
  std::vector<std::string> forbid;      // collectives that must not be needed: "all_gather"
  int64_t maxReplicatedBytes = -1;      // the largest value that may become whole on all devices; -1: any
  int64_t memoryLimit = -1;             // the most bytes that a worker may need; -1: any
  int64_t threads = 0;                  // of each worker, for the memory that it needs; 0: its share of the cores here
  std::string dumpDirectory;            // a file per phase; empty: none
  llvm::raw_ostream *explain = nullptr; // a table of the communication
  llvm::raw_ostream *timing = nullptr;  // seconds of each phase
  std::vector<std::pair<std::string, std::string>> attributes; // kept in the artifact, for people
};

/// The passes of one phase, as dgc-opt's --pass-pipeline takes them; empty when the phase has none.
std::string phasePipeline(Phase phase, const CompileOptions &options);

/// Refuses options that are not well formed, that name nothing there is, or that make no sense together, with a
/// diagnostic. What depends on more of the module than its mesh is checked by the phases.
llvm::LogicalResult checkOptions(mlir::ModuleOp module, const CompileOptions &options);

/// Runs the phases behind `options.from` up to `options.to`, the artifact left out. Diagnostics go to the context.
llvm::LogicalResult runPhases(mlir::ModuleOp module, const CompileOptions &options);

/// The code of the kernels of a module that has been through all phases: `compile` makes that of workers as the target
/// says; workers on CPUs beside GPUs have code of their own.
mlir::FailureOr<CompiledKernels>
compileKernelsOf(mlir::ModuleOp module, const CompileOptions &options,
                 llvm::function_ref<mlir::FailureOr<CompiledKernels>(mlir::ModuleOp kernels)> compile);

/// Runs all phases and returns the bytes of the artifact.
mlir::FailureOr<std::vector<uint8_t>> compile(mlir::ModuleOp module, const CompileOptions &options);

} // namespace dgc

#endif // DGC_COMPILER_PIPELINE_PIPELINE_H
