//===- MathLibrary.h - which ops call the mathematical library --------------===//

#ifndef DGC_COMPILER_CODEGEN_COMMON_MATHLIBRARY_H
#define DGC_COMPILER_CODEGEN_COMMON_MATHLIBRARY_H

#include "mlir/IR/Operation.h"

namespace dgc {

/// True for an op of a scalar body that a CPU calls a function of the mathematical library for: one that is neither an
/// instruction nor arithmetic that dgc-expand-math writes.
bool isLibraryCall(mlir::Operation *op);

} // namespace dgc

#endif // DGC_COMPILER_CODEGEN_COMMON_MATHLIBRARY_H
