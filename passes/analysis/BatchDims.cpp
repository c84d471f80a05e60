// Which elements of a tensor belong to which example of the batch, and what an op does to the examples.

#include "passes/analysis/BatchDims.h"
#include "dialects/dgc/RegionDims.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dgc {

/// The factor of a dimension that has the examples of `at`. None where the batch is split between several factors.
static std::optional<BatchFactor> factorAt(const TensorFactors &tensor, ArrayRef<Factor> factors, BatchDim at,
                                           int64_t batch) {
  int64_t minor = 1, whole = 1; // elements of the factors after this one, and of all
  for (unsigned factor : tensor.dims[at.dim])
    whole *= factors[factor].size;
  for (unsigned factor : llvm::reverse(tensor.dims[at.dim])) {
    int64_t size = factors[factor].size, others = at.before + at.after;
    if (factors[factor].moves)
      return BatchFactor{factor, at.inner, at.before, at.after};
    bool divides = at.inner % minor == 0 && at.before % minor == 0 && at.after % minor == 0;
    bool holdsAll = others == 0 || minor * size == whole;
    if (size > 1 && divides && holdsAll && (size - others / minor) % (at.inner / minor * batch) == 0)
      return BatchFactor{factor, at.inner / minor, at.before / minor, at.after / minor};
    minor *= size;
  }
  return std::nullopt;
}

/// False where a dimension of the tensor repeats the factor although it has elements of no example.
static bool isExpressible(const TensorFactors &tensor, ArrayRef<Factor> factors, BatchFactor at) {
  return (at.before == 0 && at.after == 0) || llvm::all_of(tensor.dims, [&](ArrayRef<unsigned> dim) {
           for (unsigned factor : dim)
             if (factor == at.factor)
               return true;
             else if (factors[factor].size != 1)
               return !llvm::is_contained(dim, at.factor);
           return true;
         });
}

BatchDims ExampleFlow::dimsOf(const TensorFactors &tensor, BatchFactor factor) const {
  BatchDims dims;
  for (auto [dim, dimFactors] : llvm::enumerate(tensor.dims)) {
    int64_t minor = 1;
    for (unsigned each : llvm::reverse(dimFactors)) {
      if (each == factor.factor)
        dims.push_back({unsigned(dim), factor.inner * minor, factor.before * minor, factor.after * minor});
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

FailureOr<ExampleFlow> examplesThrough(Operation *op, ArrayRef<BatchDims> operands, int64_t batch, std::string &reason,
                                       bool isCut) {
  auto refuse = [&](const Twine &why) -> FailureOr<ExampleFlow> {
    reason = why.str();
    return failure();
  };
  auto interface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!interface || (op->getNumRegions() > 0 && !op->hasTrait<ControlFlow>()))
    return refuse("nothing is known of how its dimensions belong together");
  auto loop = dyn_cast<RegionTiesOpInterface>(op);
  ExampleFlow flow{loop ? RegionDims(loop, isCut).rule() : interface.getShardingRule(), {}};
  for (auto [index, dims] : llvm::enumerate(operands))
    for (BatchDim at : dims) {
      std::optional<BatchFactor> factor = factorAt(flow.rule.operands[index], flow.rule.factors, at, batch);
      if (!factor)
        return refuse("it splits the batch dimension of its operand " + Twine(index));
      const Factor &found = flow.rule.factors[factor->factor];
      bool combines = found.kind == FactorKind::PassThrough || found.kind == FactorKind::Reduction;
      if (found.moves || !combines)
        return refuse("it moves elements along the batch dimension");
      auto known = llvm::find_if(flow.factors, [&](BatchFactor each) { return each.factor == factor->factor; });
      if (known == flow.factors.end())
        flow.factors.push_back(*factor);
      else if (*known != *factor)
        return refuse("its operands have their examples in different places along the batch dimension");
    }
  // A result of a loop that does not have them does not depend on examples: what combines them makes the rule keep all.
  const bool mayLack = op->hasTrait<ControlFlow>();
  for (auto [result, tensor] : llvm::enumerate(flow.rule.results))
    for (BatchFactor factor : flow.factors)
      if (!flow.reduces(factor) && !mayLack && flow.dimsOf(tensor, factor).empty())
        return refuse("its result " + Twine(result) + " does not have the batch dimension");
      else if (!isExpressible(tensor, flow.rule.factors, factor))
        return refuse("it repeats elements that belong to no example");
  return flow;
}

static int64_t sizeOf(Value value, int64_t dim) { return cast<RankedTensorType>(value.getType()).getDimSize(dim); }

/// Where `examples` (of the elements of dimension `dim`; -1: of none) are as BatchDim says, how. No entry where no
/// element belongs to an example.
static FailureOr<BatchDims> matchExamples(ArrayRef<int64_t> examples, unsigned dim, int64_t batch) {
  auto isNone = [](int64_t example) { return example < 0; };
  BatchDim at{dim};
  ArrayRef<int64_t> rest = examples.drop_while(isNone);
  if (rest.empty())
    return BatchDims();
  at.before = int64_t(examples.size() - rest.size());
  while (isNone(rest.back())) {
    rest = rest.drop_back();
    ++at.after;
  }
  at.inner = int64_t(rest.take_while([](int64_t example) { return example == 0; }).size());
  if (at.inner == 0 || int64_t(rest.size()) % (at.inner * batch) != 0)
    return failure();
  for (auto [index, example] : llvm::enumerate(examples))
    if (at.exampleAt(int64_t(index), int64_t(examples.size()), batch) != example)
      return failure();
  return BatchDims{at};
}

FailureOr<BatchDims> takeRearrangedExamples(Operation *op, MutableArrayRef<BatchDims> operands, int64_t batch,
                                            std::string &reason) {
  auto rearranging = dyn_cast<RearrangingOpInterface>(op);
  if (!rearranging)
    return BatchDims();
  ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
  auto isRearranged = [&](unsigned operand, BatchDim at) {
    return llvm::any_of(rule.operands[operand].dims[at.dim], [&](unsigned factor) {
      return rule.factors[factor].moves || rule.factors[factor].kind != FactorKind::PassThrough;
    });
  };
  llvm::SmallSetVector<unsigned, 2> dims;
  SmallVector<BatchDims> taken(operands.size());
  for (auto [operand, own] : llvm::enumerate(operands))
    llvm::erase_if(own, [&, operand = operand](BatchDim at) {
      bool is = isRearranged(operand, at);
      if (is) {
        dims.insert(at.dim);
        taken[operand].push_back(at);
      }
      return is;
    });
  BatchDims result;
  for (unsigned dim : dims) {
    SmallVector<int64_t> examples(sizeOf(op->getResult(0), dim), -1);
    for (auto [index, example] : llvm::enumerate(examples)) {
      auto [operand, source] = rearranging.getSource(dim, int64_t(index));
      for (BatchDim at : operand < 0 ? BatchDims() : taken[operand])
        if (at.dim == dim)
          example = at.exampleAt(source, sizeOf(op->getOperand(operand), dim), batch);
    }
    FailureOr<BatchDims> found = matchExamples(examples, dim, batch);
    if (failed(found)) {
      reason = "it moves elements along the batch dimension";
      return failure();
    }
    result.append(*found);
  }
  return result;
}

} // namespace dgc
