// Kernels as loops over memory, which is what the target for CPUs makes machine code of, over the numbers of the exact
// check.

#ifndef DGC_COMPILER_VERIFY_LOOPSRUN_H
#define DGC_COMPILER_VERIFY_LOOPSRUN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/verify/Interpreter.h"

#include "absl/status/statusor.h"

namespace dgc {

/// Runs a function that `dgc-lower-kernels-to-loops` wrote: its arguments are a pointer for each of `buffers` and then the
/// parts [begin, end) of the work. It changes the buffers; they are of the types of its kernel. Fails where an op has no
/// meaning in the fields (Unimplemented), or the function reads or writes outside of a buffer (OutOfRange).
absl::Status runLoops(mlir::func::FuncOp body, std::span<verify::Tensor *const> buffers, int64_t begin, int64_t end,
                      const verify::InterpreterOptions &options);

/// What the entry point of a kernel says: in how many parts its work can be split, and an estimate of its operations.
int64_t partsOf(mlir::ModuleOp loops, llvm::StringRef kernel);
int64_t flopsOf(mlir::ModuleOp loops, llvm::StringRef kernel);

} // namespace dgc

#endif // DGC_COMPILER_VERIFY_LOOPSRUN_H
