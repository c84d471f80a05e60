// What the definitions of dgc ops share.

#include "dialects/dgc/OpSupport.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include <cmath>

using namespace mlir;
using namespace dgc;

/// Constants with more elements than this are left to run time.
static constexpr int64_t maxFoldedElements = 64;

bool dgc::isFloat(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }

bool dgc::isUnsigned(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isUnsignedInteger() || element.isInteger(1);
}

Type dgc::signlessElement(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  return integer ? IntegerType::get(element.getContext(), integer.getWidth()) : element;
}

RankedTensorType dgc::signlessTensor(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), signlessElement(tensor.getElementType()));
}

DenseElementsAttr dgc::signlessElements(DenseElementsAttr elements) {
  return elements.bitcast(signlessElement(elements.getElementType()));
}

/// What to do about two tensors of different shape.
static StringRef shapeHint(RankedTensorType a, RankedTensorType b) {
  if (a.getRank() < b.getRank())
    std::swap(a, b);
  if (b.getRank() == 0)
    return "repeat the scalar with dgc.broadcast_in_dim";
  if (b.getRank() == 1 && a.getRank() > 1 && a.getShape().back() == b.getDimSize(0))
    return "dgc.bias_add adds a vector along the last dimension, "
           "dgc.broadcast_in_dim repeats one for any op";
  return "shapes are never broadcast silently: use dgc.broadcast_in_dim, or "
         "dgc.reshape where only the dimensions differ";
}

LogicalResult dgc::checkSameType(std::optional<Location> location, StringRef op, Type first, Type second,
                                 bool elementsMayDiffer) {
  auto a = withoutEncoding(cast<RankedTensorType>(first));
  auto b = withoutEncoding(cast<RankedTensorType>(second));
  if (a.getShape() != b.getShape())
    return inferError(location, op, "needs operands of the same shape, but got ", a, " and ", b, "; ", shapeHint(a, b));
  if (!elementsMayDiffer && a.getElementType() != b.getElementType())
    return inferError(location, op, "needs operands of the same element type, but got ", a, " and ", b,
                      "; use dgc.convert on one of them");
  return success();
}

LogicalResult dgc::inferSameType(std::optional<Location> location, StringRef op, ValueRange operands,
                                 SmallVectorImpl<Type> &types) {
  Type first = operands.front().getType();
  for (Value operand : operands.drop_front())
    if (failed(checkSameType(location, op, first, operand.getType())))
      return failure();
  types.push_back(withoutEncoding(cast<RankedTensorType>(first)));
  return success();
}

bool dgc::isSplatOf(Attribute constant, double value) {
  auto splat = dyn_cast_or_null<SplatElementsAttr>(constant);
  if (!splat)
    return false;
  if (isa<FloatType>(splat.getElementType()))
    return splat.getSplatValue<APFloat>().convertToDouble() == value;
  APInt bits = splat.getSplatValue<APInt>();
  return bits == APInt(bits.getBitWidth(), int64_t(value), true, /*implicitTrunc=*/true);
}

bool dgc::isSplatOf(Value constant, double value) {
  Attribute elements;
  return matchPattern(constant, m_Constant(&elements)) && isSplatOf(elements, value);
}

/// The angle of the origin, as IEEE 754 has it: MLIR folds it to NaN. Null for another op, and elsewhere.
static Attribute foldOrigin(Operation &op, ArrayRef<Attribute> operands) {
  if (!isa<math::Atan2Op>(op))
    return {};
  auto y = dyn_cast_or_null<FloatAttr>(operands[0]), x = dyn_cast_or_null<FloatAttr>(operands[1]);
  if (!y || !x || !y.getValue().isZero() || !x.getValue().isZero())
    return {};
  return FloatAttr::get(y.getType(), std::atan2(y.getValueAsDouble(), x.getValueAsDouble()));
}

/// Evaluates the scalar body of `op` on `inputs`; null when an op of the body
/// does not fold.
static Attribute evaluateScalar(ElementwiseOpInterface op, ArrayRef<Attribute> inputs) {
  Block body;
  llvm::DenseMap<Value, Attribute> known;
  for (Attribute input : inputs) {
    auto typed = cast<TypedAttr>(input);
    known[body.addArgument(typed.getType(), op.getLoc())] = input;
  }
  OpBuilder builder(op.getContext());
  builder.setInsertionPointToEnd(&body);
  Value result = op.buildScalar(builder, op.getLoc(), body.getArguments());
  for (Operation &step : body) {
    // A fold may first rearrange the op in place, as commutative ops do.
    SmallVector<OpFoldResult> folded;
    for (int attempt = 0; attempt < 4 && folded.empty(); ++attempt) {
      auto operands = llvm::map_to_vector(step.getOperands(), [&](Value operand) { return known[operand]; });
      if (Attribute origin = foldOrigin(step, operands))
        folded.push_back(origin);
      else if (failed(step.fold(operands, folded)))
        return {};
    }
    if (folded.empty())
      return {};
    for (auto [value, fold] : llvm::zip_equal(step.getResults(), folded))
      known[value] = isa<Value>(fold) ? known[cast<Value>(fold)] : cast<Attribute>(fold);
  }
  return known[result];
}

/// Element `index` of a constant, as a scalar attribute of signless type.
static Attribute elementAt(DenseElementsAttr elements, int64_t index) {
  Type type = signlessElement(elements.getElementType());
  if (elements.isSplat())
    index = 0;
  if (isa<FloatType>(type))
    return FloatAttr::get(type, *(elements.getValues<APFloat>().begin() + index));
  return IntegerAttr::get(type, *(elements.getValues<APInt>().begin() + index));
}

OpFoldResult dgc::foldElementwise(Operation *op, ArrayRef<Attribute> constants) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || type.getEncoding() || type.getNumElements() == 0)
    return {};
  SmallVector<DenseElementsAttr> operands;
  for (Attribute constant : constants) {
    operands.push_back(dyn_cast_or_null<DenseElementsAttr>(constant));
    if (!operands.back())
      return {};
  }
  bool splat = llvm::all_of(operands, [](DenseElementsAttr operand) { return operand.isSplat(); });
  int64_t count = splat ? 1 : type.getNumElements();
  if (count > maxFoldedElements)
    return {};

  SmallVector<APFloat> floats;
  SmallVector<APInt> integers;
  for (int64_t index = 0; index < count; ++index) {
    auto inputs = llvm::map_to_vector(operands, [&](DenseElementsAttr operand) { return elementAt(operand, index); });
    Attribute result = evaluateScalar(cast<ElementwiseOpInterface>(op), inputs);
    if (auto value = dyn_cast_or_null<FloatAttr>(result))
      floats.push_back(value.getValue());
    else if (auto value = dyn_cast_or_null<IntegerAttr>(result))
      integers.push_back(value.getValue());
    else
      return {};
  }
  return floats.empty() ? DenseElementsAttr::get(type, integers) : DenseElementsAttr::get(type, floats);
}
