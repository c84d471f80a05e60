#include "passes/model/Masker.h"
#include "dialects/dgc/AttributeNames.h"
#include "passes/analysis/Layout.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-mask-padding"

using namespace mlir;
using namespace dgc;

LogicalResult Masker::refuse(const Twine &why) {
  reason = current ? (describe(current) + ": " + why).str() : why.str();
  return failure();
}

LogicalResult Masker::run() {
  for (BlockArgument argument : function.getArguments())
    if (auto dim = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), kBatchDimAttr))
      dimsOf[argument].push_back({unsigned(dim.getInt()), shapeOf(argument)[dim.getInt()] / batch});
  if (failed(readWrittenBatches()))
    return failure();
  for (Operation *op : llvm::to_vector(llvm::make_pointer_range(function.getBody().front().without_terminator()))) {
    current = op;
    if (failed(visit(op)))
      return failure();
  }
  current = nullptr;
  return checkResults();
}

/// The results of ops whose type is written with the batch have examples; of those in loops visitRegion says so.
LogicalResult Masker::readWrittenBatches() {
  readWrittenBatches(function.getBody().front());
  WalkResult result = function.walk([&](Operation *op) {
    if (!op->hasAttr(kBatchDimAttr) || !op->getParentOfType<dist::ManualOp>())
      return WalkResult::advance();
    current = op;
    (void)refuse("it has the batch of all devices in a dist.manual");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

void Masker::readWrittenBatches(Block &block) {
  for (Operation &op : block)
    if (auto dim = op.getAttrOfType<IntegerAttr>(kBatchDimAttr))
      dimsOf[op.getResult(0)] = {{unsigned(dim.getInt()), 1}};
}

LogicalResult Masker::visit(Operation *op) {
  auto hasExamples = [&](Value value) { return dimsOf.contains(value); };
  bool reads = false;
  op->walk([&](Operation *inner) {
    reads |= llvm::any_of(inner->getOperands(), hasExamples) || (inner != op && inner->hasAttr(kBatchDimAttr));
  });
  if (!reads)
    return success();
  if (auto manual = dyn_cast<dist::ManualOp>(op))
    return visitManual(manual);
  if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op))
    return visitCollective(collective);
  if (auto mean = dyn_cast<BatchMeanOpInterface>(op); mean && !probing)
    if (std::optional<int64_t> inner = examplesOfFirstDim(op))
      return visitMean(mean, *inner);
  if (auto composite = dyn_cast<DecomposableOpInterface>(op); composite && !isa<ShardingRuleOpInterface>(op))
    return visitComposite(composite);
  if (auto regions = dyn_cast<RegionTiesOpInterface>(op))
    return visitRegions(regions);
  return visitPrimitive(op);
}

LogicalResult Masker::visitPrimitive(Operation *op) {
  SmallVector<BatchDims> operands = llvm::map_to_vector(op->getOperands(), [&](Value v) { return dimsOf.lookup(v); });
  std::string why;
  FailureOr<BatchDims> rearranged = takeRearrangedExamples(op, operands, batch, why);
  if (failed(rearranged))
    return refuse(why);
  FailureOr<ExampleFlow> flow = examplesThrough(op, operands, batch, why, /*isCut=*/false);
  if (failed(flow))
    return refuse(why);
  for (BatchFactor factor : flow->factors) {
    if (!flow->reduces(factor))
      continue;
    needed = true;
    if (!probing && failed(maskOperand(op, *flow, factor)))
      return failure();
  }
  for (OpResult result : op->getResults()) {
    BatchDims dims = flow->dimsOfResult(result.getResultNumber());
    dims.append(*rearranged);
    setDims(result, dims);
  }
  return success();
}

/// A collective leaves examples where they are if it is among devices that have the same ones, and cuts or joins other
/// dimensions.
LogicalResult Masker::visitCollective(dist::CollectiveOpInterface op) {
  for (auto axis : op.getAxes().getAsRange<StringAttr>())
    if (llvm::is_contained(axes, axis))
      return refuse("it is between devices that have different examples");
  SmallVector<int64_t, 2> changed = op.describe().dims;
  for (auto [operand, result] : llvm::zip_equal(op->getOperands(), op->getResults())) {
    BatchDims dims = dimsOf.lookup(operand);
    if (llvm::any_of(dims, [&](BatchDim at) { return llvm::is_contained(changed, int64_t(at.dim)); }))
      return refuse("it moves elements along the batch dimension");
    setDims(result, dims);
  }
  return success();
}

/// A manual region is looked at with the examples of one device. Nothing in it may need a mask.
LogicalResult Masker::visitManual(dist::ManualOp op) {
  int64_t outerBatch = batch;
  bool outerProbing = std::exchange(probing, true), outerNeeded = std::exchange(needed, false);
  Operation *outer = current;
  LogicalResult status = enterManual(op);
  SmallVector<Operation *> inside =
      llvm::map_to_vector(op.getBody().front().without_terminator(), [](Operation &inner) { return &inner; });
  for (size_t i = 0; i < inside.size() && succeeded(status); ++i) {
    current = inside[i];
    status = visit(inside[i]);
    if (succeeded(status) && needed)
      status = refuse("it combines examples in a dist.manual, in which padding is not masked");
  }
  current = outer;
  if (succeeded(status))
    status = leaveManual(op);
  batch = outerBatch;
  axes.clear();
  probing = outerProbing;
  needed = outerNeeded;
  return status;
}

static SmallVector<StringAttr> axesOf(Attribute sharding, unsigned dim) {
  return llvm::map_to_vector(cast<dist::ShardingAttr>(sharding).getDims()[dim].getAxes(),
                             [](dist::AxisRefAttr axis) { return axis.getName(); });
}

/// Sets the examples of the arguments of the region, and what cuts them: the same for all.
LogicalResult Masker::enterManual(dist::ManualOp op) {
  std::optional<SmallVector<StringAttr>> found;
  int64_t parts = 1;
  for (auto [operand, argument, sharding] :
       llvm::zip_equal(op.getInputs(), op.getBody().getArguments(), op.getInShardings()))
    for (BatchDim at : dimsOf.lookup(operand)) {
      SmallVector<StringAttr> cut = axesOf(sharding, at.dim);
      if (found && cut != *found)
        return refuse("its operands have their examples on different devices");
      found = cut;
      parts = shapeOf(operand)[at.dim] / shapeOf(argument)[at.dim];
      if (parts != 1 && (batch % parts != 0 || at.inner * batch != shapeOf(operand)[at.dim]))
        return refuse("the parts of its operands are not those of whole examples");
      dimsOf[argument].push_back(at);
    }
  axes = *found;
  batch /= parts;
  if (batch < 2)
    return refuse("a device has a single example, so that its dimension of examples cannot be followed");
  return success();
}

/// Sets the examples of the results, which must be on the devices that the operands have them on.
LogicalResult Masker::leaveManual(dist::ManualOp op) {
  Operation *end = op.getBody().front().getTerminator();
  for (auto [value, result, sharding] : llvm::zip_equal(end->getOperands(), op.getResults(), op.getOutShardings())) {
    BatchDims dims = dimsOf.lookup(value);
    for (BatchDim at : dims) {
      bool isCut = shapeOf(result)[at.dim] != shapeOf(value)[at.dim];
      if (axesOf(sharding, at.dim) != axes || (isCut && at.inner * batch != shapeOf(value)[at.dim]))
        return refuse("its results do not have the examples where its operands have them");
    }
    setDims(result, dims);
  }
  return success();
}

/// Leaves the ops in `block`: those in regions are part of them, and are replaced when these are looked at.
static void dropInner(SmallVectorImpl<Operation *> &ops, Block *block) {
  llvm::erase_if(ops, [&](Operation *op) { return op->getBlock() != block; });
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
  SmallVector<Operation *> built;
  Block *block = op->getBlock();
  if (failed(decomposeInPlace(op, built, [&](OpBuilder &builder) { return decompose(op, builder); })))
    return failure();
  dropInner(built, block);
  for (Operation *part : built) {
    current = part;
    if (failed(visit(part)))
      return failure();
  }
  return success();
}

/// The decomposition of the op, with the number of what is real where it counts examples.
FailureOr<SmallVector<Value>> Masker::decompose(DecomposableOpInterface op, OpBuilder &builder) {
  auto counting = dyn_cast<SizeDependentOpInterface>(op.getOperation());
  BatchDims examples = counting ? countedExamples(counting) : BatchDims();
  if (examples.empty())
    return op.decompose(builder);
  needed = true;
  CompositeBuilder b(builder, op.getLoc());
  FailureOr<SmallVector<Value>> values = counting.decomposeWithCount(builder, countReal(b, counting, examples));
  if (failed(values))
    return refuse("it depends on the size of the batch dimension");
  numTold += !probing;
  return values;
}

/// Where the dimensions that the op counts have examples.
BatchDims Masker::countedExamples(SizeDependentOpInterface op) const {
  BatchDims examples;
  for (OpOperand &operand : op->getOpOperands())
    for (int64_t dim : op.getCountedDims(operand.getOperandNumber()))
      for (BatchDim at : dimsOf.lookup(operand.get()))
        if (int64_t(at.dim) == dim && !llvm::is_contained(examples, at))
          examples.push_back(at);
  return examples;
}

/// How many of the elements that the op counts are real: an i64 scalar. Of a dimension with n elements for each example
/// those of the real examples are, and those of no example.
Value Masker::countReal(CompositeBuilder &b, SizeDependentOpInterface op, const BatchDims &examples) {
  Type i64 = b.builder.getI64Type();
  ArrayRef<int64_t> shape = shapeOf(op->getOperand(0));
  Value real = b.convert(valid, i64), count;
  for (int64_t dim : op.getCountedDims(0)) {
    const BatchDim *at = llvm::find_if(examples, [&](BatchDim each) { return int64_t(each.dim) == dim; });
    Value along = at == examples.end() ? b.scalar(double(shape[dim]), i64) : real;
    if (at != examples.end()) {
      int64_t others = at->before + at->after, each = (shape[dim] - others) / batch;
      along = each == 1 ? along : b.multiply(along, double(each));
      along = others == 0 ? along : b.plus(along, double(others));
    }
    count = count ? b.multiply(count, along) : along;
  }
  return count;
}

/// Decomposes the op for a look at it: true when something must be masked or counted. The results get their dimensions.
FailureOr<bool> Masker::probe(DecomposableOpInterface op) {
  bool outerProbing = std::exchange(probing, true), outerNeeded = std::exchange(needed, false);
  SmallVector<Operation *> built;
  InsertedOps listener(built);
  OpBuilder builder(op, &listener);
  FailureOr<SmallVector<Value>> values = decompose(op, builder);
  LogicalResult status = failure(failed(values));
  dropInner(built, op->getBlock());
  for (size_t i = 0; i < built.size() && succeeded(status); ++i)
    status = visit(built[i]);
  if (succeeded(status))
    for (auto [result, value] : llvm::zip_equal(op->getResults(), *values))
      setDims(result, dimsOf.lookup(value));
  for (Operation *part : llvm::reverse(built)) {
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

/// True at the elements of a dimension that are real: tensor<`size` x i1>.
Value Masker::realAlong(CompositeBuilder &b, int64_t size, BatchDim at) {
  Type i32 = b.builder.getI32Type();
  SmallVector<int64_t> split{size / (batch * at.inner), batch, at.inner};
  SmallVector<double> examples;
  for (int64_t i = 0; i < size && (at.before != 0 || at.after != 0); ++i)
    examples.push_back(double(at.exampleAt(i, size, batch)));
  Value number = !examples.empty() ? b.constant({size}, i32, examples)
                 : size == batch   ? b.iota({size}, i32, 0)
                                   : b.reshape(b.iota(split, i32, 1), {size});
  return b.compare(ComparisonDirection::LT, number, b.broadcastScalar(valid, {size}));
}

Value Masker::masked(Value value, BatchDim at, ReductionKind kind, Operation *user) {
  for (const MaskedValue &made : known.lookup(value))
    if (made.at == at && made.kind == kind)
      return made.value;
  SmallVector<Operation *> built;
  InsertedOps listener(built);
  OpBuilder builder(user, &listener);
  CompositeBuilder b(builder, user->getLoc());
  ArrayRef<int64_t> shape = shapeOf(value);
  Value real = realAlong(b, shape[at.dim], at);
  if (shape.size() > 1)
    real = b.broadcast(real, shape, {int64_t(at.dim)});
  Value identity = b.identity(kind, elementOf(value));
  Value result = b.select(real, value, b.broadcastScalar(identity, shape));
  for (Operation *op : built)
    inheritPlacement(user, op);
  setDims(result, dimsOf.lookup(value));
  known[value].push_back({at, kind, result});
  ++numMasked;
  return result;
}

LogicalResult Masker::checkResults() {
  for (OpOperand &result : function.getBody().front().getTerminator()->getOpOperands())
    if (failed(checkResult(result)))
      return failure();
  return success();
}

/// Whether the result is a metric of the whole batch, and not the logits or labels of an area under a curve.
bool Masker::isReportedOfBatch(unsigned result) {
  auto textOf = [&](unsigned i, StringRef attribute) {
    auto text = function.getResultAttrOfType<StringAttr>(i, attribute);
    return text ? text.getValue() : StringRef();
  };
  if (textOf(result, kRoleAttr) != "metric")
    return false;
  return llvm::none_of(llvm::seq(function.getNumResults()), [&](unsigned i) {
    return textOf(i, kFunctionAttr) == "area_under_curve" &&
           (i == result || textOf(i, kOverAttr) == textOf(result, kOutputAttr));
  });
}

/// Of an output, says along which dimension its examples are.
LogicalResult Masker::checkResult(OpOperand &operand) {
  unsigned index = operand.getOperandNumber();
  BatchDims dims = dimsOf.lookup(operand.get());
  if (auto state = function.getResultAttrOfType<FlatSymbolRefAttr>(index, kStateAttr)) {
    if (!dims.empty())
      return refuse("the variable \"" + state.getValue() + "\" is assigned values of the single examples");
    return success();
  }
  StringAttr name = function.getResultAttrOfType<StringAttr>(index, kOutputAttr);
  StringRef what = name ? name.getValue() : "";
  if (!dims.empty() && isReportedOfBatch(index))
    return emitError(operand.get().getLoc())
           << "the metric \"" << what << "\" has values of the single examples, a " << operand.get().getType()
           << ": take the mean or a sum over the batch (dgc.mean, dgc.reduce), or make it a dgc.output";
  if (dims.size() > 1)
    return refuse("the output \"" + what + "\" has the batch in several dimensions");
  function.removeResultAttr(index, StringAttr::get(function.getContext(), kBatchDimAttr));
  if (dims.empty())
    return success();
  if (dims[0].inner * batch != shapeOf(operand.get())[dims[0].dim])
    return refuse("the output \"" + what + "\" has more than the examples of one batch along dimension " +
                  Twine(dims[0].dim));
  function.setResultAttr(index, kBatchDimAttr, Builder(function).getI64IntegerAttr(dims[0].dim));
  return success();
}
