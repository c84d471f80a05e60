//===- NestEmitter.cpp - loop nests -------------------------------===//

#include "compiler/codegen/NestEmitter.h"
#include "compiler/codegen/Combiner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dgc {

/// A loop with the given carried values, entered. `parallel`: no iteration depends on memory that another one writes.
scf::ForOp NestEmitter::loop(Value lower, Value upper, ValueRange init, bool parallel, int64_t step) {
  auto loopOp = scf::ForOp::create(builder, loc, lower, upper, constant(step), init);
  if (parallel) {
    auto group = LLVM::AccessGroupAttr::get(context, DistinctAttr::create(builder.getUnitAttr()));
    groups.push_back(group);
    loopOp->setAttr("loop_annotation", LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                                                                     {}, {}, {}, {}, {group}));
  }
  if (init.empty())
    loopOp.getBody()->getTerminator()->erase();
  scopes[current].before = loopOp;
  enter(loopOp.getBody());
  return loopOp;
}

void NestEmitter::bind(unsigned dim, Value index) {
  dims[dim] = index;
  dimLevel[dim] = current;
}

void NestEmitter::closeLoop() {
  leave();
  scopes[current].before = nullptr;
  moveTo(current);
}

/// Loops over the parallel dimensions that a root has among the loops from `depth` inwards.
void NestEmitter::overParallel(const Segment &segment, const NestPlan &plan, unsigned depth, const Root &root,
                               Value lower, Value upper, llvm::function_ref<void()> inside) {
  unsigned opened = 0;
  auto savedGroups = groups;
  for (unsigned dim : ArrayRef<unsigned>(plan.nest.loops).drop_front(depth)) {
    if (!root.parallel.test(dim))
      continue;
    bool isSplit = segment.splitLoop == int64_t(dim) && lower;
    scf::ForOp loopOp = loop(isSplit ? lower : constant(0), isSplit ? upper : constant(plan.nest.trips[dim]), {}, true);
    bind(dim, loopOp.getInductionVar());
    ++opened;
  }
  inside();
  for (; opened > 0; --opened) {
    scf::YieldOp::create(builder, loc);
    closeLoop();
  }
  groups = savedGroups;
}

/// Writes the initial value of a reduction whose running value is in memory.
void NestEmitter::initialise(const Segment &segment, const NestPlan &plan, unsigned number, Value lower, Value upper) {
  const Root &root = graph.roots[number];
  overParallel(segment, plan, 0, root, lower, upper, [&] {
    linalg::LinalgOp op = root.reduction;
    for (auto [value, index, init] : llvm::zip_equal(root.values, root.indices, op.getDpsInits()))
      storeEverywhere(value, index, element(init, index));
  });
}

/// The value of an elementwise root at the current point; others of the nest may use it.
Value NestEmitter::elementwise(const Root &root) {
  Value value = root.values.front();
  Index index = normalize(value, root.indices.front());
  Value result = lookup(keyOf(value, index));
  if (!result)
    result = definition(value, index);
  remember(value, index, result);
  return result;
}

/// One step of a reduction. Where the running value is in memory, the addends of a sum are left to `points`, which adds
/// them up before it adds them to that value; any other reduction loads it.
void NestEmitter::reduce(const Root &root, Running &run) {
  Index point = pointOf(context, root.space), loops;
  for (unsigned dim : root.loopOfDim)
    loops.push_back(point[dim]);
  if (run.accumulators.empty() && isFloatSum(root)) {
    run.addends.resize(root.values.size());
    for (auto [number, addends] : llvm::enumerate(run.addends))
      addends.push_back(body(root.reduction, loops, identitiesOf(root), addendOf(root.reduction, number)).front());
    return;
  }
  if (run.accumulators.empty())
    for (unsigned number = 0; number < root.values.size(); ++number)
      run.accumulators.push_back(loadRunning(run.root, number));
  run.accumulators = body(root.reduction, loops, run.accumulators);
}

/// The innermost body for one point; what is to be stored is left to the caller.
SmallVector<NestEmitter::Store> NestEmitter::point(SmallVectorImpl<Running> &running) {
  SmallVector<Store> stores;
  for (Running &run : running) {
    const Root &root = graph.roots[run.root];
    if (root.reduction)
      reduce(root, run);
    else
      stores.push_back({root.values.front(), root.indices.front(), elementwise(root)});
  }
  return stores;
}

/// The innermost body: everything is computed before anything is stored.
void NestEmitter::points(const LoopNest &nest, SmallVectorImpl<Running> &running) {
  SmallVector<std::pair<Value, SmallVector<Store>>> all; // with the index of the step
  for (step = 0; step < steps; ++step) {
    if (steps > 1) {
      scopes[current].values.clear();
      bind(steppedDim,
           arith::AddIOp::create(builder, loc, steppedFrom, constant(step), arith::IntegerOverflowFlags::nsw));
    }
    all.push_back({dims[steppedDim], point(running)});
  }
  // One value after the other, as neighbours may become one access only where nothing is stored between them.
  for (size_t i = 0; i < all.front().second.size(); ++i) {
    step = 0;
    for (auto &[index, stores] : all) {
      dims[steppedDim] = index;
      storeEverywhere(stores[i].value, stores[i].index, stores[i].scalar);
      ++step;
    }
  }
  step = 0;
  for (Running &run : running) {
    const Root &root = graph.roots[run.root];
    if (!root.reduction || !isInMemory(nest, root) || lastParallel(nest, root) != nest.loops.size())
      continue;
    for (auto [number, addends] : llvm::enumerate(run.addends))
      run.accumulators.push_back(
          combine(root.reduction, number, loadRunning(run.root, number), totalOf(root.reduction, number, addends)));
    for (auto [number, accumulator] : llvm::enumerate(run.accumulators))
      storeRunning(run.root, number, accumulator);
    run.accumulators.clear();
    run.addends.clear();
  }
}

/// The two innermost loops when several steps of the outer one are taken at a time.
void NestEmitter::steppedNest(const Segment &segment, const NestPlan &plan, unsigned depth,
                              SmallVectorImpl<Running> &running, Value lower, Value upper, Value from, Value to) {
  unsigned dim = plan.nest.loops[depth];
  int64_t trips = plan.nest.trips[dim], rows = plan.loops[depth].steps;
  Value most = to;
  if (trips % rows != 0) {
    Value count = arith::SubIOp::create(builder, loc, to, from);
    Value rest = arith::RemUIOp::create(builder, loc, count, constant(rows));
    most = arith::SubIOp::create(builder, loc, to, rest);
  }
  for (auto [first, end, step] : {std::tuple{from, most, rows}, {most, to, int64_t(1)}}) {
    if (first == end)
      continue;
    scf::ForOp outer = loop(first, end, {}, false, step);
    steppedFrom = outer.getInductionVar();
    bind(dim, steppedFrom);
    steppedDim = dim;
    steps = step;
    emitLoopsFrom(segment, plan, depth + 1, running, lower, upper);
    steps = 1;
    scf::YieldOp::create(builder, loc);
    closeLoop();
  }
}

void NestEmitter::carryingLoop(Value from, Value to, int64_t step, bool parallel, SmallVectorImpl<Running> &running,
                               llvm::function_ref<void(Value)> inside) {
  auto accumulators = [&] {
    SmallVector<Value> all;
    for (Running &run : running)
      llvm::append_range(all, run.accumulators);
    return all;
  };
  auto become = [&](ValueRange values) {
    unsigned next = 0;
    for (Running &run : running)
      for (Value &accumulator : run.accumulators)
        accumulator = values[next++];
  };
  SmallVector<Value> carried = accumulators();
  auto savedGroups = groups;
  scf::ForOp loopOp = loop(from, to, carried, parallel && carried.empty(), step);
  become(loopOp.getRegionIterArgs());
  inside(loopOp.getInductionVar());
  scf::YieldOp::create(builder, loc, accumulators());
  closeLoop();
  groups = savedGroups;
  become(loopOp.getResults());
}

/// One loop of a nest, from index `from` to `to`.
void NestEmitter::plainNest(const Segment &segment, const NestPlan &plan, unsigned depth,
                            SmallVectorImpl<Running> &running, Value lower, Value upper, Value from, Value to) {
  unsigned dim = plan.nest.loops[depth];
  bool parallel = llvm::all_of(running, [&](Running &run) { return graph.roots[run.root].parallel.test(dim); });
  carryingLoop(from, to, 1, parallel, running, [&](Value index) {
    bind(dim, index);
    emitLoopsFrom(segment, plan, depth + 1, running, lower, upper);
  });
}

/// The loops of a nest from `depth` inwards.
void NestEmitter::emitLoopsFrom(const Segment &segment, const NestPlan &plan, unsigned depth,
                                SmallVectorImpl<Running> &running, Value lower, Value upper) {
  const LoopNest &nest = plan.nest;
  // Begin the reductions whose parallel loops are all around us.
  SmallVector<Running *> begun;
  for (Running &run : running) {
    const Root &root = graph.roots[run.root];
    if (!root.reduction || lastParallel(nest, root) != depth || depth == nest.loops.size())
      continue;
    begun.push_back(&run);
    linalg::LinalgOp op = root.reduction;
    bool isMemory = isInMemory(nest, root);
    if (isMemory && isFloatSum(root))
      run.accumulators = identitiesOf(root); // added to what is in memory at the end
    else
      for (unsigned v = 0; v < root.values.size(); ++v)
        run.accumulators.push_back(isMemory ? loadRunning(run.root, v) : element(op.getDpsInits()[v], root.indices[v]));
  }
  if (depth == nest.loops.size()) {
    // No reduction loops at all (all of size 1): one step from the initial value.
    for (Running &run : running) {
      const Root &root = graph.roots[run.root];
      if (root.reduction && run.accumulators.empty() && !isInMemory(nest, root)) {
        begun.push_back(&run);
        linalg::LinalgOp op = root.reduction;
        for (unsigned v = 0; v < root.values.size(); ++v)
          run.accumulators.push_back(element(op.getDpsInits()[v], root.indices[v]));
      }
    }
    points(nest, running);
  } else {
    unsigned dim = nest.loops[depth];
    bool isSplit = segment.splitLoop == int64_t(dim) && lower;
    blockedNest(segment, plan, depth, plan.loops[depth].blocks, running, lower, upper, isSplit ? lower : constant(0),
                isSplit ? upper : constant(nest.trips[dim]));
  }
  for (Running *run : begun) {
    const Root &root = graph.roots[run->root];
    bool isMemory = isInMemory(nest, root);
    for (unsigned v = 0; v < root.values.size(); ++v) {
      Value &accumulator = run->accumulators[v];
      if (isMemory && isFloatSum(root))
        accumulator = combine(root.reduction, v, loadRunning(run->root, v), accumulator);
      storeRunning(run->root, v, accumulator);
      if (!isMemory)
        remember(root.values[v], root.indices[v], accumulator);
    }
    run->accumulators.clear();
  }
}

void NestEmitter::emitNest(const Segment &segment, const NestPlan &plan, Value lower, Value upper) {
  const LoopNest &nest = plan.nest;
  auto bindAll = [&] {
    for (unsigned dim = segment.rowDims; dim < nest.space.size(); ++dim)
      bind(dim, constant(0));
  };
  bindAll();
  SmallVector<Running> running;
  for (unsigned root : nest.roots) {
    running.push_back({root, {}});
    if (graph.roots[root].reduction && isInMemory(nest, graph.roots[root]))
      initialise(segment, plan, root, lower, upper);
  }
  bindAll();
  emitLoopsFrom(segment, plan, 0, running, lower, upper);
}

} // namespace dgc
