//===- NestEmitter.cpp - loop nests of passes -------------------------------===//

#include "compiler/codegen/common/NestEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dgc {

/// Rows that a sum over rows takes at a time.
static constexpr int64_t kSteps = 4;

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

/// The position in pass.loops of the last loop that is parallel for a reduction, plus one.
unsigned NestEmitter::lastParallel(const Pass &pass, const Root &root) const {
  unsigned last = 0;
  for (auto [depth, dim] : llvm::enumerate(pass.loops))
    if (root.parallel.test(dim))
      last = depth + 1;
  return last;
}

/// Is the running value of a reduction kept in memory, because a parallel loop runs inside a reduction loop?
bool NestEmitter::inMemory(const Pass &pass, const Root &root) const {
  for (unsigned depth = 0; depth < lastParallel(pass, root); ++depth)
    if (!root.parallel.test(pass.loops[depth]))
      return true;
  return false;
}

/// Writes the initial value of a reduction whose running value is in memory.
void NestEmitter::initialise(const Pass &pass, const Segment &segment, unsigned number, Value lower, Value upper) {
  const Root &root = graph.roots[number];
  unsigned depth = 0;
  auto savedGroups = groups;
  for (unsigned dim : pass.loops) {
    if (!root.parallel.test(dim))
      continue;
    bool isSplit = segment.splitLoop == int64_t(dim) && lower;
    scf::ForOp loopOp = loop(isSplit ? lower : constant(0), isSplit ? upper : constant(pass.trips[dim]), {}, true);
    bind(dim, loopOp.getInductionVar());
    ++depth;
  }
  linalg::LinalgOp op = root.reduction;
  for (auto [value, index, init] : llvm::zip_equal(root.values, root.indices, op.getDpsInits()))
    storeEverywhere(value, index, element(init, index));
  for (; depth > 0; --depth) {
    scf::YieldOp::create(builder, loc);
    closeLoop();
  }
  groups = savedGroups;
}

/// The value of an elementwise root at the current point; others of the pass may use it.
Value NestEmitter::elementwise(const Root &root) {
  Value value = root.values.front();
  Index index = normalize(value, root.indices.front());
  Value result = lookup(keyOf(value, index));
  if (!result)
    result = definition(value, index);
  remember(value, index, result);
  return result;
}

/// One step of a reduction. A running value that is in memory is loaded the first time.
void NestEmitter::reduce(const Root &root, Running &run) {
  if (run.accumulators.empty())
    for (auto [value, index] : llvm::zip_equal(root.values, root.indices))
      run.accumulators.push_back(load(baseOf(value), elementOf(value), positionIn(value, index)));
  Index point = pointOf(context, root.space), loops;
  for (unsigned dim : root.loopOfDim)
    loops.push_back(point[dim]);
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
void NestEmitter::points(const Pass &pass, SmallVectorImpl<Running> &running) {
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
    if (!root.reduction || !inMemory(pass, root) || lastParallel(pass, root) != pass.loops.size())
      continue;
    for (auto [value, index, accumulator] : llvm::zip_equal(root.values, root.indices, run.accumulators))
      storeEverywhere(value, index, accumulator);
    run.accumulators.clear();
  }
}

/// Is the loop at `depth`, the second innermost, a reduction for all that is reduced, with running values in memory?
/// Then several of its steps are taken at a time, so that these are loaded and stored less often.
bool NestEmitter::addsRows(const Pass &pass, unsigned depth) const {
  if (depth + 2 != pass.loops.size() || pass.trips[pass.loops[depth]] < kSteps)
    return false;
  bool found = false;
  for (unsigned number : pass.roots) {
    const Root &root = graph.roots[number];
    if (!root.reduction)
      continue;
    if (!inMemory(pass, root) || lastParallel(pass, root) != pass.loops.size() || root.parallel.test(pass.loops[depth]))
      return false;
    found = true;
  }
  return found;
}

/// The two innermost loops when several steps of the outer one are taken at a time.
void NestEmitter::steppedNest(const Segment &segment, const Pass &pass, unsigned depth,
                              SmallVectorImpl<Running> &running, Value lower, Value upper) {
  unsigned dim = pass.loops[depth];
  int64_t trips = pass.trips[dim], most = trips / kSteps * kSteps;
  for (auto [from, to, step] : {std::tuple{int64_t(0), most, kSteps}, {most, trips, int64_t(1)}}) {
    if (from == to)
      continue;
    scf::ForOp outer = loop(constant(from), constant(to), {}, false, step);
    steppedFrom = outer.getInductionVar();
    bind(dim, steppedFrom);
    steppedDim = dim;
    steps = step;
    nest(segment, pass, depth + 1, running, lower, upper);
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

/// One loop of a nest.
void NestEmitter::plainNest(const Segment &segment, const Pass &pass, unsigned depth, SmallVectorImpl<Running> &running,
                            Value lower, Value upper) {
  unsigned dim = pass.loops[depth];
  bool parallel = llvm::all_of(running, [&](Running &run) { return graph.roots[run.root].parallel.test(dim); });
  bool isSplit = segment.splitLoop == int64_t(dim) && lower;
  Value from = isSplit ? lower : constant(0), to = isSplit ? upper : constant(pass.trips[dim]);
  carryingLoop(from, to, 1, parallel, running, [&](Value index) {
    bind(dim, index);
    nest(segment, pass, depth + 1, running, lower, upper);
  });
}

/// The loops of a pass from `depth` inwards.
void NestEmitter::nest(const Segment &segment, const Pass &pass, unsigned depth, SmallVectorImpl<Running> &running,
                       Value lower, Value upper) {
  // Begin the reductions whose parallel loops are all around us.
  SmallVector<Running *> begun;
  for (Running &run : running) {
    const Root &root = graph.roots[run.root];
    if (!root.reduction || lastParallel(pass, root) != depth || depth == pass.loops.size())
      continue;
    begun.push_back(&run);
    for (unsigned v = 0; v < root.values.size(); ++v) {
      Index index = root.indices[v];
      linalg::LinalgOp op = root.reduction;
      run.accumulators.push_back(inMemory(pass, root) ? element(root.values[v], index)
                                                      : element(op.getDpsInits()[v], index));
    }
  }
  if (depth == pass.loops.size()) {
    // No reduction loops at all (all of size 1): one step from the initial value.
    for (Running &run : running) {
      const Root &root = graph.roots[run.root];
      if (root.reduction && run.accumulators.empty() && !inMemory(pass, root)) {
        begun.push_back(&run);
        linalg::LinalgOp op = root.reduction;
        for (unsigned v = 0; v < root.values.size(); ++v)
          run.accumulators.push_back(element(op.getDpsInits()[v], root.indices[v]));
      }
    }
    points(pass, running);
  } else if (addsRows(pass, depth)) {
    steppedNest(segment, pass, depth, running, lower, upper);
  } else {
    plainNest(segment, pass, depth, running, lower, upper);
  }
  for (Running *run : begun) {
    const Root &root = graph.roots[run->root];
    for (unsigned v = 0; v < root.values.size(); ++v) {
      storeEverywhere(root.values[v], root.indices[v], run->accumulators[v]);
      remember(root.values[v], root.indices[v], run->accumulators[v]);
    }
    run->accumulators.clear();
  }
}

void NestEmitter::pass(const Segment &segment, const Pass &pass, Value lower, Value upper) {
  auto bindAll = [&] {
    for (unsigned dim = segment.rowDims; dim < pass.space.size(); ++dim)
      bind(dim, constant(0));
  };
  bindAll();
  SmallVector<Running> running;
  for (unsigned root : pass.roots) {
    running.push_back({root, {}});
    if (graph.roots[root].reduction && inMemory(pass, graph.roots[root]))
      initialise(pass, segment, root, lower, upper);
  }
  bindAll();
  nest(segment, pass, 0, running, lower, upper);
}

} // namespace dgc
