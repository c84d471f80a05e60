//===- Online.h - sums of exponentials with a running maximum ----------------===//
//
// The sum of exp(x - m) over a row, m being the row's maximum, would read the row once for m and once more for the sum.
// With a running m that is not needed: the sum is that of exp(x - m so far), and is multiplied by exp(m before - m now)
// when m grows. A sum of x - m for those elements that a condition chooses, such as that of its label for each row of a
// cross entropy, follows m likewise: to each that was chosen m before - m now is added.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_ONLINE_H
#define DGC_COMPILER_TARGET_CUDA_ONLINE_H

#include "compiler/codegen/KernelSchedule.h"
#include <optional>

namespace dgc {

struct OnlineSum {
  unsigned maximum; // the root of m
  mlir::Value x;    // the value whose elements are added,
  Index index;      // and which of them at a point of the space
  /// Of sums of x - m: whether there is an addend, likewise. Null: the sum is one of exponentials.
  mlir::Value condition;
  Index conditionIndex;
};

/// Nothing where the root is no such sum, of f32.
std::optional<OnlineSum> onlineSumOf(const KernelGraph &graph, unsigned root);

/// Moves such sums into the nest of their maximum, where that leaves a nest less.
void joinOnline(const KernelGraph &graph, Segment &segment);

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_ONLINE_H
