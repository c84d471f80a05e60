// dgc-count-loops: makes scans of loops whose number of rounds is known.

#include "dialects/dgc/DGC.h"
#include "dialects/dgc/TensorUtil.h"
#include "mlir/IR/Matchers.h"
#include "passes/gradient/Passes.h"

namespace dgc {
#define GEN_PASS_DEF_COUNTLOOPSPASS
#include "passes/gradient/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

/// Numbers of loops have at most so many bits, so that what is computed of three of them does not overflow.
static constexpr unsigned kMostBits = 61;

/// The integer scalar that the value is, where it is one constant: itself, or what the loop is given for an argument of its
/// regions that stays the same.
static std::optional<int64_t> integerOf(WhileOp loop, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && argument.getOwner()->getParentOp() == loop) {
    const unsigned number = argument.getArgNumber();
    const bool isCarried = number < loop.getCarried().size();
    if (isCarried && loop.getBody().front().getTerminator()->getOperand(number) != loop.getBody().getArgument(number))
      return std::nullopt;
    value = loop->getOperand(number);
  }
  DenseIntElementsAttr constant;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  auto element = type ? dyn_cast<IntegerType>(type.getElementType()) : IntegerType();
  if (!element || element.isInteger(1) || type.getRank() != 0 || !matchPattern(value, m_Constant(&constant)))
    return std::nullopt;
  const APInt number = *constant.value_begin<APInt>();
  if ((element.isUnsigned() ? number.getActiveBits() : number.getSignificantBits()) > kMostBits)
    return std::nullopt;
  return element.isUnsigned() ? static_cast<int64_t>(number.getZExtValue()) : number.getSExtValue();
}

/// How many rounds the loop has that goes on as long as what it counts with is below a number.
static std::optional<int64_t> roundsOf(WhileOp loop) {
  auto compare = loop.getCondition().front().getTerminator()->getOperand(0).getDefiningOp<CompareOp>();
  if (!compare)
    return std::nullopt;
  const bool isLess = compare.getComparisonDirection() == ComparisonDirection::LT;
  if (!isLess && compare.getComparisonDirection() != ComparisonDirection::GT)
    return std::nullopt;
  auto counter = dyn_cast<BlockArgument>(isLess ? compare.getLhs() : compare.getRhs());
  if (!counter || counter.getOwner()->getParentOp() != loop || counter.getArgNumber() >= loop.getCarried().size())
    return std::nullopt;
  const unsigned number = counter.getArgNumber();
  Value inside = loop.getBody().getArgument(number);
  auto next = loop.getBody().front().getTerminator()->getOperand(number).getDefiningOp<AddOp>();
  if (!next || (next.getLhs() != inside && next.getRhs() != inside))
    return std::nullopt;
  std::optional<int64_t> first = integerOf(loop, loop.getCarried()[number]),
                         limit = integerOf(loop, isLess ? compare.getRhs() : compare.getLhs()),
                         step = integerOf(loop, next.getLhs() == inside ? next.getRhs() : next.getLhs());
  if (!first || !limit || !step || *step <= 0 || *limit <= *first)
    return std::nullopt;
  const int64_t rounds = (*limit - *first - 1) / *step + 1;
  // A counter that passes the largest number of its type starts again at the smallest one.
  auto type = cast<IntegerType>(elementOf(inside));
  const APInt most =
      type.isUnsigned() ? APInt::getMaxValue(type.getWidth()) : APInt::getSignedMaxValue(type.getWidth());
  const auto last = static_cast<uint64_t>(std::max<int64_t>(*first + rounds * *step, 0));
  return most.ult(last) ? std::nullopt : std::optional(rounds);
}

namespace {
struct CountLoopsPass : dgc::impl::CountLoopsPassBase<CountLoopsPass> {
  void runOnOperation() override {
    getOperation()->walk([&](WhileOp loop) {
      std::optional<int64_t> rounds = roundsOf(loop);
      if (!rounds)
        return;
      OpBuilder builder(loop);
      auto scan =
          ScanOp::create(builder, loop.getLoc(), loop.getResultTypes(), loop.getCarried(), ValueRange(),
                         loop.getInvariants(), /*dimension=*/0, /*reverse=*/false, builder.getI64IntegerAttr(*rounds));
      scan->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
      scan.getBody().takeBody(loop.getBody());
      loop.replaceAllUsesWith(scan.getResults());
      loop.erase();
      ++numCounted;
    });
  }
};
} // namespace
