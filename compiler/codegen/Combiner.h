//===- Combiner.h - what joins two running values of a reduction -----------===//

#ifndef DGC_COMPILER_CODEGEN_COMBINER_H
#define DGC_COMPILER_CODEGEN_COMBINER_H

#include "compiler/codegen/KernelGraph.h"

namespace dgc {

/// The op that joins two running values of result `number`; null when the body is not of the form `running op value`.
mlir::Operation *combinerOf(mlir::linalg::LinalgOp op, unsigned number);

/// The value in the body that is combined with the running value of result `number`, which has a combiner.
mlir::Value addendOf(mlir::linalg::LinalgOp op, unsigned number);

/// The value that changes nothing for a combiner.
mlir::TypedAttr identityOf(mlir::Operation *combiner);

/// Is each value of a root a sum of floating-point numbers of at least 32 bits? Only the error of those grows with
/// their length: maxima and integers are exact, and a product's relative error is the sum of its factors' in any order.
bool isFloatSum(const Root &root);

// Code of reductions.

/// Two running values of result `number` joined.
mlir::Value combine(mlir::OpBuilder &builder, mlir::linalg::LinalgOp op, unsigned number, mlir::Value a, mlir::Value b);

/// The sum of some addends: short chains, which do not wait for each other.
mlir::Value totalOf(mlir::OpBuilder &builder, mlir::linalg::LinalgOp op, unsigned number,
                    llvm::ArrayRef<mlir::Value> addends);

/// The values with which the reductions of a root begin that have a combiner.
llvm::SmallVector<mlir::Value> identitiesOf(mlir::OpBuilder &builder, mlir::Location loc, const Root &root);

} // namespace dgc

#endif // DGC_COMPILER_CODEGEN_COMBINER_H
