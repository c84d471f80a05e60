// dgc-count-loops: makes scans of loops whose number of rounds is known.

#include "dialects/dgc/DGC.h"
#include "dialects/dgc/LoopCount.h"
#include "dialects/dgc/TensorUtil.h"
#include "mlir/IR/Matchers.h"
#include "passes/gradient/Passes.h"

namespace dgc {
#define GEN_PASS_DEF_COUNTLOOPSPASS
#include "passes/gradient/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

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
  return loopNumber(*constant.value_begin<APInt>(), element);
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
  std::optional<LoopCount> count = loopCount(integerOf(loop, loop.getCarried()[number]),
                                             integerOf(loop, isLess ? compare.getRhs() : compare.getLhs()),
                                             integerOf(loop, next.getLhs() == inside ? next.getRhs() : next.getLhs()),
                                             dyn_cast<IntegerType>(elementOf(inside)));
  return count && count->rounds() > 0 ? std::optional(count->rounds()) : std::nullopt;
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
