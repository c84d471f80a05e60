//===- NestEmitter.cpp - loop nests -------------------------------===//

#include "compiler/codegen/NestEmitter.h"
#include "compiler/codegen/Combiner.h"
#include "compiler/codegen/SumBlocks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dgc {

/// Loops over the parallel dimensions that a root has among the loops from `depth` inwards.
void NestEmitter::overParallel(const Part &part, unsigned depth, const Root &root, llvm::function_ref<void()> inside) {
  unsigned opened = 0;
  auto savedGroups = code.groups;
  for (unsigned dim : ArrayRef<unsigned>(part.plan.nest.loops).drop_front(depth)) {
    if (!root.parallel.test(dim))
      continue;
    bool isSplit = part.segment.splitLoop == int64_t(dim) && part.lower;
    scf::ForOp loopOp = code.loop(isSplit ? part.lower : code.constant(0),
                                  isSplit ? part.upper : code.constant(part.plan.nest.trips[dim]), {}, true);
    code.bind(dim, loopOp.getInductionVar());
    ++opened;
  }
  inside();
  for (; opened > 0; --opened) {
    scf::YieldOp::create(builder, loc);
    code.closeLoop();
  }
  code.groups = savedGroups;
}

/// Writes the initial value of a reduction whose running value is in memory.
void NestEmitter::initialise(const Part &part, unsigned number) {
  const Root &root = graph.roots[number];
  overParallel(part, 0, root, [&] {
    linalg::LinalgOp op = root.reduction;
    for (auto [value, index, init] : llvm::zip_equal(root.values, root.indices, op.getDpsInits()))
      code.storeEverywhere(value, index, code.element(init, index));
  });
}

/// The value of an elementwise root at the current point; others of the nest may use it.
Value NestEmitter::elementwise(const Root &root) {
  Value value = root.values.front();
  Index index = normalize(value, root.indices.front());
  Value result = code.lookup(code.keyOf(value, index));
  if (!result)
    result = code.definition(value, index);
  code.remember(value, index, result);
  return result;
}

/// One step of a reduction. Where the running value is in memory, the addends of a sum are left to `points`, which adds
/// them up before it adds them to that value; any other reduction loads it.
void NestEmitter::reduce(const Root &root, Running &run) {
  Index point = pointOf(code.context, root.space), loops;
  for (unsigned dim : root.loopOfDim)
    loops.push_back(point[dim]);
  if (run.accumulators.empty() && isFloatSum(root)) {
    run.addends.resize(root.values.size());
    for (auto [number, addends] : llvm::enumerate(run.addends))
      addends.push_back(
          code.body(root.reduction, loops, identitiesOf(builder, loc, root), addendOf(root.reduction, number)).front());
    return;
  }
  if (run.accumulators.empty())
    for (unsigned number = 0; number < root.values.size(); ++number)
      run.accumulators.push_back(loadRunning(run.root, number));
  run.accumulators = code.body(root.reduction, loops, run.accumulators);
}

SmallVector<Store> NestEmitter::point(SmallVectorImpl<Running> &running) {
  return point(running, [&](const Root &root, Running &run) { reduce(root, run); });
}

/// The innermost body for one point; what is to be stored is left to the caller.
SmallVector<Store> NestEmitter::point(SmallVectorImpl<Running> &running, Reduce reduceBy) {
  SmallVector<Store> stores;
  for (Running &run : running) {
    const Root &root = graph.roots[run.root];
    if (root.reduction)
      reduceBy(root, run);
    else
      stores.push_back({root.values.front(), root.indices.front(), elementwise(root)});
  }
  return stores;
}

/// The innermost body: everything is computed before anything is stored.
void NestEmitter::points(const LoopNest &nest, SmallVectorImpl<Running> &running) {
  SmallVector<std::pair<Value, SmallVector<Store>>> all; // with the index of the step
  Steps &steps = code.steps;
  for (steps.current = 0; steps.current < steps.count; ++steps.current) {
    if (steps.count > 1) {
      code.scopes[code.current].values.clear();
      code.bind(steps.dim, code.plus(steps.first, code.constant(steps.current)));
    }
    all.push_back({code.dims[steps.dim], point(running)});
  }
  // One value after the other, as neighbours may become one access only where nothing is stored between them.
  for (size_t i = 0; i < all.front().second.size(); ++i) {
    steps.current = 0;
    for (auto &[index, stores] : all) {
      code.dims[steps.dim] = index;
      code.storeEverywhere(stores[i].value, stores[i].index, stores[i].scalar);
      ++steps.current;
    }
  }
  steps.current = 0;
  for (Running &run : running) {
    const Root &root = graph.roots[run.root];
    if (!root.reduction || !isInMemory(nest, root) || lastParallel(nest, root) != nest.loops.size())
      continue;
    for (auto [number, addends] : llvm::enumerate(run.addends))
      run.accumulators.push_back(combine(builder, root.reduction, number, loadRunning(run.root, number),
                                         totalOf(builder, root.reduction, number, addends)));
    for (auto [number, accumulator] : llvm::enumerate(run.accumulators))
      storeRunning(run.root, number, accumulator);
    run.accumulators.clear();
    run.addends.clear();
  }
}

/// The two innermost loops when several steps of the outer one are taken at a time.
void NestEmitter::steppedLoop(const Part &part, unsigned depth, SmallVectorImpl<Running> &running, Value from,
                              Value to) {
  unsigned dim = part.plan.nest.loops[depth];
  int64_t trips = part.plan.nest.trips[dim], rows = part.plan.loops[depth].steps;
  Value most = to;
  if (trips % rows != 0) {
    Value count = arith::SubIOp::create(builder, loc, to, from);
    Value rest = arith::RemUIOp::create(builder, loc, count, code.constant(rows));
    most = arith::SubIOp::create(builder, loc, to, rest);
  }
  for (auto [first, end, step] : {std::tuple{from, most, rows}, {most, to, int64_t(1)}}) {
    if (first == end)
      continue;
    scf::ForOp outer = code.loop(first, end, {}, false, step);
    code.steps.first = outer.getInductionVar();
    code.bind(dim, code.steps.first);
    code.steps.dim = dim;
    code.steps.count = step;
    loopsFrom(part, depth + 1, running);
    code.steps.count = 1;
    scf::YieldOp::create(builder, loc);
    code.closeLoop();
  }
}

scf::ForOp NestEmitter::carryingLoop(Value from, Value to, int64_t step, bool parallel,
                                     SmallVectorImpl<Running> &running, llvm::function_ref<void(Value)> inside) {
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
  auto savedGroups = code.groups;
  scf::ForOp loopOp = code.loop(from, to, carried, parallel && carried.empty(), step);
  become(loopOp.getRegionIterArgs());
  inside(loopOp.getInductionVar());
  scf::YieldOp::create(builder, loc, accumulators());
  code.closeLoop();
  code.groups = savedGroups;
  become(loopOp.getResults());
  return loopOp;
}

/// Lets sums in a loop have as many lanes as this, in vectors of 16, whatever else the loop computes.
static void fixLanes(scf::ForOp loop, int32_t lanes) {
  constexpr int32_t kVector = 16;
  Builder b(loop.getContext());
  MLIRContext *context = loop.getContext();
  auto vectorize =
      LLVM::LoopVectorizeAttr::get(context, b.getBoolAttr(false), {}, {}, b.getI32IntegerAttr(kVector), {}, {}, {});
  auto interleave = LLVM::LoopInterleaveAttr::get(context, b.getI32IntegerAttr(lanes / kVector));
  loop->setAttr("loop_annotation", LLVM::LoopAnnotationAttr::get(context, {}, vectorize, interleave, {}, {}, {}, {}, {},
                                                                 {}, {}, {}, {}, {}, {}, {}));
}

/// One loop of a nest, from index `from` to `to`.
void NestEmitter::plainLoop(const Part &part, unsigned depth, SmallVectorImpl<Running> &running, Value from, Value to) {
  unsigned dim = part.plan.nest.loops[depth];
  bool parallel = llvm::all_of(running, [&](Running &run) { return graph.roots[run.root].parallel.test(dim); });
  scf::ForOp loop = carryingLoop(from, to, 1, parallel, running, [&](Value index) {
    code.bind(dim, index);
    loopsFrom(part, depth + 1, running);
  });
  if (graph.fixedArithmetic && depth + 1 == part.plan.nest.loops.size() && loop.getNumResults() > 0)
    fixLanes(loop, kSumLanes);
}

/// Begins the reductions whose parallel loops are all around the loop at `depth`.
void NestEmitter::begin(const LoopNest &nest, unsigned depth, SmallVectorImpl<Running> &running,
                        SmallVectorImpl<Running *> &begun) {
  bool isPoint = depth == nest.loops.size(); // without reduction loops at all: one step from the initial value
  for (Running &run : running) {
    const Root &root = graph.roots[run.root];
    bool isMemory = root.reduction && isInMemory(nest, root);
    if (!root.reduction || (isPoint ? !run.accumulators.empty() || isMemory : lastParallel(nest, root) != depth))
      continue;
    begun.push_back(&run);
    linalg::LinalgOp op = root.reduction;
    if (isMemory && isFloatSum(root)) {
      run.accumulators = identitiesOf(builder, loc, root); // added to what is in memory at the end
      continue;
    }
    for (unsigned v = 0; v < root.values.size(); ++v)
      run.accumulators.push_back(isMemory ? loadRunning(run.root, v)
                                          : code.element(op.getDpsInits()[v], root.indices[v]));
  }
}

/// Stores the results of the reductions that have begun.
void NestEmitter::end(const LoopNest &nest, ArrayRef<Running *> begun) {
  for (Running *run : begun) {
    const Root &root = graph.roots[run->root];
    bool isMemory = isInMemory(nest, root);
    for (unsigned v = 0; v < root.values.size(); ++v) {
      Value &accumulator = run->accumulators[v];
      if (isMemory && isFloatSum(root))
        accumulator = combine(builder, root.reduction, v, loadRunning(run->root, v), accumulator);
      storeRunning(run->root, v, accumulator);
      if (!isMemory)
        code.remember(root.values[v], root.indices[v], accumulator);
    }
    run->accumulators.clear();
  }
}

/// The loops of a nest from `depth` inwards.
void NestEmitter::loopsFrom(const Part &part, unsigned depth, SmallVectorImpl<Running> &running) {
  const LoopNest &nest = part.plan.nest;
  SmallVector<Running *> begun;
  begin(nest, depth, running, begun);
  if (depth == nest.loops.size()) {
    points(nest, running);
  } else {
    unsigned dim = nest.loops[depth];
    bool isSplit = part.segment.splitLoop == int64_t(dim) && part.lower;
    blockedLoop(part, depth, part.plan.loops[depth].blocks, running, isSplit ? part.lower : code.constant(0),
                isSplit ? part.upper : code.constant(nest.trips[dim]));
  }
  end(nest, begun);
}

void NestEmitter::emitNest(const Segment &segment, const NestPlan &plan, Value lower, Value upper) {
  for (unsigned dim = segment.rowDims; dim < plan.nest.space.size(); ++dim)
    code.bind(dim, code.constant(0));
  emitInside(segment, plan, lower, upper);
}

void NestEmitter::emitInside(const Segment &segment, const NestPlan &plan, Value lower, Value upper) {
  Part part{segment, plan, lower, upper};
  SmallVector<Running> running;
  for (unsigned root : plan.nest.roots) {
    running.push_back({root, {}, {}});
    if (graph.roots[root].reduction && isInMemory(plan.nest, graph.roots[root]))
      initialise(part, root);
  }
  for (unsigned dim : plan.nest.loops)
    code.bind(dim, code.constant(0));
  loopsFrom(part, 0, running);
}

} // namespace dgc
