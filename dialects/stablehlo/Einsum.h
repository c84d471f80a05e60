// What the letters of an einsum say of the dimensions of its operands and of its result.

#ifndef DGC_DIALECTS_STABLEHLO_EINSUM_H
#define DGC_DIALECTS_STABLEHLO_EINSUM_H

#include "dialects/stablehlo/StableHLO.h"

namespace dgc::stablehlo {

/// A label for each dimension. Letters are labels, and so are the dimensions of `...`: -1 for the last of these, and on.
using EinsumLabels = SmallVector<int64_t>;

struct Einsum {
  SmallVector<EinsumLabels> operands;
  EinsumLabels result;
};

/// Reads `ab,bc->ac` for operands of the types, or fails with a diagnostic on `op`.
FailureOr<Einsum> parseEinsum(Operation *op, StringRef config, TypeRange operands);

/// Checks that a label has one size everywhere, but for dimensions of `...` of the size 1, and that these sizes are those of the
/// result.
LogicalResult checkEinsum(Operation *op, const Einsum &einsum);

} // namespace dgc::stablehlo

#endif // DGC_DIALECTS_STABLEHLO_EINSUM_H
