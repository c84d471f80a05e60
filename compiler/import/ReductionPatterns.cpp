// From the reductions of StableHLO to those of dgc.

#include "compiler/import/Patterns.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

namespace {

/// A reduction, and what it begins with unless that is its identity.
Value withInitial(TensorBuilder &b, ReductionKind kind, Value reduced, Value init) {
  if (isIdentity(init, kind))
    return reduced;
  Value all = tensorOf(reduced).getRank() == 0 ? init : b.broadcast(init, tensorOf(reduced).getShape(), {});
  return combine(b, kind, reduced, all);
}

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
    if (op.getInputs().size() == 2)
      return lowerArgument(op, b, dims, results, reason);
    std::optional<ReductionKind> kind = combinationOf(op.getBody());
    if (op.getInputs().size() != 1 || !kind)
      return refuse(reason, "a region that is not one sum, product, maximum, minimum, and or or");
    Value reduced = b.reduce(*kind, op.getInputs().front(), dims);
    results.push_back(withInitial(b, *kind, reduced, op.getInitValues().front()));
    return success();
  }

private:
  /// argmax and argmin along one dimension, of an iota along it. What they begin with is the identity.
  LogicalResult lowerArgument(stablehlo::ReduceOp op, TensorBuilder &b, ArrayRef<int64_t> dims,
                              SmallVectorImpl<Value> &results, std::string &reason) const {
    std::optional<ReductionKind> kind = argumentKindOf(op.getBody());
    Value x = op.getInputs()[0], indices = op.getInputs()[1];
    if (kind)
      kind = kindFor(*kind, elementOf(x));
    if (!kind || dims.size() != 1 || !isIdentity(op.getInitValues()[0], *kind))
      return refuse(reason, "a region of several operands that is no argmax or argmin");
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
    return success();
  }
};

/// A list of numbers for each dimension, or ones.
SmallVector<int64_t> listOr(std::optional<ArrayRef<int64_t>> list, size_t rank, int64_t number) {
  return list ? SmallVector<int64_t>(*list) : SmallVector<int64_t>(rank, number);
}

/// The padding (low, high) of each dimension.
SmallVector<int64_t> paddingOf(std::optional<DenseIntElementsAttr> padding, size_t rank) {
  return padding ? llvm::to_vector(padding->getValues<int64_t>()) : SmallVector<int64_t>(2 * rank, 0);
}

bool areOnes(ArrayRef<int64_t> list) {
  return llvm::all_of(list, [](int64_t each) { return each == 1; });
}

struct ReduceWindowLowering : Lowering<stablehlo::ReduceWindowOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::ReduceWindowOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    size_t rank = op.getWindowDimensions().size();
    std::optional<ReductionKind> kind = combinationOf(op.getBody());
    if (op.getInputs().size() != 1 || !kind || *kind == ReductionKind::Product || *kind == ReductionKind::And ||
        *kind == ReductionKind::Or)
      return refuse(reason, "a region that is not one sum, maximum or minimum of numbers");
    if (!areOnes(listOr(op.getBaseDilations(), rank, 1)) || !areOnes(listOr(op.getWindowDilations(), rank, 1)))
      return refuse(reason, "dilations");
    SmallVector<int64_t> padding = paddingOf(op.getPadding(), rank);
    for (auto [i, window] : llvm::enumerate(op.getWindowDimensions()))
      if (padding[2 * i] < 0 || padding[2 * i + 1] < 0 || padding[2 * i] >= window || padding[2 * i + 1] >= window)
        return refuse(reason, "a padding that is negative, or not less than the window");
    if (!isIdentity(op.getInitValues().front(), *kind))
      return refuse(reason, "an initial value that is not the identity");
    results.push_back(b.reduceWindow(*kind, op.getInputs().front(), op.getWindowDimensions(),
                                     listOr(op.getWindowStrides(), rank, 1), padding));
    return success();
  }
};

struct SelectAndScatterLowering : Lowering<stablehlo::SelectAndScatterOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::SelectAndScatterOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    size_t rank = tensorOf(op.getOperand()).getRank();
    Block &select = op.getSelect().front();
    auto compare =
        select.getOperations().size() == 2 ? dyn_cast<stablehlo::CompareOp>(select.front()) : stablehlo::CompareOp();
    bool isMax = compare && compare.getComparisonDirection() == stablehlo::ComparisonDirection::GE &&
                 compare.getLhs() == select.getArgument(0) && compare.getRhs() == select.getArgument(1) &&
                 select.back().getOperand(0) == compare.getResult();
    if (!isMax || combinationOf(op.getScatter()) != ReductionKind::Sum)
      return refuse(reason, "what is not the gradient of a maximum in windows");
    if (!isa<FloatType>(elementOf(op.getOperand())) || !isIdentity(op.getInitValue(), ReductionKind::Sum))
      return refuse(reason, "integers, or an initial value that is not 0");
    SmallVector<int64_t> padding = paddingOf(op.getPadding(), rank), window = listOr(op.getWindowDimensions(), rank, 1);
    for (size_t i = 0; i < rank; ++i)
      if (padding[2 * i] < 0 || padding[2 * i + 1] < 0 || padding[2 * i] >= window[i] ||
          padding[2 * i + 1] >= window[i])
        return refuse(reason, "a padding that is negative, or not less than the window");
    results.push_back(MaxPoolGradOp::create(b.builder, b.location, op.getType(), op.getOperand(), op.getSource(),
                                            window, listOr(op.getWindowStrides(), rank, 1), padding));
    return success();
  }
};

} // namespace

void dgc::import::addReductionPatterns(RewritePatternSet &patterns) {
  patterns.add<ReduceLowering, ReduceWindowLowering, SelectAndScatterLowering>(patterns.getContext());
}
