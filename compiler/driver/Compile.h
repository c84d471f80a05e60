// The compiler as a library: from a model to the bytes of an artifact, or through some of the phases.
//
//   mlir::FailureOr<dgc::Artifact> artifact = dgc::compile(module, options);
//
// With a context each, several threads may compile at a time, with options of their own: nothing is kept in the process.

#ifndef DGC_COMPILER_DRIVER_COMPILE_H
#define DGC_COMPILER_DRIVER_COMPILE_H

#include "compiler/driver/CompileOptions.h"
#include <functional>

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
  /// Sets up the pass manager of each phase, as to print what passes change; none: as MLIR does.
  std::function<llvm::LogicalResult(mlir::PassManager &)> configure;
};

/// The bytes of an artifact, which has been checked as a worker checks it.
struct Artifact {
  std::vector<uint8_t> bytes;
};

/// Compiles the module that the plan is for, which has been through the phase `from`. Afterwards the module is in the
/// form that the phase schedule promises. On failure diagnostics were emitted.
mlir::FailureOr<Artifact> compile(mlir::ModuleOp module, const CompilePlan &plan, const CompileReports &reports = {});
mlir::FailureOr<Artifact> compile(mlir::ModuleOp module, const CompileOptions &options,
                                  const CompileReports &reports = {});

/// Runs the phases after `from` up to `to`, the artifact left out.
llvm::LogicalResult runPhases(mlir::ModuleOp module, const CompilePlan &plan, const CompileReports &reports = {});

/// Compiles kernels of one target.
using CompileKernels = llvm::function_ref<mlir::FailureOr<CompiledKernels>(mlir::ModuleOp kernels)>;

/// The code of the kernels of a module that has been through all phases: that of workers by `compile`; that of servers of
/// another kind by their target.
mlir::FailureOr<CompiledKernels> compileKernelsOf(mlir::ModuleOp module, const CompilePlan &plan,
                                                  CompileKernels compile);

} // namespace dgc

#endif // DGC_COMPILER_DRIVER_COMPILE_H
