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

/// The running value of result `number` of a root where that is in memory, at the current point.
Value NestEmitter::loadRunning(unsigned root, unsigned number) {
  Value value = graph.roots[root].values[number];
  const PartialMemory &partial = partials[root];
  if (partial.memory.empty())
    return code.load(code.baseOf(value), elementOf(value), code.positionIn(value, graph.roots[root].indices[number]));
  llvm::SaveAndRestore inner(code.groups,
                             SmallVector<LLVM::AccessGroupAttr>(llvm::drop_begin(code.groups, partial.outerGroups)));
  return code.load(partial.memory[number], elementOf(value), partial.linear);
}

void NestEmitter::storeRunning(unsigned root, unsigned number, Value scalar) {
  Value value = graph.roots[root].values[number];
  const PartialMemory &partial = partials[root];
  if (partial.memory.empty())
    return code.storeEverywhere(value, graph.roots[root].indices[number], scalar);
  llvm::SaveAndRestore inner(code.groups,
                             SmallVector<LLVM::AccessGroupAttr>(llvm::drop_begin(code.groups, partial.outerGroups)));
  code.store(scalar, partial.memory[number], partial.linear, elementOf(value));
}

/// Memory for the partial sums of a block of the loop at `depth`.
NestEmitter::PartialMemory NestEmitter::partialMemory(const LoopNest &nest, unsigned depth, const PartialSums &sums) {
  const Root &root = graph.roots[sums.root];
  PartialMemory partial;
  partial.linear = getAffineConstantExpr(0, code.context);
  partial.outerGroups = code.groups.size();
  for (unsigned dim : ArrayRef<unsigned>(nest.loops).drop_front(depth + 1))
    if (root.parallel.test(dim))
      partial.linear = partial.linear * nest.trips[dim] + getAffineDimExpr(dim, code.context);
  for (Value value : root.values)
    partial.memory.push_back(code.scratch(code.storageOf(elementOf(value)), sums.elements));
  return partial;
}

/// Begins partial sums for all that the loop at `depth` adds up.
SmallVector<NestEmitter::Suspended> NestEmitter::beginBlock(const Part &part, unsigned depth,
                                                            SmallVectorImpl<Running> &running) {
  SmallVector<Suspended> suspended(running.size());
  for (auto [run, before] : llvm::zip_equal(running, suspended)) {
    const Root &root = graph.roots[run.root];
    if (!isFloatSum(root) || root.parallel.test(part.plan.nest.loops[depth]))
      continue;
    if (!run.accumulators.empty()) {
      before = {true, run.accumulators, {}};
      run.accumulators = identitiesOf(builder, loc, root);
      continue;
    }
    ArrayRef<PartialSums> planned = part.plan.loops[depth].partials;
    auto sums = llvm::find_if(planned, [&](const PartialSums &each) { return each.root == run.root; });
    if (sums == planned.end())
      continue;
    PartialMemory partial = partialMemory(part.plan.nest, depth, *sums);
    before = {true, {}, partials[run.root]};
    partials[run.root] = partial;
    overParallel(part, depth + 1, root, [&] {
      for (auto [number, zero] : llvm::enumerate(identitiesOf(builder, loc, root)))
        storeRunning(run.root, number, zero);
    });
  }
  return suspended;
}

/// Adds the partial sums of a block to what there was before.
void NestEmitter::endBlock(const Part &part, unsigned depth, SmallVectorImpl<Running> &running,
                           ArrayRef<Suspended> suspended) {
  for (auto [run, before] : llvm::zip_equal(running, suspended)) {
    const Root &root = graph.roots[run.root];
    if (!before.isSum)
      continue;
    if (!before.accumulators.empty()) {
      for (auto [number, old] : llvm::enumerate(before.accumulators))
        run.accumulators[number] = combine(builder, root.reduction, number, old, run.accumulators[number]);
      continue;
    }
    PartialMemory partial = partials[run.root];
    overParallel(part, depth + 1, root, [&] {
      for (unsigned number = 0; number < root.values.size(); ++number) {
        partials[run.root] = partial;
        Value sum = loadRunning(run.root, number);
        partials[run.root] = before.memory;
        storeRunning(run.root, number, combine(builder, root.reduction, number, loadRunning(run.root, number), sum));
      }
    });
  }
}

/// The loop at `depth` from index `from` to `to`, in blocks of `blocks.front()` iterations that are cut on.
void NestEmitter::blockedLoop(const Part &part, unsigned depth, ArrayRef<int64_t> blocks,
                              SmallVectorImpl<Running> &running, Value from, Value to) {
  if (blocks.empty()) {
    if (part.plan.loops[depth].steps > 1)
      return steppedLoop(part, depth, running, from, to);
    return plainLoop(part, depth, running, from, to);
  }
  carryingLoop(from, to, blocks.front(), /*parallel=*/false, running, [&](Value first) {
    Value end =
        arith::AddIOp::create(builder, loc, first, code.constant(blocks.front()), arith::IntegerOverflowFlags::nsw);
    if (part.plan.nest.trips[part.plan.nest.loops[depth]] % blocks.front() != 0)
      end = arith::MinUIOp::create(builder, loc, end, to);
    SmallVector<Suspended> suspended = beginBlock(part, depth, running);
    blockedLoop(part, depth, blocks.drop_front(), running, first, end);
    endBlock(part, depth, running, suspended);
  });
}

} // namespace dgc
