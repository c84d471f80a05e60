//===- GridEmitter.h - kernels for GPUs --------------------------------------===//
//
// A segment of a kernel's schedule becomes a range of blocks of a grid. Segments that do not depend on each other share
// one grid; those that do are grids that run one after the other.
//
// The functions that are written know their place, and meet their neighbours, by ops of the dialects gpu and, for what
// the threads of a warp do, nvvm; these become instructions of the GPU, or calls of an emulator.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_GRIDEMITTER_H
#define DGC_COMPILER_TARGET_CUDA_GRIDEMITTER_H

#include "compiler/codegen/CompiledKernels.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dgc {

/// Replaces a kernel in linalg by the functions of its grids. Their arguments are the pointers of the kernel's
/// arguments and results, and that of `workspaceBytes` bytes.
mlir::FailureOr<CompiledKernel> lowerKernelToGrids(mlir::func::FuncOp func);

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_GRIDEMITTER_H
