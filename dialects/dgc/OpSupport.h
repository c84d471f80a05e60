//===- OpSupport.h - what the definitions of dgc ops share ------*- C++ -*-===//
//
// Used by the files that define ops; passes have no need of it.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_DGC_OPSUPPORT_H
#define DGC_DIALECTS_DGC_OPSUPPORT_H

#include "dialects/MLIR.h"
#include "dialects/dgc/DGC.h"

namespace dgc {

/// True when the elements of the tensor are floats.
bool isFloat(Type type);

/// True when the elements of the tensor are compared and converted as unsigned:
/// the unsigned integers and i1.
bool isUnsigned(Type type);

/// The element type as code generators see it: integers without a sign.
Type signlessElement(Type element);

/// The tensor type with signless elements and without encoding, as
/// LinalgLowerableOpInterface wants it.
RankedTensorType signlessTensor(Type type);

/// Constant elements with the same bits as signless ones.
DenseElementsAttr signlessElements(DenseElementsAttr elements);

/// Refuses in the way of emitOpError, where there may be no op yet.
template <typename... Parts>
LogicalResult inferError(std::optional<Location> location, StringRef op, Parts &&...parts) {
  return emitOptionalError(location, "'", op, "' op ", std::forward<Parts>(parts)...);
}

/// Infers the type that all operands have; refuses operands that differ.
LogicalResult inferSameType(std::optional<Location> location, StringRef op, ValueRange operands,
                            SmallVectorImpl<Type> &types);

/// Refuses when the tensors differ in shape or, unless `elementsMayDiffer`, in
/// element type, with a hint on how to make them equal.
LogicalResult checkSameType(std::optional<Location> location, StringRef op, Type first, Type second,
                            bool elementsMayDiffer = false);

/// True when every element of the constant is `value`; false for null.
bool isSplatOf(Attribute constant, double value);

/// True when the value is a constant whose elements are all `value`.
bool isSplatOf(Value constant, double value);

/// Folds an elementwise op whose operands are all constant, by evaluating its
/// scalar body. Only splats and small tensors, and null when not folded.
OpFoldResult foldElementwise(Operation *op, ArrayRef<Attribute> constants);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_OPSUPPORT_H
