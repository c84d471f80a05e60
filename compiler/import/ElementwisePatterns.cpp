// From the elementwise ops of StableHLO to those of dgc.

#include "compiler/import/Patterns.h"
#include <cmath>

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

namespace {

/// An op that dgc has with the same operands and results.
template <class From, class To> struct Same : Lowering<From> {
  using Lowering<From>::Lowering;
  LogicalResult lower(From op, TensorBuilder &b, SmallVectorImpl<Value> &results, std::string &) const override {
    OperationState state(op.getLoc(), To::getOperationName(), op->getOperands(), op->getResultTypes());
    results.push_back(b.builder.create(state)->getResult(0));
    return success();
  }
};

/// An op of numbers which is another one for booleans.
template <class From, class To, class ToOfBool> struct SameOrLogic : Lowering<From> {
  using Lowering<From>::Lowering;
  LogicalResult lower(From op, TensorBuilder &b, SmallVectorImpl<Value> &results, std::string &) const override {
    StringRef name = elementOf(op.getResult()).isInteger(1) ? ToOfBool::getOperationName() : To::getOperationName();
    OperationState state(op.getLoc(), name, op->getOperands(), op->getResultTypes());
    results.push_back(b.builder.create(state)->getResult(0));
    return success();
  }
};

/// An op of signed numbers, with what it is for unsigned ones.
struct AbsLowering : Lowering<stablehlo::AbsOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::AbsOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    bool isUnsigned = elementOf(op.getOperand()).isUnsignedInteger() || elementOf(op.getOperand()).isInteger(1);
    results.push_back(isUnsigned ? op.getOperand() : b.abs(op.getOperand()));
    return success();
  }
};

/// A value as large as the other: a scalar is repeated.
Value spread(TensorBuilder &b, Value value, RankedTensorType like) {
  return tensorOf(value).getShape() == like.getShape() ? value : b.broadcast(value, like.getShape(), {});
}

struct ClampLowering : Lowering<stablehlo::ClampOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::ClampOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    auto type = tensorOf(op.getResult());
    if (type.getElementType().isInteger(1))
      return refuse(reason, "a clamp of booleans");
    results.push_back(ClampOp::create(b.builder, b.location, type, spread(b, op.getMin(), type), op.getOperand(),
                                      spread(b, op.getMax(), type)));
    return success();
  }
};

struct SelectLowering : Lowering<stablehlo::SelectOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::SelectOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    Value pred = spread(b, op.getPred(), tensorOf(op.getResult()));
    results.push_back(b.select(pred, op.getOnTrue(), op.getOnFalse()));
    return success();
  }
};

ComparisonDirection directionOf(stablehlo::ComparisonDirection direction) {
  switch (direction) {
  case stablehlo::ComparisonDirection::EQ:
    return ComparisonDirection::EQ;
  case stablehlo::ComparisonDirection::NE:
    return ComparisonDirection::NE;
  case stablehlo::ComparisonDirection::GE:
    return ComparisonDirection::GE;
  case stablehlo::ComparisonDirection::GT:
    return ComparisonDirection::GT;
  case stablehlo::ComparisonDirection::LE:
    return ComparisonDirection::LE;
  case stablehlo::ComparisonDirection::LT:
    return ComparisonDirection::LT;
  }
  llvm_unreachable("a direction of comparison");
}

struct CompareLowering : Lowering<stablehlo::CompareOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::CompareOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    Value x = op.getLhs(), y = op.getRhs();
    if (op.getCompareType() == stablehlo::ComparisonType::TOTALORDER && isa<FloatType>(elementOf(x))) {
      x = inTotalOrder(b, x);
      y = inTotalOrder(b, y);
    }
    results.push_back(b.compare(directionOf(op.getComparisonDirection()), x, y));
    return success();
  }

private:
  /// Integers in the order of the floats: -NaN, -inf .. -0, 0 .. inf, NaN.
  static Value inTotalOrder(TensorBuilder &b, Value x) {
    const unsigned width = elementOf(x).getIntOrFloatBitWidth();
    Value bits = BitcastConvertOp::create(b.builder, b.location, x, b.builder.getIntegerType(width));
    APInt rest = APInt::getSignedMaxValue(width); // all bits but that of the sign
    Value mask = ConstantOp::create(b.builder, b.location, DenseElementsAttr::get(tensorOf(bits), rest));
    Value isNegative = b.compare(ComparisonDirection::LT, bits, b.splat(0, bits));
    return b.select(isNegative, XorOp::create(b.builder, b.location, bits, mask), bits);
  }
};

struct ConvertLowering : Lowering<stablehlo::ConvertOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::ConvertOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    Type element = elementOf(op.getResult());
    results.push_back(elementOf(op.getOperand()) == element ? op.getOperand() : b.convert(op.getOperand(), element));
    return success();
  }
};

struct ReducePrecisionLowering : Lowering<stablehlo::ReducePrecisionOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::ReducePrecisionOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    results.push_back(ReducePrecisionOp::create(b.builder, b.location, op.getType(), op.getOperand(),
                                                op.getExponentBitsAttr(), op.getMantissaBitsAttr()));
    return success();
  }
};

/// The integer that all elements of the value are, where it is a constant.
std::optional<APInt> splatOf(Value value) {
  DenseElementsAttr constant = constantOf(value);
  if (!constant || !constant.isSplat() || !isa<IntegerType>(constant.getElementType()))
    return std::nullopt;
  return constant.getSplatValue<APInt>();
}

/// Bits of a mantissa behind the exponent of 1, `bits >> n | exponent`, as generators of random numbers make them: the
/// bits that are shifted, or null.
Value mantissaOf(Value value, FloatType type) {
  auto either = value.getDefiningOp<OrOp>();
  if (!either)
    return {};
  Value bits = either.getLhs(), exponent = either.getRhs();
  if (splatOf(bits))
    std::swap(bits, exponent);
  auto shifted = bits.getDefiningOp<ShiftRightLogicalOp>();
  std::optional<APInt> one = splatOf(exponent), amount = shifted ? splatOf(shifted.getRhs()) : std::nullopt;
  unsigned mantissa = type.getFPMantissaWidth() - 1;
  bool isOne = one && *one == APFloat(type.getFloatSemantics(), 1).bitcastToAPInt();
  return isOne && amount && amount->uge(type.getWidth() - mantissa) && amount->ult(type.getWidth()) ? bits : Value();
}

/// The bits of numbers of one width as those of another one, the lowest first: along a last dimension.
Value regroupBits(TensorBuilder &b, Value bits, unsigned width) {
  auto type = tensorOf(bits);
  const unsigned from = type.getElementType().getIntOrFloatBitWidth();
  const bool splits = width < from;
  Type narrow = b.builder.getIntegerType(std::min(width, from), /*isSigned=*/false);
  Type wide = b.builder.getIntegerType(std::max(width, from), /*isSigned=*/false);
  const int64_t count = std::max(width, from) / std::min(width, from), last = type.getRank();
  SmallVector<int64_t> shape(type.getShape());
  if (splits)
    shape.push_back(count);
  RankedTensorType words = RankedTensorType::get(shape, wide);
  const int64_t dim = splits ? last : last - 1;
  Value shift = b.multiply(IotaOp::create(b.builder, b.location, words, dim, Value()), std::min(width, from));
  if (splits) {
    Value all = b.broadcast(b.convert(bits, wide), shape, firstNumbers(last));
    Value shifted = ShiftRightLogicalOp::create(b.builder, b.location, all, shift);
    Value mask = b.splat(std::ldexp(1.0, static_cast<int>(width)) - 1, shifted);
    return b.convert(AndOp::create(b.builder, b.location, shifted, mask), narrow);
  }
  Value unsignedBits = BitcastConvertOp::create(b.builder, b.location, bits, narrow);
  Value shifted = ShiftLeftOp::create(b.builder, b.location, b.convert(unsignedBits, wide), shift);
  return b.reduce(ReductionKind::Or, shifted, {dim});
}

/// The bits of numbers as truth values, the lowest first, along a last dimension; or the numbers that such bits are.
Value castBooleans(TensorBuilder &b, Value x, Type to) {
  auto type = tensorOf(x);
  const bool splits = to.isInteger(1);
  const unsigned width = (splits ? type.getElementType() : to).getIntOrFloatBitWidth();
  Type word = b.builder.getIntegerType(width, /*isSigned=*/false);
  SmallVector<int64_t> shape(type.getShape());
  if (splits)
    shape.push_back(width);
  const auto last = static_cast<int64_t>(shape.size()) - 1;
  Value place = IotaOp::create(b.builder, b.location, RankedTensorType::get(shape, word), last, Value());
  if (!splits) {
    Value bits = ShiftLeftOp::create(b.builder, b.location, b.convert(x, word), place);
    Value joined = b.reduce(ReductionKind::Or, bits, {last});
    return word == to ? joined : BitcastConvertOp::create(b.builder, b.location, joined, to);
  }
  Value bits = word == type.getElementType() ? x : BitcastConvertOp::create(b.builder, b.location, x, word);
  Value shifted =
      ShiftRightLogicalOp::create(b.builder, b.location, b.broadcast(bits, shape, firstNumbers(last)), place);
  Value lowest = AndOp::create(b.builder, b.location, shifted, b.splat(1, shifted));
  return b.compare(ComparisonDirection::NE, lowest, b.splat(0, shifted));
}

struct BitcastLowering : Lowering<stablehlo::BitcastConvertOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::BitcastConvertOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    Value x = op.getOperand();
    Type from = elementOf(x), to = elementOf(op.getResult());
    if (from == to) {
      results.push_back(x);
      return success();
    }
    if (from.isInteger(1) || to.isInteger(1)) {
      results.push_back(castBooleans(b, x, to));
      return success();
    }
    if (auto type = dyn_cast<FloatType>(to); type && type.getWidth() == from.getIntOrFloatBitWidth()) {
      if (Value bits = mantissaOf(x, type)) { // 1 + mantissa / 2^n, exactly
        const int digits = 1 - static_cast<int>(type.getFPMantissaWidth());
        Value fraction = b.multiply(b.convert(bits, to), std::ldexp(1.0, digits));
        results.push_back(b.add(fraction, b.splat(1, fraction)));
        return success();
      }
    }
    const unsigned width = to.getIntOrFloatBitWidth();
    if (from.getIntOrFloatBitWidth() != width) {
      Type word = b.builder.getIntegerType(from.getIntOrFloatBitWidth(), /*isSigned=*/false);
      x = regroupBits(b, BitcastConvertOp::create(b.builder, b.location, x, word), width);
    }
    results.push_back(BitcastConvertOp::create(b.builder, b.location, x, to));
    return success();
  }
};

} // namespace

void dgc::import::addElementwisePatterns(RewritePatternSet &patterns) {
  patterns.add<AbsLowering, BitcastLowering, ClampLowering, CompareLowering, ConvertLowering, ReducePrecisionLowering,
               SelectLowering>(patterns.getContext());
#define DGC_SAME(...) (patterns.add<Same<stablehlo::__VA_ARGS__, dgc::__VA_ARGS__>>(patterns.getContext()))
  DGC_SAME(AndOp);
  DGC_SAME(Atan2Op);
  DGC_SAME(CbrtOp);
  DGC_SAME(CeilOp);
  DGC_SAME(CosineOp);
  DGC_SAME(CountLeadingZerosOp);
  DGC_SAME(DivideOp);
  DGC_SAME(ExponentialOp);
  DGC_SAME(FloorOp);
  DGC_SAME(IsFiniteOp);
  DGC_SAME(LogOp);
  DGC_SAME(LogisticOp);
  DGC_SAME(NegateOp);
  DGC_SAME(NotOp);
  DGC_SAME(OrOp);
  DGC_SAME(PopcntOp);
  DGC_SAME(PowerOp);
  DGC_SAME(RemainderOp);
  DGC_SAME(RoundNearestAfzOp);
  DGC_SAME(RoundNearestEvenOp);
  DGC_SAME(RsqrtOp);
  DGC_SAME(ShiftLeftOp);
  DGC_SAME(ShiftRightArithmeticOp);
  DGC_SAME(ShiftRightLogicalOp);
  DGC_SAME(SignOp);
  DGC_SAME(SineOp);
  DGC_SAME(SqrtOp);
  DGC_SAME(TanOp);
  DGC_SAME(TanhOp);
  DGC_SAME(XorOp);
#undef DGC_SAME
  patterns
      .add<SameOrLogic<stablehlo::AddOp, AddOp, OrOp>, SameOrLogic<stablehlo::MaximumOp, MaximumOp, OrOp>,
           SameOrLogic<stablehlo::MinimumOp, MinimumOp, AndOp>, SameOrLogic<stablehlo::MultiplyOp, MultiplyOp, AndOp>,
           SameOrLogic<stablehlo::SubtractOp, SubtractOp, XorOp>>(patterns.getContext());
}
