// How a loop counts: `for (i = first; i < limit; i += step)`.

#ifndef DGC_DIALECTS_DGC_LOOPCOUNT_H
#define DGC_DIALECTS_DGC_LOOPCOUNT_H

#include "dialects/MLIR.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace dgc {

struct LoopCount {
  int64_t first, limit, step;
  int64_t rounds() const { return limit <= first ? 0 : (limit - first - 1) / step + 1; }
};

/// A constant of a loop, of its type; nothing for one of more than 61 bits, so that what is computed of three does not overflow.
std::optional<int64_t> loopNumber(const llvm::APInt &number, mlir::IntegerType type);

/// How a loop of these numbers counts in this type; nothing where one of them is not known, it does not count upwards, or its
/// counter passes the largest number of the type, and starts again at the smallest one.
std::optional<LoopCount> loopCount(std::optional<int64_t> first, std::optional<int64_t> limit,
                                   std::optional<int64_t> step, mlir::IntegerType type);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_LOOPCOUNT_H
