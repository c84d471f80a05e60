// dgc-scale-loss: keeps gradients within what f16 can hold.

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/CompositeBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/model/Passes.h"
#include "llvm/ADT/DenseSet.h"

namespace dgc {
#define GEN_PASS_DEF_SCALELOSSPASS
#include "passes/model/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

namespace {

/// The scale of the loss and the number of steps that it has been good for.
struct Scale {
  StateOp factor, goodSteps;
};

/// One function with a gradient.
class Scaling {
public:
  Scaling(func::FuncOp function, GradientOp gradient, Scale scale, int64_t interval)
      : function(function), gradient(gradient), scale(scale), interval(interval) {}

  void run();

private:
  Value addArgument(StateOp state);
  void addResult(StateOp state, Value value);
  Value isFinite(CompositeBuilder &b, ValueRange values);
  void keepUnless(Value finite, const llvm::DenseSet<Value> &dependent);
  void adjust(CompositeBuilder &b, Value finite, Value factor, Value goodSteps);

  func::FuncOp function;
  GradientOp gradient;
  Scale scale;
  int64_t interval;
};

} // namespace

static FlatSymbolRefAttr stateOf(DictionaryAttr attributes) {
  return attributes ? attributes.getAs<FlatSymbolRefAttr>(kStateAttr) : FlatSymbolRefAttr();
}

Value Scaling::addArgument(StateOp state) {
  Builder builder(function.getContext());
  unsigned at = 0; // after the other states
  while (at < function.getNumArguments() && stateOf(function.getArgAttrDict(at)))
    ++at;
  auto attribute = builder.getNamedAttr(kStateAttr, FlatSymbolRefAttr::get(state.getSymNameAttr()));
  (void)function.insertArgument(at, state.getTensorType(), builder.getDictionaryAttr(attribute), state.getLoc());
  return function.getArgument(at);
}

void Scaling::addResult(StateOp state, Value value) {
  Builder builder(function.getContext());
  unsigned at = 0;
  while (at < function.getNumResults() && stateOf(function.getResultAttrDict(at)))
    ++at;
  auto attribute = builder.getNamedAttr(kStateAttr, FlatSymbolRefAttr::get(state.getSymNameAttr()));
  (void)function.insertResult(at, state.getTensorType(), builder.getDictionaryAttr(attribute));
  function.front().getTerminator()->insertOperands(at, value);
}

/// Values that are computed from those of `roots`, and these.
static llvm::DenseSet<Value> dependents(ValueRange roots) {
  llvm::DenseSet<Value> reached(roots.begin(), roots.end());
  for (Operation &op :
       llvm::make_range(roots.front().getDefiningOp()->getIterator(), roots.front().getParentBlock()->end()))
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return reached.contains(operand); }))
      reached.insert(op.result_begin(), op.result_end());
  return reached;
}

/// 1 when all elements of all values are finite, else 0.
Value Scaling::isFinite(CompositeBuilder &b, ValueRange values) {
  Type f32 = b.builder.getF32Type();
  Value all;
  for (Value value : values) {
    Value each = b.convert(IsFiniteOp::create(b.builder, b.location, value), f32);
    Value one = b.reduce(ReductionKind::Min, each, allDims(tensorOf(value).getRank()));
    all = all ? b.minimum(all, one) : one;
  }
  return all;
}

/// Where gradients are not finite, states keep what they have.
void Scaling::keepUnless(Value finite, const llvm::DenseSet<Value> &dependent) {
  Operation *end = function.front().getTerminator();
  OpBuilder builder(end);
  CompositeBuilder b(builder, gradient.getLoc());
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i) {
    FlatSymbolRefAttr state = stateOf(function.getResultAttrDict(i));
    Value next = end->getOperand(i);
    if (!state || !dependent.contains(next))
      continue;
    BlockArgument before;
    for (BlockArgument argument : function.getArguments())
      if (stateOf(function.getArgAttrDict(argument.getArgNumber())) == state)
        before = argument;
    if (!before)
      continue; // it does not depend on itself: nothing to keep
    Value half = b.splat(0.5, finite);
    Value good = b.broadcastScalar(b.compare(ComparisonDirection::GT, finite, half), shapeOf(next));
    end->setOperand(i, b.select(good, next, before));
  }
}

/// Twice the scale after many good steps, half of it after one that was not.
void Scaling::adjust(CompositeBuilder &b, Value finite, Value factor, Value goodSteps) {
  auto greater = [&](Value x, double bound) { return b.compare(ComparisonDirection::GT, x, b.splat(bound, x)); };
  Value zero = b.splat(0, finite);
  Value count = b.add(goodSteps, b.splat(1, finite));
  Value grows = greater(count, static_cast<double>(interval) - 0.5), good = greater(finite, 0.5);
  Value larger = b.select(grows, b.multiply(factor, 2.0), factor);
  Value smaller = b.maximum(b.multiply(factor, 0.5), b.splat(1, finite));
  addResult(scale.factor, b.select(good, larger, smaller));
  addResult(scale.goodSteps, b.select(good, b.select(grows, zero, count), zero));
}

void Scaling::run() {
  Value factor = addArgument(scale.factor), goodSteps = addArgument(scale.goodSteps);
  llvm::DenseSet<Value> dependent = dependents(gradient.getResults());
  OpBuilder builder(gradient);
  CompositeBuilder b(builder, gradient.getLoc());
  gradient.getLossMutable().set(b.multiply(gradient.getLoss(), b.convert(factor, elementOf(gradient.getLoss()))));
  builder.setInsertionPointAfter(gradient);
  Value finite = isFinite(b, gradient.getResults());
  Value inverse = b.divide(b.splat(1, factor), factor);
  for (Value result : gradient.getResults()) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : result.getUses())
      if (!isa<IsFiniteOp>(use.getOwner()))
        uses.push_back(&use);
    Value unscaled = b.multiply(result, b.broadcastScalar(b.convert(inverse, elementOf(result)), shapeOf(result)));
    for (OpOperand *use : uses)
      use->set(unscaled);
  }
  keepUnless(finite, dependent);
  builder.setInsertionPoint(function.front().getTerminator());
  adjust(b, finite, factor, goodSteps);
}

namespace {
struct ScaleLossPass : dgc::impl::ScaleLossPassBase<ScaleLossPass> {
  using ScaleLossPassBase::ScaleLossPassBase;

  void runOnOperation() override {
    SmallVector<std::pair<func::FuncOp, GradientOp>> gradients;
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](GradientOp op) { gradients.push_back({function, op}); });
    if (gradients.empty())
      return;
    if (gradients.size() > 1) {
      gradients[1].second.emitError("the loss is scaled for one gradient, and the module has more than one");
      return signalPassFailure();
    }
    if (interval < 1) {
      getOperation().emitError() << "interval=" << interval << ": at least 1 is needed";
      return signalPassFailure();
    }
    auto [function, gradient] = gradients.front();
    Scale scale;
    if (failed(addState(function, "loss_scale", initial, scale.factor)) ||
        failed(addState(function, "loss_scale.good_steps", 0, scale.goodSteps)))
      return signalPassFailure();
    Scaling(function, gradient, scale, interval).run();
    numScaled += gradient.getNumResults();
  }

private:
  /// A scalar that every worker has.
  LogicalResult addState(func::FuncOp function, StringRef name, double value, StateOp &state) {
    if (Operation *taken = getOperation().lookupSymbol(name))
      return taken->emitError() << "the name \"" << name << "\" is that of the scale of the loss: choose another";
    OpBuilder builder(function);
    auto init = InitAttr::constant(&getContext(), value);
    state = StateOp::create(builder, function.getLoc(), name, StateRole::Statistic, init, /*rng_id=*/0,
                            RankedTensorType::get({}, builder.getF32Type()), /*begins_as=*/StringAttr());
    state->setAttr(kLossScaleAttr, builder.getUnitAttr());
    return success();
  }
};
} // namespace
