//===- GradientUtil.h - short ways to build gradients -----------*- C++ -*-===//
//
// What buildGradients and decompose methods write most often, without naming
// builder and location each time.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_DGC_GRADIENTUTIL_H
#define DGC_DIALECTS_DGC_GRADIENTUTIL_H

#include "dialects/dgc/DGC.h"

namespace mlir::dgc {

/// Builds dgc ops on tensors at the insertion point of `builder`. Operands of
/// elementwise ops have equal types.
class GradientBuilder {
public:
  GradientBuilder(OpBuilder &builder, Location location) : builder(builder), location(location) {}

  /// A tensor of this type that has the number everywhere.
  Value constant(Type type, double value);

  Value add(Value a, Value b);
  Value multiply(Value a, Value b);
  Value divide(Value a, Value b);
  Value negate(Value a);
  Value equal(Value a, Value b);
  Value select(Value condition, Value a, Value b);
  Value convert(Value a, Type element);

  /// `dims[i]` is the dimension of the result that dimension i of `a` is; along
  /// the others it is repeated.
  Value broadcast(Value a, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims);
  /// Dimension i of the result is dimension `permutation[i]` of `a`. Nothing is
  /// built for the identity.
  Value transpose(Value a, ArrayRef<int64_t> permutation);
  Value reduce(ReductionKind kind, Value a, ArrayRef<int64_t> dims);
  Value dot(Value a, Value b, ArrayRef<int64_t> aBatch, ArrayRef<int64_t> bBatch, ArrayRef<int64_t> aContract,
            ArrayRef<int64_t> bContract);
  Value reduceWindow(ReductionKind kind, Value a, ArrayRef<int64_t> window, ArrayRef<int64_t> strides,
                     ArrayRef<int64_t> padding);
  /// `a` with zeros: `interior` between its elements, `low` and `high` at its ends.
  Value pad(Value a, ArrayRef<int64_t> low, ArrayRef<int64_t> high, ArrayRef<int64_t> interior);

private:
  OpBuilder &builder;
  Location location;
};

} // namespace mlir::dgc

#endif // DGC_DIALECTS_DGC_GRADIENTUTIL_H
