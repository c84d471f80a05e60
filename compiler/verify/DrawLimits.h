// What integers a program takes, as far as its ops tell.

#ifndef DGC_COMPILER_VERIFY_DRAWLIMITS_H
#define DGC_COMPILER_VERIFY_DRAWLIMITS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dgc {

/// For each argument of a function of primitive ops the number that its elements are below where they choose rows, or
/// classes: the least, if there are several; 0 where they do not. That holds for integers that go there through other
/// operations too, as where a negative number counts from the end. It says what is useful to draw: other numbers may have a
/// meaning, as in JAX, which gives NaN for them.
llvm::SmallVector<uint64_t> drawLimitsOf(mlir::func::FuncOp function);

} // namespace dgc

#endif // DGC_COMPILER_VERIFY_DRAWLIMITS_H
