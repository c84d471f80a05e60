// How often ops in loops run.

#ifndef DGC_DIALECTS_DGC_LOOPRUNS_H
#define DGC_DIALECTS_DGC_LOOPRUNS_H

#include "dialects/MLIR.h"
#include "mlir/IR/Operation.h"

namespace dgc {

struct LoopRuns {
  int64_t times = 1;         // saturates
  bool isLowerBound = false; // the number of rounds of some loop is unknown, and counts as one
};

/// Returns how often `op` runs for each run of its function, from the rounds of the loops around it.
LoopRuns runsOf(Operation *op);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_LOOPRUNS_H
