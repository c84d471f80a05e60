// Ops without operands: constant and iota.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/OpSupport.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dgc;

#define GET_OP_CLASSES
#include "dialects/dgc/ConstantOps.cpp.inc"

namespace mlir::dgc {
void registerConstantOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/ConstantOps.cpp.inc"
      >();
}
} // namespace mlir::dgc

//===----------------------------------------------------------------------===//
// constant
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto type = dyn_cast<RankedTensorType>(adaptor.getValue().getType());
  if (!type)
    return inferError(location, getOperationName(), "needs the elements of a tensor, but got ",
                      adaptor.getValue().getType(), "; write dense<...> : tensor<...>");
  types.push_back(type);
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

// A constant is there wherever it is needed: each device makes its own part, which must look like every other part.
ShardingRule ConstantOp::getShardingRule() {
  if (isa<SplatElementsAttr>(getValue()))
    return ShardingRuleBuilder(*this).elementwise().build();
  ShardingRuleBuilder rule(*this);
  for (auto [dim, size] : llvm::enumerate(cast<RankedTensorType>(getType()).getShape()))
    rule.factor({}, {int64_t(dim)}, size, FactorKind::NeedReplication);
  return rule.build();
}

LogicalResult ConstantOp::localize(TypeRange, TypeRange) {
  if (auto splat = dyn_cast<SplatElementsAttr>(getValue()))
    setValueAttr(splat.resizeSplat(withoutEncoding(cast<RankedTensorType>(getType()))));
  return success();
}

OpCost ConstantOp::getCost() { return {}; }

FailureOr<SmallVector<Value>> ConstantOp::lowerToLinalg(OpBuilder &builder, ValueRange) {
  auto elements = dyn_cast<DenseElementsAttr>(getValue());
  if (!elements)
    return emitOpError("has elements of a form that cannot be lowered; write them as dense<...>"), failure();
  return SmallVector<Value>{arith::ConstantOp::create(builder, getLoc(), signlessElements(elements))};
}

//===----------------------------------------------------------------------===//
// iota
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type)
    return emitOpError("needs its result type: a tensor of static shape of numbers");
  if (int64_t dim = getDimension(); dim < 0 || dim >= type.getRank())
    return emitOpError("counts along dimension ") << dim << ", but " << type << " has rank " << type.getRank();
  return success();
}

ShardingRule IotaOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  for (auto [dim, size] : llvm::enumerate(cast<RankedTensorType>(getType()).getShape()))
    rule.factor(SmallVector<int64_t>(getNumOperands(), -1), {int64_t(dim)}, size);
  return rule.build();
}

OpCost IotaOp::getCost() { return costPerElement(*this, 1); }

void IotaOp::setGlobalPosition(ArrayRef<int64_t>, ValueRange offsets) {
  if (Value offset = offsets[getDimension()])
    getOffsetMutable().assign(offset);
}

FailureOr<SmallVector<Value>> IotaOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  auto type = signlessTensor(getType());
  Type element = type.getElementType(), i64 = builder.getI64Type();
  Value offset =
      operands.empty() ? Value() : tensor::ExtractOp::create(builder, getLoc(), operands[0], ValueRange()).getResult();
  auto count = [&](OpBuilder &b, Location l, ValueRange) {
    Value number = arith::IndexCastOp::create(b, l, i64, linalg::IndexOp::create(b, l, getDimension()));
    if (offset)
      number = arith::AddIOp::create(b, l, number, offset);
    if (isa<FloatType>(element))
      number = arith::SIToFPOp::create(b, l, element, number);
    else if (element != i64)
      number = arith::TruncIOp::create(b, l, element, number);
    linalg::YieldOp::create(b, l, number);
  };
  Value empty = tensor::EmptyOp::create(builder, getLoc(), type.getShape(), element);
  SmallVector<utils::IteratorType> parallel(type.getRank(), utils::IteratorType::parallel);
  return SmallVector<Value>{linalg::GenericOp::create(builder, getLoc(), type, ValueRange(), empty,
                                                      builder.getMultiDimIdentityMap(type.getRank()), parallel, count)
                                .getResult(0)};
}
