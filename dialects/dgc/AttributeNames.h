// Names of the discardable attributes by which passes tell later ones what they decided.

#ifndef DGC_DIALECTS_DGC_ATTRIBUTENAMES_H
#define DGC_DIALECTS_DGC_ATTRIBUTENAMES_H

#include "llvm/ADT/StringRef.h"

namespace dgc {

/// On arguments and results of entry functions: the dimension of the examples. From dgc-infer-types to dgc-mask-padding
/// also on ops that make a tensor of no operands (dgc.iota) whose type is written with `?`.
inline constexpr llvm::StringLiteral kBatchDimAttr = "dgc.batch_dim";
/// On arguments and results of entry functions: the state that they are.
inline constexpr llvm::StringLiteral kStateAttr = "dgc.state";
/// On arguments of entry functions that are inputs: their elements choose one of so many.
inline constexpr llvm::StringLiteral kIndexLimitAttr = "dgc.index_limit";
/// On entry functions between dgc-build-entry-points and dgc-mask-padding: nothing keeps the padding of a batch that is
/// not full from counting yet.
inline constexpr llvm::StringLiteral kPaddedAttr = "dgc.padded";
/// On modules: a dictionary of the entry functions that take whole batches only, by name; each entry says why.
inline constexpr llvm::StringLiteral kWholeBatchesAttr = "dgc.whole_batches";
/// On states: how gradients are scaled. A checkpoint need not have it.
inline constexpr llvm::StringLiteral kLossScaleAttr = "dgc.loss_scale";
/// On a dgc.state, and in the `state` of the exec.variable that becomes of it: {of = "w", first = 40 : i64,
/// type = tensor<100x8xf32>} where it is a block of the rows of the variable "w" of this type, from row 40 on.
inline constexpr llvm::StringLiteral kBlockAttr = "dgc.block";
/// On ops: the number of the micro-batch that they are for, from 0.
inline constexpr llvm::StringLiteral kMicrobatchAttr = "dgc.microbatch";
/// On ops of a micro-batch: how many times all micro-batches are waited for before the op runs, because it depends on
/// values of the whole batch. Without the attribute: 0.
inline constexpr llvm::StringLiteral kMicrobatchLevelAttr = "dgc.microbatch_level";
/// On functions: how many micro-batches the global batch is split into.
inline constexpr llvm::StringLiteral kMicrobatchesAttr = "dgc.microbatches";
/// On ops: what is computed again together in the backward pass, by number.
inline constexpr llvm::StringLiteral kRecomputeAttr = "dgc.recompute";
/// On reshards, and on the collectives that they become: what for. Those with another use are not shared, so that the
/// value is gone in between.
inline constexpr llvm::StringLiteral kUseAttr = "dgc.use";

} // namespace dgc

#endif // DGC_DIALECTS_DGC_ATTRIBUTENAMES_H
