// Elementwise ops: types and simplifications. Functions of one float have their scalar bodies and derivatives in
// ElementwiseOps.td, the others in ElementwiseScalars.cpp and ElementwiseGradients.cpp.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/ElementwiseFunctions.h"
#include "dialects/dgc/OpSupport.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace dgc;

#define GET_OP_CLASSES
#include "dialects/dgc/ElementwiseOps.cpp.inc"

namespace dgc {
void registerElementwiseOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/ElementwiseOps.cpp.inc"
      >();
}
} // namespace dgc

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

ParseResult CompareOp::parseClause(OpAsmParser &parser, OperationState &state) {
  SMLoc location = parser.getCurrentLocation();
  StringRef word;
  std::optional<ComparisonDirection> direction;
  if (succeeded(parser.parseOptionalKeyword(&word)))
    direction = symbolizeComparisonDirection(word);
  if (!direction)
    return parser.emitError(location, "expected a relation before the operands: eq, ne, lt, le, gt or ge, as in "
                                      "'dgc.compare lt %x, %y'");
  state.getOrAddProperties<Properties>().comparison_direction =
      ComparisonDirectionAttr::get(parser.getContext(), *direction);
  return success();
}

void CompareOp::printClause(OpAsmPrinter &printer) {
  printer << ' ' << stringifyComparisonDirection(getComparisonDirection());
}

//===----------------------------------------------------------------------===//
// Gradients that stop
//===----------------------------------------------------------------------===//

bool StopGradientOp::keepForGradient() { return true; }

FailureOr<SmallVector<Value>> StopGradientOp::decompose(OpBuilder &) { return SmallVector<Value>{getOperand()}; }

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static RankedTensorType withElement(Type tensor, Type element) {
  return RankedTensorType::get(cast<RankedTensorType>(tensor).getShape(), element);
}

LogicalResult CompareOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Type lhs = adaptor.getLhs().getType();
  if (failed(checkSameType(location, getOperationName(), lhs, adaptor.getRhs().getType())))
    return failure();
  types.push_back(withElement(lhs, IntegerType::get(lhs.getContext(), 1)));
  return success();
}

LogicalResult ConvertOp::inferTypes(std::optional<Location>, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(withElement(adaptor.getOperand().getType(), adaptor.getElementType()));
  return success();
}

LogicalResult BitcastConvertOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  Type from = getElementTypeOrSelf(adaptor.getOperand().getType()), to = adaptor.getElementType();
  const bool isKnown = from.isIntOrFloat();
  if (to.isInteger(1) || (isKnown && from.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth()))
    return emitOptionalError(location, "'", getOperationName(), "' op has elements of type ", from, " and ", to,
                             "; bits become a number of the same width");
  types.push_back(withElement(adaptor.getOperand().getType(), to));
  return success();
}

LogicalResult IsFiniteOp::inferTypes(std::optional<Location>, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Type type = adaptor.getOperand().getType();
  types.push_back(withElement(type, IntegerType::get(type.getContext(), 1)));
  return success();
}

LogicalResult SelectOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  ValueRange branches = adaptor.getOperands().drop_front();
  if (failed(checkSameType(location, getOperationName(), adaptor.getPred().getType(), branches.front().getType(),
                           /*elementsMayDiffer=*/true)))
    return failure();
  return inferSameType(location, getOperationName(), branches, types);
}

LogicalResult ReducePrecisionOp::verify() {
  auto exponent = int32_t(getExponentBits()), mantissa = int32_t(getMantissaBits());
  if (exponent < 1)
    return emitOpError("keeps ") << exponent << " bits of the exponent; at least one is needed";
  if (mantissa < 0)
    return emitOpError("keeps ") << mantissa << " bits of the mantissa; expected 0 or more";
  return success();
}

//===----------------------------------------------------------------------===//
// Linearity
//===----------------------------------------------------------------------===//

bool ConvertOp::losesNothing() {
  auto from = dyn_cast<FloatType>(getElementTypeOrSelf(getOperand()));
  auto to = dyn_cast<FloatType>(getElementType());
  if (!from || !to)
    return false;
  return from == to || (from.getWidth() < to.getWidth());
}

bool SelectOp::isLinearInBranch(int index) {
  return index == -1 || (index == 1 && isSplatOf(getOnFalse(), 0)) || (index == 2 && isSplatOf(getOnTrue(), 0));
}

//===----------------------------------------------------------------------===//
// Simplifications
//===----------------------------------------------------------------------===//

/// `value` when it can replace the result of `op`.
static OpFoldResult ifSameType(Operation *op, Value value) {
  // Before shapes are inferred, the other operand may still turn out not to fit.
  Type type = op->getResult(0).getType();
  return value.getType() == type && !isa<UntypedType>(type) ? OpFoldResult(value) : OpFoldResult();
}

/// True when every element of the constant is 0: of floats, the zero of this sign.
static bool isSplatOfZero(Attribute constant, bool negative) {
  auto splat = dyn_cast_or_null<SplatElementsAttr>(constant);
  if (!splat || !isa<FloatType>(splat.getElementType()))
    return isSplatOf(constant, 0);
  auto value = splat.getSplatValue<APFloat>();
  return value.isZero() && value.isNegative() == negative;
}

// -0 + 0 is 0, so that only the addition of -0 and the subtraction of 0 leave every float as it is.
OpFoldResult AddOp::simplify(ArrayRef<Attribute> constants) {
  if (isSplatOfZero(constants[1], /*negative=*/true))
    return ifSameType(*this, getLhs());
  return {};
}

OpFoldResult SubtractOp::simplify(ArrayRef<Attribute> constants) {
  if (isSplatOfZero(constants[1], /*negative=*/false))
    return ifSameType(*this, getLhs());
  return {};
}

OpFoldResult MultiplyOp::simplify(ArrayRef<Attribute> constants) {
  if (isSplatOf(constants[1], 1))
    return ifSameType(*this, getLhs());
  // A float may be infinite or NaN.
  if (!isFloat(getType()) && isSplatOf(constants[1], 0) && getRhs().getType() == getType())
    return constants[1];
  return {};
}

OpFoldResult DivideOp::simplify(ArrayRef<Attribute> constants) {
  if (isSplatOf(constants[1], 1))
    return ifSameType(*this, getLhs());
  return {};
}

OpFoldResult PowerOp::simplify(ArrayRef<Attribute> constants) {
  if (isSplatOf(constants[1], 1))
    return ifSameType(*this, getLhs());
  return {};
}

OpFoldResult MaximumOp::simplify(ArrayRef<Attribute>) {
  return getLhs() == getRhs() ? ifSameType(*this, getLhs()) : OpFoldResult();
}

OpFoldResult MinimumOp::simplify(ArrayRef<Attribute>) {
  return getLhs() == getRhs() ? ifSameType(*this, getLhs()) : OpFoldResult();
}

OpFoldResult NegateOp::simplify(ArrayRef<Attribute>) {
  if (auto inner = getOperand().getDefiningOp<NegateOp>())
    return ifSameType(*this, inner.getOperand());
  return {};
}

OpFoldResult NotOp::simplify(ArrayRef<Attribute>) {
  if (auto inner = getOperand().getDefiningOp<NotOp>())
    return ifSameType(*this, inner.getOperand());
  return {};
}

OpFoldResult ConvertOp::simplify(ArrayRef<Attribute>) {
  if (isa<UntypedType>(getType()))
    return {};
  // Back to the type that it came from.
  if (auto inner = getOperand().getDefiningOp<ConvertOp>(); inner && inner.losesNothing())
    if (OpFoldResult same = ifSameType(*this, inner.getOperand()))
      return same;
  return ifSameType(*this, getOperand());
}

OpFoldResult BitcastConvertOp::simplify(ArrayRef<Attribute>) {
  if (isa<UntypedType>(getType()))
    return {};
  if (auto inner = getOperand().getDefiningOp<BitcastConvertOp>())
    if (OpFoldResult same = ifSameType(*this, inner.getOperand()))
      return same;
  return ifSameType(*this, getOperand());
}

OpFoldResult ReducePrecisionOp::simplify(ArrayRef<Attribute>) {
  auto type = dyn_cast<FloatType>(getElementTypeOrSelf(getType()));
  if (!type)
    return {};
  unsigned mantissa = type.getFPMantissaWidth() - 1, exponent = type.getWidth() - 1 - mantissa;
  bool keepsAll = getMantissaBits() >= mantissa && getExponentBits() >= exponent;
  return keepsAll ? ifSameType(*this, getOperand()) : OpFoldResult();
}

OpFoldResult SelectOp::simplify(ArrayRef<Attribute> constants) {
  if (getOnTrue() == getOnFalse())
    return ifSameType(*this, getOnTrue());
  if (auto pred = dyn_cast_or_null<SplatElementsAttr>(constants[0]))
    return ifSameType(*this, pred.getSplatValue<bool>() ? getOnTrue() : getOnFalse());
  return {};
}
