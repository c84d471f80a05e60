// What the ops of the dist dialect share.

#ifndef DGC_DIALECTS_DIST_OPUTIL_H
#define DGC_DIALECTS_DIST_OPUTIL_H

#include "dialects/MLIR.h"
#include "dialects/dist/Dist.h"

namespace dgc::dist {

/// The mesh of `op`, after checking that it exists, that `axes` are some of its axes, and that none is twice.
FailureOr<MeshAttr> verifyAxes(Operation *op, FlatSymbolRefAttr name, ArrayAttr axes, SymbolTableCollection &symbols);

} // namespace dgc::dist

#endif // DGC_DIALECTS_DIST_OPUTIL_H
