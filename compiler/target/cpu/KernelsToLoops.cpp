//===- KernelsToLoops.cpp - dgc-lower-kernels-to-loops --------------------===//

#include "compiler/codegen/Lowering.h"
#include "compiler/target/cpu/LoopEmitter.h"
#include "compiler/target/cpu/Lowering.h"
#include "compiler/target/cpu/Passes.h"
#include "dialects/dgc/AttributeNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace dgc {
#define GEN_PASS_DEF_LOWERKERNELSTOLOOPS
#include "compiler/target/cpu/Passes.h.inc"
} // namespace dgc

using namespace mlir;

namespace dgc {

/// void name(void *const *args, int64_t begin, int64_t end, const dgc_step *): takes the pointers out of `args`.
static LLVM::LLVMFuncOp buildEntry(ModuleOp module, Location loc, StringRef name, func::FuncOp body,
                                   unsigned argCount) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext()), i64 = builder.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()), {pointer, i64, i64, pointer});
  auto entry = LLVM::LLVMFuncOp::create(builder, loc, name, type);
  Block *block = entry.addEntryBlock(builder);
  builder.setInsertionPointToEnd(block);
  SmallVector<Value> operands;
  for (unsigned i = 0; i < argCount; ++i) {
    Value slot =
        LLVM::GEPOp::create(builder, loc, pointer, pointer, block->getArgument(0), ArrayRef<LLVM::GEPArg>{int32_t(i)});
    operands.push_back(LLVM::LoadOp::create(builder, loc, pointer, slot));
  }
  operands.push_back(block->getArgument(1));
  operands.push_back(block->getArgument(2));
  func::CallOp::create(builder, loc, body, operands);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return entry;
}

FailureOr<CompiledKernel> lowerKernelToLoops(func::FuncOp func) {
  FailureOr<KernelGraph> graph = KernelGraph::build(func);
  if (failed(graph))
    return failure();
  CpuKernelPlan plan(*std::move(graph));
  auto module = func->getParentOfType<ModuleOp>();
  std::string name = func.getName().str(), bodyName = name + "_body";
  emitLoops(plan, module, bodyName);
  CompiledKernel info;
  info.symbol = name;
  info.argCount = func.getNumArguments() + func.getNumResults();
  info.inplace = inplaceOf(func);
  info.extent = plan.schedule.extent;
  info.costNs = plan.schedule.costNs;
  info.flops = plan.schedule.flops;
  Location loc = func.getLoc();
  func.erase();
  LLVM::LLVMFuncOp entry = buildEntry(module, loc, name, module.lookupSymbol<func::FuncOp>(bodyName), info.argCount);
  Builder builder(module.getContext());
  entry->setAttr(kExtentAttr, builder.getI64IntegerAttr(info.extent));
  entry->setAttr(kCostAttr, builder.getI64IntegerAttr(info.costNs));
  entry->setAttr(kFlopsAttr, builder.getI64IntegerAttr(info.flops));
  return info;
}

namespace {
struct LowerKernelsToLoops : dgc::impl::LowerKernelsToLoopsBase<LowerKernelsToLoops> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> kernels;
    getOperation()->walk([&](func::FuncOp func) {
      if (!func.isExternal())
        kernels.push_back(func);
    });
    for (func::FuncOp func : kernels)
      if (failed(lowerKernelToLoops(func)))
        return signalPassFailure();
  }
};
} // namespace

} // namespace dgc
