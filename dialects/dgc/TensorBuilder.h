//===- TensorBuilder.h - dgc ops as formulas --------------------*- C++ -*-===//
//
// For gradients and decompositions, which read better as formulas:
//
//   TensorBuilder b(builder, location);
//   return b.multiply(gradient, b.subtract(b.splat(1, y), b.multiply(y, y)));
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_DGC_TENSORBUILDER_H
#define DGC_DIALECTS_DGC_TENSORBUILDER_H

#include "dialects/MLIR.h"
#include "dialects/dgc/DGC.h"

namespace dgc {

class TensorBuilder {
public:
  TensorBuilder(OpBuilder &builder, Location location) : builder(builder), location(location) {}

  /// A constant of the type of `like`, every element `value`.
  Value splat(double value, Value like);
  /// A constant of the given tensor type, every element `value`.
  Value splat(double value, RankedTensorType type);
  Value constant(Type type, double value) { return splat(value, cast<RankedTensorType>(type)); }

  /// A scalar constant: the identity of a reduction over elements of the type `element`.
  Value identity(ReductionKind kind, Type element);

  Value add(Value x, Value y);
  Value subtract(Value x, Value y);
  Value multiply(Value x, Value y);
  Value multiply(Value x, double factor);
  Value divide(Value x, Value y);
  Value maximum(Value x, Value y);
  Value minimum(Value x, Value y);
  Value power(Value x, Value y);
  Value negate(Value x);
  Value abs(Value x);
  Value sign(Value x);
  Value floor(Value x);
  Value exponential(Value x);
  Value log(Value x);
  Value sqrt(Value x);
  Value rsqrt(Value x);
  Value sine(Value x);
  Value cosine(Value x);
  Value tanh(Value x);
  Value compare(ComparisonDirection direction, Value x, Value y);
  Value select(Value pred, Value onTrue, Value onFalse);
  Value equal(Value x, Value y);
  Value convert(Value x, Type elementType);

  /// `dims[i]` is the dimension of the result that dimension i of `x` becomes; along the others it is repeated.
  Value broadcast(Value x, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims);
  /// `x` where it has this shape already.
  Value reshape(Value x, ArrayRef<int64_t> shape);
  /// Dimension i of the result is dimension `permutation[i]` of `x`, which is returned for the identity.
  Value transpose(Value x, ArrayRef<int64_t> permutation);
  /// `x` where nothing is taken away.
  Value slice(Value x, ArrayRef<int64_t> starts, ArrayRef<int64_t> limits, ArrayRef<int64_t> strides = {});
  /// `x` where nothing is put anywhere.
  Value pad(Value x, Value value, ArrayRef<int64_t> low, ArrayRef<int64_t> high, ArrayRef<int64_t> interior = {});
  /// `x` where there are no dimensions to reduce.
  Value reduce(ReductionKind kind, Value x, ArrayRef<int64_t> dims);
  Value dot(Value x, Value y, ArrayRef<int64_t> xBatch, ArrayRef<int64_t> yBatch, ArrayRef<int64_t> xContract,
            ArrayRef<int64_t> yContract);
  /// No padding and strides 1 where they are empty.
  Value reduceWindow(ReductionKind kind, Value x, ArrayRef<int64_t> window, ArrayRef<int64_t> strides,
                     ArrayRef<int64_t> padding);
  /// `x` with zeros: `interior` between its elements, `low` and `high` at its ends.
  Value padZero(Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> high, ArrayRef<int64_t> interior = {});

  OpBuilder &builder;
  Location location;
};

} // namespace dgc

#endif // DGC_DIALECTS_DGC_TENSORBUILDER_H
