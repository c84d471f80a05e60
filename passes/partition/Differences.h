// Which values may differ between the devices of a group.

#ifndef DGC_PASSES_PARTITION_DIFFERENCES_H
#define DGC_PASSES_PARTITION_DIFFERENCES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace dgc {

/// What the devices of a group may have different values of: parts of the batch, and what follows from them. What is
/// held whole, and what a collective over all of them has put together, is the same everywhere.
class Differences {
public:
  explicit Differences(mlir::func::FuncOp function);
  bool contains(mlir::Value value) const { return values.contains(value); }

private:
  void visit(mlir::Block &block);
  void visitLoop(mlir::Operation *loop);

  llvm::DenseSet<mlir::Value> values;
};

} // namespace dgc

#endif // DGC_PASSES_PARTITION_DIFFERENCES_H
