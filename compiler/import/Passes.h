// Passes that make a dgc program of an imported one.

#ifndef DGC_COMPILER_IMPORT_PASSES_H
#define DGC_COMPILER_IMPORT_PASSES_H

#include "dialects/dgc/DGC.h"
#include "dialects/stablehlo/StableHLO.h"
#include "mlir/Pass/Pass.h"

namespace dgc {

#define GEN_PASS_DECL
#include "compiler/import/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/import/Passes.h.inc"

} // namespace dgc

#endif // DGC_COMPILER_IMPORT_PASSES_H
