// The phase `schedule`: programs on buffers, each at its offset, in one order.

#ifndef DGC_PASSES_SCHEDULE_PASSES_H
#define DGC_PASSES_SCHEDULE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace dgc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/schedule/Passes.h.inc"

} // namespace dgc

#endif // DGC_PASSES_SCHEDULE_PASSES_H
