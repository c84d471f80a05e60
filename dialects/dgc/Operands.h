//===- Operands.h - numbers and broadcast operands of a model ---*- C++ -*-===//

#ifndef DGC_DIALECTS_DGC_OPERANDS_H
#define DGC_DIALECTS_DGC_OPERANDS_H

#include "mlir/IR/Operation.h"

namespace dgc {

/// Makes the operands of an elementwise op of a model alike, as the op wants them: a number (dgc.literal) becomes a
/// constant, and what has another shape is broadcast by NumPy's rule, by dgc.broadcast_in_dim. Does nothing to other
/// ops, which take no numbers. The operands have types, or are numbers. Fails, with a diagnostic on the op, where a
/// number does not fit its element type or shapes do not go together; elements of different types are left to the op.
llvm::LogicalResult resolveOperands(mlir::Operation *op);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_OPERANDS_H
