#include "dialects/dgc/LoopCount.h"

#include "llvm/ADT/APInt.h"

#include <algorithm>

using namespace mlir;
using namespace dgc;

static constexpr unsigned kMostBits = 61;

std::optional<int64_t> dgc::loopNumber(const APInt &number, IntegerType type) {
  if ((type.isUnsigned() ? number.getActiveBits() : number.getSignificantBits()) > kMostBits)
    return std::nullopt;
  return type.isUnsigned() ? static_cast<int64_t>(number.getZExtValue()) : number.getSExtValue();
}

std::optional<LoopCount> dgc::loopCount(std::optional<int64_t> first, std::optional<int64_t> limit,
                                        std::optional<int64_t> step, IntegerType type) {
  if (!first || !limit || !step || *step <= 0)
    return std::nullopt;
  const LoopCount count{*first, *limit, *step};
  const APInt most =
      type.isUnsigned() ? APInt::getMaxValue(type.getWidth()) : APInt::getSignedMaxValue(type.getWidth());
  const auto last = static_cast<uint64_t>(std::max<int64_t>(*first + count.rounds() * *step, 0));
  return most.ult(last) ? std::nullopt : std::optional(count);
}
