// Reverse-mode differentiation within a block.

#include "dialects/dgc/DGC.h"
#include "dialects/dgc/Decompose.h"
#include "dialects/dgc/TensorBuilder.h"
#include "dialects/dist/Dist.h"
#include "passes/gradient/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-gradient"

using namespace mlir;
using namespace dgc;

namespace dgc {
#define GEN_PASS_DEF_GRADIENTPASS
#include "passes/gradient/Passes.h.inc"
} // namespace dgc

/// Gradients flow through floating-point tensors only.
static bool isContinuous(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

namespace {

/// The part of a block between the values of `wrt` and the loss.
struct Flow {
  explicit Flow(GradientOp gradient);

  /// The operand of `op` through which it depends on `wrt` first, or null.
  Value firstActiveOperand(Operation *op) const;

  DenseMap<Value, Value> cameFrom;     // each value that depends on wrt -> the
                                       // operand that it depends through
  DenseMap<Value, Operation *> goesTo; // each value on the way -> the op
                                       // through which the loss depends on it
  SmallVector<Operation *> ops;        // the ops on the way, last first
};

/// What is built for the gradient of an op is computed where the op is.
struct PlacementListener : OpBuilder::Listener {
  Operation *source = nullptr;
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (source)
      inheritPlacement(source, op);
  }
};

/// Expands one dgc.gradient.
class Differentiator {
public:
  explicit Differentiator(GradientOp gradient) : gradient(gradient), builder(gradient, &placement) {}

  LogicalResult run();

  unsigned numDecomposed = 0, numZeros = 0;

private:
  LogicalResult decomposeComposites();
  LogicalResult differentiate(Operation *op, const Flow &flow);
  Value gradientOf(Value value);
  InFlightDiagnostic explain(Operation *op, const Flow &flow, const Twine &message);

  GradientOp gradient;
  PlacementListener placement;
  OpBuilder builder;
  DenseMap<Value, SmallVector<Value, 2>> contributions;
};

struct GradientPass : dgc::impl::GradientPassBase<GradientPass> {
  void runOnOperation() override {
    // The gradient of an op with a region may itself ask for gradients of what is inside.
    for (SmallVector<GradientOp> gradients = collect(); !gradients.empty(); gradients = collect())
      for (GradientOp op : gradients)
        if (failed(expand(op)))
          return signalPassFailure();
    // What was computed before is not needed again.
    getOperation()->walk([](SavedOp op) {
      op.replaceAllUsesWith(op.getKept());
      op.erase();
    });
  }

  SmallVector<GradientOp> collect() {
    SmallVector<GradientOp> gradients;
    getOperation()->walk([&](GradientOp op) { gradients.push_back(op); });
    return gradients;
  }

  LogicalResult expand(GradientOp op) {
    unsigned values = op.getWrt().size();
    Differentiator differentiator(op);
    if (failed(differentiator.run()))
      return failure();
    numGradients += values - differentiator.numZeros;
    numZeros += differentiator.numZeros;
    numDecomposed += differentiator.numDecomposed;
    return success();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// The way from the variables to the loss
//===----------------------------------------------------------------------===//

Value Flow::firstActiveOperand(Operation *op) const {
  for (Value operand : op->getOperands())
    if (cameFrom.contains(operand))
      return operand;
  Value found;
  op->walk([&](Operation *nested) { // values that regions of the op use from outside
    for (Value operand : nested->getOperands())
      if (!found && cameFrom.contains(operand))
        found = operand;
  });
  return found;
}

Flow::Flow(GradientOp gradient) {
  Block *block = gradient->getBlock();
  for (Value value : gradient.getWrt())
    cameFrom[value] = Value();
  for (Operation &op : llvm::make_range(block->begin(), gradient->getIterator()))
    if (Value operand = firstActiveOperand(&op))
      for (Value result : op.getResults())
        if (isContinuous(result))
          cameFrom.try_emplace(result, operand);

  if (cameFrom.contains(gradient.getLoss()))
    goesTo[gradient.getLoss()] = gradient;
  for (Operation &op : llvm::reverse(llvm::make_range(block->begin(), gradient->getIterator()))) {
    if (llvm::none_of(op.getResults(), [&](Value result) { return goesTo.contains(result); }) ||
        !firstActiveOperand(&op))
      continue;
    ops.push_back(&op);
    op.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (cameFrom.contains(operand))
          goesTo.try_emplace(operand, &op);
    });
  }
}

//===----------------------------------------------------------------------===//
// The walk back
//===----------------------------------------------------------------------===//

LogicalResult Differentiator::run() {
  if (gradient.getLoss().getParentBlock() != gradient->getBlock())
    return gradient.emitOpError("and its loss must be in the same block");
  for (Value value : gradient.getWrt())
    if (value.getParentBlock() != gradient->getBlock())
      return gradient.emitOpError("and the values it differentiates by must be in the same block");
  if (failed(decomposeComposites()))
    return failure();

  Flow flow(gradient);
  if (flow.goesTo.contains(gradient.getLoss()))
    contributions[gradient.getLoss()].push_back(
        TensorBuilder(builder, gradient.getLoc()).constant(gradient.getLoss().getType(), 1.0));
  for (Operation *op : flow.ops) {
    placement.source = op;
    if (failed(differentiate(op, flow)))
      return failure();
  }
  placement.source = gradient; // sums over the uses of a variable belong to the micro-batch, if to anything

  SmallVector<Value> results;
  for (Value value : gradient.getWrt()) {
    Value result = gradientOf(value);
    if (!result) {
      LDBG() << "the loss does not depend on " << value;
      result = TensorBuilder(builder, gradient.getLoc()).constant(value.getType(), 0.0);
      ++numZeros;
    }
    results.push_back(result);
  }
  gradient->replaceAllUsesWith(results);
  gradient->erase();
  return success();
}

/// Decomposes the composites on the way, also those that decompositions bring
/// in, until all that are left have a gradient that they prefer.
LogicalResult Differentiator::decomposeComposites() {
  while (true) {
    bool changed = false;
    Flow flow(gradient);
    SmallVector<Operation *> built;
    for (Operation *op : flow.ops) {
      auto composite = dyn_cast<DecomposableOpInterface>(op);
      if (!composite || (isa<DifferentiableOpInterface>(op) && composite.keepForGradient()))
        continue;
      if (failed(decomposeInPlace(composite, built)))
        return failure();
      ++numDecomposed;
      changed = true;
    }
    if (!changed)
      return success();
  }
}

/// The sum of all gradients that the uses of `value` contributed; null when
/// there are none. Later calls return the same value.
Value Differentiator::gradientOf(Value value) {
  auto it = contributions.find(value);
  if (it == contributions.end())
    return {};
  SmallVector<Value, 2> &parts = it->second;
  Value sum = parts.front();
  auto stageOf = [](Value v) {
    Operation *def = v.getDefiningOp();
    return def ? def->getDiscardableAttr(dist::kStageAttr) : Attribute();
  };
  for (Value part : llvm::drop_begin(parts)) {
    Attribute stage = stageOf(sum) == stageOf(part) ? stageOf(part) : Attribute();
    sum = AddOp::create(builder, part.getLoc(), sum, part);
    if (stage) // what comes from one stage is one value before it goes to another
      sum.getDefiningOp()->setDiscardableAttr(dist::kStageAttr, stage);
  }
  parts.assign(1, sum);
  return sum;
}

LogicalResult Differentiator::differentiate(Operation *op, const Flow &flow) {
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return explain(
        op, flow,
        op->hasTrait<ControlFlow>()
            ? "has no gradient, as the number of its rounds is not known when it is compiled, but the loss depends "
              "through it on a value to differentiate by: let it count from one constant to another, or write a "
              "dgc.scan"
            : "has no gradient, but the loss depends through it on a value to differentiate by");

  SmallVector<Value> resultGradients;
  for (Value result : op->getResults())
    resultGradients.push_back(flow.goesTo.contains(result) ? gradientOf(result) : Value());
  if (llvm::none_of(resultGradients, [](Value value) { return bool(value); }))
    return success(); // an op further down has a gradient of zero
  llvm::BitVector wanted(op->getNumOperands());
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    wanted[i] = flow.goesTo.contains(operand);

  SmallVector<Value> gradients = differentiable.buildGradients(builder, resultGradients, wanted);
  if (gradients.size() != op->getNumOperands())
    return explain(op, flow, "cannot be differentiated here");
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (!wanted[i] || !gradients[i])
      continue;
    if (!equalUpToEncoding(gradients[i].getType(), operand.getType()))
      return op->emitOpError("gives its operand #")
             << i << " of type " << operand.getType() << " a gradient of type " << gradients[i].getType();
    contributions[operand].push_back(gradients[i]);
  }
  return success();
}

/// An error on `op` that shows how the value flows through it.
InFlightDiagnostic Differentiator::explain(Operation *op, const Flow &flow, const Twine &message) {
  InFlightDiagnostic error = op->emitOpError() << message;
  SmallVector<std::string> way;
  auto nameOf = [](Value value) -> std::string {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return "argument #" + std::to_string(argument.getArgNumber());
    return value.getDefiningOp()->getName().getStringRef().str();
  };
  Value from = flow.firstActiveOperand(op);
  for (Value value = from; value; value = flow.cameFrom.lookup(value)) {
    way.push_back(nameOf(value));
    from = value;
  }
  std::reverse(way.begin(), way.end());
  for (Operation *next = op; next && next != gradient;) {
    way.push_back(next->getName().getStringRef().str());
    Operation *following = nullptr;
    for (Value result : next->getResults())
      if (Operation *user = flow.goesTo.lookup(result); user && !following)
        following = user;
    next = following;
  }
  way.push_back("loss");
  error.attachNote(gradient.getLoc()) << "the value flows " << llvm::join(way, " -> ")
                                      << "; only ops that have a gradient may be on this way";
  if (from)
    error.attachNote(from.getLoc()) << "the value to differentiate by";
  return error;
}
