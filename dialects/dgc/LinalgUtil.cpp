// Pieces of lowerings to linalg.

#include "dialects/dgc/LinalgUtil.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace dgc;

Type dgc::accumulatorElement(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type && type.getWidth() < 32 ? Float32Type::get(element.getContext()) : element;
}

TypedAttr dgc::reductionIdentity(ReductionKind kind, Type element) {
  if (auto type = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    switch (kind) {
    case ReductionKind::Product:
      return FloatAttr::get(type, 1.0);
    case ReductionKind::Max:
      return FloatAttr::get(type, APFloat::getInf(semantics, /*Negative=*/true));
    case ReductionKind::Min:
      return FloatAttr::get(type, APFloat::getInf(semantics));
    default:
      return FloatAttr::get(type, 0.0);
    }
  }
  unsigned width = element.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger() || width == 1;
  auto value = [&]() -> APInt {
    switch (kind) {
    case ReductionKind::Product:
      return APInt(width, 1);
    case ReductionKind::Max:
      return isUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width);
    case ReductionKind::Min:
      return isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
    case ReductionKind::And:
      return APInt::getAllOnes(width);
    default:
      return APInt::getZero(width);
    }
  };
  return IntegerAttr::get(signlessElement(element), value());
}

Value dgc::combineScalars(OpBuilder &builder, Location location, ReductionKind kind, Type element, Value a, Value b) {
  bool isFloat = isa<FloatType>(element), isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  switch (kind) {
  case ReductionKind::Sum:
    return isFloat ? arith::AddFOp::create(builder, location, a, b).getResult()
                   : arith::AddIOp::create(builder, location, a, b).getResult();
  case ReductionKind::Product:
    return isFloat ? arith::MulFOp::create(builder, location, a, b).getResult()
                   : arith::MulIOp::create(builder, location, a, b).getResult();
  case ReductionKind::Max:
    return isFloat      ? arith::MaximumFOp::create(builder, location, a, b).getResult()
           : isUnsigned ? arith::MaxUIOp::create(builder, location, a, b).getResult()
                        : arith::MaxSIOp::create(builder, location, a, b).getResult();
  case ReductionKind::Min:
    return isFloat      ? arith::MinimumFOp::create(builder, location, a, b).getResult()
           : isUnsigned ? arith::MinUIOp::create(builder, location, a, b).getResult()
                        : arith::MinSIOp::create(builder, location, a, b).getResult();
  case ReductionKind::And:
    return arith::AndIOp::create(builder, location, a, b);
  case ReductionKind::Or:
    return arith::OrIOp::create(builder, location, a, b);
  }
  llvm_unreachable("every kind of reduction is handled");
}

Value dgc::extendScalar(OpBuilder &builder, Location location, Value scalar, Type type) {
  return scalar.getType() == type ? scalar : arith::ExtFOp::create(builder, location, type, scalar).getResult();
}

Value dgc::multiplyAddScalars(OpBuilder &builder, Location location, Value a, Value b, Value c) {
  if (isa<FloatType>(a.getType()))
    return arith::AddFOp::create(builder, location, arith::MulFOp::create(builder, location, a, b), c);
  return arith::AddIOp::create(builder, location, arith::MulIOp::create(builder, location, a, b), c);
}

Value dgc::filledTensor(OpBuilder &builder, Location location, ArrayRef<int64_t> shape, TypedAttr value) {
  Value scalar = arith::ConstantOp::create(builder, location, value);
  Value empty = tensor::EmptyOp::create(builder, location, shape, value.getType());
  return linalg::FillOp::create(builder, location, scalar, empty).getResult(0);
}

Value dgc::roundedTensor(OpBuilder &builder, Location location, Value tensor, Type element) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getElementType() == element)
    return tensor;
  Value empty = tensor::EmptyOp::create(builder, location, type.getShape(), element);
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  return linalg::GenericOp::create(builder, location, empty.getType(), tensor, empty,
                                   ArrayRef<AffineMap>{identity, identity}, iterators,
                                   [&](OpBuilder &b, Location l, ValueRange args) {
                                     Value rounded = arith::TruncFOp::create(b, l, element, args[0]);
                                     linalg::YieldOp::create(b, l, rounded);
                                   })
      .getResult(0);
}

Value dgc::paddedTensor(OpBuilder &builder, Location location, Value tensor, ArrayRef<int64_t> low,
                        ArrayRef<int64_t> high, ArrayRef<int64_t> dilation, TypedAttr value) {
  auto type = cast<RankedTensorType>(tensor.getType());
  auto indices = [&](ArrayRef<int64_t> list) {
    return llvm::map_to_vector(list, [&](int64_t i) -> OpFoldResult { return builder.getIndexAttr(i); });
  };
  SmallVector<int64_t> shape(type.getShape());
  for (auto [i, size] : llvm::enumerate(shape))
    size = (size == 0 ? 0 : (size - 1) * dilation[i] + 1) + low[i] + high[i];
  if (llvm::any_of(dilation, [](int64_t d) { return d != 1; })) {
    Value background = filledTensor(builder, location, shape, value);
    return tensor::InsertSliceOp::create(builder, location, tensor, background, indices(low), indices(type.getShape()),
                                         indices(dilation));
  }
  if (llvm::all_of(low, [](int64_t i) { return i == 0; }) && llvm::all_of(high, [](int64_t i) { return i == 0; }))
    return tensor;
  Value scalar = arith::ConstantOp::create(builder, location, value);
  return tensor::PadOp::create(builder, location, RankedTensorType::get(shape, type.getElementType()), tensor,
                               indices(low), indices(high), scalar);
}

SmallVector<AffineMap> dgc::indexingMaps(OpBuilder &builder, unsigned dims, ArrayRef<SmallVector<AffineExpr>> results) {
  return llvm::map_to_vector(results, [&](const SmallVector<AffineExpr> &exprs) {
    return AffineMap::get(dims, 0, exprs, builder.getContext());
  });
}
