// The phase `gradient`: from a loss and composite ops to primitive ops that compute the update.

#ifndef DGC_PASSES_GRADIENT_PASSES_H
#define DGC_PASSES_GRADIENT_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "passes/analysis/OptionTypes.h"

namespace dgc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/gradient/Passes.h.inc"

} // namespace dgc

#endif // DGC_PASSES_GRADIENT_PASSES_H
