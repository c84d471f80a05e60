// Which elements of a tensor belong to which example of the batch, and what an op does to the examples.

#include "passes/analysis/BatchDims.h"

using namespace mlir;
using mlir::dgc::Factor;
using mlir::dgc::FactorKind;
using mlir::dgc::ShardingRuleOpInterface;
using mlir::dgc::TensorFactors;

namespace dgc {

/// The factor of a dimension that has the examples of `at`. None where the batch is split between several factors.
static std::optional<BatchFactor> factorAt(const TensorFactors &tensor, ArrayRef<Factor> factors, BatchDim at,
                                           int64_t batch) {
  int64_t minor = 1; // elements of the factors behind this one
  for (unsigned factor : llvm::reverse(tensor.dims[at.dim])) {
    int64_t size = factors[factor].size;
    if (factors[factor].moves)
      return BatchFactor{factor, at.inner};
    if (size > 1 && at.inner % minor == 0 && size % (at.inner / minor * batch) == 0)
      return BatchFactor{factor, at.inner / minor};
    minor *= size;
  }
  return std::nullopt;
}

BatchDims ExampleFlow::dimsOf(const TensorFactors &tensor, BatchFactor factor) const {
  BatchDims dims;
  for (auto [dim, dimFactors] : llvm::enumerate(tensor.dims)) {
    int64_t minor = 1;
    for (unsigned each : llvm::reverse(dimFactors)) {
      if (each == factor.factor)
        dims.push_back({unsigned(dim), factor.inner * minor});
      minor *= rule.factors[each].size;
    }
  }
  return dims;
}

BatchDims ExampleFlow::dimsOfResult(unsigned result) const {
  BatchDims dims;
  for (BatchFactor factor : factors)
    if (!reduces(factor))
      dims.append(dimsOf(rule.results[result], factor));
  return dims;
}

FailureOr<ExampleFlow> examplesThrough(Operation *op, ArrayRef<BatchDims> operands, int64_t batch,
                                       std::string &reason) {
  auto refuse = [&](const Twine &why) -> FailureOr<ExampleFlow> {
    reason = why.str();
    return failure();
  };
  auto interface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!interface || op->getNumRegions() > 0)
    return refuse("nothing is known of how its dimensions belong together");
  ExampleFlow flow{interface.getShardingRule(), {}};
  for (auto [index, dims] : llvm::enumerate(operands))
    for (BatchDim at : dims) {
      std::optional<BatchFactor> factor = factorAt(flow.rule.operands[index], flow.rule.factors, at, batch);
      if (!factor)
        return refuse("it splits the batch dimension of its operand " + Twine(index));
      const Factor &found = flow.rule.factors[factor->factor];
      bool combines = found.kind == FactorKind::PassThrough || found.kind == FactorKind::Reduction;
      if (found.moves || !combines)
        return refuse("it moves elements along the batch dimension");
      if (!llvm::is_contained(flow.factors, *factor))
        flow.factors.push_back(*factor);
    }
  for (auto [result, tensor] : llvm::enumerate(flow.rule.results))
    for (BatchFactor factor : flow.factors)
      if (!flow.reduces(factor) && flow.dimsOf(tensor, factor).empty())
        return refuse("its result " + Twine(result) + " does not have the batch dimension");
  return flow;
}

} // namespace dgc
