//===- LossUtil.h - what losses and metrics check and build alike -*- C++ -*-===//

#ifndef DGC_DIALECTS_DGC_LOSSUTIL_H
#define DGC_DIALECTS_DGC_LOSSUTIL_H

#include "dialects/MLIR.h"
#include "dialects/dgc/LayerUtil.h"

namespace dgc {

/// A scalar of the type in which a mean of `input` is computed.
inline RankedTensorType meanType(RankedTensorType input) {
  return RankedTensorType::get({}, computeType(input.getElementType()));
}

/// Checks integer labels against logits [batch, .., classes].
inline LogicalResult checkLabels(std::optional<Location> location, StringRef name, RankedTensorType logits,
                                 RankedTensorType labels) {
  if (logits.getRank() < 2)
    return emitOptionalError(location, "'", name, "' has logits of type ", logits,
                             ", which must be [batch, .., classes]");
  if (isa<IntegerType>(labels.getElementType()) && labels.getShape() == logits.getShape().drop_back())
    return success();
  return emitOptionalError(
      location, "'", name, "' has labels of type ", labels, " for logits of type ", logits,
      ": integer labels have the shape of the logits without their last dimension, ",
      RankedTensorType::get(logits.getShape().drop_back(), isa<IntegerType>(labels.getElementType())
                                                               ? labels.getElementType()
                                                               : IntegerType::get(labels.getContext(), 32)));
}

/// Checks weights of losses that there is one of for each place of `places`, [batch, ..].
inline LogicalResult checkSampleWeights(std::optional<Location> location, StringRef name, Value weights,
                                        ArrayRef<int64_t> places) {
  if (!weights)
    return success();
  RankedTensorType type = typeOf(weights);
  if (type.getRank() > 0 && type.getRank() <= int64_t(places.size()) &&
      type.getShape() == places.take_front(type.getRank()))
    return success();
  return emitOptionalError(location, "'", name, "' has sample_weights of type ", type,
                           ", which must be of the shape of the losses, ", type.clone(places),
                           ", or have the first of these dimensions: one weight for each example is ",
                           type.clone(places.take_front()));
}

/// Such weights for each place, in the type and the shape of `losses`.
inline Value spreadSampleWeights(CompositeBuilder &b, Value weights, Value losses) {
  Value wide = b.convert(weights, elementOf(losses));
  if (shapeOf(weights) == shapeOf(losses))
    return wide;
  return b.broadcast(wide, shapeOf(losses), allDims(tensorOf(weights).getRank()));
}

/// True where the class is that of the label: the shape of the logits.
inline Value isLabel(CompositeBuilder &b, Value labels, Value logits) {
  Type i32 = b.builder.getI32Type();
  int64_t last = tensorOf(logits).getRank() - 1;
  Value classes = b.iota(shapeOf(logits), i32, last);
  return b.compare(ComparisonDirection::EQ, classes, b.spread(b.convert(labels, i32), logits, {last}));
}

} // namespace dgc

#endif // DGC_DIALECTS_DGC_LOSSUTIL_H
