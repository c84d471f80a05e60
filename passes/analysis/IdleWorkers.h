// Workers that a batch does not reach.

#ifndef DGC_PASSES_ANALYSIS_IDLEWORKERS_H
#define DGC_PASSES_ANALYSIS_IDLEWORKERS_H

#include "llvm/Support/MathExtras.h"
#include <cstdint>

namespace dgc {

/// How many of the workers get no example: blocks of ceil(n/N) examples are equal, but for the last ones, which may be
/// empty.
inline int64_t countIdleWorkers(int64_t examples, int64_t workers) {
  return examples == 0 ? 0 : workers - llvm::divideCeil(examples, llvm::divideCeil(examples, workers));
}

} // namespace dgc

#endif // DGC_PASSES_ANALYSIS_IDLEWORKERS_H
