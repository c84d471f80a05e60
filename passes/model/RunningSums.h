// Running sums of a model, as variables.

#ifndef DGC_PASSES_MODEL_RUNNINGSUMS_H
#define DGC_PASSES_MODEL_RUNNINGSUMS_H

#include "dialects/dgc/DGC.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace dgc {

/// What became of the running sums of a model.
struct RunningSums {
  llvm::DenseMap<Operation *, Value> valueOf; // by variable: its new value, the sum with this batch
  llvm::DenseSet<Operation *> metrics;        // the dgc.metric ops that depend on a sum
};

/// Replaces each dgc.running_sum by a variable that begins at 0, and by the sum of that and the operand. Fails, with a
/// diagnostic, where something else than a metric depends on a sum, or no metric does.
FailureOr<RunningSums> replaceRunningSums(ModelOp model);

} // namespace dgc

#endif // DGC_PASSES_MODEL_RUNNINGSUMS_H
