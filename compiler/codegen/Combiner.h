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

} // namespace dgc

#endif // DGC_COMPILER_CODEGEN_COMBINER_H
