//===- LinalgUtil.h - pieces of lowerings to linalg -------------*- C++ -*-===//
//
// Shared by the lowerToLinalg methods of the op families. Tensors here have
// signless elements and no encoding.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_DGC_LINALGUTIL_H
#define DGC_DIALECTS_DGC_LINALGUTIL_H

#include "dialects/MLIR.h"
#include "dialects/dgc/OpSupport.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace dgc {

/// The type in which sums and products of this (signless) type are accumulated:
/// f32 for f16 and bf16.
Type accumulatorElement(Type element);

/// What combining no values gives. `element` may be unsigned; the attribute has
/// its signless type.
TypedAttr reductionIdentity(ReductionKind kind, Type element);

/// Combines two scalars of the signless (or accumulator) type of `element`,
/// which says whether they are signed.
Value combineScalars(OpBuilder &builder, Location location, ReductionKind kind, Type element, Value a, Value b);

/// Converts a float scalar to a wider or equal float type, or returns it as it
/// is.
Value extendScalar(OpBuilder &builder, Location location, Value scalar, Type type);

/// a * b + c for scalars.
Value multiplyAddScalars(OpBuilder &builder, Location location, Value a, Value b, Value c);

/// A tensor of the shape that has this value everywhere.
Value filledTensor(OpBuilder &builder, Location location, ArrayRef<int64_t> shape, TypedAttr value);

/// The tensor with float elements rounded to `element`; as it is where it has
/// this type already.
Value roundedTensor(OpBuilder &builder, Location location, Value tensor, Type element);

/// The tensor with `dilation - 1` times `value` between its elements along each
/// dimension, then `low` and `high` times at the ends.
Value paddedTensor(OpBuilder &builder, Location location, Value tensor, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                   ArrayRef<int64_t> dilation, TypedAttr value);

/// The affine maps of a generic op, all with `dims` dimensions.
SmallVector<AffineMap> indexingMaps(OpBuilder &builder, unsigned dims, ArrayRef<SmallVector<AffineExpr>> results);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_LINALGUTIL_H
