//===- GridEmitter.cpp - kernels for GPUs ------------------------------------===//

#include "compiler/target/cuda/GridEmitter.h"
#include "compiler/codegen/Lowering.h"
#include "compiler/target/cuda/GridCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace dgc {
namespace {

/// Writes one grid: some segments, each in a range of blocks of its own.
class GridEmitter {
public:
  GridEmitter(const CudaKernelPlan &plan, ModuleOp module, ArrayRef<MemoryPlan::Part> parts)
      : plan(plan), parts(parts), grid(plan, module, plan.tileBytesOf(parts)), code(grid.code), group(grid.group) {}

  KernelLaunch run(const std::string &name);

private:
  void declare(StringRef name);
  void placeAll(unsigned segment);
  void segment(MemoryPlan::Part part, Value block);
  void select(ArrayRef<int64_t> firsts, size_t begin, size_t end, Value block);

  const CudaKernelPlan &plan;
  ArrayRef<MemoryPlan::Part> parts;
  GridCode grid;
  ElementEmitter &code;
  ThreadGroup &group;
};

void GridEmitter::declare(StringRef name) {
  func::FuncOp source = code.graph.func;
  unsigned inputs = source.getNumArguments(), pointers = inputs + source.getNumResults();
  SmallVector<Type> types(pointers + 1, code.pointer);
  code.builder.setInsertionPoint(source);
  code.kernel = func::FuncOp::create(code.builder, code.loc, name, code.builder.getFunctionType(types, {}));
  llvm::BitVector mayAlias = code.graph.mayAlias();
  code.kernel.addEntryBlock();
  for (unsigned i = 0; i <= pointers; ++i) {
    code.kernel.setArgAttr(i, "llvm.align", code.builder.getI64IntegerAttr(64));
    if (i < pointers && mayAlias.test(i))
      continue;
    code.kernel.setArgAttr(i, "llvm.noalias", code.builder.getUnitAttr());
    if (i < inputs)
      code.kernel.setArgAttr(i, "llvm.readonly", code.builder.getUnitAttr());
  }
}

/// Gives everything that a segment stores or reads its place.
void GridEmitter::placeAll(unsigned number) {
  func::FuncOp source = code.graph.func;
  auto ret = cast<func::ReturnOp>(source.getBody().front().getTerminator());
  for (auto [i, value] : llvm::enumerate(ret.getOperands())) {
    ElementEmitter::Storage &at = code.storage[value];
    Value argument = code.kernel.getArgument(source.getNumArguments() + i);
    if (!llvm::is_contained(at.memory, argument))
      at.memory.push_back(argument);
  }
  Value workspace = code.kernel.getArgument(code.kernel.getNumArguments() - 1);
  for (const auto &[value, location] : plan.memory.locations) {
    if (location.inShared) {
      if (location.segment != number)
        continue;
      Type type = code.storageOf(elementOf(value));
      int64_t count = std::max<int64_t>(sizeOf(shapeOf(value).drop_front(location.rowDims)), 1);
      Value memory = group.shared("row", type, count * group.geometry.groupsPerBlock());
      Value first = code.times(group.number, count);
      memory = code.addressOf(memory, type, code.symbolFor(first));
      code.storage[value] = {{memory}, location.rowDims};
      if (count * llvm::divideCeil(type.getIntOrFloatBitWidth(), 8) % 16 == 0)
        grid.memory.alignedRows.insert(memory);
    } else if (!code.storage.contains(value)) {
      Value memory = LLVM::GEPOp::create(code.builder, code.loc, code.pointer, code.builder.getI8Type(), workspace,
                                         ArrayRef<LLVM::GEPArg>{code.constant(location.offset)});
      code.storage[value] = {{memory}, 0};
    }
  }
}

void GridEmitter::segment(MemoryPlan::Part part, Value block) {
  unsigned number = part.segment;
  const Segment &segment = plan.memory.schedule.segments[number];
  const SegmentPlan &shape = plan.segments[number];
  group.geometry = plan.memory.geometryOf(part);
  if (!part.finish && shape.form == SegmentForm::Groups) // each group has a place of its own
    return emitGroups(grid, segment, shape, block, [&] { placeAll(number); });
  placeAll(number);
  if (part.finish)
    return emitFinish(grid, segment, block);
  switch (shape.form) {
  case SegmentForm::Points:
    return emitPoints(grid, segment, shape, block);
  case SegmentForm::Columns:
    return emitColumns(grid, shape, block);
  case SegmentForm::Tiles:
    return emitTiles(grid, segment, block);
  case SegmentForm::Sparse:
    return emitSparse(grid, segment, shape.sparse, block);
  case SegmentForm::Groups:
    break;
  }
}

/// The parts from `begin` to `end`, one of which has the block: a kernel may have more than a hundred, so they are halved.
void GridEmitter::select(ArrayRef<int64_t> firsts, size_t begin, size_t end, Value block) {
  if (end - begin == 1) {
    code.storage.clear();
    Value first = code.constant(firsts[begin]);
    return segment(parts[begin], begin == 0 ? block : arith::SubIOp::create(code.builder, code.loc, block, first));
  }
  const size_t middle = begin + (end - begin) / 2;
  Value isBefore = code.below(block, firsts[middle]);
  Value yes = arith::ConstantIntOp::create(code.builder, code.loc, code.builder.getI1Type(), 1);
  code.when(isBefore, [&] { select(firsts, begin, middle, block); });
  code.when(arith::XOrIOp::create(code.builder, code.loc, isBefore, yes), [&] { select(firsts, middle, end, block); });
}

KernelLaunch GridEmitter::run(const std::string &name) {
  declare(name);
  code.enter(&code.kernel.getBody().front());
  code.moveTo(0);
  KernelLaunch launch;
  launch.symbol = name;
  launch.grid = 0;
  group.thread = group.threadOfBlock();
  SmallVector<int64_t> firsts; // the first block of each part
  for (MemoryPlan::Part part : parts) {
    ThreadGeometry shape = plan.memory.geometryOf(part);
    firsts.push_back(launch.grid);
    launch.block = shape.block;
    launch.grid += shape.grid;
  }
  select(firsts, 0, parts.size(), group.blockOfGrid());
  func::ReturnOp::create(code.builder, code.loc);
  return launch;
}

} // namespace

FailureOr<CompiledKernel> lowerKernelToGrids(func::FuncOp func) {
  FailureOr<CudaKernelPlan> plan = CudaKernelPlan::make(func);
  if (failed(plan))
    return failure();
  func.getContext()->loadDialect<gpu::GPUDialect, NVVM::NVVMDialect>();
  const MemoryPlan &memory = plan->memory;
  auto module = func->getParentOfType<ModuleOp>();
  CompiledKernel info;
  info.symbol = func.getName().str();
  info.argCount = func.getNumArguments() + func.getNumResults();
  info.inplace = inplaceOf(func);
  info.extent = memory.schedule.extent;
  info.costNs = memory.schedule.costNs;
  info.flops = memory.schedule.flops;
  info.workspaceBytes = memory.workspaceBytes;
  for (auto [number, grid] : llvm::enumerate(memory.grids))
    info.launches.push_back(GridEmitter(*plan, module, grid).run(info.symbol + "_" + std::to_string(number)));
  func.erase();
  return info;
}

} // namespace dgc
