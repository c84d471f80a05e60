//===- DeviceModule.h - LLVM IR of grids to code of a GPU -------------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_DEVICEMODULE_H
#define DGC_COMPILER_TARGET_CUDA_DEVICEMODULE_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace dgc {

/// The text of PTX for sm_`architecture`. Fails when the code needs a function that GPUs do not have.
llvm::Expected<std::string> generatePtx(llvm::Module &module, unsigned architecture);

/// The path of NVIDIA's assembler: $DGC_PTXAS, on the PATH, or in the folder of the toolkit; empty when there is none.
std::string findPtxas();

/// The cubin for sm_`architecture`.
llvm::Expected<std::vector<uint8_t>> assemble(llvm::StringRef ptxas, llvm::StringRef ptx, unsigned architecture);

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_DEVICEMODULE_H
