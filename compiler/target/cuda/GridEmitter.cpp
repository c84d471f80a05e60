//===- GridEmitter.cpp - kernels for GPUs ------------------------------------===//

#include "compiler/target/cuda/GridEmitter.h"
#include "compiler/target/cuda/CudaKernelPlan.h"
#include "compiler/target/cuda/TileEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace dgc {
namespace {

/// Writes one grid: some segments, each in a range of blocks of its own.
class GridEmitter : public TileEmitter {
public:
  GridEmitter(const CudaKernelPlan &plan, ModuleOp module)
      : TileEmitter(plan.graph, module, plan.indexBits), plan(plan), memory(plan.memory) {}

  KernelLaunch run(const std::string &name, ArrayRef<MemoryPlan::Part> parts);

private:
  // The function.
  void declare(StringRef name);
  void placeAll(unsigned segment);

  // Segments.
  void segment(MemoryPlan::Part part, Value block);
  void eachPoint(const Segment &segment, const SegmentPlan &shape, Value block);
  void threadGroups(unsigned number, Value block);
  void columns(const SegmentPlan &shape, Value block);
  void finish(const Segment &segment, Value block);

  // Reductions that several blocks share.
  Value takePart(Value block);
  Value partial(Value value);
  AffineExpr partialAt(Value part, Value point);
  void storePartial(Value value, Value total) override;

  const CudaKernelPlan &plan;
  const MemoryPlan &memory;
  Value point; // of the outer loops, as a number
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
    Storage &at = storage[value];
    Value argument = kernel.getArgument(source.getNumArguments() + i);
    if (!llvm::is_contained(at.memory, argument))
      at.memory.push_back(argument);
  }
  Value workspace = kernel.getArgument(kernel.getNumArguments() - 1);
  for (const auto &[value, location] : memory.locations) {
    if (location.inShared) {
      if (location.segment != number)
        continue;
      Type type = storageOf(elementOf(value));
      int64_t count = std::max<int64_t>(sizeOf(shapeOf(value).drop_front(location.rowDims)), 1);
      Value memory = shared("row", type, count * geometry.groupsPerBlock());
      Value first = arith::MulIOp::create(builder, loc, threadGroup, constant(count), arith::IntegerOverflowFlags::nsw);
      memory = addressOf(memory, type, symbolFor(first));
      storage[value] = {{memory}, location.rowDims};
      if (count * llvm::divideCeil(type.getIntOrFloatBitWidth(), 8) % 16 == 0)
        alignedRows.insert(memory);
    } else if (!storage.contains(value)) {
      Value memory = LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), workspace,
                                         ArrayRef<LLVM::GEPArg>{constant(location.offset)});
      storage[value] = {{memory}, 0};
    }
  }
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

/// Every thread has points of its own.
void GridEmitter::eachPoint(const Segment &segment, const SegmentPlan &shape, Value block) {
  const LoopNest &nest = segment.nests.front();
  Value first = arith::MulIOp::create(builder, loc, block, constant(kBlock), arith::IntegerOverflowFlags::nsw);
  Value point = arith::AddIOp::create(builder, loc, first, thread, arith::IntegerOverflowFlags::nsw);
  int64_t work = geometry.items();
  Value mine;
  if (geometry.grid * kBlock != work)
    mine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, point, constant(work));
  when(mine, [&] {
    bindInner(nest, geometry.outer);
    bindLinear(geometry.outer, geometry.trips, point, geometry.vector);
    ownPoints(segment, shape.points, shape.bounds);
  });
}

/// A warp or a block for each row.
void GridEmitter::threadGroups(unsigned number, Value block) {
  const SegmentPlan &shape = plan.segments[number];
  Value row = takePart(block), mine;
  lane = thread;
  threadGroup = constant(0);
  if (int64_t perBlock = geometry.groupsPerBlock(); perBlock > 1) {
    lane = modulo(thread, geometry.groupSize);
    threadGroup = divide(thread, geometry.groupSize);
    row = plus(times(block, perBlock), threadGroup);
    // A warp does all of a row or nothing.
    if (geometry.points % perBlock != 0)
      mine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, row, constant(geometry.points));
  }
  when(mine, [&] {
    placeAll(number);
    point = row;
    bindLinear(geometry.outer, geometry.trips, row, 1);
    floor = current;
    kept.clear();
    for (const GroupNestPlan &nest : shape.nests) {
      emitGroupNest(memory.schedule.segments[number], nest);
      if (shape.meets && &nest != &shape.nests.back())
        groupBarrier();
    }
    floor = 0;
  });
}

/// 32 columns for each block; the threads of a column take its rows in turn.
void GridEmitter::columns(const SegmentPlan &shape, Value block) {
  lane = divide(thread, kWarp);
  threadGroup = modulo(thread, kWarp);
  Value column = plus(times(takePart(block), kWarp), threadGroup);
  // All threads meet at barriers: those without a column compute the last one, and store nothing.
  if (geometry.points % kWarp != 0) {
    Value last = constant(geometry.points - 1);
    storeOnlyIf = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, column, last);
    column = arith::MinUIOp::create(builder, loc, column, last);
  }
  point = column;
  bindLinear(geometry.outer, geometry.trips, column, 1);
  floor = current;
  cooperate(shape.nests.front());
  floor = 0;
  storeOnlyIf = {};
}

//===----------------------------------------------------------------------===//
// Reductions that several blocks share
//===----------------------------------------------------------------------===//

/// Takes from the number of a block that of its part of the addends; returns what is left. Blocks that run at the same
/// time read adjacent elements.
Value GridEmitter::takePart(Value block) {
  if (geometry.parts == 1)
    return block;
  int64_t others = geometry.grid / geometry.parts;
  part = geometry.columns ? divide(block, others) : modulo(block, geometry.parts);
  return geometry.columns ? modulo(block, others) : divide(block, geometry.parts);
}

/// Where the parts of a reduction are kept: all points of the first, then those of the second, ..
Value GridEmitter::partial(Value value) {
  Value workspace = kernel.getArgument(kernel.getNumArguments() - 1);
  return LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), workspace,
                             ArrayRef<LLVM::GEPArg>{constant(memory.partials.lookup(value))});
}

AffineExpr GridEmitter::partialAt(Value part, Value point) {
  return symbolFor(part) * geometry.points + symbolFor(point);
}

void GridEmitter::storePartial(Value value, Value total) {
  OpBuilder::InsertionGuard guard(builder);
  if (storeOnlyIf) {
    auto branch = scf::IfOp::create(builder, loc, storeOnlyIf, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  store(total, partial(value), partialAt(part, point), elementOf(value));
}

/// What the parts have of each point, joined in their order.
void GridEmitter::finish(const Segment &segment, Value block) {
  const LoopNest &nest = segment.nests.front();
  lane = geometry.groupSize == 1 ? constant(0) : thread;
  threadGroup = constant(0);
  point = geometry.groupSize == 1 ? plus(times(block, geometry.block), thread) : block;
  when(geometry.groupSize == 1 && geometry.points % geometry.block != 0 ? below(point, geometry.points) : Value(), [&] {
    bindInner(nest, geometry.outer);
    bindLinear(geometry.outer, geometry.trips, point, 1);
    floor = current;
    for (unsigned number : nest.roots) {
      const Root &root = graph.roots[number];
      linalg::LinalgOp op = root.reduction;
      for (auto [i, value] : llvm::enumerate(root.values)) {
        if (!op)
          continue; // the parts have stored it
        Value nothing = arith::ConstantOp::create(builder, loc, identityOf(combinerOf(op, i)));
        scf::ForOp loopOp = loop(lane, constant(geometry.parts), nothing, /*parallel=*/false, geometry.groupSize);
        Value next = load(partial(value), elementOf(value), partialAt(loopOp.getInductionVar(), point));
        scf::YieldOp::create(builder, loc, combine(op, i, loopOp.getRegionIterArg(0), next));
        closeLoop();
        Value total = loopOp.getResult(0), first;
        if (geometry.groupSize > 1) {
          total = reduceAcrossGroup(op, i, total);
          first = below(lane, 1);
        }
        total = combine(op, i, element(op.getDpsInits()[i], root.indices[i]), total);
        llvm::SaveAndRestore<Value> guard(storeOnlyIf, first);
        storeEverywhere(value, root.indices[i], total);
      }
    }
    floor = 0;
  });
}

void GridEmitter::segment(MemoryPlan::Part part, Value block) {
  const Segment &segment = memory.schedule.segments[part.segment];
  unsigned number = part.segment;
  geometry = memory.geometryOf(part);
  const SegmentPlan &shape = plan.segments[number];
  if (!part.finish && shape.form == SegmentForm::Groups)
    return threadGroups(number, block); // each group has a place of its own
  placeAll(number);
  if (part.finish)
    return finish(segment, block);
  switch (shape.form) {
  case SegmentForm::Points:
    return eachPoint(segment, shape, block);
  case SegmentForm::Columns:
    return columns(shape, block);
  case SegmentForm::Tiles:
    return tiles(segment, block);
  case SegmentForm::Sparse:
    return sparse(segment, shape.sparse, block);
  case SegmentForm::Groups:
    break;
  }
}

KernelLaunch GridEmitter::run(const std::string &name, ArrayRef<MemoryPlan::Part> parts) {
  declare(name);
  enter(&kernel.getBody().front());
  moveTo(0);
  KernelLaunch launch;
  launch.symbol = name;
  launch.grid = 0;
  thread = index(call(device_function::thread, builder.getI32Type()));
  Value block = index(call(device_function::block, builder.getI32Type()));
  sharedTileBytes = plan.tileBytesOf(parts);
  for (MemoryPlan::Part part : parts) {
    ThreadGeometry shape = memory.geometryOf(part);
    Value mine, own = block;
    if (parts.size() > 1) {
      own = arith::SubIOp::create(builder, loc, block, constant(launch.grid));
      // As unsigned numbers, blocks before the range are past its end.
      mine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, own, constant(shape.grid));
    }
    when(mine, [&] {
      storage.clear();
      segment(part, own);
    });
    launch.block = shape.block;
    launch.grid += shape.grid;
  }
  func::ReturnOp::create(builder, loc);
  return launch;
}

} // namespace

FailureOr<CompiledKernel> lowerKernelToGrids(func::FuncOp func) {
  FailureOr<CudaKernelPlan> plan = CudaKernelPlan::make(func);
  if (failed(plan))
    return failure();
  const MemoryPlan &memory = plan->memory;
  auto module = func->getParentOfType<ModuleOp>();
  CompiledKernel info;
  info.symbol = func.getName().str();
  info.argCount = func.getNumArguments() + func.getNumResults();
  info.extent = memory.schedule.extent;
  info.costNs = memory.schedule.costNs;
  info.flops = memory.schedule.flops;
  info.workspaceBytes = memory.workspaceBytes;
  for (auto [number, grid] : llvm::enumerate(memory.grids))
    info.launches.push_back(GridEmitter(*plan, module).run(info.symbol + "_" + std::to_string(number), grid));
  func.erase();
  return info;
}

} // namespace dgc
