//===- AttentionUtil.h - what the attention ops share -----------*- C++ -*-===//

#ifndef DGC_DIALECTS_DGC_ATTENTIONUTIL_H
#define DGC_DIALECTS_DGC_ATTENTIONUTIL_H

#include "dialects/MLIR.h"
#include "dialects/dgc/LayerUtil.h"

namespace dgc {

/// Reports operands of the op `name` that are not [b, t, h * d], [b, s, k * d] and [b, s, k * e], with h heads and k of them
/// for keys and values.
LogicalResult checkAttention(std::optional<Location> location, StringRef name, RankedTensorType query,
                             RankedTensorType key, RankedTensorType value, int64_t heads, int64_t keyHeads);

/// [b, t, h * d] as [b, t, h, d].
inline Value splitHeads(CompositeBuilder &b, Value x, int64_t heads) {
  ArrayRef<int64_t> shape = shapeOf(x);
  return b.reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
}

/// [b, h, t, .., d] as [b, t, h * .. * d].
inline Value joinHeads(CompositeBuilder &b, Value x) {
  ArrayRef<int64_t> shape = shapeOf(x);
  SmallVector<int64_t> order = allDims(shape.size());
  std::swap(order[1], order[2]);
  int64_t features = tensorOf(x).getNumElements() / std::max<int64_t>(shape[0] * shape[2], 1);
  return b.reshape(b.transpose(x, order), {shape[0], shape[2], features});
}

/// Scores [b, h, t, .., s] where `visible`, the others below all of these. A finite number: the optimizer would make a
/// condition of the maximum of x and -infinity, which does not vectorize.
inline Value hideOthers(CompositeBuilder &b, Value visible, Value scores) {
  return b.select(visible, scores, b.splat(-1e30, scores));
}

/// Where a place of scores [b, h, t, .., s] sees itself or an earlier one; the t places are the last ones of the s.
inline Value seesEarlier(CompositeBuilder &b, Value scores) {
  ArrayRef<int64_t> shape = shapeOf(scores);
  Type number = b.builder.getI32Type();
  Value from = b.iota(shape, number, 2), to = b.iota(shape, number, int64_t(shape.size()) - 1);
  const int64_t before = shape.back() - shape[2];
  return b.compare(ComparisonDirection::GE, before ? b.plus(from, double(before)) : from, to);
}

} // namespace dgc

#endif // DGC_DIALECTS_DGC_ATTENTIONUTIL_H
