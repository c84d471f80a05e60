//===- GridEmitter.cpp - kernels for GPUs ------------------------------------===//

#include "compiler/codegen/cuda/GridEmitter.h"
#include "compiler/codegen/cuda/MemoryPlan.h"
#include "compiler/codegen/cuda/Sparse.h"
#include "compiler/codegen/cuda/TeamEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace dgc {
namespace {

/// Writes one grid: some segments, each in a range of blocks of its own.
class GridEmitter : public TeamEmitter {
public:
  GridEmitter(const KernelGraph &graph, const MemoryPlan &memory, ModuleOp module, unsigned indexBits)
      : TeamEmitter(graph, module, indexBits), memory(memory) {}

  KernelLaunch run(const std::string &name, ArrayRef<unsigned> segments);

private:
  // The function.
  void declare(StringRef name);
  void placeAll(unsigned segment);
  unsigned alignmentAt(Value memory, AffineExpr linear, Type storage) const override;
  Value addressOf(Value memory, Type storage, AffineExpr linear) override;

  // Segments.
  void segment(unsigned number, Value block);
  void bindLinear(ArrayRef<unsigned> loops, ArrayRef<int64_t> trips, Value linear, int64_t vector);
  void bindInner(const Pass &pass, ArrayRef<unsigned> loops);
  void eachPoint(const Segment &segment, Value block);
  void teams(const Segment &segment, Value block);
  void columns(const Segment &segment, Value block);
  void sparse(const Segment &segment, Value block);

  // Passes.
  void teamPass(const Segment &segment, const Pass &pass);
  void cooperate(const Pass &pass);
  void serial(const Segment &segment, const Pass &pass);

  const MemoryPlan &memory;
  llvm::SmallPtrSet<Value, 4> alignedRows; // memory of the block that begins at a multiple of 16 bytes
};

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

void GridEmitter::declare(StringRef name) {
  func::FuncOp source = graph.func;
  unsigned inputs = source.getNumArguments(), pointers = inputs + source.getNumResults();
  SmallVector<Type> types(pointers + 1, pointer);
  builder.setInsertionPoint(source);
  kernel = func::FuncOp::create(builder, loc, name, builder.getFunctionType(types, {}));
  llvm::BitVector mayAlias = graph.mayAlias();
  kernel.addEntryBlock();
  for (unsigned i = 0; i <= pointers; ++i) {
    kernel.setArgAttr(i, "llvm.align", builder.getI64IntegerAttr(64));
    if (i < pointers && mayAlias.test(i))
      continue;
    kernel.setArgAttr(i, "llvm.noalias", builder.getUnitAttr());
    if (i < inputs)
      kernel.setArgAttr(i, "llvm.readonly", builder.getUnitAttr());
  }
}

/// Gives everything that a segment stores or reads its place.
void GridEmitter::placeAll(unsigned number) {
  func::FuncOp source = graph.func;
  auto ret = cast<func::ReturnOp>(source.getBody().front().getTerminator());
  for (auto [i, value] : llvm::enumerate(ret.getOperands())) {
    Place &place = places[value];
    Value argument = kernel.getArgument(source.getNumArguments() + i);
    if (!llvm::is_contained(place.memory, argument))
      place.memory.push_back(argument);
  }
  Value workspace = kernel.getArgument(kernel.getNumArguments() - 1);
  for (const auto &[value, home] : memory.homes) {
    if (home.inShared) {
      if (home.segment != number)
        continue;
      Type storage = storageOf(elementOf(value));
      int64_t count = std::max<int64_t>(sizeOf(shapeOf(value).drop_front(home.rowDims)), 1);
      Value memory = shared("row", storage, count * geometry.teamsPerBlock());
      Value first = arith::MulIOp::create(builder, loc, team, constant(count), arith::IntegerOverflowFlags::nsw);
      memory = addressOf(memory, storage, symbolFor(first));
      places[value] = {{memory}, home.rowDims};
      if (count * llvm::divideCeil(storage.getIntOrFloatBitWidth(), 8) % 16 == 0)
        alignedRows.insert(memory);
    } else if (!places.contains(value)) {
      Value memory = LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), workspace,
                                         ArrayRef<LLVM::GEPArg>{constant(home.offset)});
      places[value] = {{memory}, 0};
    }
  }
}

/// Points that are taken together begin at a multiple of their number: that makes one access of several.
unsigned GridEmitter::alignmentAt(Value memory, AffineExpr linear, Type storage) const {
  if (steps == 1)
    return 0;
  Operation *op = memory.getDefiningOp();
  bool isAligned = alignedRows.contains(memory) || !op ||
                   (isa<LLVM::GEPOp>(op) && isa<BlockArgument>(op->getOperand(0))); // the workspace
  if (!isAligned)
    return 0;
  AffineExpr dim = getAffineDimExpr(steppedDim, context);
  AffineExpr first = simplifyAffineExpr(linear.replace(dim, dim * steps + step), kMaxDims, kMaxSymbols);
  auto constant = dyn_cast<AffineConstantExpr>(first);
  int64_t divisor = constant && constant.getValue() == 0 ? 16 : first.getLargestKnownDivisor();
  int64_t bytes = (divisor & -divisor) * llvm::divideCeil(storage.getIntOrFloatBitWidth(), 8);
  return std::min<int64_t>(bytes, 16);
}

/// Of points that are taken together, all addresses are that of the first and a constant, for LLVM to see that.
Value GridEmitter::addressOf(Value memory, Type storage, AffineExpr linear) {
  AffineExpr dim = getAffineDimExpr(steppedDim, context);
  auto distance = steps == 1 || step == 0 ? AffineConstantExpr()
                                          : dyn_cast<AffineConstantExpr>(simplifyAffineExpr(
                                                linear.replace(dim, dim + step) - linear, kMaxDims, kMaxSymbols));
  if (!distance)
    return ElementEmitter::addressOf(memory, storage, linear);
  llvm::SaveAndRestore<Value> first(dims[steppedDim], steppedFrom);
  Value address = ElementEmitter::addressOf(memory, storage, linear);
  return LLVM::GEPOp::create(builder, loc, pointer, storage, address,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(distance.getValue())});
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

/// The indices of loops, the last one fastest, from a number that counts their points, `vector` of the last at a time.
void GridEmitter::bindLinear(ArrayRef<unsigned> loops, ArrayRef<int64_t> trips, Value linear, int64_t vector) {
  for (size_t i = loops.size(); i-- > 0;) {
    bool isLast = i + 1 == loops.size();
    int64_t size = isLast ? trips[i] / vector : trips[i];
    Value at = i == 0 ? linear : modulo(linear, size);
    if (isLast && vector > 1)
      at = arith::MulIOp::create(builder, loc, at, constant(vector), arith::IntegerOverflowFlags::nsw);
    bind(loops[i], at);
    if (i > 0)
      linear = divide(linear, size);
  }
}

/// The dimensions that a pass has no loop for have index 0.
void GridEmitter::bindInner(const Pass &pass, ArrayRef<unsigned> bound) {
  for (unsigned dim = 0; dim < pass.space.size(); ++dim)
    if (!llvm::is_contained(bound, dim))
      bind(dim, constant(0));
}

/// Every thread has points of its own.
void GridEmitter::eachPoint(const Segment &segment, Value block) {
  const Pass &pass = segment.passes.front();
  Value first = arith::MulIOp::create(builder, loc, block, constant(kBlock), arith::IntegerOverflowFlags::nsw);
  Value point = arith::AddIOp::create(builder, loc, first, thread, arith::IntegerOverflowFlags::nsw);
  int64_t work = geometry.points / geometry.vector;
  Value mine;
  if (geometry.grid * kBlock != work)
    mine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, point, constant(work));
  when(mine, [&] {
    bindInner(pass, geometry.outer);
    bindLinear(geometry.outer, geometry.trips, point, geometry.vector);
    steps = geometry.vector;
    if (steps > 1) {
      steppedDim = geometry.outer.back();
      steppedFrom = dims[steppedDim];
    }
    serial(segment, without(pass, geometry.outer));
    steps = 1;
  });
}

/// A warp or a block for each row.
void GridEmitter::teams(const Segment &segment, Value block) {
  Value row = block, mine;
  lane = thread;
  team = constant(0);
  if (int64_t perBlock = geometry.teamsPerBlock(); perBlock > 1) {
    lane = modulo(thread, geometry.team);
    team = divide(thread, geometry.team);
    row = arith::MulIOp::create(builder, loc, block, constant(perBlock), arith::IntegerOverflowFlags::nsw);
    row = arith::AddIOp::create(builder, loc, row, team, arith::IntegerOverflowFlags::nsw);
    // A warp does all of a row or nothing.
    if (geometry.points % perBlock != 0)
      mine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, row, constant(geometry.points));
  }
  when(mine, [&] {
    placeAll(&segment - memory.schedule.segments.data());
    bindLinear(geometry.outer, geometry.trips, row, 1);
    floor = current;
    for (const Pass &pass : segment.passes) {
      teamPass(segment, without(pass, geometry.outer));
      if (&pass != &segment.passes.back())
        teamBarrier();
    }
    floor = 0;
  });
}

/// 32 columns for each block; the threads of a column take its rows in turn.
void GridEmitter::columns(const Segment &segment, Value block) {
  lane = divide(thread, kWarp);
  team = modulo(thread, kWarp);
  Value column = arith::MulIOp::create(builder, loc, block, constant(kWarp), arith::IntegerOverflowFlags::nsw);
  column = arith::AddIOp::create(builder, loc, column, team, arith::IntegerOverflowFlags::nsw);
  // All threads meet at barriers: those without a column compute the last one, and store nothing.
  if (geometry.points % kWarp != 0) {
    Value last = constant(geometry.points - 1);
    storeOnlyIf = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, column, last);
    column = arith::MinUIOp::create(builder, loc, column, last);
  }
  const Pass &pass = segment.passes.front();
  bindLinear(geometry.outer, geometry.trips, column, 1);
  floor = current;
  cooperate(without(pass, geometry.outer));
  floor = 0;
  storeOnlyIf = {};
}

/// A block for a row of a sum of few addends. So many addends at a time as there are threads, each thread looks whether
/// there is one; then all threads add those that there are to an element of their own, in order.
void GridEmitter::sparse(const Segment &segment, Value block) {
  const Pass &pass = segment.passes.front();
  const Root &root = graph.roots[pass.roots.front()];
  linalg::LinalgOp op = root.reduction;
  SparseSum sum = *sparseSumOf(graph, pass.roots.front());
  auto nsw = arith::IntegerOverflowFlags::nsw;
  auto plus = [&](Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b, nsw).getResult(); };
  auto times = [&](Value a, int64_t b) { return arith::MulIOp::create(builder, loc, a, constant(b), nsw).getResult(); };
  auto below = [&](Value a, int64_t b) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, constant(b)).getResult();
  };
  auto atMost = [&](Value a, int64_t b) { return arith::MinUIOp::create(builder, loc, a, constant(b)).getResult(); };
  int64_t elements = sizeOf(geometry.innerTrips), warps = geometry.block / kWarp;
  SmallVector<unsigned> added;
  SmallVector<int64_t> addedTrips;
  for (unsigned dim : pass.loops)
    if (!root.parallel.test(dim)) {
      added.push_back(dim);
      addedTrips.push_back(pass.trips[dim]);
    }
  int64_t addends = sizeOf(addedTrips);

  lane = modulo(thread, kWarp);
  Value warp = divide(thread, kWarp);
  bindInner(pass, {});
  bindLinear(geometry.outer, geometry.trips, divide(block, geometry.tiles), 1);
  Value element = plus(times(modulo(block, geometry.tiles), geometry.block), thread);
  // All threads meet at barriers: those without an element compute the last one, and store nothing.
  Value hasElement = below(element, elements);
  bindLinear(geometry.inner, geometry.innerTrips, atMost(element, elements - 1), 1);
  Value found = shared("found", builder.getI32Type(), warps);
  floor = current;

  SmallVector<Running> running{{pass.roots.front(), {}}};
  Value nothing = arith::ConstantOp::create(builder, loc, identityOf(combinerOf(op, 0)));
  scf::ForOp chunks = loop(constant(0), constant(addends), nothing, /*parallel=*/false, geometry.block);
  Value first = chunks.getInductionVar(), mine = plus(first, thread);
  Value isAddend = below(mine, addends);
  bindLinear(added, addedTrips, atMost(mine, addends - 1), 1);
  Index point = pointOf(context, root.space), loops;
  for (unsigned dim : root.loopOfDim)
    loops.push_back(point[dim]);
  Value is = arith::AndIOp::create(builder, loc, body(op, loops, nothing, sum.condition).front(), isAddend);
  Value bits = call(device_function::ballot, builder.getI32Type(),
                    {arith::ExtUIOp::create(builder, loc, builder.getI32Type(), is)});
  Value leads = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, constant(0));
  when(leads, [&] { store(bits, found, symbolFor(warp), builder.getI32Type()); });
  call(device_function::barrier, {});
  scopes[current].values.clear(); // they are those of this thread's addend

  scf::ForOp words = loop(constant(0), constant(warps), chunks.getRegionIterArg(0), false);
  Value word = load(found, builder.getI32Type(), symbolFor(words.getInductionVar()));
  Value begin = plus(first, times(words.getInductionVar(), kWarp));
  Value count = index(LLVM::CtPopOp::create(builder, loc, builder.getI32Type(), word));
  scf::ForOp each = loop(constant(0), count, {words.getRegionIterArg(0), word}, false);
  Value left = each.getRegionIterArg(1);
  Value bit = index(LLVM::CountTrailingZerosOp::create(builder, loc, builder.getI32Type(), left,
                                                       /*is_zero_poison=*/true));
  bindLinear(added, addedTrips, plus(begin, bit), 1);
  running.front().accumulators = {each.getRegionIterArg(0)};
  reduce(root, running.front());
  Value one = arith::ConstantIntOp::create(builder, loc, builder.getI32Type(), 1);
  Value rest = arith::AndIOp::create(builder, loc, left, arith::SubIOp::create(builder, loc, left, one));
  scf::YieldOp::create(builder, loc, ValueRange{running.front().accumulators.front(), rest});
  closeLoop();
  scf::YieldOp::create(builder, loc, each.getResult(0));
  closeLoop();
  call(device_function::barrier, {});
  scf::YieldOp::create(builder, loc, words.getResult(0));
  closeLoop();
  for (unsigned dim : added)
    bind(dim, constant(0));

  Value total = combine(op, 0, this->element(op.getDpsInits()[0], root.indices[0]), chunks.getResult(0));
  {
    llvm::SaveAndRestore<Value> guard(storeOnlyIf, hasElement);
    storeEverywhere(root.values[0], root.indices[0], total);
  }
  floor = 0;
}

void GridEmitter::segment(unsigned number, Value block) {
  const Segment &segment = memory.schedule.segments[number];
  geometry = memory.geometries[number];
  if (geometry.sparse) {
    placeAll(number);
    return sparse(segment, block);
  }
  if (geometry.team == 1) {
    placeAll(number);
    return eachPoint(segment, block);
  }
  if (!geometry.columns)
    return teams(segment, block);
  placeAll(number);
  columns(segment, block);
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// The loops of a pass by one thread.
void GridEmitter::serial(const Segment &segment, const Pass &pass) {
  SmallVector<unsigned> bound;
  for (unsigned dim = 0; dim < pass.space.size(); ++dim)
    if (!llvm::is_contained(pass.loops, dim))
      bound.push_back(dim);
  SmallVector<Running> running;
  for (unsigned root : pass.roots) {
    running.push_back({root, {}});
    if (graph.roots[root].reduction && inMemory(pass, graph.roots[root]))
      initialise(pass, segment, root, {}, {});
  }
  bindInner(pass, bound);
  nest(segment, pass, 0, running, {}, {});
}

void GridEmitter::teamPass(const Segment &segment, const Pass &pass) {
  bindInner(pass, geometry.outer);
  if (cooperates(graph, pass))
    return cooperate(pass);
  SmallVector<unsigned> common = commonParallel(graph, pass);
  if (common.empty()) {
    Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, constant(0));
    return when(first, [&] { serial(segment, pass); });
  }
  SmallVector<int64_t> trips;
  int64_t count = 1;
  for (unsigned dim : common) {
    trips.push_back(pass.trips[dim]);
    count *= pass.trips[dim];
  }
  auto savedGroups = groups;
  scf::ForOp loopOp = loop(lane, constant(count), {}, /*parallel=*/false, geometry.team);
  bindLinear(common, trips, loopOp.getInductionVar(), 1);
  serial(segment, without(pass, common));
  scf::YieldOp::create(builder, loc);
  closeLoop();
  groups = savedGroups;
}

/// The threads of a team take the points of a pass in turn. Each has a running value for each reduction; these are
/// joined at the end, in an order that is always the same, and all threads know the result.
void GridEmitter::cooperate(const Pass &pass) {
  SmallVector<int64_t> trips;
  int64_t count = 1, vector = 1;
  for (unsigned dim : pass.loops) {
    trips.push_back(pass.trips[dim]);
    count *= pass.trips[dim];
  }
  if (!pass.loops.empty() && !geometry.columns)
    vector = vectorOf(graph, pass, pass.loops.back(), trips.back());
  bindInner(pass, geometry.outer);
  SmallVector<Running> running;
  SmallVector<Value> initial;
  for (unsigned number : pass.roots) {
    running.push_back({number, {}});
    const Root &root = graph.roots[number];
    for (unsigned i = 0; root.reduction && i < root.values.size(); ++i)
      initial.push_back(arith::ConstantOp::create(builder, loc, identityOf(combinerOf(root.reduction, i))));
  }
  auto savedGroups = groups;
  scf::ForOp loopOp = loop(lane, constant(count / vector), initial, initial.empty(), geometry.team);
  unsigned next = 0;
  for (Running &run : running)
    for (unsigned i = 0; graph.roots[run.root].reduction && i < graph.roots[run.root].values.size(); ++i)
      run.accumulators.push_back(loopOp.getRegionIterArg(next++));
  bindLinear(pass.loops, trips, loopOp.getInductionVar(), vector);
  steps = vector;
  if (steps > 1) {
    steppedDim = pass.loops.back();
    steppedFrom = dims[steppedDim];
  }
  points(pass, running);
  steps = 1;
  SmallVector<Value> yielded;
  for (Running &run : running)
    llvm::append_range(yielded, run.accumulators);
  scf::YieldOp::create(builder, loc, yielded);
  closeLoop();
  groups = savedGroups;
  bindInner(pass, geometry.outer);

  next = 0;
  Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, constant(0));
  if (storeOnlyIf)
    first = arith::AndIOp::create(builder, loc, first, storeOnlyIf);
  for (Running &run : running) {
    const Root &root = graph.roots[run.root];
    linalg::LinalgOp op = root.reduction;
    for (unsigned i = 0; op && i < root.values.size(); ++i) {
      Value total = acrossTeam(op, i, loopOp.getResult(next++));
      total = combine(op, i, element(op.getDpsInits()[i], root.indices[i]), total);
      llvm::SaveAndRestore<Value> guard(storeOnlyIf, first);
      storeEverywhere(root.values[i], root.indices[i], total);
      remember(root.values[i], root.indices[i], total);
    }
  }
}

KernelLaunch GridEmitter::run(const std::string &name, ArrayRef<unsigned> segments) {
  declare(name);
  enter(&kernel.getBody().front());
  moveTo(0);
  KernelLaunch launch;
  launch.symbol = name;
  launch.grid = 0;
  thread = index(call(device_function::thread, builder.getI32Type()));
  Value block = index(call(device_function::block, builder.getI32Type()));
  for (unsigned number : segments) {
    const Geometry &shape = memory.geometries[number];
    Value mine, own = block;
    if (segments.size() > 1) {
      own = arith::SubIOp::create(builder, loc, block, constant(launch.grid));
      // As unsigned numbers, blocks before the range are behind it.
      mine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, own, constant(shape.grid));
    }
    when(mine, [&] {
      places.clear();
      segment(number, own);
    });
    launch.block = shape.block;
    launch.grid += shape.grid;
  }
  func::ReturnOp::create(builder, loc);
  return launch;
}

/// Are 32 bits enough for every index and number of a thread?
unsigned indexBitsFor(const KernelGraph &graph, const MemoryPlan &memory) {
  int64_t most = memory.workspaceBytes;
  auto look = [&](Value value) { most = std::max(most, sizeOf(shapeOf(value))); };
  for (BlockArgument argument : graph.func.getArguments())
    look(argument);
  for (const Root &root : graph.roots) {
    most = std::max(most, sizeOf(root.space));
    for (Value value : root.values)
      look(value);
  }
  for (const Geometry &geometry : memory.geometries)
    most = std::max(most, (geometry.grid + 1) * geometry.block * geometry.vector);
  return most < (int64_t(1) << 31) - (1 << 16) ? 32 : 64;
}

} // namespace

FailureOr<CompiledKernel> lowerKernelToGrids(func::FuncOp func) {
  FailureOr<KernelGraph> graph = KernelGraph::build(func);
  if (failed(graph))
    return failure();
  MemoryPlan memory(*graph, scheduleKernel(*graph));
  auto module = func->getParentOfType<ModuleOp>();
  CompiledKernel info;
  info.symbol = func.getName().str();
  info.argCount = func.getNumArguments() + func.getNumResults();
  info.extent = memory.schedule.extent;
  info.costNs = memory.schedule.costNs;
  info.flops = memory.schedule.flops;
  info.workspaceBytes = memory.workspaceBytes;
  unsigned indexBits = indexBitsFor(*graph, memory);
  for (auto [number, grid] : llvm::enumerate(memory.grids))
    info.launches.push_back(
        GridEmitter(*graph, memory, module, indexBits).run(info.symbol + "_" + std::to_string(number), grid));
  func.erase();
  return info;
}

} // namespace dgc
