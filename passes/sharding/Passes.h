// The phase `shard`: how every value is spread over the mesh.

#ifndef DGC_PASSES_SHARDING_PASSES_H
#define DGC_PASSES_SHARDING_PASSES_H

#include "dialects/dist/Dist.h"
#include "mlir/Pass/Pass.h"

namespace dgc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/sharding/Passes.h.inc"

} // namespace dgc

#endif // DGC_PASSES_SHARDING_PASSES_H
