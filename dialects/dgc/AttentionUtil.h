//===- AttentionUtil.h - what the attention ops share -----------*- C++ -*-===//

#ifndef DGC_DIALECTS_DGC_ATTENTIONUTIL_H
#define DGC_DIALECTS_DGC_ATTENTIONUTIL_H

#include "dialects/MLIR.h"
#include "dialects/dgc/LayerUtil.h"

namespace dgc {

/// Reports operands of the op `name` that are not [b, t, h * d], [b, s, h * d] and [b, s, h * e].
LogicalResult checkAttention(std::optional<Location> location, StringRef name, RankedTensorType query,
                             RankedTensorType key, RankedTensorType value, int64_t heads, bool causal);

/// [b, t, h * d] as [b, t, h, d].
inline Value splitHeads(CompositeBuilder &b, Value x, int64_t heads) {
  ArrayRef<int64_t> shape = shapeOf(x);
  return b.reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
}

/// [b, h, t, d] as [b, t, h * d].
inline Value joinHeads(CompositeBuilder &b, Value x) {
  ArrayRef<int64_t> shape = shapeOf(x);
  return b.reshape(b.transpose(x, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
}

/// Scores [b, h, t, s], where those of places that must not be seen are below all others. A finite number: the
/// optimizer would make a condition of the maximum of x and -infinity, which does not vectorize.
inline Value hideLater(CompositeBuilder &b, Value scores) {
  Type number = b.builder.getI32Type();
  Value from = b.iota(shapeOf(scores), number, 2), to = b.iota(shapeOf(scores), number, 3);
  return b.select(b.compare(ComparisonDirection::GE, from, to), scores, b.splat(-1e30, scores));
}

} // namespace dgc

#endif // DGC_DIALECTS_DGC_ATTENTIONUTIL_H
