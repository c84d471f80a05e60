//===- Decompose.h - replace a composite op ---------------------*- C++ -*-===//

#ifndef DGC_DIALECTS_DGC_DECOMPOSE_H
#define DGC_DIALECTS_DGC_DECOMPOSE_H

#include "dialects/dgc/DGC.h"

namespace dgc {

/// A listener that appends each op that a builder inserts to `ops`, in order.
struct InsertedOps : mlir::OpBuilder::Listener {
  explicit InsertedOps(llvm::SmallVectorImpl<mlir::Operation *> &ops) : ops(ops) {}
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint) override { ops.push_back(op); }
  llvm::SmallVectorImpl<mlir::Operation *> &ops;
};

/// Replaces the op by its decomposition, one level deep, and appends the ops
/// that were built to `built`, in order. Fails, with a diagnostic, where the op
/// cannot be decomposed.
mlir::LogicalResult decomposeInPlace(DecomposableOpInterface op, llvm::SmallVectorImpl<mlir::Operation *> &built);

/// The same with what `decompose` builds, a value for each result, in place of the decomposition.
mlir::LogicalResult
decomposeInPlace(DecomposableOpInterface op, llvm::SmallVectorImpl<mlir::Operation *> &built,
                 llvm::function_ref<llvm::FailureOr<llvm::SmallVector<mlir::Value>>(mlir::OpBuilder &)> decompose);

/// Decomposes all composites in the regions of `op`, and what they are made of. Fails as above.
mlir::LogicalResult decomposeInside(mlir::Operation *op);

/// Gives `to` what `from` says of its place, where it says nothing itself: the stage or device that computes it, and
/// the micro-batch that it belongs to.
void inheritPlacement(mlir::Operation *from, mlir::Operation *to);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_DECOMPOSE_H
