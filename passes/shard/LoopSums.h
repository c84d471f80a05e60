// Sums that loops carry from round to round.

#ifndef DGC_PASSES_SHARD_LOOPSUMS_H
#define DGC_PASSES_SHARD_LOOPSUMS_H

#include "passes/analysis/Layout.h"

namespace dgc {

/// A value that a loop carries from zeros on and does nothing with but add to it, or put slices into it: where each device
/// adds or puts the sum over its part, it is partial in all rounds and combined once, behind the loop.
struct LoopSum {
  unsigned carried; // its number among what is carried
  AxisList axes;    // along which it may be partial
};

struct LoopSums {
  llvm::SmallVector<LoopSum> sums;
  /// The ops in the loop whose results they add up, and the axes (bits, by number) along which these may be partial.
  llvm::DenseMap<mlir::Operation *, uint64_t> terms;
};

/// The sums of a loop, by the shardings that the values in it declare; but for those in `combined`, by number.
LoopSums findLoopSums(RegionTiesOpInterface loop, const MeshRef &mesh, const llvm::SmallDenseSet<unsigned> &combined);

} // namespace dgc

#endif // DGC_PASSES_SHARD_LOOPSUMS_H
