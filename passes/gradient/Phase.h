// The phase `gradient`: from a loss and composite ops to the primitive ops that compute the update.

#ifndef DGC_PASSES_GRADIENT_PHASE_H
#define DGC_PASSES_GRADIENT_PHASE_H

#include "passes/analysis/OptionTypes.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace dgc {

/// So many ops a scan may become for a target that has no loops.
inline constexpr int64_t kMostUnrolledOps = 100'000;

struct GradientOptions {
  std::vector<std::string> keep;
  int64_t microbatches = 0, stages = 0;
  NamePatterns recompute;
  int64_t unrollScans = 0;
  int64_t loopFrom = 0, loopWorkers = 1;
  bool pairwise = false;

  template <class Binder> void bind(Binder &b) {
    b("keep", keep, "composite ops that stay whole up to the phase kernel");
    b("microbatches", microbatches, "parts that the batch is computed in; 0: none");
    b("recompute", recompute, "patterns of values that are computed again in the backward pass; empty: none");
    b("unroll-scans", unrollScans,
      "write out scans that become at most so many ops, for devices on which rounds of loops are costly; 0: none");
    b("loop-from", loopFrom, "from how many micro-batches on they are rounds of a loop; 0: never");
    b("loop-workers", loopWorkers, "how many workers the examples of a round are cut over");
    b("pairwise", pairwise, "micro-batches are parts of what each worker has, and their sums are added up in pairs");
    b("stages", stages, "groups of devices: stage s is that of group s modulo this; 0: each stage has one");
  }
};

void buildGradientPhase(mlir::OpPassManager &manager, const GradientOptions &options);

} // namespace dgc

#endif // DGC_PASSES_GRADIENT_PHASE_H
