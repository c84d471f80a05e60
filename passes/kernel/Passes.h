//===- Passes.h - kernels and library calls ---------------------------------===//

#ifndef DGC_PASSES_KERNEL_PASSES_H
#define DGC_PASSES_KERNEL_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "passes/kernel/LibraryKind.h"

namespace dgc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/kernel/Passes.h.inc"

} // namespace dgc

#endif // DGC_PASSES_KERNEL_PASSES_H
