//===- Rematerialize.h - values that are computed again instead of stored -----===//

#ifndef DGC_PASSES_KERNEL_REMATERIALIZE_H
#define DGC_PASSES_KERNEL_REMATERIALIZE_H

#include "passes/kernel/Clusters.h"

namespace dgc {

/// Lets kernels compute large values of other kernels again, element by element, from what is in memory anyway, where
/// that moves less memory than to store and load them and takes at most `maxFlops` operations for each element. Changes
/// candidates, which are in order. Returns how many values are no longer stored.
unsigned rematerialize(llvm::SmallVectorImpl<KernelCandidate> &candidates, int64_t maxFlops, SizeDecisions &decide);

} // namespace dgc

#endif // DGC_PASSES_KERNEL_REMATERIALIZE_H
