//===- LayerUtil.h - what the layers check and build alike ------*- C++ -*-===//

#ifndef DGC_DIALECTS_DGC_LAYERUTIL_H
#define DGC_DIALECTS_DGC_LAYERUTIL_H

#include "dialects/MLIR.h"
#include "dialects/dgc/CompositeBuilder.h"

namespace dgc {

/// The tensor type of a value, without encoding.
inline RankedTensorType typeOf(Value value) { return withoutEncoding(cast<RankedTensorType>(value.getType())); }

/// Reports operands of different element types.
inline LogicalResult checkElements(std::optional<Location> location, StringRef name, RankedTensorType a,
                                   RankedTensorType b) {
  if (a.getElementType() == b.getElementType())
    return success();
  std::string wanted; // a diagnostic puts types in quotes
  llvm::raw_string_ostream(wanted) << b.getElementType();
  return emitOptionalError(location, "'", name, "' has operands of element types ", a.getElementType(), " and ",
                           b.getElementType(), ": convert one of them, as in 'dgc.convert %x to ", wanted, "'");
}

/// Reports a bias that is not a vector of `channels` elements.
inline LogicalResult checkBias(std::optional<Location> location, StringRef name, RankedTensorType input, Value bias,
                               int64_t channels) {
  if (!bias)
    return success();
  RankedTensorType type = typeOf(bias);
  if (type.getRank() != 1 || type.getDimSize(0) != channels)
    return emitOptionalError(location, "'", name, "' has a bias of type ", type, ", which must be a vector of ",
                             channels, " elements, one for each channel of the result");
  return checkElements(location, name, input, type);
}

/// Adds a bias to each channel, where there is one.
inline Value addBias(CompositeBuilder &b, Value x, Value bias) {
  return bias ? b.add(x, b.broadcastLast(bias, shapeOf(x))) : x;
}

} // namespace dgc

#endif // DGC_DIALECTS_DGC_LAYERUTIL_H
