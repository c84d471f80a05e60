//===- CooperativeNest.cpp - a nest whose points threads take in turn -------===//

#include "compiler/target/cuda/CooperativeNest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace dgc {

/// The point of one of the adjacent columns of a thread, whose running values are those from `number` of all columns on.
void CooperativeNest::column(int64_t number, SmallVectorImpl<Running> &running,
                             SmallVectorImpl<PendingStores> &pending) {
  Steps &steps = code.steps;
  steps.current = number;
  code.scopes[code.current].values.clear();
  code.bind(steps.dim, number == 0 ? firstColumn : code.plus(firstColumn, code.constant(number)));
  SmallVector<Running> own;
  for (const Running &run : running) {
    size_t count = graph.roots[run.root].reduction ? graph.roots[run.root].values.size() : 0;
    ArrayRef<Value> values = ArrayRef<Value>(run.accumulators).slice(number * count, count);
    own.push_back({run.root, SmallVector<Value>(values), {}});
  }
  SmallVector<Store> stores = nests.point(own);
  for (auto [run, mine] : llvm::zip_equal(running, own))
    llvm::copy(mine.accumulators, run.accumulators.begin() + number * mine.accumulators.size());
  if (!stores.empty())
    pending.push_back({code.dims, steps.first, number, std::move(stores)});
}

/// One item. `isValid`: is there such an item, or is it computed for nothing? Null: there is. `known`: what was known
/// of its points before, and is then.
void CooperativeNest::item(const ItemRange &range, Value at, Value isValid, SmallVectorImpl<Running> &running,
                           Known *known, SmallVectorImpl<PendingStores> &pending) {
  code.enter(code.scopes[code.current].block); // it continues the block, with elements of its own
  // Without loops the indices of a point are known further out, where what its roots compute is not.
  llvm::SaveAndRestore<unsigned> innermost(code.floor, range.loops.empty() ? code.current : code.floor);
  grid.bindLinear(range.loops, range.trips, at, range.vector);
  Steps &steps = code.steps;
  if (firstColumn) {
    steps = {geometry.outer.back(), firstColumn, geometry.vector, 0};
    for (int64_t number = 0; number < geometry.vector; ++number)
      column(number, running, pending);
    steps.current = 0;
    steps.count = 1;
    return code.leave();
  }
  steps.count = range.vector;
  llvm::SaveAndRestore<SmallVector<Bound>> within(code.within, range.within);
  if (!range.loops.empty()) {
    steps.dim = range.loops.back();
    if (range.begin > 0)
      code.bind(steps.dim, code.plus(code.dims[steps.dim], code.constant(range.begin)));
    steps.first = code.dims[steps.dim];
  }
  auto reduceBy = [&](const Root &root, Running &run) { online.reduce(root, run); };
  for (steps.current = 0; steps.current < steps.count; ++steps.current) {
    code.scopes[code.current].values = known ? known[steps.current] : Known();
    if (steps.count > 1)
      code.bind(steps.dim, code.plus(steps.first, code.constant(steps.current)));
    SmallVector<SmallVector<Value>> before;
    for (Running &run : running)
      before.push_back(run.accumulators);
    SmallVector<Store> stores = nests.point(running, reduceBy);
    if (isValid)
      for (auto [run, old] : llvm::zip_equal(running, before))
        for (auto [now, then] : llvm::zip_equal(run.accumulators, old))
          now = arith::SelectOp::create(builder, loc, isValid, now, then);
    if (!stores.empty())
      pending.push_back({code.dims, steps.first, steps.current, std::move(stores)});
    if (known)
      known[steps.current] = code.scopes[code.current].values;
  }
  steps.current = 0;
  steps.count = 1;
  code.leave();
}

/// All items of a thread one after the other. `next`: where the known values of their points are kept, and of the
/// following ones.
void CooperativeNest::emitResident(const ItemRange &range, size_t &next, SmallVectorImpl<Running> &running) {
  int64_t chunks = llvm::divideCeil(range.items, geometry.groupSize);
  size_t first = next;
  next += chunks * range.vector;
  kept.resize(std::max(kept.size(), next));
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    Value at = chunk == 0 ? group.lane : code.plus(group.lane, code.constant(chunk * geometry.groupSize)), isValid;
    if ((chunk + 1) * geometry.groupSize > range.items) {
      isValid = code.below(at, range.items);
      at = code.atMost(at, range.items - 1);
    }
    SmallVector<PendingStores> pending;
    item(range, at, isValid, running, &kept[first + chunk * range.vector], pending);
    storeAll(code, range.vector, pending, isValid);
  }
}

void CooperativeNest::emitRangeLoop(const ItemRange &range, Value from, Value to, int64_t unroll,
                                    SmallVectorImpl<Running> &running) {
  nests.carryingLoop(from, to, geometry.groupSize * unroll, /*parallel=*/true, running, [&](Value index) {
    SmallVector<PendingStores> pending;
    std::vector<Known> known(sums.empty() ? 0 : unroll * range.vector);
    auto each = [&](SmallVectorImpl<Running> &some) {
      for (int64_t i = 0; i < unroll; ++i)
        item(range, i == 0 ? index : code.plus(index, code.constant(i * geometry.groupSize)), {}, some,
             known.empty() ? nullptr : &known[i * range.vector], pending);
    };
    if (sums.empty())
      each(running);
    else
      online.items(running, each);
    storeAll(code, firstColumn ? geometry.vector : range.vector, pending, {});
  });
}

/// The items from `from` to `to` in blocks that are cut on, of so many iterations each: the sums of a thread are
/// partial sums of a block and are added up when it ends.
void CooperativeNest::emitRangeBlocks(const ItemRange &range, Value from, Value to, int64_t unroll,
                                      ArrayRef<int64_t> blocks, SmallVectorImpl<Running> &running) {
  if (blocks.empty())
    return emitRangeLoop(range, from, to, unroll, running);
  int64_t size = blocks.front() * geometry.groupSize * unroll;
  nests.carryingLoop(from, to, size, /*parallel=*/false, running, [&](Value first) {
    Value left = arith::SubIOp::create(builder, loc, to, first);
    Value end = code.plus(first, code.atMost(left, size));
    SmallVector<Running> before(running.begin(), running.end());
    for (Running &run : running)
      if (isFloatSum(graph.roots[run.root]))
        run.accumulators.assign(run.accumulators.size(), identitiesOf(builder, loc, graph.roots[run.root]).front());
    emitRangeBlocks(range, first, end, unroll, blocks.drop_front(), running);
    auto maximumIn = [&](ArrayRef<Running> all, const Running &run) {
      auto sum = sums.find(run.root);
      if (sum == sums.end())
        return Value();
      return llvm::find_if(all, [&](const Running &other) { return other.root == sum->second.maximum; })
          ->accumulators.front();
    };
    for (auto [run, old] : llvm::zip_equal(running, before))
      if (isFloatSum(graph.roots[run.root]))
        online.addBlock(old, maximumIn(before, run), maximumIn(running, run), run);
  });
}

/// The items of the group, or of its part of them: some at a time, and what is left one by one.
void CooperativeNest::emitRange(const ItemRange &range, SmallVectorImpl<Running> &running) {
  int64_t unroll = range.unroll, tile = geometry.groupSize * unroll;
  if (geometry.parts == 1) {
    int64_t whole = range.items / tile * tile;
    if (whole > 0)
      emitRangeBlocks(range, group.lane, code.constant(whole), unroll, range.blocks, running);
    if (whole < range.items)
      emitRangeLoop(range, code.plus(group.lane, code.constant(whole)), code.constant(range.items), 1, running);
    return;
  }
  int64_t each = llvm::divideCeil(range.items, geometry.parts);
  Value begin = code.atMost(code.times(parts.part, each), range.items);
  Value end = code.atMost(code.plus(begin, code.constant(each)), range.items);
  Value count = arith::SubIOp::create(builder, loc, end, begin);
  Value whole = code.plus(begin, code.times(code.divide(count, tile), tile));
  if (each >= tile)
    emitRangeBlocks(range, code.plus(begin, group.lane), whole, unroll, range.blocks, running);
  if (unroll > 1 || each % tile != 0 || range.items % each != 0)
    emitRangeLoop(range, code.plus(whole, group.lane), end, 1, running);
}

/// The running values of the threads as one, in an order that is always the same; all threads know the result.
void CooperativeNest::join(ArrayRef<Running> running) {
  llvm::SmallDenseMap<unsigned, std::pair<Value, Value>> maxima; // of the thread, and of all
  Value first = code.below(group.lane, 1);
  if (code.storeOnlyIf)
    first = arith::AndIOp::create(builder, loc, first, code.storeOnlyIf);
  for (const Running &run : running) {
    const Root &root = graph.roots[run.root];
    linalg::LinalgOp op = root.reduction;
    for (unsigned i = 0; op && i < root.values.size(); ++i) {
      Value own = run.accumulators[i];
      auto sum = sums.find(run.root);
      auto [most, mostOfAll] = sum == sums.end() ? std::pair<Value, Value>() : maxima.lookup(sum->second.maximum);
      if (most)
        own = online.forAll(run, most, mostOfAll);
      Value total = group.reduce(op, i, own);
      llvm::SaveAndRestore<Value> guard(code.storeOnlyIf, first);
      if (geometry.parts > 1) {
        parts.store(root.values[i], total);
        continue;
      }
      total = combine(builder, op, i, code.element(op.getDpsInits()[i], root.indices[i]), total);
      if (!sums.empty())
        maxima[run.root] = {run.accumulators[i], total};
      code.storeEverywhere(root.values[i], root.indices[i], total);
      code.remember(root.values[i], root.indices[i], total);
    }
  }
}

/// The running values of the threads of each column as one, in the order of the threads: a thread for each column.
void CooperativeNest::joinColumns(ArrayRef<Running> running) {
  const int64_t columns = geometry.columnsPerBlock();
  int64_t bytes = 0;
  for (const Running &run : running)
    for (Value value : graph.roots[run.root].values)
      if (graph.roots[run.root].reduction)
        bytes = std::max<int64_t>(bytes, llvm::divideCeil(elementOf(value).getIntOrFloatBitWidth(), 8));
  if (bytes == 0)
    return;
  Value memory = group.shared("columns", builder.getI8Type(), bytes * columns * geometry.groupSize);
  Value isMine = columns < geometry.block ? code.below(group.thread, columns) : Value();
  const AffineExpr thread = code.symbolFor(group.thread);
  if (geometry.points % columns != 0) {
    Value is = code.below(code.plus(parts.point, group.thread), geometry.points);
    isMine = isMine ? arith::AndIOp::create(builder, loc, isMine, is) : is;
  }
  llvm::SaveAndRestore<Value> everywhere(code.storeOnlyIf, Value());
  bool isFirst = true;
  for (const Running &run : running) {
    const Root &root = graph.roots[run.root];
    linalg::LinalgOp op = root.reduction;
    for (unsigned i = 0; op && i < root.values.size(); ++i) {
      Type type = elementOf(root.values[i]);
      if (!std::exchange(isFirst, false))
        group.blockBarrier(); // for what was read of the value before
      for (int64_t number = 0; number < geometry.vector; ++number)
        code.store(run.accumulators[number * root.values.size() + i], memory, thread * geometry.vector + number, type);
      group.blockBarrier();
      code.when(isMine, [&] {
        Value total = code.load(memory, type, thread);
        for (int64_t row = 1; row < geometry.groupSize; ++row)
          total = combine(builder, op, i, total, code.load(memory, type, thread + row * columns));
        llvm::SaveAndRestore<Value> point(parts.point, code.plus(parts.point, group.thread));
        if (geometry.parts > 1)
          return parts.store(root.values[i], total);
        grid.bindLinear(geometry.outer, geometry.trips, parts.point, 1);
        total = combine(builder, op, i, code.element(op.getDpsInits()[i], root.indices[i]), total);
        code.storeEverywhere(root.values[i], root.indices[i], total);
      });
    }
  }
}

/// The threads of a group take the points of a nest in turn. Each has a running value for each reduction; these are
/// joined at the end.
void CooperativeNest::emit() {
  const LoopNest &nest = plan.nest;
  grid.bindInner(nest, geometry.outer);
  SmallVector<Running> running;
  if (geometry.columns && geometry.vector > 1)
    firstColumn = code.dims[geometry.outer.back()];
  for (unsigned number : nest.roots) {
    running.push_back({number, {}});
    const Root &root = graph.roots[number];
    for (int64_t column = 0; column < (firstColumn ? geometry.vector : 1); ++column)
      for (unsigned i = 0; root.reduction && i < root.values.size(); ++i)
        running.back().accumulators.push_back(
            arith::ConstantOp::create(builder, loc, identityOf(combinerOf(root.reduction, i))));
    if (auto sum = sums.find(number); sum != sums.end() && sum->second.condition)
      running.back().accumulators.push_back(running.back().accumulators[0]); // how many there are
  }
  size_t next = 0;
  for (const ItemRange &range : plan.ranges) {
    if (geometry.resident)
      emitResident(range, next, running);
    else
      emitRange(range, running);
  }
  grid.bindInner(nest, geometry.outer);
  if (geometry.columns)
    joinColumns(running);
  else
    join(running);
}

} // namespace dgc
