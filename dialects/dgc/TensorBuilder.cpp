// dgc ops as formulas.

#include "dialects/dgc/TensorBuilder.h"
#include "dialects/dgc/LinalgUtil.h"
#include "dialects/dgc/TensorUtil.h"
#include <cmath>

using namespace mlir;
using namespace dgc;

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

Value TensorBuilder::identity(ReductionKind kind, Type element) {
  TypedAttr value = reductionIdentity(kind, element);
  auto type = RankedTensorType::get({}, element);
  DenseElementsAttr scalar;
  if (auto number = dyn_cast<FloatAttr>(value))
    scalar = DenseElementsAttr::get(type, number.getValue());
  else
    scalar = DenseElementsAttr::get(type, cast<IntegerAttr>(value).getValue());
  return ConstantOp::create(builder, location, scalar);
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

Value TensorBuilder::equal(Value x, Value y) { return compare(ComparisonDirection::EQ, x, y); }

static bool areAll(ArrayRef<int64_t> list, int64_t number) {
  return llvm::all_of(list, [number](int64_t n) { return n == number; });
}

Value TensorBuilder::broadcast(Value x, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  return BroadcastInDimOp::create(builder, location, x, dims, shape);
}

Value TensorBuilder::reshape(Value x, ArrayRef<int64_t> shape) {
  return shapeOf(x) == shape ? x : ReshapeOp::create(builder, location, x, shape).getResult();
}

Value TensorBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  return llvm::is_sorted(permutation) ? x : TransposeOp::create(builder, location, x, permutation).getResult();
}

Value TensorBuilder::slice(Value x, ArrayRef<int64_t> starts, ArrayRef<int64_t> limits, ArrayRef<int64_t> strides) {
  if (areAll(starts, 0) && limits == shapeOf(x) && areAll(strides, 1))
    return x;
  if (areAll(strides, 1))
    strides = {};
  return SliceOp::create(builder, location, x, starts, limits, strides);
}

Value TensorBuilder::pad(Value x, Value value, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                         ArrayRef<int64_t> interior) {
  if (areAll(interior, 0))
    interior = {};
  if (areAll(low, 0) && areAll(high, 0) && interior.empty())
    return x;
  return PadOp::create(builder, location, x, value, low, high, interior);
}

Value TensorBuilder::reduce(ReductionKind kind, Value x, ArrayRef<int64_t> dims) {
  return dims.empty() ? x : ReduceOp::create(builder, location, kind, x, dims).getResult();
}

Value TensorBuilder::dot(Value x, Value y, ArrayRef<int64_t> xBatch, ArrayRef<int64_t> yBatch,
                         ArrayRef<int64_t> xContract, ArrayRef<int64_t> yContract) {
  return DotGeneralOp::create(builder, location, x, y, xBatch, yBatch, xContract, yContract);
}

Value TensorBuilder::reduceWindow(ReductionKind kind, Value x, ArrayRef<int64_t> window, ArrayRef<int64_t> strides,
                                  ArrayRef<int64_t> padding) {
  return ReduceWindowOp::create(builder, location, kind, x, window, strides, padding);
}

Value TensorBuilder::padZero(Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> high, ArrayRef<int64_t> interior) {
  auto scalar = RankedTensorType::get({}, cast<RankedTensorType>(x.getType()).getElementType());
  return pad(x, splat(0.0, scalar), low, high, interior);
}
