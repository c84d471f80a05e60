//===- LoopEmitter.cpp - loops of a scheduled kernel ----------------------===//
//
// Writes the function of a kernel with scf, arith, math and the memory ops of the LLVM dialect: the pointers of a
// kernel are all that it gets, and every address is an explicit row-major position.
//
//===----------------------------------------------------------------------===//

#include "compiler/target/cpu/LoopEmitter.h"
#include "compiler/codegen/NestEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dgc {

/// Kernels with more scratch memory than this take it from the heap.
static constexpr int64_t kMaxStackBytes = 256 << 10;
namespace {

class LoopEmitter : public NestEmitter {
public:
  LoopEmitter(const CpuKernelPlan &plan, ModuleOp module)
      : NestEmitter(plan.graph, module), plan(plan), schedule(plan.schedule) {}

  void run(StringRef name);

private:
  void declare(StringRef name);
  void allocateAll();
  Value scratch(Type storage, int64_t count) override;
  void segment(unsigned number, Value begin, Value end);
  void rows(unsigned number, Value begin, Value end);

  const CpuKernelPlan &plan;
  const Schedule &schedule;
  int64_t stackBytes = 0;
  SmallVector<Value> heap;
};

/// The parts [begin, end) of a segment with rows.
void LoopEmitter::rows(unsigned number, Value begin, Value end) {
  const Segment &segment = schedule.segments[number];
  scf::ForOp rowLoop = loop(begin, end, {}, false);
  Value rest = rowLoop.getInductionVar();
  for (unsigned dim = segment.rowDims; dim-- > 0;) {
    Value size = constant(segment.rowShape[dim]);
    bind(dim, dim == 0 ? rest : arith::RemUIOp::create(builder, loc, rest, size).getResult());
    if (dim > 0)
      rest = arith::DivUIOp::create(builder, loc, rest, size);
  }
  floor = current;
  for (const NestPlan &nest : plan.nests[number])
    emitNest(segment, nest, {}, {});
  floor = 0;
  scf::YieldOp::create(builder, loc);
  closeLoop();
}

/// The parts [begin, end) of a segment.
void LoopEmitter::segment(unsigned number, Value begin, Value end) {
  const Segment &segment = schedule.segments[number];
  if (segment.rowDims > 0)
    return rows(number, begin, end);
  const NestPlan &only = plan.nests[number].front();
  if (segment.splitLoop >= 0) {
    Value chunk = constant(segment.chunk), most = constant(only.nest.trips[segment.splitLoop]);
    Value lower = arith::MulIOp::create(builder, loc, begin, chunk);
    Value upper = arith::MulIOp::create(builder, loc, end, chunk);
    return emitNest(segment, only, lower, arith::MinSIOp::create(builder, loc, upper, most));
  }
  if (schedule.sequential)
    return emitNest(segment, only, {}, {});
  // Work that is not split has one part, which one thread computes.
  Value mine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, begin, end);
  auto branch = scf::IfOp::create(builder, loc, mine, /*withElseRegion=*/false);
  branch.thenBlock()->getTerminator()->erase();
  scopes[current].before = branch;
  enter(branch.thenBlock(), /*conditional=*/true);
  emitNest(segment, only, {}, {});
  scf::YieldOp::create(builder, loc);
  closeLoop();
}

/// Makes the function, without a body. What is updated in place has an alias; all else has none.
void LoopEmitter::declare(StringRef name) {
  func::FuncOp source = graph.func;
  unsigned inputs = source.getNumArguments(), pointers = inputs + source.getNumResults();
  SmallVector<Type> types(pointers, pointer);
  types.append(2, indexType);
  builder.setInsertionPoint(source);
  kernel = func::FuncOp::create(builder, loc, name, builder.getFunctionType(types, {}));
  kernel.setPrivate();
  kernel->setAttr("llvm.linkage", LLVM::LinkageAttr::get(context, LLVM::Linkage::Internal));
  llvm::BitVector mayAlias = graph.mayAlias();
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
    storage[value].memory.push_back(kernel.getArgument(source.getNumArguments() + i));
  for (const auto &[value, memory] : plan.scratch)
    storage[value] = {{scratch(storageOf(elementOf(value)), memory.elements)}, memory.rowDims};
}

Value LoopEmitter::scratch(Type storage, int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  int64_t bytes = count * llvm::divideCeil(storage.getIntOrFloatBitWidth(), 8);
  if (stackBytes + bytes <= kMaxStackBytes) {
    stackBytes += bytes;
    return LLVM::AllocaOp::create(builder, loc, pointer, storage, constant(count), 64);
  }
  auto malloc = module.lookupSymbol<LLVM::LLVMFuncOp>("malloc");
  if (!malloc) {
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    Type nothing = LLVM::LLVMVoidType::get(context);
    malloc = LLVM::LLVMFuncOp::create(top, loc, "malloc", LLVM::LLVMFunctionType::get(pointer, {indexType}));
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
  for (auto [number, part] : llvm::enumerate(schedule.segments)) {
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
    segment(number, from, to);
    offset += part.extent;
  }
  for (Value memory : heap)
    LLVM::CallOp::create(builder, loc, module.lookupSymbol<LLVM::LLVMFuncOp>("free"), memory);
  func::ReturnOp::create(builder, loc);
}

} // namespace

void emitLoops(const CpuKernelPlan &plan, ModuleOp module, StringRef name) { LoopEmitter(plan, module).run(name); }

} // namespace dgc
