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

#include "dialects/dgc/DGC.h"

namespace mlir::dgc {

class TensorBuilder {
public:
  TensorBuilder(OpBuilder &builder, Location location) : builder(builder), location(location) {}

  /// A constant of the type of `like`, every element `value`.
  Value splat(double value, Value like);
  /// A constant of the given tensor type, every element `value`.
  Value splat(double value, RankedTensorType type);

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
  Value convert(Value x, Type elementType);

  OpBuilder &builder;
  Location location;
};

} // namespace mlir::dgc

#endif // DGC_DIALECTS_DGC_TENSORBUILDER_H
