//===- Passes.h - passes that ask a target ----------------------------------===//

#ifndef DGC_COMPILER_TARGET_PASSES_H
#define DGC_COMPILER_TARGET_PASSES_H

#include "mlir/Pass/Pass.h"

namespace dgc {

#define GEN_PASS_DECL
#include "compiler/target/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/target/Passes.h.inc"

} // namespace dgc

#endif // DGC_COMPILER_TARGET_PASSES_H
