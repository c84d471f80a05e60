//===- CompileKernels.cpp - kernels to code for NVIDIA GPUs ------------------===//

#include "compiler/codegen/Lowering.h"
#include "compiler/target/cpu/CpuTarget.h"
#include "compiler/target/cpu/MachineCode.h"
#include "compiler/target/cuda/Codegen.h"
#include "compiler/target/cuda/DeviceModule.h"
#include "compiler/target/cuda/GridEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;

namespace dgc {
namespace {

/// The grids of all kernels as LLVM IR.
struct Grids {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code; // null: there are no kernels
  CompiledKernels kernels;
  std::vector<KernelLaunch> launches; // of all of them
};

} // namespace

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

static LogicalResult lowerAll(ModuleOp kernels, MathFunctions math, Grids &grids) {
  MLIRContext *context = kernels.getContext();
  loadKernelDialects(*context);
  registerBuiltinDialectTranslation(*context);
  registerLLVMDialectTranslation(*context);
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
  PassManager pm(context, ModuleOp::getOperationName());
  pm.enableVerifier(false);
  addLoopsToLLVM(pm, math);
  if (failed(pm.run(*module)) || failed(checkFunctions(*module)))
    return failure();
  grids.code = translateModuleToLLVMIR(*module, grids.context, "kernels");
  if (!grids.code)
    return kernels.emitError("the kernels could not be translated to LLVM IR");
  return success();
}

FailureOr<CompiledKernels> compileKernels(ModuleOp kernels, const CudaTarget &target) {
  Grids grids;
  grids.kernels.kind = "cuda";
  grids.kernels.triple = "nvptx64-nvidia-cuda";
  for (unsigned architecture : target.architectures)
    grids.kernels.features.push_back("sm_" + std::to_string(architecture));
  if (failed(lowerAll(kernels, MathFunctions::Gpu, grids)))
    return failure();
  if (!grids.code)
    return std::move(grids.kernels);
  bindToGpu(*grids.code, grids.launches);
  std::string ptxas = findPtxas();
  for (unsigned architecture : target.architectures) {
    std::string name = "sm_" + std::to_string(architecture);
    std::unique_ptr<llvm::Module> copy = llvm::CloneModule(*grids.code);
    llvm::Expected<std::string> ptx = generatePtx(*copy, architecture);
    if (!ptx)
      return kernels.emitError("the kernels could not be compiled for ")
             << name << ": " << llvm::toString(ptx.takeError());
    grids.kernels.deviceCode.push_back({architecture, false, {ptx->begin(), ptx->end()}});
    if (ptxas.empty())
      continue;
    llvm::Expected<std::vector<uint8_t>> cubin = assemble(ptxas, *ptx, architecture);
    if (!cubin)
      return kernels.emitError("the kernels could not be assembled: ") << llvm::toString(cubin.takeError());
    grids.kernels.deviceCode.push_back({architecture, true, std::move(*cubin)});
  }
  return std::move(grids.kernels);
}

FailureOr<CompiledKernels> compileForEmulator(ModuleOp kernels) {
  Grids grids;
  std::string wrong;
  std::optional<CpuTarget> cpu = CpuTarget::parse("cpu", wrong);
  if (!cpu)
    return kernels.emitError() << wrong;
  if (failed(lowerAll(kernels, MathFunctions::None, grids)))
    return failure();
  grids.kernels.kind = "emulator";
  if (!grids.code)
    return std::move(grids.kernels);
  bindToEmulator(*grids.code, grids.launches);
  llvm::Expected<std::vector<uint8_t>> object = generateSharedObject(*grids.code, *cpu);
  if (!object)
    return kernels.emitError("the kernels could not be compiled: ") << llvm::toString(object.takeError());
  grids.kernels.object = std::move(*object);
  return std::move(grids.kernels);
}

} // namespace dgc
