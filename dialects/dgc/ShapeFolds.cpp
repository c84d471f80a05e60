// Simplifications of the ops that move, repeat or choose elements.

#include "dialects/dgc/OpSupport.h"

using namespace mlir;
using namespace dgc;

/// A constant that has one value everywhere, as a constant of the type of the result; else nothing.
static OpFoldResult foldSplat(Operation *op, Attribute constant) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  auto splat = dyn_cast_or_null<SplatElementsAttr>(constant);
  if (!type || !splat || type.getEncoding())
    return {};
  return splat.resizeSplat(type);
}

/// The operand, where it has the type of the result.
static OpFoldResult foldIdentity(Operation *op) {
  Type type = op->getResult(0).getType();
  return !isa<UntypedType>(type) && op->getOperand(0).getType() == type ? OpFoldResult(op->getOperand(0))
                                                                        : OpFoldResult();
}

OpFoldResult BroadcastInDimOp::fold(FoldAdaptor adaptor) {
  // The dimensions ascend, so equal types mean that each stays where it is.
  if (OpFoldResult same = foldIdentity(*this))
    return same;
  if (OpFoldResult splat = foldSplat(*this, adaptor.getOperand()))
    return splat;
  auto inner = getOperand().getDefiningOp<BroadcastInDimOp>();
  if (!inner || isa<UntypedType>(inner.getOperand().getType()))
    return {};
  setBroadcastDimensions(
      llvm::map_to_vector(inner.getBroadcastDimensions(), [&](int64_t dim) { return getBroadcastDimensions()[dim]; }));
  setOperand(inner.getOperand());
  return getResult();
}

OpFoldResult ConcatenateOp::fold(FoldAdaptor) { return getNumOperands() == 1 ? foldIdentity(*this) : OpFoldResult(); }

OpFoldResult PadOp::fold(FoldAdaptor adaptor) {
  if (isa<UntypedType>(getType()))
    return {};
  auto dims = llvm::seq<int64_t>(0, cast<RankedTensorType>(getType()).getRank());
  if (llvm::all_of(dims, [&](int64_t dim) { return isUntouched(dim); }))
    return foldIdentity(*this);
  auto operand = dyn_cast_or_null<SplatElementsAttr>(adaptor.getOperand());
  auto value = dyn_cast_or_null<SplatElementsAttr>(adaptor.getPaddingValue());
  if (operand && value && operand.getSplatValue<Attribute>() == value.getSplatValue<Attribute>())
    return foldSplat(*this, operand);
  return {};
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (OpFoldResult same = foldIdentity(*this))
    return same;
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type)
    return {};
  if (auto elements = dyn_cast_or_null<DenseElementsAttr>(adaptor.getOperand()); elements && !type.getEncoding())
    return elements.reshape(type);
  auto inner = getOperand().getDefiningOp<ReshapeOp>();
  if (!inner || isa<UntypedType>(inner.getOperand().getType()))
    return {};
  if (inner.getOperand().getType() == type)
    return inner.getOperand();
  setShape(type.getShape()); // a size of -1 was inferred
  setOperand(inner.getOperand());
  return getResult();
}

OpFoldResult ReverseOp::fold(FoldAdaptor adaptor) {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type)
    return {};
  if (llvm::all_of(getDimensions(), [&](int64_t dim) { return type.getDimSize(dim) <= 1; }))
    return foldIdentity(*this);
  auto inner = getOperand().getDefiningOp<ReverseOp>();
  if (inner && inner.getDimensions() == getDimensions() && inner.getOperand().getType() == type)
    return inner.getOperand();
  return foldSplat(*this, adaptor.getOperand());
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (OpFoldResult same = foldIdentity(*this))
    return same;
  if (OpFoldResult splat = foldSplat(*this, adaptor.getOperand()))
    return splat;
  auto inner = getOperand().getDefiningOp<SliceOp>();
  // Where both are placed alike: else more would be sent than the smaller part.
  if (!inner || isa<UntypedType>(inner.getOperand().getType()) ||
      inner->getDiscardableAttrDictionary() != (*this)->getDiscardableAttrDictionary())
    return {};
  SmallVector<int64_t> starts, limits, strides;
  for (auto [dim, start, limit] : llvm::enumerate(getStartIndices(), getLimitIndices())) {
    int64_t first = inner.getStartIndices()[dim], step = inner.stride(dim);
    starts.push_back(first + start * step);
    limits.push_back(limit > start ? first + (limit - 1) * step + 1 : starts.back());
    strides.push_back(stride(dim) * step);
  }
  setStartIndices(starts);
  setLimitIndices(limits);
  setStrides(llvm::all_of(strides, [](int64_t step) { return step == 1; }) ? ArrayRef<int64_t>() : strides);
  setOperand(inner.getOperand());
  return getResult();
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (isa<UntypedType>(getType()))
    return {};
  if (llvm::is_sorted(getPermutation()))
    return foldIdentity(*this);
  if (OpFoldResult splat = foldSplat(*this, adaptor.getOperand()))
    return splat;
  auto inner = getOperand().getDefiningOp<TransposeOp>();
  if (!inner || isa<UntypedType>(inner.getOperand().getType()))
    return {};
  setPermutation(llvm::map_to_vector(getPermutation(), [&](int64_t dim) { return inner.getPermutation()[dim]; }));
  setOperand(inner.getOperand());
  return getResult();
}
