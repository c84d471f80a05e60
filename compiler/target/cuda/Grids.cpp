//===- Grids.cpp - the grids of kernels as LLVM IR --------------------------===//

#include "compiler/target/cuda/Grids.h"
#include "compiler/target/cuda/GridEmitter.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace dgc {

/// Refuses what is left of functions of a mathematical library.
static LogicalResult checkFunctions(ModuleOp module) {
  auto walk = module.walk([](Operation *op) {
    StringRef name = op->getName().getStringRef();
    if (!name.consume_front("math.")) {
      constexpr StringLiteral functions[] = {"exp",   "exp2", "exp10", "log",  "log2",  "log10", "pow",
                                             "powi",  "sin",  "cos",   "tan",  "asin",  "acos",  "atan",
                                             "atan2", "sinh", "cosh",  "tanh", "sincos"};
      if (isa<LLVM::Exp2Op>(op) && op->getResult(0).getType().isF32())
        return WalkResult::advance(); // an instruction
      if (!name.consume_front("llvm.intr.") || !llvm::is_contained(functions, name))
        return WalkResult::advance();
    }
    op->emitError("'") << name << "' of " << op->getResult(0).getType()
                       << " cannot be computed on a GPU: there is no library for it; use f32, or compile for the CPU";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult lowerToGrids(ModuleOp kernels, MathFunctions math, LowerDevice lowerDevice, Grids &grids) {
  MLIRContext *context = kernels.getContext();
  loadKernelDialects(*context);
  registerBuiltinDialectTranslation(*context);
  registerLLVMDialectTranslation(*context);
  registerNVVMDialectTranslation(*context);
  OwningOpRef<ModuleOp> module = cast<ModuleOp>(kernels->clone());
  SmallVector<func::FuncOp> functions;
  for (func::FuncOp func : module->getOps<func::FuncOp>())
    if (!func.isExternal())
      functions.push_back(func);
  for (func::FuncOp func : functions) {
    if (failed(lowerKernelToLinalg(func)))
      return failure();
    FailureOr<CompiledKernel> kernel = lowerKernelToGrids(func);
    if (failed(kernel))
      return failure();
    grids.launches.insert(grids.launches.end(), kernel->launches.begin(), kernel->launches.end());
    grids.kernels.kernels.push_back(std::move(*kernel));
  }
  if (grids.launches.empty())
    return success();
  PassManager pm(context, ModuleOp::getOperationName()), casts(context, ModuleOp::getOperationName());
  pm.enableVerifier(false);
  addLoopsToLLVM(pm, math);
  casts.enableVerifier(false);
  casts.addPass(createReconcileUnrealizedCastsPass()); // of what the device says
  if (failed(pm.run(*module)) || failed(checkFunctions(*module)) || failed(lowerDevice(*module, grids.launches)) ||
      failed(casts.run(*module)))
    return failure();
  grids.code = translateModuleToLLVMIR(*module, grids.context, "kernels");
  if (!grids.code)
    return kernels.emitError("the kernels could not be translated to LLVM IR");
  return success();
}

LogicalResult lowerToNVVM(ModuleOp module, ArrayRef<KernelLaunch> launches) {
  MLIRContext *context = module.getContext();
  LLVMTypeConverter converter(context);
  configureGpuToNVVMTypeConverter(converter);
  RewritePatternSet patterns(context);
  populateGpuToNVVMConversionPatterns(converter, patterns);
  ConversionTarget target(*context);
  target.addIllegalDialect<gpu::GPUDialect>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  if (failed(applyPartialConversion(module, target, std::move(patterns))))
    return failure();
  Builder builder(context);
  for (const KernelLaunch &launch : launches) {
    auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(launch.symbol);
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
    function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                      builder.getDenseI32ArrayAttr({static_cast<int32_t>(launch.block)}));
  }
  return success();
}

} // namespace dgc
