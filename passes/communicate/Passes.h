// The phase `communicate`: from communication that is correct to communication
// that is good, and the proof that it comes to an end.

#ifndef DGC_PASSES_COMMUNICATE_PASSES_H
#define DGC_PASSES_COMMUNICATE_PASSES_H

#include "dialects/dist/Dist.h"
#include "mlir/Pass/Pass.h"
#include "passes/communicate/LinkModel.h"
#include "passes/communicate/NumericsChecks.h"

namespace dgc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/communicate/Passes.h.inc"

/// Prints a table of the communication of each function of a partitioned
/// module: op, axes, bytes, cause.
void explain(mlir::ModuleOp module, llvm::raw_ostream &os);

/// Checks that each name is that of a collective of `dist`, as in "all_gather". Fails with a diagnostic that lists
/// them.
llvm::LogicalResult checkCollectiveNames(mlir::ModuleOp module, llvm::ArrayRef<std::string> names);

} // namespace dgc

#endif // DGC_PASSES_COMMUNICATE_PASSES_H
