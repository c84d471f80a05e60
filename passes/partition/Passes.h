// The phase `partition`: from global shapes to the program of one device.

#ifndef DGC_PASSES_PARTITION_PASSES_H
#define DGC_PASSES_PARTITION_PASSES_H

#include "dialects/dist/Dist.h"
#include "mlir/Pass/Pass.h"
#include "passes/analysis/OptionTypes.h"

namespace dgc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/partition/Passes.h.inc"

} // namespace dgc

#endif // DGC_PASSES_PARTITION_PASSES_H
