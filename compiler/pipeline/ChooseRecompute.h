//===- ChooseRecompute.h - what to compute again so that a plan fits -------===//

#ifndef DGC_COMPILER_PIPELINE_CHOOSERECOMPUTE_H
#define DGC_COMPILER_PIPELINE_CHOOSERECOMPUTE_H

#include "compiler/pipeline/Pipeline.h"

namespace dgc {

/// True for strategies with `recompute` without a pattern: --memory-limit decides.
bool leavesRecomputeOpen(llvm::StringRef strategy);

/// The strategies with a pattern for `recompute`, or without it where nothing has to be computed again. The fewest
/// blocks (or values of no block) with which a plan for `original`, the module before the phases, keeps the limit,
/// those first that hold most; all of them where even that does not fit. A remark says what was chosen.
std::string chooseRecompute(mlir::ModuleOp original, const CompileOptions &options);

} // namespace dgc

#endif // DGC_COMPILER_PIPELINE_CHOOSERECOMPUTE_H
