// Control flow of StableHLO in a program of dgc, which has none: choices compute every branch, and a loop whose number of
// rounds is known is written out.

#include "compiler/import/Patterns.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

/// A loop is written out up to so many ops.
static constexpr int64_t kMostUnrolled = 100'000;

/// Numbers of loops have at most so many bits, so that what is computed of three of them does not overflow.
static constexpr unsigned kMostBits = 61;

namespace {

/// A copy of the ops of the region, with the arguments; gives what it returns.
SmallVector<Value> copyBody(OpBuilder &builder, Region &region, ValueRange arguments) {
  IRMapping mapping;
  Block &block = region.front();
  mapping.map(block.getArguments(), arguments);
  for (Operation &op : block.without_terminator())
    builder.clone(op, mapping);
  return llvm::map_to_vector(block.back().getOperands(), [&](Value value) { return mapping.lookupOrDefault(value); });
}

/// Whether an op in the regions does more than give its results.
bool hasEffects(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        bool mayHave = isa<stablehlo::CustomCallOp, stablehlo::RngOp>(inner) || !inner->isRegistered();
        return mayHave ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

struct BarrierLowering : Lowering<stablehlo::OptimizationBarrierOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::OptimizationBarrierOp op, TensorBuilder &, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    llvm::append_range(results, op.getOperand());
    return success();
  }
};

/// For each result, that of the branch whose predicate holds, or of the last one.
void choose(TensorBuilder &b, ArrayRef<SmallVector<Value>> branches, ArrayRef<Value> preds,
            SmallVectorImpl<Value> &results) {
  for (size_t i = 0; i < branches.back().size(); ++i) {
    Value chosen = branches.back()[i];
    for (size_t branch = preds.size(); branch-- > 0;)
      chosen = stablehlo::SelectOp::create(b.builder, b.location, chosen.getType(), preds[branch], branches[branch][i],
                                           chosen);
    results.push_back(chosen);
  }
}

struct IfLowering : Lowering<stablehlo::IfOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::IfOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    if (hasEffects(op))
      return refuse(reason, "a branch with effects");
    SmallVector<SmallVector<Value>> branches{copyBody(b.builder, op.getTrueBranch(), {}),
                                             copyBody(b.builder, op.getFalseBranch(), {})};
    choose(b, branches, {op.getPred()}, results);
    return success();
  }
};

struct CaseLowering : Lowering<stablehlo::CaseOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::CaseOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    if (hasEffects(op))
      return refuse(reason, "a branch with effects");
    SmallVector<SmallVector<Value>> branches;
    SmallVector<Value> preds;
    for (auto [i, region] : llvm::enumerate(op.getBranches())) {
      branches.push_back(copyBody(b.builder, region, {}));
      if (i + 1 < op.getBranches().size())
        preds.push_back(b.equal(op.getIndex(), b.splat(static_cast<double>(i), op.getIndex())));
    }
    choose(b, branches, preds, results);
    return success();
  }
};

/// The integer that the value is, where it is one constant.
std::optional<int64_t> integerOf(Value value) {
  DenseElementsAttr constant;
  if (auto own = value.getDefiningOp<stablehlo::ConstantOp>())
    constant = dyn_cast<DenseElementsAttr>(own.getValue());
  else
    constant = constantOf(value);
  auto type = dyn_cast<IntegerType>(elementOf(value));
  if (!constant || !type || tensorOf(value).getRank() != 0)
    return std::nullopt;
  APInt number = constant.getValues<APInt>()[0];
  if ((type.isUnsigned() ? number.getActiveBits() : number.getSignificantBits()) > kMostBits)
    return std::nullopt;
  return type.isUnsigned() ? static_cast<int64_t>(number.getZExtValue()) : number.getSExtValue();
}

/// A loop that counts: `for (i = first; i < limit; i += step)`.
struct Count {
  unsigned operand;
  int64_t first, limit, step;
  int64_t rounds() const { return limit <= first ? 0 : (limit - first - 1) / step + 1; }
};

std::optional<Count> countOf(stablehlo::WhileOp op) {
  auto compare = op.getCond().front().back().getOperand(0).getDefiningOp<stablehlo::CompareOp>();
  if (!compare || compare.getComparisonDirection() != stablehlo::ComparisonDirection::LT)
    return std::nullopt;
  auto counter = dyn_cast<BlockArgument>(compare.getLhs());
  if (!counter || counter.getOwner() != &op.getCond().front())
    return std::nullopt;
  unsigned operand = counter.getArgNumber();
  auto next = op.getBody().front().back().getOperand(operand).getDefiningOp<stablehlo::AddOp>();
  if (!next || next.getLhs() != op.getBody().getArgument(operand))
    return std::nullopt;
  // The limit may be a value that the loop carries without changing it.
  Value limitValue = compare.getRhs();
  if (auto carried = dyn_cast<BlockArgument>(limitValue); carried && carried.getOwner() == &op.getCond().front()) {
    unsigned number = carried.getArgNumber();
    if (op.getBody().front().back().getOperand(number) != op.getBody().getArgument(number))
      return std::nullopt;
    limitValue = op.getInputs()[number];
  }
  std::optional<int64_t> first = integerOf(op.getInputs()[operand]), limit = integerOf(limitValue),
                         step = integerOf(next.getRhs());
  if (!first || !limit || !step || *step <= 0)
    return std::nullopt;
  Count count{operand, *first, *limit, *step};
  // A counter that passes the largest number of its type starts again at the smallest one.
  auto type = cast<IntegerType>(elementOf(op.getInputs()[operand]));
  APInt most = type.isUnsigned() ? APInt::getMaxValue(type.getWidth()) : APInt::getSignedMaxValue(type.getWidth());
  const auto last = static_cast<uint64_t>(std::max<int64_t>(*first + count.rounds() * *step, 0));
  return most.ult(last) ? std::nullopt : std::optional(count);
}

struct WhileLowering : Lowering<stablehlo::WhileOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::WhileOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    std::optional<Count> count = countOf(op);
    if (!count)
      return refuse(reason, "a loop whose number of rounds is not known");
    int64_t ops = 0;
    op.getBody().walk([&](Operation *) { ++ops; });
    if (count->rounds() > kMostUnrolled / ops)
      return refuse(reason, "a loop of " + Twine(count->rounds()) + " rounds of " + Twine(ops) + " ops");
    SmallVector<Value> values(op.getInputs());
    auto type = tensorOf(values[count->operand]);
    for (int64_t round = 0, number = count->first; round < count->rounds(); ++round, number += count->step) {
      APInt bits(type.getElementTypeBitWidth(), number, false, true);
      values[count->operand] = ConstantOp::create(b.builder, b.location, DenseElementsAttr::get(type, bits));
      values = copyBody(b.builder, op.getBody(), values);
    }
    llvm::append_range(results, values);
    return success();
  }
};

} // namespace

void dgc::import::addControlPatterns(RewritePatternSet &patterns) {
  patterns.add<BarrierLowering, CaseLowering, IfLowering, WhileLowering>(patterns.getContext());
}
