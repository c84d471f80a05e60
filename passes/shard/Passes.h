// The phase `shard`: the sharding of every value over the mesh.

#ifndef DGC_PASSES_SHARD_PASSES_H
#define DGC_PASSES_SHARD_PASSES_H

#include "dialects/dist/Dist.h"
#include "mlir/Pass/Pass.h"
#include "passes/analysis/OptionTypes.h"

namespace dgc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/shard/Passes.h.inc"

/// The mesh of these axes. Null, with a diagnostic that says what is expected, when there cannot be such.
dist::MeshAttr buildMesh(mlir::ModuleOp module, const MeshShape &shape);

} // namespace dgc

#endif // DGC_PASSES_SHARD_PASSES_H
