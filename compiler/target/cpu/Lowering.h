//===- Lowering.h - from kernels in dgc to the LLVM dialect -----------------===//

#ifndef DGC_COMPILER_TARGET_CPU_LOWERING_H
#define DGC_COMPILER_TARGET_CPU_LOWERING_H

#include "compiler/codegen/CompiledKernels.h"
#include "compiler/codegen/Lowering.h"

namespace dgc {

/// Replaces a kernel in linalg by loops over its memory: a function of pointers, and a function of the kernel's name
/// with the calling convention of runtime/artifact/KernelAbi.h.
mlir::FailureOr<CompiledKernel> lowerKernelToLoops(mlir::func::FuncOp func);

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CPU_LOWERING_H
