//===- Passes.h - gradients and composites ----------------------*- C++ -*-===//

#ifndef DGC_PASSES_AUTODIFF_PASSES_H
#define DGC_PASSES_AUTODIFF_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace dgc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/autodiff/Passes.h.inc"

} // namespace dgc

#endif // DGC_PASSES_AUTODIFF_PASSES_H
