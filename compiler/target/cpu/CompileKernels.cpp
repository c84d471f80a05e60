//===- CompileKernels.cpp -------------------------------------------------===//

#include "compiler/target/cpu/Codegen.h"
#include "compiler/target/cpu/Lowering.h"
#include "compiler/target/cpu/MachineCode.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

using namespace mlir;

namespace dgc {

FailureOr<CompiledKernels> compileKernels(ModuleOp kernels, const CpuTarget &target) {
  CompiledKernels result;
  result.triple = target.triple;
  result.cpu = target.cpu;
  result.features = target.features;
  MLIRContext *context = kernels.getContext();
  loadKernelDialects(*context);
  registerBuiltinDialectTranslation(*context);
  registerLLVMDialectTranslation(*context);

  OwningOpRef<ModuleOp> module = cast<ModuleOp>(kernels->clone());
  for (func::FuncOp func : llvm::make_early_inc_range(module->getOps<func::FuncOp>())) {
    if (func.isExternal() || func.getName().ends_with("_body"))
      continue;
    if (failed(lowerKernelToLinalg(func)))
      return failure();
    FailureOr<CompiledKernel> kernel = lowerKernelToLoops(func);
    if (failed(kernel))
      return failure();
    result.kernels.push_back(std::move(*kernel));
  }
  if (result.kernels.empty())
    return result;
  PassManager pm(context, ModuleOp::getOperationName());
  pm.enableVerifier(false);
  addLoopsToLLVM(pm);
  if (failed(pm.run(*module)))
    return failure();
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(*module, llvmContext, "kernels");
  if (!code)
    return kernels.emitError("the kernels could not be translated to LLVM IR");
  llvm::Expected<std::vector<uint8_t>> object = generateSharedObject(*code, target);
  if (!object)
    return kernels.emitError("the kernels could not be compiled: ") << llvm::toString(object.takeError());
  result.object = std::move(*object);
  return result;
}

} // namespace dgc
