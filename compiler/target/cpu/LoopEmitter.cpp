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

/// Scratch memory on the stack and, for what is large, from the heap.
class HostMemory final : public MemoryAccess {
public:
  Value scratch(ElementEmitter &code, Type storage, int64_t count) override;
  /// Gives back what is from the heap.
  void release(ElementEmitter &code);

private:
  int64_t stackBytes = 0;
  SmallVector<Value> heap;
};

Value HostMemory::scratch(ElementEmitter &code, Type storage, int64_t count) {
  OpBuilder &builder = code.builder;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&code.kernel.getBody().front());
  int64_t bytes = count * llvm::divideCeil(storage.getIntOrFloatBitWidth(), 8);
  if (stackBytes + bytes <= kMaxStackBytes) {
    stackBytes += bytes;
    return LLVM::AllocaOp::create(builder, code.loc, code.pointer, storage, code.constant(count), 64);
  }
  auto malloc = code.module.lookupSymbol<LLVM::LLVMFuncOp>("malloc");
  if (!malloc) {
    OpBuilder top = OpBuilder::atBlockBegin(code.module.getBody());
    Type nothing = LLVM::LLVMVoidType::get(code.context);
    auto type = LLVM::LLVMFunctionType::get(code.pointer, {code.indexType});
    malloc = LLVM::LLVMFuncOp::create(top, code.loc, "malloc", type);
    LLVM::LLVMFuncOp::create(top, code.loc, "free", LLVM::LLVMFunctionType::get(nothing, {code.pointer}));
  }
  Value memory = LLVM::CallOp::create(builder, code.loc, malloc, ValueRange{code.constant(bytes)}).getResult();
  heap.push_back(memory);
  return memory;
}

void HostMemory::release(ElementEmitter &code) {
  for (Value memory : heap)
    LLVM::CallOp::create(code.builder, code.loc, code.module.lookupSymbol<LLVM::LLVMFuncOp>("free"), memory);
}

class LoopEmitter {
public:
  LoopEmitter(const CpuKernelPlan &plan, ModuleOp module)
      : plan(plan), schedule(plan.schedule), code(plan.graph, module, memory), nests(code), builder(code.builder),
        loc(code.loc) {}

  void run(StringRef name);

private:
  void declare(StringRef name);
  void allocateAll();
  void segment(unsigned number, Value begin, Value end);
  void rows(unsigned number, Value begin, Value end);

  const CpuKernelPlan &plan;
  const Schedule &schedule;
  HostMemory memory;
  ElementEmitter code;
  NestEmitter nests;
  OpBuilder &builder;
  Location loc;
};

/// The parts [begin, end) of a segment with rows.
void LoopEmitter::rows(unsigned number, Value begin, Value end) {
  const Segment &segment = schedule.segments[number];
  scf::ForOp rowLoop = code.loop(begin, end, {}, false);
  Value rest = rowLoop.getInductionVar();
  for (unsigned dim = segment.rowDims; dim-- > 0;) {
    Value size = code.constant(segment.rowShape[dim]);
    code.bind(dim, dim == 0 ? rest : arith::RemUIOp::create(builder, loc, rest, size).getResult());
    if (dim > 0)
      rest = arith::DivUIOp::create(builder, loc, rest, size);
  }
  code.floor = code.current;
  for (const NestPlan &nest : plan.nests[number])
    nests.emitNest(segment, nest);
  code.floor = 0;
  scf::YieldOp::create(builder, loc);
  code.closeLoop();
}

/// The parts [begin, end) of a segment.
void LoopEmitter::segment(unsigned number, Value begin, Value end) {
  const Segment &segment = schedule.segments[number];
  if (segment.rowDims > 0)
    return rows(number, begin, end);
  const NestPlan &only = plan.nests[number].front();
  if (segment.splitLoop >= 0) {
    Value chunk = code.constant(segment.chunk), most = code.constant(only.nest.trips[segment.splitLoop]);
    Value lower = arith::MulIOp::create(builder, loc, begin, chunk);
    Value upper = arith::MulIOp::create(builder, loc, end, chunk);
    return nests.emitNest(segment, only, lower, arith::MinSIOp::create(builder, loc, upper, most));
  }
  if (schedule.sequential)
    return nests.emitNest(segment, only);
  // Work that is not split has one part, which one thread computes.
  Value mine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, begin, end);
  code.when(mine, [&] { nests.emitNest(segment, only); });
}

/// Makes the function, without a body. What is updated in place has an alias; all else has none.
void LoopEmitter::declare(StringRef name) {
  func::FuncOp source = code.graph.func;
  unsigned inputs = source.getNumArguments(), pointers = inputs + source.getNumResults();
  SmallVector<Type> types(pointers, code.pointer);
  types.append(2, code.indexType);
  builder.setInsertionPoint(source);
  code.kernel = func::FuncOp::create(builder, loc, name, builder.getFunctionType(types, {}));
  code.kernel.setPrivate();
  code.kernel->setAttr("llvm.linkage", LLVM::LinkageAttr::get(code.context, LLVM::Linkage::Internal));
  llvm::BitVector mayAlias = code.graph.mayAlias();
  code.kernel.addEntryBlock();
  for (unsigned i = 0; i < pointers; ++i) {
    if (!mayAlias.test(i))
      code.kernel.setArgAttr(i, "llvm.noalias", builder.getUnitAttr());
    code.kernel.setArgAttr(i, "llvm.nocapture", builder.getUnitAttr());
    if (i < inputs && !mayAlias.test(i))
      code.kernel.setArgAttr(i, "llvm.readonly", builder.getUnitAttr());
  }
}

/// Gives everything that is stored its place: results first, scratch memory for the rest.
void LoopEmitter::allocateAll() {
  func::FuncOp source = code.graph.func;
  auto ret = cast<func::ReturnOp>(source.getBody().front().getTerminator());
  for (auto [i, value] : llvm::enumerate(ret.getOperands()))
    code.storage[value].memory.push_back(code.kernel.getArgument(source.getNumArguments() + i));
  for (const auto &[value, memory] : plan.scratch)
    code.storage[value] = {{code.scratch(code.storageOf(elementOf(value)), memory.elements)}, memory.rowDims};
}

void LoopEmitter::run(StringRef name) {
  declare(name);
  code.enter(&code.kernel.getBody().front());
  allocateAll();
  code.moveTo(0);
  unsigned count = code.kernel.getNumArguments();
  Value begin = code.kernel.getArgument(count - 2), end = code.kernel.getArgument(count - 1);
  int64_t offset = 0;
  for (auto [number, part] : llvm::enumerate(schedule.segments)) {
    Value from = begin, to = end;
    if (schedule.sequential) {
      from = code.constant(0);
      to = code.constant(part.extent);
    } else if (schedule.segments.size() > 1) {
      auto clamp = [&](Value at) {
        Value shifted = arith::SubIOp::create(builder, loc, at, code.constant(offset));
        shifted = arith::MaxSIOp::create(builder, loc, shifted, code.constant(0));
        return arith::MinSIOp::create(builder, loc, shifted, code.constant(part.extent)).getResult();
      };
      from = clamp(begin);
      to = clamp(end);
    }
    segment(number, from, to);
    offset += part.extent;
  }
  memory.release(code);
  func::ReturnOp::create(builder, loc);
}

} // namespace

void emitLoops(const CpuKernelPlan &plan, ModuleOp module, StringRef name) { LoopEmitter(plan, module).run(name); }

} // namespace dgc
