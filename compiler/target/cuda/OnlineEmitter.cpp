//===- OnlineEmitter.cpp - sums of exponentials with a running maximum, on GPUs ---===//

#include "compiler/target/cuda/OnlineEmitter.h"
#include "compiler/codegen/Combiner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;

namespace dgc {

/// What exponents are less of: the maximum, but 0 where that is still -inf, as -inf less -inf is not a number.
Value OnlineEmitter::reference(Value maximum) {
  Value lowest = number(-std::numeric_limits<float>::infinity());
  Value isLowest = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, maximum, lowest);
  return arith::SelectOp::create(builder, loc, isLowest, number(0), maximum);
}

Value OnlineEmitter::exponential(Value x, Value maximum) {
  return math::ExpOp::create(builder, loc, arith::SubFOp::create(builder, loc, x, maximum));
}

void OnlineEmitter::reduce(const Root &root, Running &run) {
  auto it = online.find(run.root);
  if (it == online.end())
    return nests.reduce(root, run);
  const OnlineSum &sum = it->second;
  Value x = code.element(sum.x, sum.index), least = references.lookup(sum.maximum);
  auto add = [&](Value &to, Value addend) { to = combine(builder, root.reduction, 0, to, addend); };
  if (!sum.condition)
    return add(run.accumulators[0], exponential(x, least));
  Value isChosen = code.element(sum.condition, sum.conditionIndex);
  auto where = [&](Value value) -> Value { return arith::SelectOp::create(builder, loc, isChosen, value, number(0)); };
  add(run.accumulators[0], where(arith::SubFOp::create(builder, loc, x, least)));
  add(run.accumulators[1], where(number(1)));
}

Value OnlineEmitter::number(float value) {
  return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
}

/// What a thread has of a sum, for a maximum that has grown. Of sums of differences, those that have none yet stay as
/// they are: what is infinite here is none of their business.
Value OnlineEmitter::grown(const Running &run, Value before, Value now) {
  Value sum = run.accumulators[0];
  if (!online.find(run.root)->second.condition)
    return arith::MulFOp::create(builder, loc, sum, exponential(before, now));
  Value count = run.accumulators[1];
  Value each = arith::SubFOp::create(builder, loc, before, now);
  Value moved = arith::AddFOp::create(builder, loc, sum, arith::MulFOp::create(builder, loc, count, each));
  Value has = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, count, number(0));
  return arith::SelectOp::create(builder, loc, has, moved, sum);
}

/// Adds what a thread had of a sum before a block to that of the block. The maxima of a sum that follows one: before
/// the block and now; else null.
void OnlineEmitter::addBlock(const Running &before, Value maximumBefore, Value maximum, Running &block) {
  const Root &root = graph.roots[before.root];
  Running moved = before;
  if (maximum) {
    bool isChosen = bool(online.find(before.root)->second.condition);
    moved.accumulators[0] = grown(before, isChosen ? reference(maximumBefore) : maximumBefore, reference(maximum));
  }
  // Some of these sums count their addends as well; where a thread has several columns there are values for each.
  auto sum = online.find(before.root);
  const bool isCounted = sum != online.end() && sum->second.condition;
  for (auto [number, value] : llvm::enumerate(block.accumulators))
    value = combine(builder, root.reduction, isCounted ? 0 : number % root.values.size(), moved.accumulators[number],
                    value);
}

/// Some items: first the maxima and all else, then the sums, which follow the maxima before.
void OnlineEmitter::items(SmallVectorImpl<Running> &running,
                          llvm::function_ref<void(SmallVectorImpl<Running> &)> each) {
  SmallVector<Running> sums, others;
  llvm::SmallDenseMap<unsigned, Value> before;
  llvm::SmallSet<unsigned, 2> maxima;
  for (auto &[root, sum] : online)
    maxima.insert(sum.maximum);
  for (Running &run : running) {
    (online.contains(run.root) ? sums : others).push_back(run);
    if (maxima.contains(run.root))
      before[run.root] = run.accumulators[0];
  }
  each(others);
  for (Running &run : others)
    if (maxima.contains(run.root))
      references[run.root] = reference(run.accumulators[0]);
  for (Running &run : sums) {
    const OnlineSum &sum = online.find(run.root)->second;
    // An exponential of -inf is 0; differences are less of the reference.
    Value was = before.lookup(sum.maximum);
    run.accumulators[0] = grown(run, sum.condition ? reference(was) : was, references.lookup(sum.maximum));
  }
  each(sums);
  const Running *other = others.begin(), *sum = sums.begin();
  for (Running &run : running)
    run = online.contains(run.root) ? *sum++ : *other++;
}

/// What a thread has of a sum, for the maximum of all; as its addends would be, it is not a number where that is
/// infinite.
Value OnlineEmitter::forAll(const Running &run, Value own, Value ofAll) {
  bool isChosen = bool(online.find(run.root)->second.condition);
  Value sum = grown(run, isChosen ? reference(own) : own, reference(ofAll));
  Value none = arith::SubFOp::create(builder, loc, ofAll, ofAll); // 0 but for those
  Value moved = arith::AddFOp::create(builder, loc, sum, none);
  if (!isChosen)
    return moved;
  Value has = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, run.accumulators[1], number(0));
  return arith::SelectOp::create(builder, loc, has, moved, sum);
}

} // namespace dgc
