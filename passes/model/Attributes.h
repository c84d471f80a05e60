// What the passes over models say of programs and states to what comes later.

#ifndef DGC_PASSES_MODEL_ATTRIBUTES_H
#define DGC_PASSES_MODEL_ATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace dgc {

/// On modules: a dictionary of the entry functions that take whole batches only, by name; each entry says why.
inline constexpr llvm::StringLiteral kWholeBatchesAttr = "dgc.whole_batches";

/// On ops that make a tensor of no operands (dgc.iota) whose type is written with `?`: the dimension that is the batch.
/// From dgc-infer-types to dgc-mask-padding.
inline constexpr llvm::StringLiteral kWrittenBatchDimAttr = "dgc.batch_dim";

/// On states: how gradients are scaled. A checkpoint need not have it.
inline constexpr llvm::StringLiteral kLossScaleAttr = "dgc.loss_scale";

} // namespace dgc

#endif // DGC_PASSES_MODEL_ATTRIBUTES_H
