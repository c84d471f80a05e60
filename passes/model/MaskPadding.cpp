// dgc-mask-padding: keeps the padding of a batch that is not full from counting.

#include "dialects/dgc/CompositeBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/analysis/BatchDims.h"
#include "passes/autodiff/Decompose.h"
#include "passes/model/Attributes.h"
#include "passes/model/Passes.h"
#include "passes/partition/Padding.h"
#include "passes/sharding/Layout.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-mask-padding"

namespace dgc {
#define GEN_PASS_DEF_MASKPADDINGPASS
#include "passes/model/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace mlir::dgc;
using ::dgc::BatchDim;
using ::dgc::BatchDims;
using ::dgc::BatchFactor;
using ::dgc::ExampleFlow;

namespace {

/// Remembers the ops that a builder makes, in order.
struct BuiltOps : OpBuilder::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override { ops.push_back(op); }
  SmallVector<Operation *> ops;
};

/// Masks one function. Methods that return a LogicalResult fail with `reason` set where the function takes whole
/// batches only, and with a diagnostic where an op cannot be decomposed.
class Masker {
public:
  Masker(func::FuncOp function, BlockArgument valid, int64_t batch) : function(function), valid(valid), batch(batch) {}

  LogicalResult run();

  std::string reason;
  unsigned numMasked = 0, numTold = 0;

private:
  LogicalResult visit(Operation *op);
  LogicalResult visitPrimitive(Operation *op);
  LogicalResult visitComposite(DecomposableOpInterface op);
  LogicalResult visitMean(BatchMeanOpInterface op, int64_t inner);
  bool divideByRealCount(DivideOp op);
  FailureOr<bool> probe(DecomposableOpInterface op);
  LogicalResult checkResults();
  LogicalResult checkResult(OpOperand &result);

  std::optional<int64_t> examplesOfFirstDim(Operation *op) const;
  LogicalResult maskOperand(Operation *op, const ExampleFlow &flow, BatchFactor factor);
  Value masked(Value value, BatchDim at, ReductionKind kind, Operation *user);
  Value realAlong(CompositeBuilder &b, int64_t size, int64_t inner);
  LogicalResult refuse(const Twine &why);

  func::FuncOp function;
  Value valid;
  int64_t batch;
  Operation *current = nullptr; // the op of the function that is looked at, or whose decomposition is
  bool probing = false;         // nothing is changed, but it is noted in `needed` that it would be
  bool needed = false;
  DenseMap<Value, BatchDims> dimsOf; // without an entry: a value for the whole batch
  DenseMap<std::pair<Value, std::pair<unsigned, int64_t>>, SmallVector<std::pair<ReductionKind, Value>, 1>> known;
};

} // namespace

LogicalResult Masker::refuse(const Twine &why) {
  reason = current ? (::dgc::describe(current) + ": " + why).str() : why.str();
  return failure();
}

LogicalResult Masker::run() {
  for (BlockArgument argument : function.getArguments())
    if (auto dim = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "dgc.batch_dim"))
      dimsOf[argument].push_back({unsigned(dim.getInt()), shapeOf(argument)[dim.getInt()] / batch});
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front().without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops) {
    current = op;
    if (failed(visit(op)))
      return failure();
  }
  current = nullptr;
  return checkResults();
}

LogicalResult Masker::visit(Operation *op) {
  auto hasExamples = [&](Value value) { return dimsOf.contains(value); };
  bool reads = llvm::any_of(op->getOperands(), hasExamples);
  if (op->getNumRegions() > 0)
    op->walk([&](Operation *inner) { reads |= llvm::any_of(inner->getOperands(), hasExamples); });
  if (!reads)
    return success();
  if (auto mean = dyn_cast<BatchMeanOpInterface>(op); mean && !probing)
    if (std::optional<int64_t> inner = examplesOfFirstDim(op))
      return visitMean(mean, *inner);
  if (auto composite = dyn_cast<DecomposableOpInterface>(op); composite && !isa<ShardingRuleOpInterface>(op))
    return visitComposite(composite);
  return visitPrimitive(op);
}

/// The constant with the same value everywhere that a value is, also repeated; null for others.
static ConstantOp splatOf(Value value) {
  if (auto repeated = value.getDefiningOp<BroadcastInDimOp>())
    value = repeated.getOperand();
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return elements && elements.isSplat() ? constant : ConstantOp();
}

/// True for a sum in the decomposition of a composite that is multiplied by a number: that of a mean, or of the scale
/// of a product, comes from the size of what is added up.
static bool isScaledByConstant(Operation *op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) {
    if (isa<ConvertOp>(user))
      return isScaledByConstant(user);
    auto product = dyn_cast<MultiplyOp>(user);
    return product && (splatOf(product.getLhs()) || splatOf(product.getRhs()));
  });
}

LogicalResult Masker::visitPrimitive(Operation *op) {
  SmallVector<BatchDims> operands = llvm::map_to_vector(op->getOperands(), [&](Value v) { return dimsOf.lookup(v); });
  std::string why;
  FailureOr<ExampleFlow> flow = ::dgc::examplesThrough(op, operands, batch, why);
  if (failed(flow))
    return refuse(why);
  for (BatchFactor factor : flow->factors) {
    if (!flow->reduces(factor))
      continue;
    needed = true;
    if (probing && !isa<BatchMeanOpInterface>(current) && isScaledByConstant(op))
      return refuse("it depends on the size of the batch dimension");
    if (!probing && failed(maskOperand(op, *flow, factor)))
      return failure();
  }
  for (OpResult result : op->getResults())
    if (BatchDims dims = flow->dimsOfResult(result.getResultNumber()); !dims.empty())
      dimsOf[result] = dims;
  return success();
}

/// What a composite does to examples, its decomposition says. It stays whole where nothing in there must be masked.
LogicalResult Masker::visitComposite(DecomposableOpInterface op) {
  FailureOr<bool> mustChange = probe(op);
  if (failed(mustChange))
    return failure();
  needed |= *mustChange;
  if (probing || !*mustChange)
    return success();
  LDBG() << "decomposes " << op << " to mask the padding in it";
  for (Value result : op->getResults())
    dimsOf.erase(result);
  bool isMean = isa<BatchMeanOpInterface>(op.getOperation()), counted = false;
  SmallVector<Operation *> built;
  if (failed(::dgc::decomposeInPlace(op, built)))
    return failure();
  for (Operation *part : built) {
    current = part;
    if (failed(visit(part)))
      return failure();
    if (auto quotient = dyn_cast<DivideOp>(part); quotient && isMean)
      counted |= divideByRealCount(quotient);
  }
  if (isMean && !counted)
    return refuse("its mean cannot be taken of a part of the batch");
  return success();
}

/// Decomposes the op for a look at it: true when something must be masked or counted. The results get their dimensions.
FailureOr<bool> Masker::probe(DecomposableOpInterface op) {
  bool outerProbing = std::exchange(probing, true), outerNeeded = std::exchange(needed, false);
  BuiltOps built;
  OpBuilder builder(op, &built);
  FailureOr<SmallVector<Value>> values = op.decompose(builder);
  LogicalResult status = failure(failed(values));
  for (size_t i = 0; i < built.ops.size() && succeeded(status); ++i)
    status = visit(built.ops[i]);
  if (succeeded(status))
    for (auto [result, value] : llvm::zip_equal(op->getResults(), *values))
      if (BatchDims dims = dimsOf.lookup(value); !dims.empty())
        dimsOf[result] = dims;
  for (Operation *part : llvm::reverse(built.ops)) {
    for (Value result : part->getResults())
      dimsOf.erase(result);
    part->erase();
  }
  probing = outerProbing;
  bool found = std::exchange(needed, outerNeeded);
  return failed(status) ? FailureOr<bool>(failure()) : FailureOr<bool>(found);
}

/// For an op whose operands have examples along the first dimension alone, or not at all: how many elements of that
/// dimension an example has.
std::optional<int64_t> Masker::examplesOfFirstDim(Operation *op) const {
  std::optional<int64_t> inner;
  for (Value operand : op->getOperands())
    for (BatchDim at : dimsOf.lookup(operand)) {
      if (at.dim != 0 || at.inner * batch != shapeOf(operand)[0] || (inner && *inner != at.inner))
        return std::nullopt;
      inner = at.inner;
    }
  return inner;
}

LogicalResult Masker::visitMean(BatchMeanOpInterface op, int64_t inner) {
  FailureOr<bool> takesMean = probe(cast<DecomposableOpInterface>(op.getOperation()));
  if (failed(takesMean))
    return failure();
  if (!*takesMean) // batch normalization that does not train
    return success();
  OpBuilder builder(op);
  CompositeBuilder b(builder, op.getLoc());
  op.setValidCount(inner == 1 ? valid : b.multiply(valid, double(inner)));
  ++numTold;
  return success();
}

/// Where the op divides a sum by the number of its elements, as the decomposition of a mean does: divides by the number
/// of the real ones. Of a dimension of n * batch elements n times as many are real as there are real examples.
bool Masker::divideByRealCount(DivideOp op) {
  auto sum = op.getLhs().getDefiningOp<ReduceOp>();
  ConstantOp divisor = splatOf(op.getRhs());
  if (!sum || sum.getKind() != ReductionKind::Sum || !divisor)
    return false;
  double elements = 1;
  for (int64_t dim : sum.getDims())
    elements *= double(shapeOf(sum.getOperand())[dim]);
  if (cast<DenseElementsAttr>(divisor.getValue()).getSplatValue<APFloat>().convertToDouble() != elements)
    return false;
  OpBuilder builder(op);
  CompositeBuilder b(builder, op.getLoc());
  Value examples = b.convert(valid, elementOf(op.getRhs())), count;
  for (BatchDim at : dimsOf.lookup(sum.getOperand()))
    if (llvm::is_contained(sum.getDims(), int64_t(at.dim))) {
      elements /= double(batch);
      count = count ? b.multiply(count, examples) : examples;
    }
  if (!count)
    return true;
  if (elements != 1)
    count = b.multiply(count, elements);
  op.getRhsMutable().assign(b.broadcastScalar(count, shapeOf(op.getRhs())));
  ++numTold;
  return true;
}

/// Puts the identity of the reduction along `factor` in place of padding, in one operand: of a product either will do.
LogicalResult Masker::maskOperand(Operation *op, const ExampleFlow &flow, BatchFactor factor) {
  ReductionKind kind = flow.rule.factors[factor.factor].reduction;
  auto rule = cast<ShardingRuleOpInterface>(op);
  std::optional<unsigned> best;
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    bool hasFactor = !flow.dimsOf(flow.rule.operands[index], factor).empty();
    if (!hasFactor || (kind == ReductionKind::Sum ? !rule.isLinearIn(index) : op->getNumOperands() > 1))
      continue;
    if (!best || tensorOf(operand.get()).getNumElements() < tensorOf(op->getOperand(*best)).getNumElements())
      best = index;
  }
  if (!best)
    return refuse("it combines examples in a way that padding cannot be left out of");
  for (BatchDim at : flow.dimsOf(flow.rule.operands[*best], factor))
    op->setOperand(*best, masked(op->getOperand(*best), at, kind, op));
  return success();
}

/// True at the real examples of a dimension: tensor<`size` x i1>.
Value Masker::realAlong(CompositeBuilder &b, int64_t size, int64_t inner) {
  Type i32 = b.builder.getI32Type();
  SmallVector<int64_t> split{size / (batch * inner), batch, inner};
  Value number = size == batch ? b.iota({size}, i32, 0) : b.reshape(b.iota(split, i32, 1), {size});
  return b.compare(ComparisonDirection::LT, number, b.broadcastScalar(valid, {size}));
}

Value Masker::masked(Value value, BatchDim at, ReductionKind kind, Operation *user) {
  auto &made = known[{value, {at.dim, at.inner}}];
  for (auto &[madeKind, result] : made)
    if (madeKind == kind)
      return result;
  BuiltOps built;
  OpBuilder builder(user, &built);
  CompositeBuilder b(builder, user->getLoc());
  ArrayRef<int64_t> shape = shapeOf(value);
  Value real = realAlong(b, shape[at.dim], at.inner);
  if (shape.size() > 1)
    real = b.broadcast(real, shape, {int64_t(at.dim)});
  Value identity = ::dgc::buildIdentity(builder, user->getLoc(), kind, elementOf(value));
  Value result = b.select(real, value, b.broadcastScalar(identity, shape));
  for (Operation *op : built.ops)
    ::dgc::inheritPlacement(user, op);
  if (BatchDims dims = dimsOf.lookup(value); !dims.empty())
    dimsOf[result] = dims;
  known[{value, {at.dim, at.inner}}].push_back({kind, result});
  ++numMasked;
  return result;
}

LogicalResult Masker::checkResults() {
  for (OpOperand &result : function.getBody().front().getTerminator()->getOpOperands())
    if (failed(checkResult(result)))
      return failure();
  return success();
}

/// Of an output, says along which dimension its examples are.
LogicalResult Masker::checkResult(OpOperand &operand) {
  unsigned index = operand.getOperandNumber();
  BatchDims dims = dimsOf.lookup(operand.get());
  if (auto state = function.getResultAttrOfType<FlatSymbolRefAttr>(index, "dgc.state")) {
    if (!dims.empty())
      return refuse("the variable \"" + state.getValue() + "\" is assigned values of the single examples");
    return success();
  }
  StringAttr name = function.getResultAttrOfType<StringAttr>(index, "dgc.output");
  StringRef what = name ? name.getValue() : "";
  if (dims.size() > 1)
    return refuse("the output \"" + what + "\" has the batch in several dimensions");
  function.removeResultAttr(index, StringAttr::get(function.getContext(), "dgc.batch_dim"));
  if (dims.empty())
    return success();
  if (dims[0].inner * batch != shapeOf(operand.get())[dims[0].dim])
    return refuse("the output \"" + what + "\" has several batches along dimension " + Twine(dims[0].dim));
  function.setResultAttr(index, "dgc.batch_dim", Builder(function).getI64IntegerAttr(dims[0].dim));
  return success();
}

namespace {
struct MaskPaddingPass : ::dgc::impl::MaskPaddingPassBase<MaskPaddingPass> {
  void runOnOperation() override {
    auto attribute = getOperation()->getAttrOfType<IntegerAttr>("dgc.global_batch");
    SmallVector<NamedAttribute> wholeBatches;
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (!function->removeAttr(::dgc::kPaddedAttr))
        continue;
      std::string reason;
      FailureOr<func::FuncOp> result = mask(function, attribute ? attribute.getInt() : 0, reason);
      if (failed(result))
        return signalPassFailure();
      if (!reason.empty())
        wholeBatches.emplace_back(result->getSymNameAttr(), StringAttr::get(&getContext(), reason));
      dropUnusedCount(*result);
    }
    if (!wholeBatches.empty())
      getOperation()->setAttr(::dgc::kWholeBatchesAttr, DictionaryAttr::get(&getContext(), wholeBatches));
  }

  /// The function that takes the place of `function`; where `reason` is set it is as it was.
  FailureOr<func::FuncOp> mask(func::FuncOp function, int64_t batch, std::string &reason) {
    std::optional<unsigned> index = countArgument(function);
    if (batch < 2 || !index) // every batch is full
      return function;
    func::FuncOp original = function.clone();
    Masker masker(function, function.getArgument(*index), batch);
    if (succeeded(masker.run())) {
      original.erase();
      numMasked += masker.numMasked;
      numTold += masker.numTold;
      return function;
    }
    if (masker.reason.empty()) {
      original.erase();
      return failure();
    }
    LDBG() << function.getSymName() << " takes whole batches only: " << masker.reason;
    reason = masker.reason;
    ++numRefused;
    function->getBlock()->getOperations().insert(function->getIterator(), original);
    function.erase();
    return original;
  }

  static std::optional<unsigned> countArgument(func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto role = function.getArgAttrOfType<StringAttr>(i, "dgc.role"); role && role.getValue() == "valid_count")
        return i;
    return std::nullopt;
  }

  /// A function that reports means takes the count also where none of them needs it: so it says that it has masked what
  /// there is.
  static void dropUnusedCount(func::FuncOp function) {
    std::optional<unsigned> index = countArgument(function);
    if (!index || !function.getArgument(*index).use_empty())
      return;
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (auto role = function.getResultAttrOfType<StringAttr>(i, "dgc.role"); role && role.getValue() != "prediction")
        return;
    (void)function.eraseArgument(*index);
  }
};
} // namespace
