// What a module with shardings communicates and computes in each entry point.

#ifndef DGC_PASSES_SHARD_PLANCOST_H
#define DGC_PASSES_SHARD_PLANCOST_H

#include "passes/analysis/Layout.h"

namespace dgc {

/// The cost of one step, for the device that does most.
struct PlanCost {
  int64_t bytes = 0; // received
  int64_t flops = 0;
};

/// The cost of the entry point that communicates most, and of all together.
struct ModuleCost {
  PlanCost largest, total;
};

/// The cost of the plan that `dgc-insert-reshards` makes of the shardings of `module`, found on a copy. Fails, without
/// a diagnostic, where that pass fails.
mlir::FailureOr<ModuleCost> estimateCost(mlir::ModuleOp module, const MeshRef &mesh);

} // namespace dgc

#endif // DGC_PASSES_SHARD_PLANCOST_H
