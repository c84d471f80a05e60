// The names of what is in a model.

#ifndef DGC_DIALECTS_DGC_NAMES_H
#define DGC_DIALECTS_DGC_NAMES_H

#include "dialects/MLIR.h"
#include "mlir/IR/Block.h"

namespace dgc {

/// Reports the second of two inputs, variables or results of a body that share a name.
LogicalResult checkUniqueNames(Block &body);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_NAMES_H
