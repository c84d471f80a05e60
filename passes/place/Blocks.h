// Blocks of variables: what a state says that is some of the rows of a larger one.

#ifndef DGC_PASSES_PLACE_BLOCKS_H
#define DGC_PASSES_PLACE_BLOCKS_H

#include "llvm/ADT/StringRef.h"

namespace dgc {

/// On a dgc.state, and in the `state` of the exec.variable that becomes of it: {of = "w", first = 40 : i64,
/// type = tensor<100x8xf32>} where it is a block of the rows of the variable "w" of this type, from row 40 on.
inline constexpr llvm::StringLiteral kBlockAttr = "dgc.block";

} // namespace dgc

#endif // DGC_PASSES_PLACE_BLOCKS_H
