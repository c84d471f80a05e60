//===- Codegen.h - kernels to code for NVIDIA GPUs ---------------------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_CODEGEN_H
#define DGC_COMPILER_TARGET_CUDA_CODEGEN_H

#include "compiler/codegen/CompiledKernels.h"
#include "compiler/target/cuda/CudaTarget.h"
#include "mlir/IR/BuiltinOps.h"

namespace dgc {

/// Compiles every function of `kernels`, dgc ops on tensors of known shape, to PTX for each architecture and, where
/// NVIDIA's assembler is found, to cubins. The rest is as for the CPU. No GPU and no CUDA library is needed.
mlir::FailureOr<CompiledKernels> compileKernels(mlir::ModuleOp kernels, const CudaTarget &target);

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_CODEGEN_H
