// The compiler as a library: from a model to the bytes of an artifact, or through some of the phases.
//
//   mlir::FailureOr<dgc::Artifact> artifact = dgc::compile(module, options);
//
// With a context each, several threads may compile at a time. mlir::registerPassManagerCLOptions() must have been called
// once in the process: the options of MLIR's pass managers are applied to those of the phases.

#ifndef DGC_COMPILER_DRIVER_COMPILE_H
#define DGC_COMPILER_DRIVER_COMPILE_H

#include "compiler/driver/CompileOptions.h"

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace dgc {

/// What a compilation says of itself on the way.
struct CompileReports {
  std::string dumpDirectory;            // a file per phase; empty: none
  std::string dgcOpt = "dgc-opt";       // in the command at the head of such a file, with the plug-ins that it loads
  llvm::raw_ostream *explain = nullptr; // a table of the communication
  llvm::raw_ostream *timing = nullptr;  // seconds of each phase
};

/// The bytes of an artifact, which has been checked as a worker checks it.
struct Artifact {
  std::vector<uint8_t> bytes;
};

/// Compiles a module that has been through `options.from`. Afterwards the module is in the form that the phase schedule
/// promises. On failure diagnostics were emitted.
mlir::FailureOr<Artifact> compile(mlir::ModuleOp module, const CompileOptions &options,
                                  const CompileReports &reports = {});

/// Runs the phases after `options.from` up to `options.to`, the artifact left out. Gives the plan, in which
/// `recompute` is decided.
mlir::FailureOr<CompilePlan> runPhases(mlir::ModuleOp module, const CompileOptions &options,
                                       const CompileReports &reports = {});

/// Compiles kernels of one target.
using CompileKernels = llvm::function_ref<mlir::FailureOr<CompiledKernels>(mlir::ModuleOp kernels)>;

/// The code of the kernels of a module that has been through all phases: that of workers by `compile`; that of servers of
/// another kind by their target.
mlir::FailureOr<CompiledKernels> compileKernelsOf(mlir::ModuleOp module, const CompilePlan &plan,
                                                  CompileKernels compile);

} // namespace dgc

#endif // DGC_COMPILER_DRIVER_COMPILE_H
