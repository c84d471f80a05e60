// dgc-split-microbatches: computes a global batch in parts, one after the other.

#include "dialects/dgc/AttributeNames.h"
#include "passes/analysis/IdleWorkers.h"
#include "passes/analysis/StrategyUtil.h"
#include "passes/gradient/Microbatches.h"
#include "passes/gradient/Passes.h"

#include "dialects/dgc/TensorBuilder.h"

#include "mlir/IR/IRMapping.h"

namespace dgc {
#define GEN_PASS_DEF_SPLITMICROBATCHESPASS
#include "passes/gradient/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

namespace {

/// Rewrites one function.
class Splitter {
public:
  Splitter(func::FuncOp function, int64_t count)
      : function(function), block(function.getBody().front()), builder(block.getTerminator()), count(count),
        analysis(function, count), copies(count) {}

  LogicalResult run() {
    if (failed(analysis.run()))
      return failure();
    if (analysis.getBatch() == 0)
      return success();
    warnOfIdleWorkers();
    emit();
    function->setAttr(kMicrobatchesAttr, builder.getI64IntegerAttr(count));
    return success();
  }

private:
  /// How many workers an input's batch is cut over; 1 where none is cut.
  int64_t countWorkers() {
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
  void warnOfIdleWorkers() {
    int64_t workers = countWorkers();
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

  /// Level by level: what is computed once, then one micro-batch after the other, each from front to back.
  void emit() {
    SmallVector<Operation *> ops = llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; });
    int last = analysis.getLastLevel();
    SmallVector<SmallVector<Operation *>> once(last + 1), perMicrobatch(last + 1);
    for (Operation *op : ops)
      (analysis.getExecution(op).perMicrobatch ? perMicrobatch : once)[analysis.getExecution(op).level].push_back(op);
    for (level = 0; level <= last; ++level) {
      for (Operation *op : once[level])
        emitOnce(op);
      for (current = 0; current < count; ++current)
        for (Operation *op : perMicrobatch[level])
          emitCopy(op);
    }
    emitReturn(cast<func::ReturnOp>(block.getTerminator()));
    for (Operation *op : llvm::reverse(ops))
      if (analysis.getExecution(op).perMicrobatch || isOpTriviallyDead(op))
        op->erase();
  }

  void emitOnce(Operation *op) {
    op->moveBefore(block.getTerminator());
    for (OpOperand &operand : op->getOpOperands())
      operand.set(wholeValue(operand.get()));
  }

  /// The value, or the sum over the micro-batches. What each of them has, and is the same, is that of `microbatch`.
  Value wholeValue(Value value, int64_t microbatch = 0) const {
    MicrobatchLayout::Kind kind = analysis.getLayout(value).kind;
    if (kind == MicrobatchLayout::Partial)
      return sums.lookup(value);
    return kind == MicrobatchLayout::Whole ? copies[microbatch].lookupOrDefault(value) : value;
  }

  /// Adds the op for the current micro-batch, and what it adds to sums.
  void emitCopy(Operation *op) {
    const MicrobatchExecution &execution = analysis.getExecution(op);
    IRMapping operands;
    SmallVector<Value> values;
    for (auto [operand, dim] : llvm::zip_equal(op->getOperands(), execution.operandDims))
      values.push_back(dim == MicrobatchExecution::kWhole     ? wholeValue(operand, current)
                       : dim == MicrobatchExecution::kPartial ? copies[current].lookup(operand)
                                                              : part(operand, dim));
    Operation *copy = cloneOnParts(op, values, [&](unsigned result) {
      MicrobatchLayout layout = analysis.getLayout(op->getResult(result));
      return layout.kind == MicrobatchLayout::Cut ? std::optional(layout.dim) : std::nullopt;
    });
    for (auto [original, result] : llvm::zip_equal(op->getResults(), copy->getResults())) {
      copies[current].map(original, result);
      if (!analysis.isSummed(original))
        continue;
      Value &sum = sums[original];
      if (!sum) {
        sum = result;
        continue;
      }
      sum = tagged(combine(analysis.getLayout(original).reduction, sum, result));
      // Addends are added up where they are.
      if (Attribute stage = copy->getDiscardableAttr(dist::kStageAttr); stage && sum.getDefiningOp())
        sum.getDefiningOp()->setDiscardableAttr(dist::kStageAttr, stage);
    }
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

  /// Says which micro-batch and level an op belongs to.
  void tag(Operation *op) {
    op->setAttr(kMicrobatchAttr, builder.getI64IntegerAttr(current));
    if (level > 0)
      op->setAttr(kMicrobatchLevelAttr, builder.getI64IntegerAttr(level));
  }

  Value tagged(Value value) {
    if (Operation *op = value.getDefiningOp())
      tag(op);
    return value;
  }

  /// A copy of `op` on parts of its operands; `cutDim` says which dimension of a result is cut.
  Operation *cloneOnParts(Operation *op, ArrayRef<Value> operands,
                          llvm::function_ref<std::optional<unsigned>(unsigned)> cutDim) {
    IRMapping mapping;
    Operation *copy = builder.clone(*op, mapping);
    copy->setOperands(operands);
    for (OpResult result : copy->getResults())
      if (std::optional<unsigned> dim = cutDim(result.getResultNumber())) {
        auto type = cast<RankedTensorType>(result.getType());
        SmallVector<int64_t> shape(type.getShape());
        shape[*dim] = partOf(shape[*dim]);
        result.setType(RankedTensorType::get(shape, type.getElementType(), type.getEncoding()));
      }
    if (auto localizable = dyn_cast<LocalizableOpInterface>(copy))
      (void)localizable.localize(op->getOperandTypes(), op->getResultTypes());
    tag(copy);
    return copy;
  }

  /// The examples of the current micro-batch of a value, along `dim`.
  Value part(Value value, unsigned dim) {
    MicrobatchLayout layout = analysis.getLayout(value);
    if (layout.kind == MicrobatchLayout::Cut && !isa<BlockArgument>(value))
      return copies[current].lookup(value);
    Value &known = parts[{wholeValue(value), {dim, current}}];
    if (!known) {
      Value made = rematerialized(value, dim);
      if (!made)
        made = strided(wholeValue(value), dim);
      return parts[{wholeValue(value), {dim, current}}] = made;
    }
    return known;
  }

  /// A whole value that an op repeats or computes along `dim` is computed for the part that is wanted. Null where
  /// that cannot be.
  Value rematerialized(Value value, unsigned dim) {
    Operation *op = value.getDefiningOp();
    auto interface = dyn_cast_or_null<ShardingRuleOpInterface>(op);
    if (!interface || analysis.getLayout(value).kind != MicrobatchLayout::Whole || op->getNumResults() != 1 ||
        !isPure(op) || op->getNumRegions() > 0 || isa<PositionalOpInterface>(op))
      return {};
    ShardingRule rule = interface.getShardingRule();
    std::optional<unsigned> factor = analysis.batchFactor(rule.results[0], rule.factors, dim);
    if (!factor || rule.factors[*factor].kind != FactorKind::PassThrough)
      return {};
    SmallVector<FactorDim> factorDims;
    for (const TensorFactors &tensor : rule.operands) {
      factorDims.push_back(factorDimOf(tensor, rule.factors, *factor));
      if (factorDims.back().present && !factorDims.back().dim)
        return {};
    }
    SmallVector<Value> operands;
    for (auto [operand, factorDim] : llvm::zip_equal(op->getOperands(), factorDims))
      operands.push_back(factorDim.present ? part(operand, *factorDim.dim) : wholeValue(operand));
    return cloneOnParts(op, operands, [&](unsigned) { return std::optional(dim); })->getResult(0);
  }

  /// The size of a dimension that begins with the batch, in the current micro-batch.
  int64_t partOf(int64_t size) const { return size / analysis.getBatch() * analysis.getExamples(current); }

  /// The shape with the dimension `dim`, which begins with the batch, as [`examples`, `middle`..] and what follows
  /// the batch in it.
  SmallVector<int64_t> splitShape(ArrayRef<int64_t> shape, unsigned dim, int64_t examples,
                                  ArrayRef<int64_t> middle = {}) const {
    SmallVector<int64_t> result(shape.take_front(dim));
    result.push_back(examples);
    llvm::append_range(result, middle);
    if (int64_t rest = shape[dim] / analysis.getBatch(); rest != 1 || !middle.empty())
      result.push_back(rest);
    llvm::append_range(result, shape.drop_front(dim + 1));
    return result;
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
    shape[dim] = partOf(shape[dim]);
    return limits.size() == shape.size() ? part : tagged(b.reshape(part, shape));
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
      SmallVector<int64_t> split = splitShape(shape, dim, examples, {1});
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
    for (OpOperand &operand : op->getOpOperands()) {
      MicrobatchLayout layout = analysis.getLayout(operand.get());
      operand.set(layout.kind == MicrobatchLayout::Cut ? joined(operand.get(), layout.dim) : wholeValue(operand.get()));
    }
  }

  func::FuncOp function;
  Block &block;
  OpBuilder builder;
  int64_t count, current = 0, level = 0;
  MicrobatchAnalysis analysis;
  SmallVector<IRMapping> copies; // per micro-batch
  DenseMap<Value, Value> sums;   // of partial values, so far
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
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (count > 1 && !function.isExternal() && llvm::hasSingleElement(function.getBody()) &&
          failed(Splitter(function, count).run()))
        return signalPassFailure();
  }
};
} // namespace
