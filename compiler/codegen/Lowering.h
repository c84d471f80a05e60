//===- Lowering.h - what the lowerings of kernels have in common ------------===//

#ifndef DGC_COMPILER_CODEGEN_LOWERING_H
#define DGC_COMPILER_CODEGEN_LOWERING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <vector>

namespace dgc {

/// Replaces the dgc ops of a kernel by linalg on tensors with signless elements and no encodings.
mlir::LogicalResult lowerKernelToLinalg(mlir::func::FuncOp func);

/// Gives `use` every kernel of a copy of the module, in linalg.
mlir::LogicalResult forEachKernel(mlir::ModuleOp kernels,
                                  llvm::function_ref<mlir::LogicalResult(mlir::func::FuncOp)> use);

/// For each result of a kernel the argument whose memory it may have, or -1 (dgc.inplace).
std::vector<int32_t> inplaceOf(mlir::func::FuncOp kernel);

/// How what is left of math ops becomes code.
enum class MathFunctions {
  Library, // calls of the C mathematical library
  None,    // there is none: all that can be is arithmetic
  Gpu      // nor there; conversions of bf16 are instructions
};

/// Adds the passes from loops to the LLVM dialect to a module's pipeline.
void addLoopsToLLVM(mlir::OpPassManager &pm, MathFunctions functions = MathFunctions::Library);

/// Loads the dialects that the lowering of a kernel makes use of.
void loadKernelDialects(mlir::MLIRContext &context);

} // namespace dgc

#endif // DGC_COMPILER_CODEGEN_LOWERING_H
