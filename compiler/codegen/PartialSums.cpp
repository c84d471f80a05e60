//===- PartialSums.cpp - sums in blocks -------------------------------------===//
//
// The loops over the blocks of a long sum (SumBlocks.h). Each block begins a partial sum at zero, in registers where
// the running values are there and else in scratch memory with an element for each point of the parallel loops inside,
// and is added to the running value when it ends.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/Combiner.h"
#include "compiler/codegen/NestEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace dgc {

Value NestEmitter::combine(linalg::LinalgOp op, unsigned number, Value a, Value b) {
  Operation *combiner = combinerOf(op, number);
  IRMapping mapping;
  mapping.map(combiner->getOperand(0), a);
  mapping.map(combiner->getOperand(1), b);
  Operation *copy = builder.clone(*combiner, mapping);
  if (auto fast = dyn_cast<arith::ArithFastMathInterface>(copy); fast && isa<FloatType>(a.getType()))
    copy->setAttr(fast.getFastMathAttrName(), arith::FastMathFlagsAttr::get(context, arith::FastMathFlags::contract));
  return copy->getResult(0);
}

/// The sum of some addends: chains of kChain, which do not wait for each other.
Value NestEmitter::totalOf(linalg::LinalgOp op, unsigned number, ArrayRef<Value> addends) {
  constexpr size_t kChain = 4;
  Value total;
  for (; !addends.empty(); addends = addends.drop_front(std::min(kChain, addends.size()))) {
    Value chain = addends.front();
    for (Value addend : addends.take_front(kChain).drop_front())
      chain = combine(op, number, addend, chain);
    total = total ? combine(op, number, total, chain) : chain;
  }
  return total;
}

/// The values with which the reductions of a root begin that have a combiner.
SmallVector<Value> NestEmitter::identitiesOf(const Root &root) {
  SmallVector<Value> identities;
  for (unsigned number = 0; number < root.values.size(); ++number)
    identities.push_back(arith::ConstantOp::create(builder, loc, identityOf(combinerOf(root.reduction, number))));
  return identities;
}

/// The running value of result `number` of a root where that is in memory, at the current point.
Value NestEmitter::loadRunning(unsigned root, unsigned number) {
  Value value = graph.roots[root].values[number];
  const PartialMemory &partial = partials[root];
  if (partial.memory.empty())
    return load(baseOf(value), elementOf(value), positionIn(value, graph.roots[root].indices[number]));
  llvm::SaveAndRestore inner(groups, SmallVector<LLVM::AccessGroupAttr>(llvm::drop_begin(groups, partial.outerGroups)));
  return load(partial.memory[number], elementOf(value), partial.linear);
}

void NestEmitter::storeRunning(unsigned root, unsigned number, Value scalar) {
  Value value = graph.roots[root].values[number];
  const PartialMemory &partial = partials[root];
  if (partial.memory.empty())
    return storeEverywhere(value, graph.roots[root].indices[number], scalar);
  llvm::SaveAndRestore inner(groups, SmallVector<LLVM::AccessGroupAttr>(llvm::drop_begin(groups, partial.outerGroups)));
  store(scalar, partial.memory[number], partial.linear, elementOf(value));
}

/// Memory for the partial sums of a block of the loop at `depth`.
NestEmitter::PartialMemory NestEmitter::partialMemory(const LoopNest &nest, unsigned depth, const PartialSums &sums) {
  const Root &root = graph.roots[sums.root];
  PartialMemory partial;
  partial.linear = getAffineConstantExpr(0, context);
  partial.outerGroups = groups.size();
  for (unsigned dim : ArrayRef<unsigned>(nest.loops).drop_front(depth + 1))
    if (root.parallel.test(dim))
      partial.linear = partial.linear * nest.trips[dim] + getAffineDimExpr(dim, context);
  for (Value value : root.values)
    partial.memory.push_back(scratch(storageOf(elementOf(value)), sums.elements));
  return partial;
}

/// Begins partial sums for all that the loop at `depth` adds up.
SmallVector<NestEmitter::Suspended> NestEmitter::beginBlock(const Segment &segment, const NestPlan &plan,
                                                            unsigned depth, SmallVectorImpl<Running> &running,
                                                            Value lower, Value upper) {
  SmallVector<Suspended> suspended(running.size());
  for (auto [run, before] : llvm::zip_equal(running, suspended)) {
    const Root &root = graph.roots[run.root];
    if (!isFloatSum(root) || root.parallel.test(plan.nest.loops[depth]))
      continue;
    if (!run.accumulators.empty()) {
      before = {true, run.accumulators, {}};
      run.accumulators = identitiesOf(root);
      continue;
    }
    ArrayRef<PartialSums> planned = plan.loops[depth].partials;
    auto sums = llvm::find_if(planned, [&](const PartialSums &each) { return each.root == run.root; });
    if (sums == planned.end())
      continue;
    PartialMemory partial = partialMemory(plan.nest, depth, *sums);
    before = {true, {}, partials[run.root]};
    partials[run.root] = partial;
    overParallel(segment, plan, depth + 1, root, lower, upper, [&] {
      for (auto [number, zero] : llvm::enumerate(identitiesOf(root)))
        storeRunning(run.root, number, zero);
    });
  }
  return suspended;
}

/// Adds the partial sums of a block to what there was before.
void NestEmitter::endBlock(const Segment &segment, const NestPlan &plan, unsigned depth,
                           SmallVectorImpl<Running> &running, ArrayRef<Suspended> suspended, Value lower, Value upper) {
  for (auto [run, before] : llvm::zip_equal(running, suspended)) {
    const Root &root = graph.roots[run.root];
    if (!before.isSum)
      continue;
    if (!before.accumulators.empty()) {
      for (auto [number, old] : llvm::enumerate(before.accumulators))
        run.accumulators[number] = combine(root.reduction, number, old, run.accumulators[number]);
      continue;
    }
    PartialMemory partial = partials[run.root];
    overParallel(segment, plan, depth + 1, root, lower, upper, [&] {
      for (unsigned number = 0; number < root.values.size(); ++number) {
        partials[run.root] = partial;
        Value sum = loadRunning(run.root, number);
        partials[run.root] = before.memory;
        storeRunning(run.root, number, combine(root.reduction, number, loadRunning(run.root, number), sum));
      }
    });
  }
}

/// The loop at `depth` from index `from` to `to`, in blocks of `blocks.front()` iterations that are cut on.
void NestEmitter::blockedNest(const Segment &segment, const NestPlan &plan, unsigned depth, ArrayRef<int64_t> blocks,
                              SmallVectorImpl<Running> &running, Value lower, Value upper, Value from, Value to) {
  if (blocks.empty()) {
    if (plan.loops[depth].steps > 1)
      return steppedNest(segment, plan, depth, running, lower, upper, from, to);
    return plainNest(segment, plan, depth, running, lower, upper, from, to);
  }
  carryingLoop(from, to, blocks.front(), /*parallel=*/false, running, [&](Value first) {
    Value end = arith::AddIOp::create(builder, loc, first, constant(blocks.front()), arith::IntegerOverflowFlags::nsw);
    if (plan.nest.trips[plan.nest.loops[depth]] % blocks.front() != 0)
      end = arith::MinUIOp::create(builder, loc, end, to);
    SmallVector<Suspended> suspended = beginBlock(segment, plan, depth, running, lower, upper);
    blockedNest(segment, plan, depth, blocks.drop_front(), running, lower, upper, first, end);
    endBlock(segment, plan, depth, running, suspended, lower, upper);
  });
}

} // namespace dgc
