//===- Grids.h - the grids of kernels as LLVM IR ----------------------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_GRIDS_H
#define DGC_COMPILER_TARGET_CUDA_GRIDS_H

#include "compiler/codegen/CompiledKernels.h"
#include "compiler/codegen/Lowering.h"
#include "llvm/IR/Module.h"

namespace dgc {

struct Grids {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code; // null: there are no kernels
  CompiledKernels kernels;
  std::vector<KernelLaunch> launches; // of all of them
};

/// Makes the ops of the dialects gpu and nvvm, by which grids know their place and meet their neighbours, such as can
/// be translated to LLVM IR. All else is in the LLVM dialect.
using LowerDevice = llvm::function_ref<mlir::LogicalResult(mlir::ModuleOp, llvm::ArrayRef<KernelLaunch>)>;

/// The grids of every function of `kernels`, dgc ops on tensors of known shape. Fails with a diagnostic.
mlir::LogicalResult lowerToGrids(mlir::ModuleOp kernels, MathFunctions math, LowerDevice lowerDevice, Grids &grids);

/// For NVIDIA GPUs: as instructions of theirs, and `launches` as kernels.
mlir::LogicalResult lowerToNVVM(mlir::ModuleOp module, llvm::ArrayRef<KernelLaunch> launches);

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_GRIDS_H
