//===- Passes.h - from a model to functions --------------------------------===//

#ifndef DGC_PASSES_MODEL_PASSES_H
#define DGC_PASSES_MODEL_PASSES_H

#include "dialects/dist/Dist.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "passes/analysis/OptionTypes.h"

namespace dgc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/model/Passes.h.inc"

/// The mesh that dgc-unify-meshes leaves in a module; null when there is none. Fails with a diagnostic when the meshes of
/// the module have no common one.
llvm::FailureOr<dist::MeshAttr> unifiedMesh(mlir::ModuleOp module);

} // namespace dgc

#endif // DGC_PASSES_MODEL_PASSES_H
