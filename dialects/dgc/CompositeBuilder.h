//===- CompositeBuilder.h - writing decompositions --------------*- C++ -*-===//
//
// A TensorBuilder with what decompositions and gradients of composites need besides, so that they read like their
// formulas:
//
//   CompositeBuilder b(builder, location);
//   Value shifted = b.subtract(x, b.spread(b.reduce(ReductionKind::Max, x, {1}), x, {1}));
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_DGC_COMPOSITEBUILDER_H
#define DGC_DIALECTS_DGC_COMPOSITEBUILDER_H

#include "dialects/MLIR.h"
#include "dialects/dgc/TensorBuilder.h"
#include "dialects/dgc/TensorUtil.h"

namespace dgc {

class CompositeBuilder : public TensorBuilder {
public:
  using TensorBuilder::broadcast;
  using TensorBuilder::constant;
  using TensorBuilder::splat;
  using TensorBuilder::TensorBuilder;

  Value exponentialMinusOne(Value x);
  Value logistic(Value x);
  Value erf(Value x);
  Value softplus(Value x);
  /// x + term, for a number.
  Value plus(Value x, double term) { return add(x, splat(term, x)); }

  /// A tensor of `shape` full of one number.
  Value splat(double value, ArrayRef<int64_t> shape, Type element);
  /// A scalar.
  Value scalar(double value, Type element) { return splat(value, ArrayRef<int64_t>(), element); }
  /// A tensor of these elements.
  Value constant(ArrayRef<int64_t> shape, Type element, ArrayRef<double> values);
  Value iota(ArrayRef<int64_t> shape, Type element, int64_t dim);

  /// A scalar in every element.
  Value broadcastScalar(Value scalar, ArrayRef<int64_t> shape);
  /// A vector along the last dimension.
  Value broadcastLast(Value vector, ArrayRef<int64_t> shape);
  /// Undoes the shape of a reduction over `reduced`: repeats `x` along these dimensions of the shape of `like`.
  Value spread(Value x, Value like, ArrayRef<int64_t> reduced);
  Value sum(Value x, ArrayRef<int64_t> dims) { return reduce(ReductionKind::Sum, x, dims); }
  /// `x` as a constant to gradients.
  Value stopGradient(Value x);
  /// log(sum of exp(x)) along a dimension, which is left out; no exponential overflows.
  Value logSumExp(Value x, int64_t dim);
  /// The first index, an i32, of the largest element along a dimension, which is left out.
  Value argmax(Value x, int64_t dim);
};

/// f32 for the half-precision types, else the type itself: what sums and exponentials are computed in.
Type computeType(Type element);

/// All dimensions 0 .. rank-1 but the last `keep` ones.
SmallVector<int64_t> leadingDims(int64_t rank, int64_t keep = 1);
/// All dimensions 0 .. rank-1.
inline SmallVector<int64_t> allDims(int64_t rank) { return leadingDims(rank, 0); }

} // namespace dgc

#endif // DGC_DIALECTS_DGC_COMPOSITEBUILDER_H
