//===- OnlineEmitter.cpp - sums of exponentials beside their maximum, on GPUs ---===//

#include "compiler/codegen/cuda/PassEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace dgc {

/// What exponents are less of: the maximum, but 0 where that is still -inf, as -inf less -inf is not a number.
Value PassEmitter::reference(Value maximum) {
  auto type = cast<FloatType>(maximum.getType());
  auto constantOf = [&](APFloat value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, value));
  };
  Value lowest = constantOf(APFloat::getInf(type.getFloatSemantics(), /*Negative=*/true));
  Value isLowest = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, maximum, lowest);
  return arith::SelectOp::create(builder, loc, isLowest, constantOf(APFloat::getZero(type.getFloatSemantics())),
                                 maximum);
}

Value PassEmitter::exponential(Value x, Value maximum) {
  return math::ExpOp::create(builder, loc, arith::SubFOp::create(builder, loc, x, maximum));
}

void PassEmitter::reduce(const Root &root, Running &run) {
  auto it = online.find(run.root);
  if (it == online.end())
    return NestEmitter::reduce(root, run);
  const OnlineSum &sum = it->second;
  Value addend = exponential(element(sum.x, sum.index), references.lookup(sum.maximum));
  run.accumulators[0] = combine(root.reduction, 0, run.accumulators[0], addend);
}

/// Some items: first the maxima and all else, then the sums, which the maxima before them are less by now.
void PassEmitter::itemsOnline(SmallVectorImpl<Running> &running,
                              llvm::function_ref<void(SmallVectorImpl<Running> &)> each) {
  SmallVector<Running> sums, others;
  llvm::SmallDenseMap<unsigned, Value> before;
  for (Running &run : running) {
    (online.contains(run.root) ? sums : others).push_back(run);
    if (!run.accumulators.empty())
      before[run.root] = run.accumulators[0];
  }
  each(others);
  for (Running &run : others)
    if (!run.accumulators.empty() && elementOf(graph.roots[run.root].values[0]).isF32())
      references[run.root] = reference(run.accumulators[0]);
  for (Running &run : sums) {
    unsigned maximum = online.find(run.root)->second.maximum;
    Value grown = exponential(before.lookup(maximum), references.lookup(maximum));
    run.accumulators[0] = arith::MulFOp::create(builder, loc, run.accumulators[0], grown);
  }
  each(sums);
  const Running *other = others.begin(), *sum = sums.begin();
  for (Running &run : running)
    run = online.contains(run.root) ? *sum++ : *other++;
}

} // namespace dgc
