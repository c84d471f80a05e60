// dgc-split-microbatches: computes a global batch in parts, one after the other.

#include "dialects/dgc/AttributeNames.h"
#include "passes/analysis/IdleWorkers.h"
#include "passes/analysis/StrategyUtil.h"
#include "passes/gradient/MicrobatchWriter.h"
#include "passes/gradient/Passes.h"

#include "dialects/dgc/TensorBuilder.h"
#include "dialects/dgc/TensorUtil.h"

#include "mlir/IR/IRMapping.h"

namespace dgc {
#define GEN_PASS_DEF_SPLITMICROBATCHESPASS
#include "passes/gradient/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

namespace {

/// How many workers an input's batch is cut over; 1 where none is cut.
int64_t countWorkers(func::FuncOp function) {
  int64_t workers = 1;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto dim = function.getArgAttrOfType<IntegerAttr>(i, kBatchDimAttr);
    auto sharding = function.getArgAttrOfType<dist::ShardingAttr>(i, dist::kShardingAttr);
    if (!dim || !sharding)
      continue;
    dist::MeshAttr mesh = dist::lookupMesh(function, sharding.getMesh());
    int64_t parts = 1;
    for (dist::AxisRefAttr axis : sharding.getDims()[dim.getInt()].getAxes())
      parts *= mesh.getAxisSize(axis.getName());
    workers = std::max(workers, parts);
  }
  return workers;
}

/// Each micro-batch is cut over all workers.
void warnOfIdleWorkers(func::FuncOp function, const MicrobatchAnalysis &analysis, int64_t count) {
  int64_t workers = countWorkers(function);
  for (int64_t microbatch : {int64_t(0), count - 1}) { // the largest and the smallest
    int64_t examples = analysis.getExamples(microbatch), idle = countIdleWorkers(examples, workers);
    if (idle == 0)
      continue;
    function.emitWarning() << "a micro-batch of " << examples << " examples over " << workers << " workers leaves "
                           << idle << " of them without an example: use fewer micro-batches than " << count
                           << ", a larger --batch or fewer workers";
    return;
  }
}

/// Writes out the micro-batches of one function.
class Splitter : MicrobatchWriter {
public:
  /// `workers`: over so many each micro-batch is cut, and has of each of them examples that follow one another; 0: every
  /// count-th example.
  Splitter(func::FuncOp function, const MicrobatchAnalysis &analysis, int64_t count, int64_t workers)
      : MicrobatchWriter(function, analysis, count), workers(workers), copies(count) {}

  /// Level by level: what is computed once, then one micro-batch after the other, each from front to back.
  void run() {
    SmallVector<Operation *> ops = llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; });
    Levels each = levels();
    for (level = 0; level < static_cast<int64_t>(each.once.size()); ++level) {
      llvm::for_each(each.once[level], [&](Operation *op) { moveOnce(op); });
      for (current = 0; current < count; ++current)
        llvm::for_each(each.perMicrobatch[level], [&](Operation *op) { emitCopy(op); });
    }
    current = 0;
    emitReturn(cast<func::ReturnOp>(block.getTerminator()));
    eraseOriginals(ops);
    function->setAttr(kMicrobatchesAttr, builder.getI64IntegerAttr(count));
  }

private:
  /// The value, the sum over the micro-batches, or all their examples. What each has, and is the same, is that of the first.
  Value wholeOf(Value value) override {
    MicrobatchLayout layout = analysis.getLayout(value);
    if (layout.kind == MicrobatchLayout::Partial)
      return sums.lookup(value).front();
    if (layout.kind == MicrobatchLayout::Whole)
      return copies.front().lookupOrDefault(value);
    return allOf(value, [&] { return joined(value, layout.dim); });
  }

  Value addendOf(Value value) override { return copies[current].lookup(value); }

  /// Adds the op for the current micro-batch, and what it adds to sums.
  void emitCopy(Operation *op) {
    Operation *copy = copyOf(op);
    for (auto [original, result] : llvm::zip_equal(op->getResults(), copy->getResults())) {
      copies[current].map(original, result);
      if (!analysis.isSummed(original))
        continue;
      addUp(original, result, copy->getDiscardableAttr(dist::kStageAttr));
    }
  }

  /// Adds what the current micro-batch has to a sum: one after the other, or in pairs and in f32, as workers add up what
  /// they have.
  void addUp(Value original, Value addend, Attribute stage) {
    SmallVector<Value> &open = sums[original];
    const bool isLast = current + 1 == count;
    Type element = elementOf(original);
    const bool isWidened = workers && isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 16;
    open.push_back(isWidened ? converted(addend, builder.getF32Type()) : addend);
    const auto all = static_cast<int64_t>(open.size()) - 1;
    for (int64_t i = !workers || isLast ? all : llvm::countr_zero(uint64_t(current + 1)); i > 0; --i) {
      Value y = open.pop_back_val(), x = open.pop_back_val();
      Value sum = tagged(combine(analysis.getLayout(original).reduction, x, y));
      // Addends are added up where they are.
      if (Operation *op = sum.getDefiningOp(); op && stage)
        op->setDiscardableAttr(dist::kStageAttr, stage);
      open.push_back(sum);
    }
    if (isWidened && isLast)
      open.front() = converted(open.front(), element);
  }

  Value converted(Value value, Type element) {
    return tagged(TensorBuilder(builder, value.getLoc()).convert(value, element));
  }

  Value combine(dist::Reduction reduction, Value x, Value y) {
    TensorBuilder b(builder, y.getLoc());
    switch (reduction) {
    case dist::Reduction::Sum:
      return b.add(x, y);
    case dist::Reduction::Product:
      return b.multiply(x, y);
    case dist::Reduction::Max:
      return b.maximum(x, y);
    case dist::Reduction::Min:
      return b.minimum(x, y);
    }
    return {};
  }

  /// Says which micro-batch and level an op belongs to. What is computed of the examples of a worker has kernels of its own
  /// where these have to be the same for any number of workers.
  void tag(Operation *op) override {
    tagShared(op);
    if (workers)
      op->setDiscardableAttr(dist::kSlotAttr, builder.getI64IntegerAttr(current));
  }

  void tagShared(Operation *op) {
    op->setAttr(kMicrobatchAttr, builder.getI64IntegerAttr(current));
    if (level > 0)
      op->setAttr(kMicrobatchLevelAttr, builder.getI64IntegerAttr(level));
  }

  Value tagged(Value value) {
    if (Operation *op = value.getDefiningOp())
      tagShared(op);
    return value;
  }

  Value partOf(Value whole, unsigned dim) override {
    Value value = cutOf(whole);
    MicrobatchLayout layout = analysis.getLayout(value);
    if (layout.kind == MicrobatchLayout::Cut && !isa<BlockArgument>(value))
      return copies[current].lookup(value);
    if (count == 1)
      return wholeOf(value);
    Value &known = parts[{wholeOf(value), {dim, current}}];
    if (!known) {
      Value made = rematerialized(value, dim);
      if (!made)
        made = workers ? partOfEach(wholeOf(value), dim) : strided(wholeOf(value), dim);
      return parts[{wholeOf(value), {dim, current}}] = made;
    }
    return known;
  }

  /// Every count-th example from the current one on.
  Value strided(Value value, unsigned dim) {
    TensorBuilder b(builder, value.getLoc());
    SmallVector<int64_t> shape(cast<RankedTensorType>(value.getType()).getShape());
    SmallVector<int64_t> limits = splitShape(shape, dim, analysis.getBatch());
    SmallVector<int64_t> starts(limits.size(), 0), strides(limits.size(), 1);
    starts[dim] = current;
    strides[dim] = count;
    Value split = limits.size() == shape.size() ? value : tagged(b.reshape(value, limits));
    Value part = tagged(b.slice(split, starts, limits, strides));
    shape[dim] = sizeOfPart(shape[dim]);
    return limits.size() == shape.size() ? part : tagged(b.reshape(part, shape));
  }

  /// The current one of `count` equal parts of what each worker has.
  Value partOfEach(Value value, unsigned dim) {
    TensorBuilder b(builder, value.getLoc());
    SmallVector<int64_t> shape(cast<RankedTensorType>(value.getType()).getShape());
    SmallVector<int64_t> limits = splitShape(shape, dim, workers, {count, analysis.getExamples(0) / workers});
    SmallVector<int64_t> starts(limits.size(), 0);
    Value split = tagged(b.reshape(value, limits));
    starts[dim + 1] = current;
    limits[dim + 1] = current + 1;
    shape[dim] = sizeOfPart(shape[dim]);
    return tagged(b.reshape(tagged(b.slice(split, starts, limits)), shape));
  }

  /// All examples of a cut value, in their order: those of all micro-batches side by side. Where some have one less, it
  /// is put there and taken away at the end.
  Value joined(Value value, unsigned dim) {
    if (isa<BlockArgument>(value))
      return value;
    TensorBuilder b(builder, value.getLoc());
    auto shape = cast<RankedTensorType>(value.getType()).getShape();
    int64_t most = analysis.getExamples(0);
    SmallVector<Value> pieces;
    for (auto [i, copy] : llvm::enumerate(copies)) {
      int64_t examples = analysis.getExamples(i);
      SmallVector<int64_t> split =
          workers ? splitShape(shape, dim, workers, {1, most / workers}) : splitShape(shape, dim, examples, {1});
      SmallVector<int64_t> low(split.size(), 0), high(split.size(), 0);
      high[dim] = most - examples;
      Value piece = b.reshape(copy.lookup(value), split);
      pieces.push_back(examples == most ? piece : b.padZero(piece, low, high));
    }
    Value all = ConcatenateOp::create(builder, value.getLoc(), pieces, int64_t(dim + 1));
    SmallVector<int64_t> padded(shape), starts(shape.size(), 0);
    padded[dim] = shape[dim] / analysis.getBatch() * most * count;
    return b.slice(b.reshape(all, padded), starts, shape);
  }

  void emitReturn(func::ReturnOp op) {
    for (OpOperand &operand : op->getOpOperands())
      operand.set(wholeOf(operand.get()));
  }

  int64_t level = 0, workers;
  SmallVector<IRMapping> copies;            // per micro-batch
  DenseMap<Value, SmallVector<Value>> sums; // of partial values, so far: those that are not added up yet
  DenseMap<std::pair<Value, std::pair<unsigned, int64_t>>, Value> parts;
};

struct SplitMicrobatches : dgc::impl::SplitMicrobatchesPassBase<SplitMicrobatches> {
  using SplitMicrobatchesPassBase::SplitMicrobatchesPassBase;
  void runOnOperation() override {
    if (count < 1) {
      getOperation().emitError() << "a batch cannot be split into " << int64_t(count)
                                 << " micro-batches; use a number from 1 on";
      return signalPassFailure();
    }
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if ((count > 1 || pairwise) && !function.isExternal() && llvm::hasSingleElement(function.getBody()) &&
          failed(split(function)))
        return signalPassFailure();
  }

  LogicalResult split(func::FuncOp function) {
    MicrobatchAnalysis analysis(function, count);
    if (failed(analysis.run()))
      return failure();
    if (analysis.getBatch() == 0)
      return success();
    warnOfIdleWorkers(function, analysis, count);
    if (pairwise && analysis.getBatch() % (count * workers) != 0)
      return function.emitError() << "a batch of " << analysis.getBatch() << " cannot be cut into " << count * workers
                                  << " equal parts: use a --batch that is a multiple of it";
    if (pairwise || loopFrom == 0 || count < loopFrom || !writeMicrobatchLoops(function, analysis, count, workers))
      Splitter(function, analysis, count, pairwise ? workers : 0).run();
    return success();
  }
};
} // namespace
