// dgc ops as formulas.

#include "dialects/dgc/TensorBuilder.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dgc;

Value TensorBuilder::splat(double value, RankedTensorType type) {
  type = withoutEncoding(type);
  Attribute element;
  if (auto integer = dyn_cast<IntegerType>(type.getElementType()))
    element = IntegerAttr::get(integer, APInt(integer.getWidth(), std::llround(value),
                                              /*isSigned=*/true, /*implicitTrunc=*/true));
  else
    element = builder.getFloatAttr(type.getElementType(), value);
  return ConstantOp::create(builder, location, DenseElementsAttr::get(type, element));
}

Value TensorBuilder::splat(double value, Value like) { return splat(value, cast<RankedTensorType>(like.getType())); }

#define DGC_UNARY(name, op)                                                                                            \
  Value TensorBuilder::name(Value x) { return op::create(builder, location, x); }
DGC_UNARY(abs, AbsOp)
DGC_UNARY(cosine, CosineOp)
DGC_UNARY(exponential, ExponentialOp)
DGC_UNARY(floor, FloorOp)
DGC_UNARY(log, LogOp)
DGC_UNARY(negate, NegateOp)
DGC_UNARY(rsqrt, RsqrtOp)
DGC_UNARY(sign, SignOp)
DGC_UNARY(sine, SineOp)
DGC_UNARY(sqrt, SqrtOp)
DGC_UNARY(tanh, TanhOp)
#undef DGC_UNARY

#define DGC_BINARY(name, op)                                                                                           \
  Value TensorBuilder::name(Value x, Value y) { return op::create(builder, location, x, y); }
DGC_BINARY(add, AddOp)
DGC_BINARY(divide, DivideOp)
DGC_BINARY(maximum, MaximumOp)
DGC_BINARY(minimum, MinimumOp)
DGC_BINARY(multiply, MultiplyOp)
DGC_BINARY(power, PowerOp)
DGC_BINARY(subtract, SubtractOp)
#undef DGC_BINARY

Value TensorBuilder::multiply(Value x, double factor) { return multiply(x, splat(factor, x)); }

Value TensorBuilder::compare(ComparisonDirection direction, Value x, Value y) {
  return CompareOp::create(builder, location, x, y, direction);
}

Value TensorBuilder::select(Value pred, Value onTrue, Value onFalse) {
  return SelectOp::create(builder, location, pred, onTrue, onFalse);
}

Value TensorBuilder::convert(Value x, Type elementType) {
  if (cast<RankedTensorType>(x.getType()).getElementType() == elementType)
    return x;
  return ConvertOp::create(builder, location, x, elementType);
}
