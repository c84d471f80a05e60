//===- Enums.h - the enums of the dist dialect -----------------------------===//
//
// Apart from the dialect: the exec dialect has the kinds and reductions of collectives, and nothing else of it.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_DIST_ENUMS_H
#define DGC_DIALECTS_DIST_ENUMS_H

#include "dialects/MLIR.h"
#include "mlir/IR/OpImplementation.h"

#include "dialects/dist/DistEnums.h.inc"

#endif // DGC_DIALECTS_DIST_ENUMS_H
