// The phase `place`: which group of devices has each op and variable.

#ifndef DGC_PASSES_PLACE_PASSES_H
#define DGC_PASSES_PLACE_PASSES_H

#include "dialects/dist/Dist.h"
#include "mlir/Pass/Pass.h"
#include "passes/place/PlacementRules.h"

namespace dgc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/place/Passes.h.inc"

} // namespace dgc

#endif // DGC_PASSES_PLACE_PASSES_H
