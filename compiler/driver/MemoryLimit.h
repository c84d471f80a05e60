//===- MemoryLimit.h - refuse plans that need too much memory --------------===//

#ifndef DGC_COMPILER_DRIVER_MEMORYLIMIT_H
#define DGC_COMPILER_DRIVER_MEMORYLIMIT_H

#include "compiler/driver/CompileOptions.h"
#include "passes/schedule/Lifetimes.h"

namespace dgc {

/// What a worker needs of `original`, the module before the phases, with other strategies, and up to `count` of the
/// largest values. Nothing when that makes no plan; why is not said.
std::optional<MemoryPeak> planWith(mlir::ModuleOp original, CompileOptions options, const StrategyOptions &strategy,
                                   size_t count);

/// Checks a module after the phase `schedule` against `options.memoryLimit`. One that needs more is an error that
/// names the largest values and, from plans for `original`, the module before the phases, what would fit.
llvm::LogicalResult checkMemoryLimit(mlir::ModuleOp planned, mlir::ModuleOp original, const CompileOptions &options);

} // namespace dgc

#endif // DGC_COMPILER_DRIVER_MEMORYLIMIT_H
