//===- GroupNestEmitter.cpp - loop nests by the threads of a group --------------===//

#include "compiler/target/cuda/GroupNestEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace dgc {

//===----------------------------------------------------------------------===//
// Addresses and numbers
//===----------------------------------------------------------------------===//

/// Points that are taken together begin at a multiple of their number: that makes one access of several.
unsigned GroupNestEmitter::alignmentAt(Value memory, AffineExpr linear, Type storage) const {
  if (steps == 1)
    return 0;
  Operation *op = memory.getDefiningOp();
  bool isAligned = alignedRows.contains(memory) || !op ||
                   (isa<LLVM::GEPOp>(op) && isa<BlockArgument>(op->getOperand(0))); // the workspace
  if (!isAligned)
    return 0;
  int64_t width = llvm::divideCeil(storage.getIntOrFloatBitWidth(), 8);
  return std::min<int64_t>(alignmentOf(linear, steppedDim, steps, step, width), 16);
}

/// Of points that are taken together, all addresses are that of the first and a constant, for LLVM to see that.
Value GroupNestEmitter::addressOf(Value memory, Type storage, AffineExpr linear) {
  AffineExpr dim = getAffineDimExpr(steppedDim, context);
  auto distance = steps == 1 || step == 0
                      ? AffineConstantExpr()
                      : dyn_cast<AffineConstantExpr>(simplify(linear.replace(dim, dim + step) - linear));
  if (!distance)
    return ElementEmitter::addressOf(memory, storage, linear);
  llvm::SaveAndRestore<Value> first(dims[steppedDim], steppedFrom);
  Value address = ElementEmitter::addressOf(memory, storage, linear);
  return LLVM::GEPOp::create(builder, loc, pointer, storage, address,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(distance.getValue())});
}

/// The indices of loops, the last one fastest, from a number that counts their points, `vector` of the last at a time.
void GroupNestEmitter::bindLinear(ArrayRef<unsigned> loops, ArrayRef<int64_t> trips, Value linear, int64_t vector) {
  for (size_t i = loops.size(); i-- > 0;) {
    bool isLast = i + 1 == loops.size();
    int64_t size = isLast ? llvm::divideCeil(trips[i], vector) : trips[i];
    Value at = i == 0 ? linear : modulo(linear, size);
    if (isLast && vector > 1)
      at = arith::MulIOp::create(builder, loc, at, constant(vector), arith::IntegerOverflowFlags::nsw);
    bind(loops[i], at);
    if (i > 0)
      linear = divide(linear, size);
  }
}

/// The dimensions that a nest has no loop for have index 0.
void GroupNestEmitter::bindInner(const LoopNest &nest, ArrayRef<unsigned> bound) {
  for (unsigned dim = 0; dim < nest.space.size(); ++dim)
    if (!llvm::is_contained(bound, dim))
      bind(dim, constant(0));
}

Value GroupNestEmitter::plus(Value a, Value b) {
  return arith::AddIOp::create(builder, loc, a, b, arith::IntegerOverflowFlags::nsw);
}

Value GroupNestEmitter::times(Value a, int64_t b) {
  return arith::MulIOp::create(builder, loc, a, constant(b), arith::IntegerOverflowFlags::nsw);
}

Value GroupNestEmitter::below(Value a, int64_t b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, constant(b));
}

Value GroupNestEmitter::atMost(Value a, int64_t b) { return arith::MinUIOp::create(builder, loc, a, constant(b)); }

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

/// The loops of a nest by one thread.
void GroupNestEmitter::serial(const Segment &segment, const NestPlan &plan) {
  const LoopNest &nest = plan.nest;
  SmallVector<unsigned> bound;
  for (unsigned dim = 0; dim < nest.space.size(); ++dim)
    if (!llvm::is_contained(nest.loops, dim))
      bound.push_back(dim);
  SmallVector<Running> running;
  for (unsigned root : nest.roots) {
    running.push_back({root, {}});
    if (graph.roots[root].reduction && isInMemory(nest, graph.roots[root]))
      initialise(segment, plan, root, {}, {});
  }
  bindInner(nest, bound);
  emitLoopsFrom(segment, plan, 0, running, {}, {});
}

void GroupNestEmitter::emitGroupNest(const Segment &segment, const GroupNestPlan &plan) {
  bindInner(plan.nest, geometry.outer);
  switch (plan.form) {
  case GroupNestPlan::Form::Once:
    return onceForAll(plan.nest);
  case GroupNestPlan::Form::Cooperate:
    return cooperate(plan);
  case GroupNestPlan::Form::FirstThread: {
    Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, constant(0));
    return when(first, [&] { serial(segment, plan.inner); });
  }
  case GroupNestPlan::Form::InTurn:
    break;
  }
  auto savedGroups = groups;
  Value count = constant(sizeOf(plan.commonTrips));
  scf::ForOp loopOp = loop(lane, count, {}, /*parallel=*/false, geometry.groupSize);
  bindLinear(plan.common, plan.commonTrips, loopOp.getInductionVar(), 1);
  serial(segment, plan.inner);
  scf::YieldOp::create(builder, loc);
  closeLoop();
  groups = savedGroups;
}

/// A nest without loops, such as the logarithm of the sum of a row: all threads know the value, one stores it.
void GroupNestEmitter::onceForAll(const LoopNest &nest) {
  bindInner(nest, geometry.outer);
  SmallVector<Value> values;
  for (unsigned root : nest.roots)
    values.push_back(elementwise(graph.roots[root]));
  Value first = below(lane, 1);
  llvm::SaveAndRestore<Value> guard(storeOnlyIf, first);
  for (auto [number, value] : llvm::zip_equal(nest.roots, values))
    storeEverywhere(graph.roots[number].values.front(), graph.roots[number].indices.front(), value);
}

//===----------------------------------------------------------------------===//
// Points of a group
//===----------------------------------------------------------------------===//

/// One item. `isValid`: is there such an item, or is it computed for nothing? Null: there is. `known`: what was known
/// of its points before, and is then.
void GroupNestEmitter::item(const ItemRange &range, Value at, Value isValid, SmallVectorImpl<Running> &running,
                            Known *known, SmallVectorImpl<Pending> &pending) {
  enter(scopes[current].block); // it continues the block, with elements of its own
  // Without loops the indices of a point are known further out, where what its roots compute is not.
  llvm::SaveAndRestore<unsigned> innermost(floor, range.loops.empty() ? current : floor);
  bindLinear(range.loops, range.trips, at, range.vector);
  steps = range.vector;
  if (!range.loops.empty()) {
    steppedDim = range.loops.back();
    if (range.begin > 0)
      bind(steppedDim, plus(dims[steppedDim], constant(range.begin)));
    steppedFrom = dims[steppedDim];
  }
  for (step = 0; step < steps; ++step) {
    scopes[current].values = known ? known[step] : Known();
    if (steps > 1)
      bind(steppedDim, plus(steppedFrom, constant(step)));
    SmallVector<SmallVector<Value>> before;
    for (Running &run : running)
      before.push_back(run.accumulators);
    SmallVector<Store> stores = point(running);
    if (isValid)
      for (auto [run, old] : llvm::zip_equal(running, before))
        for (auto [now, then] : llvm::zip_equal(run.accumulators, old))
          now = arith::SelectOp::create(builder, loc, isValid, now, then);
    if (!stores.empty())
      pending.push_back({dims, steppedFrom, step, std::move(stores)});
    if (known)
      known[step] = scopes[current].values;
  }
  step = 0;
  steps = 1;
  leave();
}

/// Stores what was computed. Nothing was stored between, so all that is read for it may be on its way together.
void GroupNestEmitter::storeAll(int64_t vector, ArrayRef<Pending> pending, Value isValid) {
  if (pending.empty())
    return;
  OpBuilder::InsertionGuard insertion(builder);
  if (isValid) {
    auto branch = scf::IfOp::create(builder, loc, isValid, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  steps = vector;
  // One value after the other, as neighbours become one access only where nothing is stored between them.
  for (size_t i = 0; i < pending.front().stores.size(); ++i)
    for (const Pending &each : pending) {
      dims = each.dims;
      steppedFrom = each.first;
      step = each.step;
      const Store &store = each.stores[i];
      storeEverywhere(store.value, store.index, store.scalar);
    }
  step = 0;
  steps = 1;
}

/// All items of a thread one after the other. `next`: where the known values of their points are kept, and of the following ones.
void GroupNestEmitter::emitResident(const ItemRange &range, size_t &next, SmallVectorImpl<Running> &running) {
  int64_t chunks = llvm::divideCeil(range.items, geometry.groupSize);
  size_t first = next;
  next += chunks * range.vector;
  kept.resize(std::max(kept.size(), next));
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    Value at = chunk == 0 ? lane : plus(lane, constant(chunk * geometry.groupSize)), isValid;
    if ((chunk + 1) * geometry.groupSize > range.items) {
      isValid = below(at, range.items);
      at = atMost(at, range.items - 1);
    }
    SmallVector<Pending> pending;
    item(range, at, isValid, running, &kept[first + chunk * range.vector], pending);
    storeAll(range.vector, pending, isValid);
  }
}

void GroupNestEmitter::emitRangeLoop(const ItemRange &range, Value from, Value to, int64_t unroll,
                                     SmallVectorImpl<Running> &running) {
  carryingLoop(from, to, geometry.groupSize * unroll, /*parallel=*/true, running, [&](Value index) {
    SmallVector<Pending> pending;
    std::vector<Known> known(online.empty() ? 0 : unroll * range.vector);
    auto each = [&](SmallVectorImpl<Running> &some) {
      for (int64_t i = 0; i < unroll; ++i)
        item(range, i == 0 ? index : plus(index, constant(i * geometry.groupSize)), {}, some,
             known.empty() ? nullptr : &known[i * range.vector], pending);
    };
    if (online.empty())
      each(running);
    else
      itemsOnline(running, each);
    storeAll(range.vector, pending, {});
  });
}

/// The items from `from` to `to` in blocks that are cut on, of so many iterations each: the sums of a thread are
/// partial sums of a block and are added up when it ends.
void GroupNestEmitter::emitRangeBlocks(const ItemRange &range, Value from, Value to, int64_t unroll,
                                       ArrayRef<int64_t> blocks, SmallVectorImpl<Running> &running) {
  if (blocks.empty())
    return emitRangeLoop(range, from, to, unroll, running);
  int64_t size = blocks.front() * geometry.groupSize * unroll;
  carryingLoop(from, to, size, /*parallel=*/false, running, [&](Value first) {
    Value left = arith::SubIOp::create(builder, loc, to, first);
    Value end = plus(first, atMost(left, size));
    SmallVector<Running> before(running.begin(), running.end());
    for (Running &run : running)
      if (isFloatSum(graph.roots[run.root]))
        run.accumulators.assign(run.accumulators.size(), identitiesOf(graph.roots[run.root]).front());
    emitRangeBlocks(range, first, end, unroll, blocks.drop_front(), running);
    auto maximumIn = [&](ArrayRef<Running> all, const Running &run) {
      auto sum = online.find(run.root);
      if (sum == online.end())
        return Value();
      return llvm::find_if(all, [&](const Running &other) { return other.root == sum->second.maximum; })
          ->accumulators.front();
    };
    for (auto [run, old] : llvm::zip_equal(running, before))
      if (isFloatSum(graph.roots[run.root]))
        addBlock(old, maximumIn(before, run), maximumIn(running, run), run);
  });
}

/// The items of the group, or of its part of them: some at a time, and what is left one by one.
void GroupNestEmitter::emitRange(const ItemRange &range, SmallVectorImpl<Running> &running) {
  int64_t unroll = range.unroll, tile = geometry.groupSize * unroll;
  if (geometry.parts == 1) {
    int64_t whole = range.items / tile * tile;
    if (whole > 0)
      emitRangeBlocks(range, lane, constant(whole), unroll, range.blocks, running);
    if (whole < range.items)
      emitRangeLoop(range, plus(lane, constant(whole)), constant(range.items), 1, running);
    return;
  }
  int64_t each = llvm::divideCeil(range.items, geometry.parts);
  Value begin = atMost(times(part, each), range.items);
  Value end = atMost(plus(begin, constant(each)), range.items);
  Value count = arith::SubIOp::create(builder, loc, end, begin);
  Value whole = plus(begin, times(divide(count, tile), tile));
  if (each >= tile)
    emitRangeBlocks(range, plus(begin, lane), whole, unroll, range.blocks, running);
  if (unroll > 1 || each % tile != 0 || range.items % each != 0)
    emitRangeLoop(range, plus(whole, lane), end, 1, running);
}

/// The running values of the threads as one, in an order that is always the same; all threads know the result.
void GroupNestEmitter::join(ArrayRef<Running> running) {
  llvm::SmallDenseMap<unsigned, std::pair<Value, Value>> maxima; // of the thread, and of all
  Value first = below(lane, 1);
  if (storeOnlyIf)
    first = arith::AndIOp::create(builder, loc, first, storeOnlyIf);
  for (const Running &run : running) {
    const Root &root = graph.roots[run.root];
    linalg::LinalgOp op = root.reduction;
    for (unsigned i = 0; op && i < root.values.size(); ++i) {
      Value own = run.accumulators[i];
      auto sum = online.find(run.root);
      auto [most, mostOfAll] = sum == online.end() ? std::pair<Value, Value>() : maxima.lookup(sum->second.maximum);
      if (most)
        own = forAll(run, most, mostOfAll);
      Value total = reduceAcrossGroup(op, i, own);
      llvm::SaveAndRestore<Value> guard(storeOnlyIf, first);
      if (geometry.parts > 1) {
        storePartial(root.values[i], total);
        continue;
      }
      total = combine(op, i, element(op.getDpsInits()[i], root.indices[i]), total);
      if (!online.empty())
        maxima[run.root] = {run.accumulators[i], total};
      storeEverywhere(root.values[i], root.indices[i], total);
      remember(root.values[i], root.indices[i], total);
    }
  }
}

/// The threads of a group take the points of a nest in turn. Each has a running value for each reduction; these are
/// joined at the end.
void GroupNestEmitter::cooperate(const GroupNestPlan &plan) {
  const LoopNest &nest = plan.nest;
  bindInner(nest, geometry.outer);
  online = plan.online;
  SmallVector<Running> running;
  for (unsigned number : nest.roots) {
    running.push_back({number, {}});
    const Root &root = graph.roots[number];
    for (unsigned i = 0; root.reduction && i < root.values.size(); ++i)
      running.back().accumulators.push_back(
          arith::ConstantOp::create(builder, loc, identityOf(combinerOf(root.reduction, i))));
    if (auto sum = online.find(number); sum != online.end() && sum->second.condition)
      running.back().accumulators.push_back(running.back().accumulators[0]); // how many there are
  }
  size_t next = 0;
  for (const ItemRange &range : plan.ranges) {
    if (geometry.resident)
      emitResident(range, next, running);
    else
      emitRange(range, running);
  }
  bindInner(nest, geometry.outer);
  join(running);
}

} // namespace dgc
