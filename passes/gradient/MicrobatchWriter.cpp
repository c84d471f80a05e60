#include "passes/gradient/MicrobatchWriter.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace dgc;

MicrobatchWriter::MicrobatchWriter(func::FuncOp function, const MicrobatchAnalysis &analysis, int64_t count)
    : function(function), block(function.getBody().front()), analysis(analysis), builder(block.getTerminator()),
      count(count) {}

Operation *MicrobatchWriter::copyOf(Operation *op) {
  SmallVector<Value> operands;
  for (auto [operand, dim] : llvm::zip_equal(op->getOperands(), analysis.getExecution(op).operandDims))
    operands.push_back(dim == MicrobatchExecution::kWhole     ? wholeOf(operand)
                       : dim == MicrobatchExecution::kPartial ? addendOf(operand)
                                                              : partOf(operand, dim));
  return cloneOnParts(op, operands, [&](unsigned result) {
    MicrobatchLayout layout = analysis.getLayout(op->getResult(result));
    return layout.kind == MicrobatchLayout::Cut ? std::optional(layout.dim) : std::nullopt;
  });
}

/// A copy of `op` on parts of its operands; `cutDim` says which dimension of a result is cut.
Operation *MicrobatchWriter::cloneOnParts(Operation *op, ArrayRef<Value> operands,
                                          llvm::function_ref<std::optional<unsigned>(unsigned)> cutDim) {
  IRMapping mapping;
  Operation *copy = builder.clone(*op, mapping);
  copy->setOperands(operands);
  for (OpResult result : copy->getResults())
    if (std::optional<unsigned> dim = cutDim(result.getResultNumber())) {
      auto type = cast<RankedTensorType>(result.getType());
      SmallVector<int64_t> shape(type.getShape());
      shape[*dim] = sizeOfPart(shape[*dim]);
      result.setType(RankedTensorType::get(shape, type.getElementType(), type.getEncoding()));
    }
  if (auto localizable = dyn_cast<LocalizableOpInterface>(copy))
    (void)localizable.localize(op->getOperandTypes(), op->getResultTypes());
  tag(copy);
  return copy;
}

Value MicrobatchWriter::rematerialized(Value value, unsigned dim) {
  Operation *op = value.getDefiningOp();
  if (auto iota = dyn_cast_or_null<IotaOp>(op);
      iota && iota->getNumOperands() == 0 && iota.getDimension() != static_cast<uint64_t>(dim)) {
    // The same numbers for all examples.
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = sizeOfPart(shape[dim]);
    Operation *part = IotaOp::create(builder, iota.getLoc(), type.clone(shape), iota.getDimension(), Value());
    if (Attribute stage = op->getDiscardableAttr(dist::kStageAttr))
      part->setDiscardableAttr(dist::kStageAttr, stage);
    tag(part);
    return part->getResult(0);
  }
  auto interface = dyn_cast_or_null<ShardingRuleOpInterface>(op);
  if (!interface || !analysis.knows(op) || analysis.getLayout(value).kind != MicrobatchLayout::Whole ||
      op->getNumResults() != 1 || !isPure(op) || op->getNumRegions() > 0 || isa<PositionalOpInterface>(op))
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
    operands.push_back(factorDim.present ? partOf(operand, *factorDim.dim) : wholeOf(operand));
  return cloneOnParts(op, operands, [&](unsigned) { return std::optional(dim); })->getResult(0);
}

SmallVector<int64_t> MicrobatchWriter::splitShape(ArrayRef<int64_t> shape, unsigned dim, int64_t examples,
                                                  ArrayRef<int64_t> middle) const {
  SmallVector<int64_t> result(shape.take_front(dim));
  result.push_back(examples);
  llvm::append_range(result, middle);
  if (int64_t rest = shape[dim] / analysis.getBatch(); rest != 1 || !middle.empty())
    result.push_back(rest);
  llvm::append_range(result, shape.drop_front(dim + 1));
  return result;
}

Value MicrobatchWriter::allOf(Value value, llvm::function_ref<Value()> make) {
  Value &all = joins[value];
  if (!all) {
    all = make();
    cuts[all] = value;
  }
  return all;
}

MicrobatchWriter::Levels MicrobatchWriter::levels() {
  Levels levels;
  levels.once.resize(analysis.getLastLevel() + 1);
  levels.perMicrobatch.resize(analysis.getLastLevel() + 1);
  for (Operation &op : block.without_terminator()) {
    const MicrobatchExecution &execution = analysis.getExecution(&op);
    (execution.perMicrobatch ? levels.perMicrobatch : levels.once)[execution.level].push_back(&op);
  }
  return levels;
}

void MicrobatchWriter::moveOnce(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    operand.set(wholeOf(operand.get()));
  op->moveBefore(block.getTerminator()); // behind what has just put its operands together
}

void MicrobatchWriter::eraseOriginals(ArrayRef<Operation *> ops) {
  for (Operation *op : llvm::reverse(ops))
    if (analysis.getExecution(op).perMicrobatch || isOpTriviallyDead(op))
      op->erase();
}
