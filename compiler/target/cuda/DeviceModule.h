//===- DeviceModule.h - LLVM IR of grids to code of a device ----------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_DEVICEMODULE_H
#define DGC_COMPILER_TARGET_CUDA_DEVICEMODULE_H

#include "compiler/codegen/CompiledKernels.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace dgc {

/// Makes what grids ask of the device instructions of NVIDIA GPUs, and `launches` kernels.
void bindToGpu(llvm::Module &module, llvm::ArrayRef<KernelLaunch> launches);

/// The text of PTX for sm_`architecture`. Fails when the code needs a function that GPUs do not have.
llvm::Expected<std::string> generatePtx(llvm::Module &module, unsigned architecture);

/// The path of NVIDIA's assembler: $DGC_PTXAS, on the PATH, or in the folder of the toolkit; empty when there is none.
std::string findPtxas();

/// The cubin for sm_`architecture`.
llvm::Expected<std::vector<uint8_t>> assemble(llvm::StringRef ptxas, llvm::StringRef ptx, unsigned architecture);

/// Makes each grid a function `SYMBOL_emulated(void *const *args)` that an emulator calls for every thread, and leaves
/// what grids ask of the device to functions that the emulator has.
void bindToEmulator(llvm::Module &module, llvm::ArrayRef<KernelLaunch> launches);

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_DEVICEMODULE_H
