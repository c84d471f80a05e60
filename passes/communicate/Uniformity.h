// Which values may differ between devices.

#ifndef DGC_PASSES_COMMUNICATE_UNIFORMITY_H
#define DGC_PASSES_COMMUNICATE_UNIFORMITY_H

#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace dgc {

/// The axes of the mesh along which the values of a function on local tensors may differ, as far as is known: those
/// that cut an argument, and those that an op tells the place along. A value that is computed from such values may
/// differ along their axes, until a collective makes it equal.
class Uniformity {
public:
  explicit Uniformity(mlir::func::FuncOp function);

  struct Varies {
    llvm::SmallVector<mlir::StringAttr, 2> axes;
    mlir::Operation *because = nullptr; // the op, or the function with the argument, that makes it differ
    explicit operator bool() const { return !axes.empty(); }
  };
  /// Along which axes it may differ; none: it is the same on all devices.
  Varies of(mlir::Value value) const { return values.lookup(value); }

private:
  bool add(mlir::Value value, const Varies &more);
  bool walk(mlir::Block &block, const Varies &decided);
  bool visit(mlir::Operation *op, const Varies &decided);
  Varies made(mlir::Operation *op, mlir::ValueRange from) const;
  bool visitRegions(RegionTiesOpInterface op, const Varies &decided);

  llvm::DenseMap<mlir::Value, Varies> values;
};

/// Proves that devices that communicate in a loop or a branch come to it equally often: the value that decides is the
/// same on all of them. Fails with a diagnostic on the op that makes it differ.
mlir::LogicalResult verifyUniform(mlir::func::FuncOp function);

} // namespace dgc

#endif // DGC_PASSES_COMMUNICATE_UNIFORMITY_H
