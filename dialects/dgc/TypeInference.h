//===- TypeInference.h - the types of a model -------------------*- C++ -*-===//

#ifndef DGC_DIALECTS_DGC_TYPEINFERENCE_H
#define DGC_DIALECTS_DGC_TYPEINFERENCE_H

#include "mlir/IR/Operation.h"

namespace dgc {

/// Infers the types of the results of an op of a model, and of what is inside of it. Its operands have tensor types, or
/// are numbers, which become constants; operands of other shapes are broadcast. `batch` is the global batch; 0: there is
/// none. Fails with a diagnostic on the op.
llvm::LogicalResult inferTypes(mlir::Operation *op, int64_t batch);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_TYPEINFERENCE_H
