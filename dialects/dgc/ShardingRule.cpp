// Sharding rules and costs that follow from shapes alone.

#include "dialects/dgc/ShardingRule.h"
#include "dialects/dgc/TensorUtil.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace dgc;

static int64_t rankOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getRank() : 0;
}

ShardingRuleBuilder::ShardingRuleBuilder(Operation *op) : op(op) {
  for (Type type : op->getOperandTypes())
    rule.operands.emplace_back().dims.resize(rankOf(type));
  for (Type type : op->getResultTypes())
    rule.results.emplace_back().dims.resize(rankOf(type));
}

ShardingRuleBuilder &ShardingRuleBuilder::factor(ArrayRef<int64_t> operandDims, ArrayRef<int64_t> resultDims,
                                                 int64_t size, FactorKind kind, ReductionKind reduction) {
  assert(operandDims.size() == rule.operands.size() && resultDims.size() == rule.results.size());
  unsigned index = rule.factors.size();
  rule.factors.push_back({size, kind, reduction});
  auto add = [index](ArrayRef<int64_t> dims, SmallVectorImpl<TensorFactors> &tensors) {
    for (auto [dim, tensor] : llvm::zip_equal(dims, tensors))
      if (dim >= 0)
        tensor.dims[dim].push_back(index);
  };
  add(operandDims, rule.operands);
  add(resultDims, rule.results);
  return *this;
}

ShardingRuleBuilder &ShardingRuleBuilder::moving(ArrayRef<int64_t> operandDims, ArrayRef<int64_t> resultDims,
                                                 int64_t size, FactorKind kind) {
  factor(operandDims, resultDims, size, kind);
  rule.factors.back().moves = true;
  return *this;
}

ShardingRuleBuilder &ShardingRuleBuilder::sliding(SlidingWindow window) {
  rule.windows.push_back(std::move(window));
  return *this;
}

ShardingRuleBuilder &ShardingRuleBuilder::elementwise() {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    auto dimsOf = [&, dim = int64_t(dim)](TypeRange types) {
      return llvm::map_to_vector(types, [&](Type t) { return rankOf(t) == type.getRank() ? dim : int64_t(-1); });
    };
    factor(dimsOf(op->getOperandTypes()), dimsOf(op->getResultTypes()), size);
  }
  return *this;
}

static uint64_t elementsOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() ? tensor.getNumElements() : 0;
}

OpCost dgc::costPerElement(Operation *op, uint64_t flops) {
  OpCost cost;
  if (op->getNumResults() > 0)
    cost.flops = flops * elementsOf(op->getResult(0).getType());
  for (Type type : op->getOperandTypes())
    cost.bytesRead += bytesOf(type);
  for (Type type : op->getResultTypes())
    cost.bytesWritten += bytesOf(type);
  return cost;
}
