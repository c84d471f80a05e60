//===- AccessCollector.h - the stored values that an element needs ----------===//

#ifndef DGC_COMPILER_CODEGEN_ACCESSCOLLECTOR_H
#define DGC_COMPILER_CODEGEN_ACCESSCOLLECTOR_H

#include "compiler/codegen/KernelGraph.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace dgc {

/// Finds the reads of a root: follows values from a point of its space to the stored values that they are computed
/// from. Each function fails, with a diagnostic, on an op that code cannot be generated for.
class AccessCollector {
public:
  AccessCollector(const KernelGraph &graph, Root &root) : graph(graph), root(root), context(graph.func.getContext()) {}

  /// The reads of the body of a structured op at a point of its loops, its initial values left out.
  mlir::LogicalResult body(mlir::linalg::LinalgOp op, llvm::ArrayRef<mlir::AffineExpr> loops);
  /// The read of an element, or of those that it is computed from.
  mlir::LogicalResult element(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> index);
  /// The reads of an element that is computed from its operands, even if it is stored.
  mlir::LogicalResult definition(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> index);

private:
  mlir::LogicalResult scalar(mlir::Value value);
  mlir::LogicalResult ofPointwise(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::LogicalResult ofReshape(mlir::Operation *reshape, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::LogicalResult ofSlice(mlir::tensor::ExtractSliceOp slice, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::LogicalResult ofInsertion(mlir::tensor::InsertSliceOp insert, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::LogicalResult ofPad(mlir::tensor::PadOp pad, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::LogicalResult ofConcatenation(mlir::tensor::ConcatOp concat, llvm::ArrayRef<mlir::AffineExpr> index);
  void add(mlir::Value base, llvm::ArrayRef<mlir::AffineExpr> index, mlir::AffineExpr linear);
  void pin(mlir::AffineExpr expr);

  const KernelGraph &graph;
  Root &root;
  mlir::MLIRContext *context;
  unsigned symbols = 0;
  llvm::DenseSet<std::pair<mlir::Value, mlir::AffineMap>> visited;
};

/// An estimate of what a point of a structured op costs, in simple instructions.
uint64_t bodyCost(mlir::linalg::LinalgOp op);

} // namespace dgc

#endif // DGC_COMPILER_CODEGEN_ACCESSCOLLECTOR_H
