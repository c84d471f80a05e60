// Whether the loops that machine code is made of compute what the kernels of a plan say.

#ifndef DGC_COMPILER_VERIFY_LOOPSCHECK_H
#define DGC_COMPILER_VERIFY_LOOPSCHECK_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace dgc {

/// Writes a kernel in linalg as loops, in place: Target::loopLowering.
using LoopLowering = mlir::LogicalResult (*)(mlir::func::FuncOp kernel);

struct LoopsVerdict {
  std::string difference; // the first one; empty: none
  uint64_t kernels = 0, values = 0;
};

/// Runs each function of `kernels`, dgc ops on tensors of known shape, as loops and as the bytecode that `--with-semantics`
/// writes, on the same random numbers of the exact check, and compares all results. Does not change the module. Fails with a
/// diagnostic where one of them cannot be run so.
mlir::FailureOr<LoopsVerdict> checkLoops(mlir::ModuleOp kernels, LoopLowering lower, uint64_t seed);

} // namespace dgc

#endif // DGC_COMPILER_VERIFY_LOOPSCHECK_H
