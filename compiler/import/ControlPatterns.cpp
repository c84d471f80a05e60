// Control flow of StableHLO: a loop over slices is a scan, another one whose number of rounds is known is written out, and
// one where it is not known a loop of dgc. Choices compute every branch, but for those with such a loop, which might not end.

#include "compiler/import/Complex.h"
#include "compiler/import/CountedLoops.h"
#include "compiler/import/Patterns.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

/// A loop is written out up to so many ops.
static constexpr uint64_t kMostUnrolled = 100'000;

/// A loop over slices with fewer rounds is written out, as others are.
static constexpr int64_t kFewestScanned = 8;

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
        bool mayHave =
            isa<stablehlo::CustomCallOp, stablehlo::RngOp>(inner) || (!inner->isRegistered() && !isCollective(inner));
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

/// Moves a region of StableHLO into one of an op of dgc, which takes all that it needs as arguments: behind those that it
/// has, `captured` ones.
void moveRegion(OpBuilder &builder, Region &from, Region &to, ArrayRef<Value> captured) {
  to.takeBody(from);
  for (Value value : captured) {
    Value inside = to.addArgument(value.getType(), value.getLoc());
    value.replaceUsesWithIf(inside, [&](OpOperand &use) { return to.isAncestor(use.getOwner()->getParentRegion()); });
  }
}

/// The values that regions use from outside. Constants are copied into them instead.
SmallVector<Value> captureFor(OpBuilder &builder, Operation *op) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(op->getRegions(), used);
  SmallVector<Value> captured;
  for (Value value : used) {
    Operation *constant = value.getDefiningOp();
    if (!constant || !constant->hasTrait<OpTrait::ConstantLike>()) {
      captured.push_back(value);
      continue;
    }
    for (Region &region : op->getRegions()) {
      builder.setInsertionPointToStart(&region.front());
      Value copy = builder.clone(*constant)->getResult(0);
      replaceAllUsesInRegionWith(value, copy, region);
    }
  }
  builder.setInsertionPoint(op);
  return captured;
}

/// Ends a region with an op of dgc.
template <typename Terminator> void endWith(OpBuilder &builder, Region &region) {
  Operation *end = region.front().getTerminator();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(end);
  Terminator::create(builder, end->getLoc(), end->getOperands());
  end->erase();
}
template <> void endWith<ConditionOp>(OpBuilder &builder, Region &region) {
  Operation *end = region.front().getTerminator();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(end);
  ConditionOp::create(builder, end->getLoc(), end->getOperand(0));
  end->erase();
}

/// A loop of dgc.
ValueRange buildLoop(OpBuilder &builder, stablehlo::WhileOp op) {
  SmallVector<Value> captured = captureFor(builder, op);
  auto loop = dgc::WhileOp::create(builder, op.getLoc(), op->getResultTypes(), op.getInputs(), captured, IntegerAttr());
  moveRegion(builder, op.getCond(), loop.getCondition(), captured);
  moveRegion(builder, op.getBody(), loop.getBody(), captured);
  endWith<ConditionOp>(builder, loop.getCondition());
  endWith<YieldOp>(builder, loop.getBody());
  return loop.getResults();
}

/// A branch of dgc.
ValueRange buildBranch(OpBuilder &builder, stablehlo::IfOp op) {
  SmallVector<Value> captured = captureFor(builder, op);
  auto branch = dgc::IfOp::create(builder, op.getLoc(), op->getResultTypes(), op.getPred(), captured);
  moveRegion(builder, op.getTrueBranch(), branch.getThenRegion(), captured);
  moveRegion(builder, op.getFalseBranch(), branch.getElseRegion(), captured);
  endWith<YieldOp>(builder, branch.getThenRegion());
  endWith<YieldOp>(builder, branch.getElseRegion());
  return branch.getResults();
}

/// Whether a loop inside goes on for as long as it likes.
bool hasOpenLoop(Operation *op) {
  return op
      ->walk([](stablehlo::WhileOp loop) { return countOf(loop) ? WalkResult::advance() : WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Whether complex numbers go into the op or come out of it.
bool takesComplex(Operation *op) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(op->getRegions(), used);
  return hasComplex(op) || llvm::any_of(used, isComplex);
}

/// `case` as a choice between its first branch and the others.
stablehlo::IfOp firstOrOthers(OpBuilder &builder, TensorBuilder &b, stablehlo::CaseOp op) {
  Value isFirst = b.equal(op.getIndex(), b.splat(0, op.getIndex()));
  auto branch = stablehlo::IfOp::create(builder, op.getLoc(), op->getResultTypes(), isFirst);
  branch.getTrueBranch().takeBody(op.getBranches().front());
  MutableArrayRef<Region> others = op.getBranches().drop_front();
  if (others.size() == 1) {
    branch.getFalseBranch().takeBody(others.front());
    return branch;
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&branch.getFalseBranch());
  Value index = stablehlo::SubtractOp::create(builder, op.getLoc(), op.getIndex().getType(), op.getIndex(),
                                              b.splat(1, op.getIndex()));
  auto rest = stablehlo::CaseOp::create(builder, op.getLoc(), op->getResultTypes(), index, others.size());
  for (auto [from, to] : llvm::zip_equal(others, rest.getBranches()))
    to.takeBody(from);
  stablehlo::ReturnOp::create(builder, op.getLoc(), rest.getResults());
  return branch;
}

struct IfLowering : Lowering<stablehlo::IfOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::IfOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    if (hasEffects(op))
      return refuse(reason, "a branch with effects");
    if (hasOpenLoop(op)) {
      if (takesComplex(op))
        return refuse(reason, "complex numbers in a branch with a loop whose number of rounds is not known");
      llvm::append_range(results, buildBranch(b.builder, op));
      return success();
    }
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
    if (op.getBranches().size() > 1 && hasOpenLoop(op)) {
      llvm::append_range(results, firstOrOthers(b.builder, b, op).getResults());
      return success();
    }
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

/// So many ops a loop becomes that is written out, those of loops in it included.
uint64_t unrolledOps(stablehlo::WhileOp op, const CountedLoop &count);

uint64_t unrolledOps(Region &region) {
  uint64_t ops = 0;
  for (Operation &op : region.getOps()) {
    auto loop = dyn_cast<stablehlo::WhileOp>(op);
    std::optional<CountedLoop> count = loop ? countOf(loop) : std::nullopt;
    uint64_t inner = 1;
    if (count)
      inner = unrolledOps(loop, *count);
    else
      for (Region &nested : op.getRegions())
        inner = llvm::SaturatingAdd(inner, unrolledOps(nested));
    ops = llvm::SaturatingAdd(ops, inner);
  }
  return ops;
}

uint64_t unrolledOps(stablehlo::WhileOp op, const CountedLoop &count) {
  return llvm::SaturatingMultiply<uint64_t>(count.rounds(), unrolledOps(op.getBody()));
}

struct WhileLowering : Lowering<stablehlo::WhileOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::WhileOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    if (hasEffects(op))
      return refuse(reason, "a loop with effects");
    std::optional<CountedLoop> count = countOf(op);
    if (count && count->rounds() >= kFewestScanned && !takesComplex(op))
      llvm::append_range(results, buildScan(b.builder, op, *count));
    if (!results.empty())
      return success();
    if (!count || unrolledOps(op, *count) > kMostUnrolled) {
      if (takesComplex(op))
        return refuse(reason, "complex numbers in a loop whose number of rounds is not known, or large");
      llvm::append_range(results, buildLoop(b.builder, op));
      return success();
    }
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
