//===- LoopEmitter.cpp - loops of a scheduled kernel ----------------------===//
//
// Writes the function of a kernel with scf, arith, math and the memory ops of the LLVM dialect: the pointers of a
// kernel are all that it gets, and every address is an explicit row-major position.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/LoopEmitter.h"
#include "compiler/codegen/cpu/ElementEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace dgc {

/// Kernels with more scratch memory than this take it from the heap.
static constexpr int64_t kMaxStackBytes = 256 << 10;
/// Rows that a sum over rows takes at a time.
static constexpr int64_t kSteps = 4;

namespace {

class LoopEmitter : public ElementEmitter {
public:
  LoopEmitter(const KernelGraph &graph, const Schedule &schedule, ModuleOp module)
      : ElementEmitter(graph, module), schedule(schedule) {}

  void run(StringRef name);

private:
  /// What a reduction carries through its loops; nothing before it begins, and when that is in memory.
  struct Running {
    unsigned root;
    SmallVector<Value> accumulators;
  };
  /// An element that is to be stored.
  struct Store {
    Value value;
    Index index;
    Value scalar;
  };

  void declare(StringRef name);
  void allocateAll();
  Value allocate(Value forValue, ArrayRef<int64_t> shape);
  void segment(const Segment &segment, Value begin, Value end);
  void rows(const Segment &segment, Value begin, Value end);
  void pass(const Segment &segment, const Pass &pass, Value lower, Value upper);
  void initialise(const Pass &pass, const Segment &segment, unsigned root, Value lower, Value upper);
  scf::ForOp loop(Value lower, Value upper, ValueRange init, bool parallel, int64_t step = 1);
  void bind(unsigned dim, Value index);
  void closeLoop();
  void nest(const Segment &segment, const Pass &pass, unsigned depth, SmallVectorImpl<Running> &running, Value lower,
            Value upper);
  void plainNest(const Segment &segment, const Pass &pass, unsigned depth, SmallVectorImpl<Running> &running,
                 Value lower, Value upper);
  void steppedNest(const Segment &segment, const Pass &pass, unsigned depth, SmallVectorImpl<Running> &running,
                   Value lower, Value upper);
  void points(const Pass &pass, SmallVectorImpl<Running> &running);
  SmallVector<Store> point(SmallVectorImpl<Running> &running);
  Value elementwise(const Root &root);
  void reduce(const Root &root, Running &run);
  bool addsRows(const Pass &pass, unsigned depth) const;
  bool inMemory(const Pass &pass, const Root &root) const;
  unsigned lastParallel(const Pass &pass, const Root &root) const;

  const Schedule &schedule;
  int64_t stackBytes = 0;
  SmallVector<Value> heap;
  // In a loop that takes several steps of a reduction at a time: their dimension, the first one, how many.
  unsigned steppedDim = 0;
  Value steppedFrom;
  int64_t steps = 1;
};

/// A loop with the given carried values, entered. `parallel`: no iteration depends on memory that another one writes.
scf::ForOp LoopEmitter::loop(Value lower, Value upper, ValueRange init, bool parallel, int64_t step) {
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

void LoopEmitter::bind(unsigned dim, Value index) {
  dims[dim] = index;
  dimLevel[dim] = current;
}

void LoopEmitter::closeLoop() {
  leave();
  scopes[current].before = nullptr;
  moveTo(current);
}

/// The position in pass.loops of the last loop that is parallel for a reduction, plus one.
unsigned LoopEmitter::lastParallel(const Pass &pass, const Root &root) const {
  unsigned last = 0;
  for (auto [depth, dim] : llvm::enumerate(pass.loops))
    if (root.parallel.test(dim))
      last = depth + 1;
  return last;
}

/// Is the running value of a reduction kept in memory, because a parallel loop runs inside a reduction loop?
bool LoopEmitter::inMemory(const Pass &pass, const Root &root) const {
  for (unsigned depth = 0; depth < lastParallel(pass, root); ++depth)
    if (!root.parallel.test(pass.loops[depth]))
      return true;
  return false;
}

/// Writes the initial value of a reduction whose running value is in memory.
void LoopEmitter::initialise(const Pass &pass, const Segment &segment, unsigned number, Value lower, Value upper) {
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
Value LoopEmitter::elementwise(const Root &root) {
  Value value = root.values.front();
  Index index = normalize(value, root.indices.front());
  Value result = lookup(keyOf(value, index));
  if (!result)
    result = definition(value, index);
  remember(value, index, result);
  return result;
}

/// One step of a reduction. A running value that is in memory is loaded the first time.
void LoopEmitter::reduce(const Root &root, Running &run) {
  if (run.accumulators.empty())
    for (auto [value, index] : llvm::zip_equal(root.values, root.indices))
      run.accumulators.push_back(load(baseOf(value), elementOf(value), positionIn(value, index)));
  Index point = pointOf(context, root.space), loops;
  for (unsigned dim : root.loopOfDim)
    loops.push_back(point[dim]);
  run.accumulators = body(root.reduction, loops, run.accumulators);
}

/// The innermost body for one point; what is to be stored is left to the caller.
SmallVector<LoopEmitter::Store> LoopEmitter::point(SmallVectorImpl<Running> &running) {
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
void LoopEmitter::points(const Pass &pass, SmallVectorImpl<Running> &running) {
  SmallVector<std::pair<Value, SmallVector<Store>>> all; // with the index of the step
  for (int64_t step = 0; step < steps; ++step) {
    if (steps > 1) {
      scopes[current].values.clear();
      bind(steppedDim,
           arith::AddIOp::create(builder, loc, steppedFrom, constant(step), arith::IntegerOverflowFlags::nsw));
    }
    all.push_back({dims[steppedDim], point(running)});
  }
  for (auto &[index, stores] : all) {
    dims[steppedDim] = index;
    for (Store &store : stores)
      storeEverywhere(store.value, store.index, store.scalar);
  }
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
bool LoopEmitter::addsRows(const Pass &pass, unsigned depth) const {
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
void LoopEmitter::steppedNest(const Segment &segment, const Pass &pass, unsigned depth,
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

/// One loop with its inside; reductions that have begun are carried through it.
void LoopEmitter::plainNest(const Segment &segment, const Pass &pass, unsigned depth, SmallVectorImpl<Running> &running,
                            Value lower, Value upper) {
  unsigned dim = pass.loops[depth];
  SmallVector<Value> carried;
  for (Running &run : running)
    llvm::append_range(carried, run.accumulators);
  bool parallel =
      carried.empty() && llvm::all_of(running, [&](Running &run) { return graph.roots[run.root].parallel.test(dim); });
  bool isSplit = segment.splitLoop == int64_t(dim) && lower;
  Value from = isSplit ? lower : constant(0), to = isSplit ? upper : constant(pass.trips[dim]);
  auto savedGroups = groups;
  scf::ForOp loopOp = loop(from, to, carried, parallel);
  bind(dim, loopOp.getInductionVar());
  unsigned next = 0;
  for (Running &run : running)
    for (Value &accumulator : run.accumulators)
      accumulator = loopOp.getRegionIterArg(next++);
  nest(segment, pass, depth + 1, running, lower, upper);
  SmallVector<Value> yielded;
  for (Running &run : running)
    llvm::append_range(yielded, run.accumulators);
  scf::YieldOp::create(builder, loc, yielded);
  closeLoop();
  groups = savedGroups;
  next = 0;
  for (Running &run : running)
    for (Value &accumulator : run.accumulators)
      accumulator = loopOp.getResult(next++);
}

/// The loops of a pass from `depth` inwards.
void LoopEmitter::nest(const Segment &segment, const Pass &pass, unsigned depth, SmallVectorImpl<Running> &running,
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

void LoopEmitter::pass(const Segment &segment, const Pass &pass, Value lower, Value upper) {
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

/// The parts [begin, end) of a segment with rows.
void LoopEmitter::rows(const Segment &segment, Value begin, Value end) {
  scf::ForOp rowLoop = loop(begin, end, {}, false);
  Value rest = rowLoop.getInductionVar();
  for (unsigned dim = segment.rowDims; dim-- > 0;) {
    Value size = constant(segment.rowShape[dim]);
    bind(dim, dim == 0 ? rest : arith::RemUIOp::create(builder, loc, rest, size).getResult());
    if (dim > 0)
      rest = arith::DivUIOp::create(builder, loc, rest, size);
  }
  floor = current;
  for (const Pass &p : segment.passes)
    pass(segment, p, {}, {});
  floor = 0;
  scf::YieldOp::create(builder, loc);
  closeLoop();
}

/// The parts [begin, end) of a segment.
void LoopEmitter::segment(const Segment &segment, Value begin, Value end) {
  if (segment.rowDims > 0)
    return rows(segment, begin, end);
  const Pass &only = segment.passes.front();
  if (segment.splitLoop >= 0) {
    Value chunk = constant(segment.chunk), most = constant(only.trips[segment.splitLoop]);
    Value lower = arith::MulIOp::create(builder, loc, begin, chunk);
    Value upper = arith::MulIOp::create(builder, loc, end, chunk);
    return pass(segment, only, lower, arith::MinSIOp::create(builder, loc, upper, most));
  }
  if (schedule.sequential)
    return pass(segment, only, {}, {});
  // Work that is not split belongs to whoever has its only part.
  Value mine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, begin, end);
  auto branch = scf::IfOp::create(builder, loc, mine, /*withElseRegion=*/false);
  branch.thenBlock()->getTerminator()->erase();
  scopes[current].before = branch;
  enter(branch.thenBlock(), /*conditional=*/true);
  pass(segment, only, {}, {});
  scf::YieldOp::create(builder, loc);
  closeLoop();
}

/// Makes the function, without a body. What is updated in place has an alias; all else has none.
void LoopEmitter::declare(StringRef name) {
  func::FuncOp source = graph.func;
  unsigned inputs = source.getNumArguments(), pointers = inputs + source.getNumResults();
  SmallVector<Type> types(pointers, pointer);
  types.append(2, i64);
  builder.setInsertionPoint(source);
  kernel = func::FuncOp::create(builder, loc, name, builder.getFunctionType(types, {}));
  kernel.setPrivate();
  kernel->setAttr("llvm.linkage", LLVM::LinkageAttr::get(context, LLVM::Linkage::Internal));
  llvm::BitVector mayAlias(pointers);
  for (auto [result, argument] : llvm::enumerate(graph.inplace))
    if (argument >= 0) {
      mayAlias.set(inputs + result);
      mayAlias.set(argument);
    }
  kernel.addEntryBlock();
  for (unsigned i = 0; i < pointers; ++i) {
    if (!mayAlias.test(i))
      kernel.setArgAttr(i, "llvm.noalias", builder.getUnitAttr());
    kernel.setArgAttr(i, "llvm.nocapture", builder.getUnitAttr());
    if (i < inputs && !mayAlias.test(i))
      kernel.setArgAttr(i, "llvm.readonly", builder.getUnitAttr());
  }
}

/// Gives everything that is stored its place: results first, scratch memory for the rest.
void LoopEmitter::allocateAll() {
  func::FuncOp source = graph.func;
  auto ret = cast<func::ReturnOp>(source.getBody().front().getTerminator());
  for (auto [i, value] : llvm::enumerate(ret.getOperands()))
    places[value].memory.push_back(kernel.getArgument(source.getNumArguments() + i));
  for (auto [number, root] : llvm::enumerate(graph.roots)) {
    // One row is enough for what only the passes of a row look at.
    unsigned home = schedule.segmentOf[number], rowDims = schedule.segments[home].rowDims;
    for (unsigned user = 0; user < graph.roots.size(); ++user)
      if (graph.reads(user, number) && schedule.segmentOf[user] != home)
        rowDims = 0;
    for (Value value : root.values) {
      if (places.contains(value))
        continue;
      Value memory = allocate(value, shapeOf(value).drop_front(rowDims));
      places[value] = {{memory}, rowDims};
    }
  }
}

/// Scratch memory for a value, at the entry of the function.
Value LoopEmitter::allocate(Value forValue, ArrayRef<int64_t> shape) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  Type storage = storageOf(elementOf(forValue));
  int64_t count = std::max<int64_t>(sizeOf(shape), 1);
  int64_t bytes = count * llvm::divideCeil(storage.getIntOrFloatBitWidth(), 8);
  if (stackBytes + bytes <= kMaxStackBytes) {
    stackBytes += bytes;
    return LLVM::AllocaOp::create(builder, loc, pointer, storage, constant(count), 64);
  }
  auto malloc = module.lookupSymbol<LLVM::LLVMFuncOp>("malloc");
  if (!malloc) {
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    Type nothing = LLVM::LLVMVoidType::get(context);
    malloc = LLVM::LLVMFuncOp::create(top, loc, "malloc", LLVM::LLVMFunctionType::get(pointer, {i64}));
    LLVM::LLVMFuncOp::create(top, loc, "free", LLVM::LLVMFunctionType::get(nothing, {pointer}));
  }
  Value memory = LLVM::CallOp::create(builder, loc, malloc, ValueRange{constant(bytes)}).getResult();
  heap.push_back(memory);
  return memory;
}

void LoopEmitter::run(StringRef name) {
  declare(name);
  enter(&kernel.getBody().front());
  allocateAll();
  moveTo(0);
  unsigned count = kernel.getNumArguments();
  Value begin = kernel.getArgument(count - 2), end = kernel.getArgument(count - 1);
  int64_t offset = 0;
  for (const Segment &part : schedule.segments) {
    Value from = begin, to = end;
    if (schedule.sequential) {
      from = constant(0);
      to = constant(part.extent);
    } else if (schedule.segments.size() > 1) {
      auto clamp = [&](Value at) {
        Value shifted = arith::SubIOp::create(builder, loc, at, constant(offset));
        shifted = arith::MaxSIOp::create(builder, loc, shifted, constant(0));
        return arith::MinSIOp::create(builder, loc, shifted, constant(part.extent)).getResult();
      };
      from = clamp(begin);
      to = clamp(end);
    }
    segment(part, from, to);
    offset += part.extent;
  }
  for (Value memory : heap)
    LLVM::CallOp::create(builder, loc, module.lookupSymbol<LLVM::LLVMFuncOp>("free"), memory);
  func::ReturnOp::create(builder, loc);
}

} // namespace

void emitLoops(const KernelGraph &graph, const Schedule &schedule, ModuleOp module, StringRef name) {
  LoopEmitter(graph, schedule, module).run(name);
}

} // namespace dgc
