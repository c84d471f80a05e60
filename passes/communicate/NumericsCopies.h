// A second computation of what a function computes, for checks that look at every value of it.

#ifndef DGC_PASSES_COMMUNICATE_NUMERICSCOPIES_H
#define DGC_PASSES_COMMUNICATE_NUMERICSCOPIES_H

#include "dialects/MLIR.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace dgc {

/// Copies of the ops that compute, each behind its op. They begin with the same arguments and results of communication,
/// loops and branches, of which there are no copies.
class NumericsCopies {
public:
  /// Gives the copies the numbers of their ops.
  NumericsCopies(mlir::func::FuncOp function, llvm::DenseMap<mlir::Operation *, int64_t> &numbers);

  bool contains(mlir::Operation *op) const { return copies.contains(op); }

  /// Removes what nothing uses.
  void eraseUnused();

private:
  void copy(mlir::Block &block);

  llvm::DenseMap<mlir::Operation *, int64_t> &numbers;
  llvm::DenseSet<mlir::Operation *> copies;
  llvm::SmallVector<mlir::Operation *> inOrder;
};

} // namespace dgc

#endif // DGC_PASSES_COMMUNICATE_NUMERICSCOPIES_H
