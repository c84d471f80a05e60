//===- Passes.h - from a model to functions --------------------------------===//

#ifndef DGC_PASSES_MODEL_PASSES_H
#define DGC_PASSES_MODEL_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace dgc {

/// On arguments of entry functions that are inputs: their elements choose one of so many.
inline constexpr llvm::StringLiteral kIndexLimitAttr = "dgc.index_limit";

/// On entry functions between dgc-build-entry-points and dgc-mask-padding: nothing keeps the padding of a batch that is
/// not full from counting yet.
inline constexpr llvm::StringLiteral kPaddedAttr = "dgc.padded";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/model/Passes.h.inc"

} // namespace dgc

#endif // DGC_PASSES_MODEL_PASSES_H
