// Copies of layers that are written once.

#ifndef DGC_PASSES_MODEL_BLOCKS_H
#define DGC_PASSES_MODEL_BLOCKS_H

#include "mlir/IR/Operation.h"

namespace dgc {

/// Says that an op is in the block `name`, which holds any block that it is in already: a variable has `name` and a
/// point before its own name, and so has what makes names for what is inside of it (a repeat, a call). The location of
/// the op has the block as its name.
void putInBlock(mlir::Operation *op, llvm::StringRef name);

} // namespace dgc

#endif // DGC_PASSES_MODEL_BLOCKS_H
