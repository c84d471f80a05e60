// The meaning of the elementwise ops for one element, in arith and math ops.

#include "dialects/dgc/OpSupport.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace dgc;
using Scalars = ValueRange;

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

static Value number(ImplicitLocOpBuilder &b, Type type, double value) {
  return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
}

static Value bits(ImplicitLocOpBuilder &b, Type type, const APInt &value) {
  return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
}

/// A constant integer; -1 has all bits set.
static Value integer(ImplicitLocOpBuilder &b, Type type, int64_t value) {
  return bits(b, type,
              APInt(type.getIntOrFloatBitWidth(), value, /*isSigned=*/true,
                    /*implicitTrunc=*/true));
}

static Value choose(ImplicitLocOpBuilder &b, Value condition, Value yes, Value no) {
  return arith::SelectOp::create(b, condition, yes, no);
}

static Value compare(ImplicitLocOpBuilder &b, arith::CmpFPredicate predicate, Value lhs, Value rhs) {
  return arith::CmpFOp::create(b, predicate, lhs, rhs);
}

static Value compare(ImplicitLocOpBuilder &b, arith::CmpIPredicate predicate, Value lhs, Value rhs) {
  return arith::CmpIOp::create(b, predicate, lhs, rhs);
}

static Type operandType(Operation *op) { return op->getOperand(0).getType(); }

/// Builds the op for floats, signed or unsigned integers.
template <typename Float, typename Signed, typename Unsigned = Signed>
static Value buildFor(Operation *op, OpBuilder &builder, Location location, Scalars x) {
  if (isFloat(operandType(op)))
    return Float::create(builder, location, x);
  if (isUnsigned(operandType(op)))
    return Unsigned::create(builder, location, x);
  return Signed::create(builder, location, x);
}

//===----------------------------------------------------------------------===//
// Ops that are one op of arith or math
//===----------------------------------------------------------------------===//

#define DGC_SCALAR(op, ...)                                                                                            \
  Value op::buildScalar(OpBuilder &builder, Location location, Scalars x) {                                            \
    return __VA_ARGS__::create(builder, location, x);                                                                  \
  }
DGC_SCALAR(AndOp, arith::AndIOp)
DGC_SCALAR(Atan2Op, math::Atan2Op)
DGC_SCALAR(CountLeadingZerosOp, math::CountLeadingZerosOp)
DGC_SCALAR(OrOp, arith::OrIOp)
DGC_SCALAR(PopcntOp, math::CtPopOp)
DGC_SCALAR(XorOp, arith::XOrIOp)
#undef DGC_SCALAR

#define DGC_SCALAR_OF_TYPE(op, ...)                                                                                    \
  Value op::buildScalar(OpBuilder &builder, Location location, Scalars x) {                                            \
    return buildFor<__VA_ARGS__>(*this, builder, location, x);                                                         \
  }
DGC_SCALAR_OF_TYPE(AbsOp, math::AbsFOp, math::AbsIOp)
DGC_SCALAR_OF_TYPE(AddOp, arith::AddFOp, arith::AddIOp)
DGC_SCALAR_OF_TYPE(MaximumOp, arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp)
DGC_SCALAR_OF_TYPE(MinimumOp, arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp)
DGC_SCALAR_OF_TYPE(MultiplyOp, arith::MulFOp, arith::MulIOp)
DGC_SCALAR_OF_TYPE(SubtractOp, arith::SubFOp, arith::SubIOp)
#undef DGC_SCALAR_OF_TYPE

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value NegateOp::buildScalar(OpBuilder &builder, Location location, Scalars x) {
  ImplicitLocOpBuilder b(location, builder);
  if (isFloat(getType()))
    return arith::NegFOp::create(b, x[0]);
  return arith::SubIOp::create(b, integer(b, x[0].getType(), 0), x[0]);
}

Value StopGradientOp::buildScalar(OpBuilder &, Location, Scalars x) { return x[0]; }

Value SignOp::buildScalar(OpBuilder &builder, Location location, Scalars x) {
  ImplicitLocOpBuilder b(location, builder);
  Type type = x[0].getType();
  if (isFloat(getType())) {
    Value one = math::CopySignOp::create(b, number(b, type, 1), x[0]);
    Value zeroOrNaN = compare(b, arith::CmpFPredicate::UEQ, x[0], number(b, type, 0));
    return choose(b, zeroOrNaN, x[0], one);
  }
  Value zero = integer(b, type, 0);
  Value above = arith::ExtUIOp::create(b, type, compare(b, arith::CmpIPredicate::sgt, x[0], zero));
  Value below = arith::ExtUIOp::create(b, type, compare(b, arith::CmpIPredicate::slt, x[0], zero));
  return arith::SubIOp::create(b, above, below);
}

Value ClampOp::buildScalar(OpBuilder &builder, Location location, Scalars x) {
  Value atLeast = buildFor<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(*this, builder, location, {x[1], x[0]});
  return buildFor<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(*this, builder, location, {atLeast, x[2]});
}

namespace {
/// A divisor with which the hardware division cannot trap: 1 where the given
/// one is zero or where the quotient would overflow.
struct SafeDivisor {
  Value isZero, divisor;

  SafeDivisor(ImplicitLocOpBuilder &b, Scalars x, bool isSigned) {
    Type type = x[0].getType();
    Value one = integer(b, type, 1);
    isZero = compare(b, arith::CmpIPredicate::eq, x[1], integer(b, type, 0));
    Value unsafe = isZero;
    if (isSigned) {
      Value smallest = bits(b, type, APInt::getSignedMinValue(type.getIntOrFloatBitWidth()));
      Value overflows = arith::AndIOp::create(b, compare(b, arith::CmpIPredicate::eq, x[0], smallest),
                                              compare(b, arith::CmpIPredicate::eq, x[1], integer(b, type, -1)));
      unsafe = arith::OrIOp::create(b, unsafe, overflows);
    }
    divisor = choose(b, unsafe, one, x[1]);
  }
};
} // namespace

Value DivideOp::buildScalar(OpBuilder &builder, Location location, Scalars x) {
  ImplicitLocOpBuilder b(location, builder);
  if (isFloat(getType()))
    return arith::DivFOp::create(b, x);
  SafeDivisor safe(b, x, !isUnsigned(getType()));
  Value quotient =
      buildFor<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>(*this, builder, location, {x[0], safe.divisor});
  return choose(b, safe.isZero, integer(b, x[0].getType(), -1), quotient);
}

Value RemainderOp::buildScalar(OpBuilder &builder, Location location, Scalars x) {
  ImplicitLocOpBuilder b(location, builder);
  if (isFloat(getType()))
    return arith::RemFOp::create(b, x);
  SafeDivisor safe(b, x, !isUnsigned(getType()));
  Value remainder =
      buildFor<arith::RemFOp, arith::RemSIOp, arith::RemUIOp>(*this, builder, location, {x[0], safe.divisor});
  return choose(b, safe.isZero, x[0], remainder);
}

/// base ^ exponent by repeated squaring, one step for each of the low
/// `exponentBits` bits.
static Value integerPower(ImplicitLocOpBuilder &b, Value base, Value exponent, unsigned exponentBits) {
  Type type = base.getType();
  Value result = integer(b, type, 1);
  for (unsigned bit = 0; bit < exponentBits; ++bit) {
    Value mask = bits(b, type, APInt::getOneBitSet(type.getIntOrFloatBitWidth(), bit));
    Value isSet = compare(b, arith::CmpIPredicate::ne, arith::AndIOp::create(b, exponent, mask), integer(b, type, 0));
    result = choose(b, isSet, arith::MulIOp::create(b, result, base), result);
    base = arith::MulIOp::create(b, base, base);
  }
  return result;
}

Value PowerOp::buildScalar(OpBuilder &builder, Location location, Scalars x) {
  ImplicitLocOpBuilder b(location, builder);
  if (isFloat(getType()))
    return math::PowFOp::create(b, x);
  Type type = x[0].getType();
  unsigned width = type.getIntOrFloatBitWidth();
  if (isUnsigned(getType()))
    return integerPower(b, x[0], x[1], width);
  // 1 / base^n is 0 but for 1 and -1, which are their own inverses.
  Value one = integer(b, type, 1);
  Value negative = compare(b, arith::CmpIPredicate::slt, x[1], integer(b, type, 0));
  Value isUnit = arith::OrIOp::create(b, compare(b, arith::CmpIPredicate::eq, x[0], one),
                                      compare(b, arith::CmpIPredicate::eq, x[0], integer(b, type, -1)));
  Value vanishes = arith::AndIOp::create(b, negative, arith::XOrIOp::create(b, isUnit, integer(b, b.getI1Type(), 1)));
  return choose(b, vanishes, integer(b, type, 0), integerPower(b, x[0], x[1], width - 1));
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

Value NotOp::buildScalar(OpBuilder &builder, Location location, Scalars x) {
  ImplicitLocOpBuilder b(location, builder);
  return arith::XOrIOp::create(b, x[0], integer(b, x[0].getType(), -1));
}

/// True when x[1] is a number of bits that x[0] has.
static Value isShiftInRange(ImplicitLocOpBuilder &b, Scalars x) {
  Type type = x[0].getType();
  return compare(b, arith::CmpIPredicate::ult, x[1], integer(b, type, type.getIntOrFloatBitWidth()));
}

template <typename Shift> static Value shiftOrZero(OpBuilder &builder, Location location, Scalars x) {
  ImplicitLocOpBuilder b(location, builder);
  Value zero = integer(b, x[0].getType(), 0);
  Value inRange = isShiftInRange(b, x);
  Value amount = choose(b, inRange, x[1], zero);
  Value shifted = Shift::create(b, x[0], amount);
  return choose(b, inRange, shifted, zero);
}

Value ShiftLeftOp::buildScalar(OpBuilder &builder, Location location, Scalars x) {
  return shiftOrZero<arith::ShLIOp>(builder, location, x);
}

Value ShiftRightLogicalOp::buildScalar(OpBuilder &builder, Location location, Scalars x) {
  return shiftOrZero<arith::ShRUIOp>(builder, location, x);
}

Value ShiftRightArithmeticOp::buildScalar(OpBuilder &builder, Location location, Scalars x) {
  ImplicitLocOpBuilder b(location, builder);
  Type type = x[0].getType();
  Value most = integer(b, type, type.getIntOrFloatBitWidth() - 1);
  Value amount = choose(b, isShiftInRange(b, x), x[1], most);
  return arith::ShRSIOp::create(b, x[0], amount);
}

//===----------------------------------------------------------------------===//
// Comparison, choice and conversion
//===----------------------------------------------------------------------===//

Value IsFiniteOp::buildScalar(OpBuilder &builder, Location location, Scalars x) {
  ImplicitLocOpBuilder b(location, builder);
  Value infinity = number(b, x[0].getType(), std::numeric_limits<double>::infinity());
  return compare(b, arith::CmpFPredicate::OLT, math::AbsFOp::create(b, x[0]), infinity);
}

Value CompareOp::buildScalar(OpBuilder &builder, Location location, Scalars x) {
  ImplicitLocOpBuilder b(location, builder);
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  // In the order of ComparisonDirection.
  static constexpr F floats[] = {F::OEQ, F::UNE, F::OLT, F::OLE, F::OGT, F::OGE};
  static constexpr I signedIntegers[] = {I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge};
  static constexpr I unsignedIntegers[] = {I::eq, I::ne, I::ult, I::ule, I::ugt, I::uge};
  auto direction = static_cast<unsigned>(getComparisonDirection());
  if (isFloat(operandType(*this)))
    return compare(b, floats[direction], x[0], x[1]);
  if (isUnsigned(operandType(*this)))
    return compare(b, unsignedIntegers[direction], x[0], x[1]);
  return compare(b, signedIntegers[direction], x[0], x[1]);
}

Value SelectOp::buildScalar(OpBuilder &builder, Location location, Scalars x) {
  return arith::SelectOp::create(builder, location, x[0], x[1], x[2]);
}

static Value floatToFloat(ImplicitLocOpBuilder &b, Value x, Type to) {
  unsigned fromWidth = x.getType().getIntOrFloatBitWidth();
  unsigned toWidth = to.getIntOrFloatBitWidth();
  if (x.getType() == to)
    return x;
  if (fromWidth == toWidth) // f16 and bf16
    return floatToFloat(b, floatToFloat(b, x, b.getF32Type()), to);
  if (fromWidth < toWidth)
    return arith::ExtFOp::create(b, to, x);
  return arith::TruncFOp::create(b, to, x);
}

/// Works on the bits: sign, exponent and mantissa are adjacent, so that a mantissa that is rounded up
/// beyond its bits makes the exponent one larger.
Value ReducePrecisionOp::buildScalar(OpBuilder &builder, Location location, Scalars x) {
  ImplicitLocOpBuilder b(location, builder);
  auto type = cast<FloatType>(x[0].getType());
  unsigned width = type.getWidth(), mantissa = type.getFPMantissaWidth() - 1, exponent = width - 1 - mantissa;
  Type word = b.getIntegerType(width);
  auto range = [&](unsigned low, unsigned high) { return bits(b, word, APInt::getBitsSet(width, low, high)); };
  Value original = arith::BitcastOp::create(b, word, x[0]), value = original;
  if (unsigned kept = getMantissaBits(); kept < mantissa) {
    unsigned dropped = mantissa - kept;
    Value last =
        arith::AndIOp::create(b, arith::ShRUIOp::create(b, value, integer(b, word, dropped)), integer(b, word, 1));
    Value half = bits(b, word, APInt::getLowBitsSet(width, dropped - 1)); // and one more where the last bit is odd
    value = arith::AddIOp::create(b, arith::AddIOp::create(b, value, half), last);
    value = arith::AndIOp::create(b, value, range(dropped, width));
  }
  Value infinite = range(mantissa, width - 1);
  if (unsigned kept = getExponentBits(); kept < exponent) {
    uint64_t bias = (uint64_t(1) << (exponent - 1)) - 1, newBias = (uint64_t(1) << (kept - 1)) - 1;
    auto exponentOf = [&](uint64_t biased) { return bits(b, word, APInt(width, biased) << mantissa); };
    Value sign = arith::AndIOp::create(b, value, range(width - 1, width));
    Value magnitude = arith::AndIOp::create(b, value, infinite);
    Value tooLarge = compare(b, arith::CmpIPredicate::ugt, magnitude, exponentOf(bias + newBias));
    Value tooSmall = compare(b, arith::CmpIPredicate::ule, magnitude, exponentOf(bias - newBias));
    value = choose(b, tooLarge, arith::OrIOp::create(b, sign, infinite), value);
    value = choose(b, tooSmall, sign, value);
  }
  // Without a mantissa there is no NaN: it becomes infinite.
  Value nan = x[0];
  if (getMantissaBits() == 0)
    nan = arith::BitcastOp::create(
        b, type, arith::OrIOp::create(b, arith::AndIOp::create(b, original, range(width - 1, width)), infinite));
  Value isNaN = compare(b, arith::CmpFPredicate::UNO, x[0], x[0]);
  return choose(b, isNaN, nan, arith::BitcastOp::create(b, type, value));
}

/// Rounds towards zero; what is out of range becomes the nearest integer there
/// is, NaN becomes 0.
static Value floatToInteger(ImplicitLocOpBuilder &b, Value x, Type to, bool isUnsigned) {
  if (x.getType().getIntOrFloatBitWidth() < 32)
    x = floatToFloat(b, x, b.getF32Type()); // has both limits of every integer
  Type from = x.getType();
  unsigned width = to.getIntOrFloatBitWidth();
  APInt least = isUnsigned ? APInt::getZero(width) : APInt::getSignedMinValue(width);
  APInt most = isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  double aboveMost = std::ldexp(1.0, isUnsigned ? width : width - 1);
  Value isHigh = compare(b, arith::CmpFPredicate::OGE, x, number(b, from, aboveMost));
  Value isLow = isUnsigned ? compare(b, arith::CmpFPredicate::OLE, x, number(b, from, -1))
                           : compare(b, arith::CmpFPredicate::OLT, x, number(b, from, -aboveMost));
  Value isNaN = compare(b, arith::CmpFPredicate::UNO, x, x);
  Value isOutside = arith::OrIOp::create(b, isNaN, arith::OrIOp::create(b, isHigh, isLow));
  Value inside = choose(b, isOutside, number(b, from, 0), x);
  Value result = isUnsigned ? arith::FPToUIOp::create(b, to, inside).getResult()
                            : arith::FPToSIOp::create(b, to, inside).getResult();
  result = choose(b, isHigh, bits(b, to, most), result);
  return choose(b, isLow, bits(b, to, least), result);
}

static Value integerToInteger(ImplicitLocOpBuilder &b, Value x, Type to, bool isUnsigned) {
  unsigned fromWidth = x.getType().getIntOrFloatBitWidth();
  unsigned toWidth = to.getIntOrFloatBitWidth();
  if (fromWidth == toWidth)
    return x;
  if (fromWidth > toWidth)
    return arith::TruncIOp::create(b, to, x);
  if (isUnsigned)
    return arith::ExtUIOp::create(b, to, x);
  return arith::ExtSIOp::create(b, to, x);
}

Value BitcastConvertOp::buildScalar(OpBuilder &builder, Location location, Scalars x) {
  Type to = signlessElement(getElementType());
  return x[0].getType() == to ? x[0] : arith::BitcastOp::create(builder, location, to, x[0]);
}

Value ConvertOp::buildScalar(OpBuilder &builder, Location location, Scalars x) {
  ImplicitLocOpBuilder b(location, builder);
  Type from = x[0].getType(), to = signlessElement(getElementType());
  bool fromUnsigned = isUnsigned(operandType(*this));
  if (to.isInteger(1) && from != to)
    return isa<FloatType>(from) ? compare(b, arith::CmpFPredicate::UNE, x[0], number(b, from, 0))
                                : compare(b, arith::CmpIPredicate::ne, x[0], integer(b, from, 0));
  if (isa<FloatType>(from) && isa<FloatType>(to))
    return floatToFloat(b, x[0], to);
  if (isa<FloatType>(from))
    return floatToInteger(b, x[0], to, isUnsigned(getElementType()));
  if (!isa<FloatType>(to))
    return integerToInteger(b, x[0], to, fromUnsigned);
  if (fromUnsigned)
    return arith::UIToFPOp::create(b, to, x[0]);
  return arith::SIToFPOp::create(b, to, x[0]);
}
