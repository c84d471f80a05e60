//===- GridEmitter.h - kernels for GPUs --------------------------------------===//
//
// A segment of a kernel's schedule becomes a range of blocks of a grid. Segments that do not depend on each other share
// one grid; those that do are grids that run one after the other.
//
// The functions that are written know their place, and meet their neighbours, by calls of the functions of
// `DeviceFunction`; these become instructions of the GPU, or functions of an emulator.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_GRIDEMITTER_H
#define DGC_COMPILER_TARGET_CUDA_GRIDEMITTER_H

#include "compiler/codegen/CompiledKernels.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dgc {

/// What a thread may ask of the device. Names of functions in the code that is written.
namespace device_function {
constexpr llvm::StringLiteral thread = "dgc_gpu_thread";            // i32 (): number of the thread in its block
constexpr llvm::StringLiteral block = "dgc_gpu_block";              // i32 (): number of the block
constexpr llvm::StringLiteral barrier = "dgc_gpu_barrier";          // void (): of the block
constexpr llvm::StringLiteral warpBarrier = "dgc_gpu_warp_barrier"; // void (): of the 32 threads of a warp
constexpr llvm::StringLiteral shuffle = "dgc_gpu_shuffle_xor";      // i32 (i32 value, i32 mask): value of lane ^ mask
constexpr llvm::StringLiteral ballot = "dgc_gpu_ballot"; // i32 (i32 value): a bit for each lane whose value is not 0
} // namespace device_function

/// Replaces a kernel in linalg by the functions of its grids. Their arguments are the pointers of the kernel's
/// arguments and results, and that of `workspaceBytes` bytes.
mlir::FailureOr<CompiledKernel> lowerKernelToGrids(mlir::func::FuncOp func);

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_GRIDEMITTER_H
