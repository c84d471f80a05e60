//===- Online.h - sums of exponentials beside their maximum ----------------===//
//
// The sum of exp(x - m) over a row, m being the row's maximum, would read the row once for m and once more for the sum.
// With a running m that is not needed: the sum is that of exp(x - m so far), and is multiplied by exp(m before - m now)
// when m grows.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_CODEGEN_CUDA_ONLINE_H
#define DGC_COMPILER_CODEGEN_CUDA_ONLINE_H

#include "compiler/codegen/common/KernelSchedule.h"
#include <optional>

namespace dgc {

struct OnlineSum {
  unsigned maximum; // the root of m
  mlir::Value x;    // the value whose elements are added and compared,
  Index index;      // and which of them at a point of the space
};

/// Nothing where the root is no such sum, of f32.
std::optional<OnlineSum> onlineSumOf(const KernelGraph &graph, unsigned root);

/// Moves such sums into the pass of their maximum, where that leaves a pass less.
void joinOnline(const KernelGraph &graph, Segment &segment);

} // namespace dgc

#endif // DGC_COMPILER_CODEGEN_CUDA_ONLINE_H
