//===- Lowering.h - from kernels in dgc to the LLVM dialect -----------------===//

#ifndef DGC_COMPILER_CODEGEN_CPU_LOWERING_H
#define DGC_COMPILER_CODEGEN_CPU_LOWERING_H

#include "compiler/codegen/cpu/CompiledKernels.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace dgc {

/// Replaces the dgc ops of a kernel by linalg on tensors with signless elements and no encodings.
mlir::LogicalResult lowerKernelToLinalg(mlir::func::FuncOp func);

/// Replaces a kernel in linalg by loops over its memory: a function of pointers, and a function of the kernel's name
/// with the calling convention of runtime/artifact/KernelAbi.h.
mlir::FailureOr<CompiledKernel> lowerKernelToLoops(mlir::func::FuncOp func);

/// Adds the passes from loops to the LLVM dialect to a module's pipeline.
void addLoopsToLLVM(mlir::OpPassManager &pm);

/// Loads the dialects that the lowering of a kernel makes use of.
void loadKernelDialects(mlir::MLIRContext &context);

} // namespace dgc

#endif // DGC_COMPILER_CODEGEN_CPU_LOWERING_H
