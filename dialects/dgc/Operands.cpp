// Numbers and broadcast operands of a model.

#include "dialects/dgc/Operands.h"
#include "dialects/dgc/DGC.h"
#include "dialects/dgc/LiteralText.h"
#include "dialects/dist/AttributeNames.h"
#include "llvm/ADT/APSInt.h"

using namespace mlir;
using namespace dgc;

static bool isLiteral(Value value) { return value.getDefiningOp<LiteralOp>(); }

static RankedTensorType typeOf(Value value) { return withoutEncoding(cast<RankedTensorType>(value.getType())); }

/// An op that is built for an operand is where its user is: in its block of the model, in its stage.
template <typename OpT> static Value placeWith(Operation *user, OpT op) {
  for (NamedAttribute attribute : user->getDiscardableAttrs())
    if (attribute.getName() != dist::kShardingAttr)
      op->setDiscardableAttr(attribute.getName(), attribute.getValue());
  return op;
}

/// An i64 or ui64, with a sign.
static APSInt wideValue(IntegerAttr integer) {
  APSInt number(integer.getValue(), integer.getType().isUnsignedInteger());
  return APSInt(number.extend(65), /*isUnsigned=*/false);
}

/// The number as a float; null where it becomes infinite, or 0 without being that.
static Attribute floatOf(LiteralOp literal, FloatType type) {
  APFloat value(type.getFloatSemantics());
  if (auto integer = dyn_cast<IntegerAttr>(literal.getValue())) {
    value.convertFromAPInt(wideValue(integer), /*IsSigned=*/true, APFloat::rmNearestTiesToEven);
    return value.isFinite() ? FloatAttr::get(type, value) : Attribute();
  }
  APFloat written = cast<FloatAttr>(literal.getValue()).getValue();
  bool losesInfo;
  value = written;
  value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return value.isFinite() && value.isZero() == written.isZero() ? FloatAttr::get(type, value) : Attribute();
}

/// The number as an element of a tensor; null where it is none of that type.
static Attribute elementOf(LiteralOp literal, Type type) {
  auto integer = dyn_cast<IntegerAttr>(literal.getValue());
  bool isTruth = integer && integer.getType().isInteger(1);
  if (isTruth != type.isInteger(1))
    return {};
  if (isTruth)
    return literal.getValue();
  if (auto floating = dyn_cast<FloatType>(type))
    return floatOf(literal, floating);
  if (!integer)
    return {};
  APSInt number = wideValue(integer);
  unsigned width = type.getIntOrFloatBitWidth();
  bool fits = type.isUnsignedInteger() ? !number.isNegative() && number.getActiveBits() <= width
                                       : number.getSignificantBits() <= width;
  return fits ? IntegerAttr::get(type, number.trunc(width)) : Attribute();
}

/// Why a number is no element of the type, and what to write: the end of a message.
static StringRef literalHint(LiteralOp literal, Type type) {
  auto integer = dyn_cast<IntegerAttr>(literal.getValue());
  if (type.isInteger(1))
    return ": the other operands are i1, for which there are true and false";
  if (integer && integer.getType().isInteger(1))
    return ": the other operands are numbers";
  if (!integer && isa<IntegerType>(type))
    return ", as the other operands are integers: write an integer, or make floats of them with dgc.convert";
  if (isa<FloatType>(type) && !integer && std::abs(cast<FloatAttr>(literal.getValue()).getValueAsDouble()) < 1)
    return ", which rounds it to 0";
  return ", which does not hold it";
}

/// Replaces a literal by a constant of this shape.
static LogicalResult replaceLiteral(OpOperand &operand, ArrayRef<int64_t> shape, Type element) {
  auto literal = operand.get().getDefiningOp<LiteralOp>();
  Operation *user = operand.getOwner();
  Attribute value = elementOf(literal, element);
  if (!value)
    return user->emitOpError() << "cannot take the number " << literalText(literal.getValue())
                               << " as an element of type " << element << literalHint(literal, element);
  OpBuilder builder(user);
  auto elements = DenseElementsAttr::get(RankedTensorType::get(shape, element), value);
  operand.set(placeWith(user, ConstantOp::create(builder, literal.getLoc(), elements)));
  return success();
}

/// The shape that all operands are broadcast to: dimensions are compared from the last one on.
static FailureOr<SmallVector<int64_t>> broadcastShape(Operation *op, ArrayRef<Value> values) {
  SmallVector<int64_t> shape(typeOf(values.front()).getShape());
  for (Value value : values.drop_front()) {
    ArrayRef<int64_t> other = typeOf(value).getShape();
    if (other.size() > shape.size())
      shape.insert(shape.begin(), other.size() - shape.size(), 1);
    for (auto [have, size] : llvm::zip(llvm::reverse(shape), llvm::reverse(other))) {
      if (have == 1)
        have = size;
      else if (size != 1 && size != have)
        return op->emitOpError()
               << "cannot broadcast " << typeOf(values.front()) << " and " << typeOf(value)
               << " to one shape: dimensions are compared from the last one on, and where they differ "
                  "("
               << have << " and " << size << ") one of them must be 1 or missing; dgc.reshape or "
               << "dgc.broadcast_in_dim makes them fit";
    }
  }
  return shape;
}

/// Broadcasts an operand to the shape, its last dimension to the last one.
static void broadcastOperand(OpOperand &operand, ArrayRef<int64_t> shape) {
  RankedTensorType type = typeOf(operand.get());
  if (type.getShape() == shape)
    return;
  Operation *user = operand.getOwner();
  int64_t first = int64_t(shape.size()) - type.getRank();
  auto dims = llvm::to_vector(llvm::seq<int64_t>(first, shape.size()));
  OpBuilder builder(user);
  operand.set(placeWith(user, BroadcastInDimOp::create(builder, user->getLoc(), operand.get(), dims, shape)));
}

/// Refuses a number where the op does not say what it would be.
static LogicalResult checkNoLiterals(Operation *op) {
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (auto literal = operand.getDefiningOp<LiteralOp>())
      return op->emitOpError() << "takes a tensor as operand #" << index << ", not the number "
                               << literalText(literal.getValue())
                               << ": only elementwise ops take numbers; write 'dgc.constant dense<"
                               << literalText(literal.getValue()) << "> : tensor<4xf32>', with the type that is meant";
  return success();
}

namespace dgc {

LogicalResult resolveOperands(Operation *op) {
  auto elementwise = dyn_cast<ElementwiseOpInterface>(op);
  if (!elementwise || op->getNumOperands() < 2)
    return checkNoLiterals(op);
  SmallVector<Value> values;
  Type element;
  for (OpOperand &operand : op->getOpOperands()) {
    if (isLiteral(operand.get()))
      continue;
    if (!isa<RankedTensorType>(operand.get().getType()))
      return success(); // the op says so
    values.push_back(operand.get());
    if (!element && operand.getOperandNumber() >= elementwise.getFirstOfOneElementType())
      element = typeOf(operand.get()).getElementType();
  }
  if (!element)
    return op->emitOpError()
           << "has numbers alone where one operand must say which element type they have: give one of "
           << "them a type, as in 'dgc.constant dense<1.0> : tensor<f32>'";
  FailureOr<SmallVector<int64_t>> shape = broadcastShape(op, values);
  if (failed(shape))
    return failure();
  Type truth = IntegerType::get(op->getContext(), 1);
  for (OpOperand &operand : op->getOpOperands()) {
    bool isBefore = operand.getOperandNumber() < elementwise.getFirstOfOneElementType();
    if (!isLiteral(operand.get()))
      broadcastOperand(operand, *shape);
    else if (failed(replaceLiteral(operand, *shape, isBefore ? truth : element)))
      return failure();
  }
  return success();
}

} // namespace dgc
