// Ops without operands: constant, literal and iota.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/ModelBody.h"
#include "dialects/dgc/OpSupport.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace dgc;

#define GET_OP_CLASSES
#include "dialects/dgc/ConstantOps.cpp.inc"

namespace dgc {
void registerConstantOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/ConstantOps.cpp.inc"
      >();
}
} // namespace dgc

//===----------------------------------------------------------------------===//
// constant
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, ValueRange operands,
                                           DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
                                           SmallVectorImpl<Type> &types) {
  Type type = Adaptor(operands, attributes, properties, regions).getValue().getType();
  if (!isa<RankedTensorType>(type))
    return inferError(location, getOperationName(), "needs the elements of a tensor, but got ", type,
                      "; write dense<...> : tensor<...>");
  types.push_back(type);
  applyEncodings(attributes, types);
  return success();
}

bool ConstantOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  return llvm::all_of(actual, llvm::IsaPred<UntypedType>) || equalUpToEncoding(inferred, actual);
}

/// `dense<..> : tensor<..>`; in a model a following `-> tensor<..>` says that types are inferred.
ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &state) {
  Properties &properties = state.getOrAddProperties<Properties>();
  if (parser.parseAttribute(properties.value) || parser.parseOptionalAttrDict(state.attributes))
    return failure();
  MLIRContext *context = parser.getContext();
  if (failed(inferReturnTypes(context, state.location, state.operands, state.attributes.getDictionary(context),
                              state.getRawProperties(), state.regions, state.types)))
    return failure();
  if (!ModelBodyScope::innermost())
    return success();
  if (succeeded(parser.parseOptionalArrow()))
    return parser.parseType(state.types.front());
  state.types.front() = UntypedType::get(context);
  return success();
}

void ConstantOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getValue();
  printer.printOptionalAttrDict((*this)->getDiscardableAttrDictionary().getValue());
  if (!isa<UntypedType>(getType()) && isInModelBody(*this))
    printer << " -> " << getType();
}

RankedTensorType ConstantOp::getDeclared() { return cast<RankedTensorType>(getValue().getType()); }

LogicalResult ConstantOp::declareShape(ArrayRef<int64_t> shape) {
  if (auto splat = dyn_cast<SplatElementsAttr>(getValue()))
    setValueAttr(splat.resizeSplat(getDeclared().clone(shape)));
  return success(getDeclared().getShape() == shape);
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

void IotaOp::build(OpBuilder &builder, OperationState &state, RankedTensorType type, int64_t dimension, Value offset) {
  build(builder, state, type, dimension, offset, /*declared_type=*/TypeAttr());
}

RankedTensorType IotaOp::getDeclared() {
  return getDeclaredType() ? dyn_cast<RankedTensorType>(*getDeclaredType()) : RankedTensorType();
}

void IotaOp::resolveType(RankedTensorType type) {
  getResult().setType(type);
  removeDeclaredTypeAttr();
}

LogicalResult IotaOp::verify() {
  RankedTensorType type = getDeclared() ? getDeclared() : dyn_cast<RankedTensorType>(getType());
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

bool IotaOp::isPositionedAlong(int64_t dim) { return dim == static_cast<int64_t>(getDimension()); }

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
