// Strategies: passes that write annotations. They move no data and insert no
// communication.

#ifndef DGC_PASSES_STRATEGY_PASSES_H
#define DGC_PASSES_STRATEGY_PASSES_H

#include "dialects/dist/Dist.h"
#include "mlir/Pass/Pass.h"
#include "passes/strategy/MicrobatchAttributes.h"

namespace dgc {

/// On reshards, and on the collectives that they become: what for. Those with another use are not shared, so that the
/// value is gone in between.
inline constexpr llvm::StringLiteral kUseAttr = "dgc.use";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/strategy/Passes.h.inc"

/// Parses the axes of a mesh, as in "data=4,model=2". Null, with a diagnostic that says what is expected, when they are
/// not well formed.
mlir::dist::MeshAttr parseMesh(mlir::ModuleOp module, llvm::StringRef text);

} // namespace dgc

#endif // DGC_PASSES_STRATEGY_PASSES_H
