// From the reductions of StableHLO to those of dgc.

#include "compiler/import/RegionUtil.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

namespace {

/// Whether the region finds the larger of two (value, index) pairs in the way of argmax, or the smaller in that of argmin:
/// NaN is larger, or smaller, than all else, and of equal values the lower index wins.
std::optional<ReductionKind> argumentKindOf(Region &region) {
  Block &block = region.front();
  if (block.getNumArguments() != 4)
    return std::nullopt;
  Value p = block.getArgument(0), r = block.getArgument(1), q = block.getArgument(2), s = block.getArgument(3);
  auto chosen = block.back().getOperands();
  auto value = chosen[0].getDefiningOp<stablehlo::SelectOp>();
  auto index = chosen[1].getDefiningOp<stablehlo::SelectOp>();
  if (!value || !index || value.getOnTrue() != p || value.getOnFalse() != q || index.getOnTrue() != r ||
      index.getOnFalse() != s)
    return std::nullopt;
  using Direction = stablehlo::ComparisonDirection;
  auto compares = [](Value pred, Direction direction, Value x, Value y) {
    auto op = pred.getDefiningOp<stablehlo::CompareOp>();
    return op && op.getComparisonDirection() == direction && op.getLhs() == x && op.getRhs() == y;
  };
  // value: p > q or p is NaN; index: that, or p == q and r < s.
  Value wins = value.getPred();
  auto either = index.getPred().getDefiningOp<stablehlo::OrOp>();
  auto tie = either ? either.getRhs().getDefiningOp<stablehlo::AndOp>() : stablehlo::AndOp();
  if (!either || either.getLhs() != wins || !tie || !compares(tie.getLhs(), Direction::EQ, p, q) ||
      !compares(tie.getRhs(), Direction::LT, r, s))
    return std::nullopt;
  if (auto orNaN = wins.getDefiningOp<stablehlo::OrOp>(); orNaN && compares(orNaN.getRhs(), Direction::NE, p, p))
    wins = orNaN.getLhs();
  if (compares(wins, Direction::GT, p, q))
    return ReductionKind::Max;
  return compares(wins, Direction::LT, p, q) ? std::optional(ReductionKind::Min) : std::nullopt;
}

struct ReduceLowering : Lowering<stablehlo::ReduceOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::ReduceOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    SmallVector<int64_t> dims(op.getDimensions());
    llvm::sort(dims);
    if (lowerArgument(op, b, dims, results))
      return success();
    std::optional<ReductionKind> kind = combinationOf(op.getBody());
    if (op.getInputs().size() != 1 || !kind)
      return lowerRegion(op, b, dims, results, reason);
    Value reduced = b.reduce(*kind, op.getInputs().front(), dims);
    results.push_back(withInitial(b, *kind, reduced, op.getInitValues().front()));
    return success();
  }

private:
  /// Any region, on whole tensors.
  LogicalResult lowerRegion(stablehlo::ReduceOp op, TensorBuilder &b, ArrayRef<int64_t> dims,
                            SmallVectorImpl<Value> &results, std::string &reason) const {
    if (!isElementwise(op.getBody(), reason))
      return failure();
    SmallVector<Value> values(op.getInputs());
    for (int64_t dim : llvm::reverse(dims))
      values = foldElements(b, op.getBody(), values, dim);
    llvm::append_range(results, withInitials(b, op.getBody(), op.getInitValues(), values));
    return success();
  }

  /// argmax and argmin along one dimension, of an iota along it, that begin with the identity; false for all else.
  bool lowerArgument(stablehlo::ReduceOp op, TensorBuilder &b, ArrayRef<int64_t> dims,
                     SmallVectorImpl<Value> &results) const {
    if (op.getInputs().size() != 2)
      return false;
    std::optional<ReductionKind> kind = argumentKindOf(op.getBody());
    Value x = op.getInputs()[0], indices = op.getInputs()[1];
    if (kind)
      kind = kindFor(*kind, elementOf(x));
    if (!kind || dims.size() != 1 || !isIdentity(op.getInitValues()[0], *kind))
      return false;
    auto type = tensorOf(x);
    SmallVector<int64_t> kept = firstNumbers(type.getRank());
    kept.erase(kept.begin() + dims[0]);
    Value best = b.reduce(*kind, x, dims);
    Value isBest = b.equal(x, b.broadcast(best, type.getShape(), kept));
    if (isa<FloatType>(type.getElementType()))
      isBest = OrOp::create(b.builder, b.location, isBest, b.compare(ComparisonDirection::NE, x, x));
    Value none = b.broadcast(b.identity(ReductionKind::Min, elementOf(indices)), type.getShape(), {});
    results.push_back(best);
    results.push_back(b.reduce(ReductionKind::Min, b.select(isBest, indices, none), dims));
    return true;
  }
};

} // namespace

void dgc::import::addReductionPatterns(RewritePatternSet &patterns) {
  patterns.add<ReduceLowering>(patterns.getContext());
}
