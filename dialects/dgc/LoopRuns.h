// How often ops in loops run.

#ifndef DGC_DIALECTS_DGC_LOOPRUNS_H
#define DGC_DIALECTS_DGC_LOOPRUNS_H

#include "dialects/MLIR.h"
#include "mlir/IR/Operation.h"

namespace dgc {

struct LoopRuns {
  int64_t times = 1;    // at most the largest number
  bool isLeast = false; // how many rounds a loop has is not known: it counts as one
};

/// How often an op runs for each run of its function, by the loops that it is in.
LoopRuns runsOf(Operation *op);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_LOOPRUNS_H
