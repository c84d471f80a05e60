// Whether the loops that machine code is made of compute what the kernels of a plan say.

#ifndef DGC_COMPILER_VERIFY_LOOPSCHECK_H
#define DGC_COMPILER_VERIFY_LOOPSCHECK_H

#include "compiler/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace dgc {

struct LoopsCheckResult {
  std::string difference; // the first one; empty: none
  uint64_t kernels = 0, tooLarge = 0, values = 0;
};

/// Runs each function of `kernels`, dgc ops on tensors of known shape, as loops and as the bytecode that `--with-semantics`
/// writes, on the same random numbers of the exact check, and compares all results: once with memory of its own for each
/// result, and once, on positive numbers, where results have the memory of operands (`dgc.inplace`). Loops are interpreted op
/// by op: those with more than `maxFlops` are left out. Does not change the module. Fails with a diagnostic where one of them cannot be run so.
mlir::FailureOr<LoopsCheckResult> checkLoops(mlir::ModuleOp kernels, LoopLowering lower, uint64_t seed,
                                             int64_t maxFlops);

} // namespace dgc

#endif // DGC_COMPILER_VERIFY_LOOPSCHECK_H
