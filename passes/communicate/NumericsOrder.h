// The order in which programs that run at the same time compute their values.

#ifndef DGC_PASSES_COMMUNICATE_NUMERICSORDER_H
#define DGC_PASSES_COMMUNICATE_NUMERICSORDER_H

#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace dgc {

/// Numbers the ops of functions of one step from 1 on, those in loops behind the loop: in each function in its order, and a
/// receive behind the send that it waits for. What does not depend on each other is in the order of the functions.
llvm::DenseMap<mlir::Operation *, int64_t> numberOps(llvm::ArrayRef<mlir::func::FuncOp> functions);

} // namespace dgc

#endif // DGC_PASSES_COMMUNICATE_NUMERICSORDER_H
