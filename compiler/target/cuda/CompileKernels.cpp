//===- CompileKernels.cpp - kernels to code for NVIDIA GPUs ------------------===//

#include "compiler/target/cuda/Codegen.h"
#include "compiler/target/cuda/DeviceModule.h"
#include "compiler/target/cuda/Grids.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;

namespace dgc {

FailureOr<CompiledKernels> compileKernels(ModuleOp kernels, const CudaTarget &target) {
  Grids grids;
  grids.kernels.kind = "cuda";
  grids.kernels.triple = "nvptx64-nvidia-cuda";
  for (unsigned architecture : target.architectures)
    grids.kernels.features.push_back("sm_" + std::to_string(architecture));
  if (failed(lowerToGrids(kernels, MathFunctions::Gpu, lowerToNVVM, grids)))
    return failure();
  if (!grids.code)
    return std::move(grids.kernels);
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

} // namespace dgc
