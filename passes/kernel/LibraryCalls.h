//===- LibraryCalls.h - ops that the device's library has --------------------===//

#ifndef DGC_PASSES_KERNEL_LIBRARYCALLS_H
#define DGC_PASSES_KERNEL_LIBRARYCALLS_H

#include "dialects/dgc/DGC.h"
#include "dialects/exec/Exec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/analysis/SizeDecisions.h"

namespace dgc {

// Each replaces an op by a library call, which it returns; null, and nothing has changed, where the library has none.
// `anyOrder`: the library takes operands whose dimensions are stored in any order; else one of a matrix must be the last one.
// `forGpus`: cuDNN's convolutions, which take filters with their outputs first; else those of the CPU's library.
mlir::Operation *selectMatmul(mlir::Operation *op, bool anyOrder);
mlir::Operation *selectConvolution(mlir::Operation *op, bool forGpus);
mlir::Operation *selectPool(mlir::Operation *op);
mlir::Operation *selectScatterAdd(mlir::Operation *op);
mlir::Operation *selectUpdateSlice(mlir::Operation *op);

/// A scatter-add that the device should sort the indices of: in a kernel, all slices look at all indices.
bool isLargeScatterAdd(mlir::Operation *op, SizeDecisions &decide);

mlir::Operation *selectAttention(mlir::Operation *op);

/// Has the library of GPUs this attention, or gradient of one? Of f16 and bf16, with heads of at most 128 features, a
/// multiple of 8.
bool gpuHasAttention(mlir::Operation *op);

/// Makes elementwise ops after a product or a convolution part of the call, while nothing else needs the value before
/// them: a bias and post ops, or a bias and then relu. Returns how many.
unsigned absorbUsers(mlir::Operation *call, bool reluOnly);

/// Lets products of 16 bits compute gelu and the gradients of biases that use their operands, as cuBLASLt can; where it
/// `takesDerivatives`, those of gelu and relu, too. Returns how many ops these were.
unsigned absorbGradients(mlir::func::FuncOp func, SizeDecisions &decide, bool takesDerivatives);

/// The value in this shape; itself where it has it already.
mlir::Value reshaped(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, llvm::ArrayRef<int64_t> shape);

/// Is every element of `value` this number?
bool isSplat(mlir::Value value, double number);

} // namespace dgc

#endif // DGC_PASSES_KERNEL_LIBRARYCALLS_H
