// Attributes of ops that run once for each micro-batch, or again in the backward pass.

#ifndef DGC_PASSES_STRATEGY_MICROBATCHATTRIBUTES_H
#define DGC_PASSES_STRATEGY_MICROBATCHATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace dgc {

/// On ops: the number of the micro-batch that they are for, from 0.
inline constexpr llvm::StringLiteral kMicrobatchAttr = "dgc.microbatch";
/// On ops of a micro-batch: how many times all micro-batches are waited for before the op runs, because it depends on
/// values of the whole batch. Without the attribute: 0.
inline constexpr llvm::StringLiteral kMicrobatchLevelAttr = "dgc.microbatch_level";
/// On functions: how many micro-batches the global batch is split into.
inline constexpr llvm::StringLiteral kMicrobatchesAttr = "dgc.microbatches";
/// On ops: what is computed again together in the backward pass, by number.
inline constexpr llvm::StringLiteral kRecomputeAttr = "dgc.recompute";

} // namespace dgc

#endif // DGC_PASSES_STRATEGY_MICROBATCHATTRIBUTES_H
