// Special functions, as formulas in f64.

#include "compiler/import/Formulas.h"
#include "compiler/import/Patterns.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

namespace {

Value number(TensorBuilder &b, double value, Value like) { return b.splat(value, like); }
Value plus(TensorBuilder &b, Value x, double value) { return b.add(x, number(b, value, x)); }
Value reciprocal(TensorBuilder &b, Value x) { return b.divide(number(b, 1, x), x); }
Value isBelow(TensorBuilder &b, Value x, double bound) {
  return b.compare(ComparisonDirection::LT, x, number(b, bound, x));
}
Value both(TensorBuilder &b, Value p, Value q) { return AndOp::create(b.builder, b.location, p, q); }
Value infinity(TensorBuilder &b, Value like) { return number(b, std::numeric_limits<double>::infinity(), like); }
Value notANumber(TensorBuilder &b, Value like) { return number(b, std::numeric_limits<double>::quiet_NaN(), like); }

/// Coefficients from that of the highest power on.
Value polynomial(TensorBuilder &b, Value x, ArrayRef<double> coefficients) {
  Value sum = number(b, coefficients.front(), x);
  for (double each : coefficients.drop_front())
    sum = plus(b, b.multiply(sum, x), each);
  return sum;
}

/// Whether x is an integer that is not positive.
Value isPole(TensorBuilder &b, Value x) {
  Value isWhole = b.equal(x, b.floor(x));
  return both(b, isWhole, b.compare(ComparisonDirection::LE, x, number(b, 0, x)));
}

/// The distance to the integer below, between 0 and 1.
Value fraction(TensorBuilder &b, Value x) { return b.subtract(x, b.floor(x)); }

/// `x` where it is at least 8, else the first of x + 1, x + 2 .. that is; calls `passed` with whether each is passed, and it.
Value raised(TensorBuilder &b, Value x, function_ref<void(Value, Value)> passed) {
  for (int i = 0; i < 8; ++i) {
    Value isSmall = isBelow(b, x, 8);
    passed(isSmall, x);
    x = b.select(isSmall, plus(b, x, 1), x);
  }
  return x;
}

/// Stirling's series from 8 on, and the reflection formula below 1/2. Near 1 and 2, where the logarithm of the factors that
/// are passed cancels the series, it is as exact as these are in f64.
Value lgamma(TensorBuilder &b, Value x) {
  Value isReflected = isBelow(b, x, 0.5);
  Value upper = b.select(isReflected, b.subtract(number(b, 1, x), x), x), factors = number(b, 1, x);
  Value z = raised(b, upper,
                   [&](Value isPassed, Value at) { factors = b.select(isPassed, b.multiply(factors, at), factors); });
  Value inverse = reciprocal(b, z), squared = b.multiply(inverse, inverse);
  Value series =
      b.multiply(inverse, polynomial(b, squared,
                                     {-174611.0 / 125400, 43867.0 / 244188, -3617.0 / 122400, 1.0 / 156,
                                      -691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12}));
  Value main = b.subtract(b.multiply(plus(b, z, -0.5), b.log(z)), z);
  Value result = b.add(plus(b, main, 0.5 * std::log(2 * std::numbers::pi)), b.subtract(series, b.log(factors)));
  Value sine = b.sine(b.multiply(fraction(b, x), std::numbers::pi));
  Value reflected = b.subtract(b.subtract(number(b, std::log(std::numbers::pi), x), b.log(sine)), result);
  result = b.select(isReflected, reflected, result);
  Value isEndless = OrOp::create(b.builder, b.location, isPole(b, x), b.equal(b.abs(x), infinity(b, x)));
  return b.select(isEndless, infinity(b, x), result);
}

/// The asymptotic series from 8 on, and the reflection formula below 1/2.
Value digamma(TensorBuilder &b, Value x) {
  Value isReflected = isBelow(b, x, 0.5);
  Value upper = b.select(isReflected, b.subtract(number(b, 1, x), x), x), sum = number(b, 0, x);
  Value z =
      raised(b, upper, [&](Value isPassed, Value at) { sum = b.select(isPassed, b.add(sum, reciprocal(b, at)), sum); });
  Value inverse = reciprocal(b, z), squared = b.multiply(inverse, inverse);
  Value series =
      b.multiply(squared, polynomial(b, squared,
                                     {-174611.0 / 6600, 43867.0 / 14364, -3617.0 / 8160, 1.0 / 12, -691.0 / 32760,
                                      1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12}));
  Value result = b.subtract(b.subtract(b.log(z), b.multiply(inverse, 0.5)), b.add(series, sum));
  Value angle = b.multiply(fraction(b, x), std::numbers::pi);
  Value cotangent = b.divide(b.cosine(angle), b.sine(angle));
  Value reflected = b.subtract(result, b.multiply(cotangent, std::numbers::pi));
  return b.select(isPole(b, x), notANumber(b, x), b.select(isReflected, reflected, result));
}

/// exp(-|x|) times the modified Bessel function of the first kind, order 1: its power series up to 20, whose terms all have
/// one sign, and its asymptotic series beyond.
Value besselI1e(TensorBuilder &b, Value x) {
  Value y = b.abs(x), small = b.minimum(y, number(b, 20, y)), half = b.multiply(small, 0.5);
  SmallVector<double> terms{1};
  for (int k = 1; k < 60; ++k)
    terms.push_back(terms.back() / (static_cast<double>(k) * (k + 1)));
  std::reverse(terms.begin(), terms.end());
  Value near =
      b.multiply(b.multiply(half, polynomial(b, b.multiply(half, half), terms)), b.exponential(b.negate(small)));
  SmallVector<double> asymptotic{1};
  for (int k = 1; k < 24; ++k)
    asymptotic.push_back(-asymptotic.back() * (4.0 - (2.0 * k - 1) * (2.0 * k - 1)) / (8.0 * k));
  std::reverse(asymptotic.begin(), asymptotic.end());
  Value large = b.maximum(y, number(b, 20, y));
  Value far =
      b.divide(polynomial(b, reciprocal(b, large), asymptotic), b.sqrt(b.multiply(large, 2 * std::numbers::pi)));
  Value size = b.select(b.compare(ComparisonDirection::GT, y, number(b, 20, y)), far, near);
  return b.select(isBelow(b, x, 0), b.negate(size), size);
}

/// The zeta function of Hurwitz, the sum of (q + k)^-x, by the formula of Euler and Maclaurin behind 12 terms.
Value zeta(TensorBuilder &b, Value x, Value q) {
  constexpr int count = 12;
  Value power = b.negate(x), sum = number(b, 0, x);
  for (int k = 0; k < count; ++k)
    sum = b.add(sum, b.power(plus(b, q, k), power));
  Value a = plus(b, q, count), last = b.power(a, power);
  sum = b.add(sum, b.add(b.divide(b.multiply(a, last), plus(b, x, -1)), b.multiply(last, 0.5)));
  // B_2j / (2j)! x (x + 1) .. (x + 2j - 2) a^(-x - 2j + 1).
  const double numbers[] = {1.0 / 12,          -1.0 / 720,
                            1.0 / 30240,       -1.0 / 1209600,
                            1.0 / 47900160,    -691.0 / 1307674368000.0,
                            1.0 / 74724249600, -3617.0 / 10670622842880000.0};
  Value inverse = reciprocal(b, a), factor = b.multiply(b.multiply(x, last), inverse);
  for (int j = 0; j < 8; ++j) {
    sum = b.add(sum, b.multiply(factor, numbers[j]));
    factor = b.multiply(b.multiply(factor, b.multiply(plus(b, x, 2 * j + 1), plus(b, x, 2 * j + 2))),
                        b.multiply(inverse, inverse));
  }
  Value isWhole = b.equal(x, b.floor(x)), isNegative = isBelow(b, q, 0);
  Value noPower = both(b, isNegative, NotOp::create(b.builder, b.location, isWhole));
  sum = b.select(noPower, notANumber(b, x), sum);
  sum = b.select(isPole(b, q), infinity(b, x), sum);
  sum = b.select(b.equal(x, number(b, 1, x)), infinity(b, x), sum);
  return b.select(isBelow(b, x, 1), notANumber(b, x), sum);
}

/// The derivative of digamma of the order n.
Value polygamma(TensorBuilder &b, Value n, Value x) {
  Value order = plus(b, n, 1);
  Value half = b.multiply(n, 0.5), isEven = b.equal(half, b.floor(half));
  Value size = b.multiply(b.exponential(lgamma(b, order)), zeta(b, order, x));
  Value result = b.select(b.equal(n, number(b, 0, n)), digamma(b, x), b.select(isEven, b.negate(size), size));
  Value isOrder = both(b, b.equal(n, b.floor(n)), b.compare(ComparisonDirection::GE, n, number(b, 0, n)));
  return b.select(isOrder, result, notANumber(b, x));
}

/// The float behind x in the direction of y.
Value nextAfter(TensorBuilder &b, Value x, Value y) {
  const unsigned width = elementOf(x).getIntOrFloatBitWidth();
  Type word = b.builder.getIntegerType(width);
  Value bits = BitcastConvertOp::create(b.builder, b.location, x, word), one = b.splat(1, bits);
  Value zero = number(b, 0, x), isZero = b.equal(x, zero);
  // Farther from 0 the bits are larger numbers.
  Value isUp = b.compare(ComparisonDirection::GT, y, x);
  Value isPositive = b.compare(ComparisonDirection::GT, x, zero);
  Value next = b.select(b.equal(isUp, isPositive), b.add(bits, one), b.subtract(bits, one));
  Value lowest = ConstantOp::create(b.builder, b.location,
                                    DenseElementsAttr::get(tensorOf(bits), APInt::getSignedMinValue(width)));
  next = b.select(isZero, b.select(isUp, one, b.add(lowest, one)), next);
  Value result = BitcastConvertOp::create(b.builder, b.location, next, elementOf(x));
  result = b.select(b.equal(x, y), y, result);
  Value isNone = OrOp::create(b.builder, b.location, b.compare(ComparisonDirection::NE, x, x),
                              b.compare(ComparisonDirection::NE, y, y));
  return b.select(isNone, b.add(x, y), result);
}

/// Numbers of f64 as those of a narrower type.
Value narrowed(TensorBuilder &b, Value x, Type element) {
  return b.convert(element.getIntOrFloatBitWidth() < 32 ? b.convert(x, b.builder.getF32Type()) : x, element);
}

template <class Op, formula::Function function> struct UnaryFunction : Lowering<Op> {
  using Lowering<Op>::Lowering;
  LogicalResult lower(Op op, TensorBuilder &b, SmallVectorImpl<Value> &results, std::string &) const override {
    Value x = b.convert(op.getOperand(), b.builder.getF64Type());
    results.push_back(narrowed(b, function(b, x), elementOf(op.getOperand())));
    return success();
  }
};

/// A function that dgc has, but in f64 not to units in the last place near 0.
template <class From, class To, formula::Function function> struct ExactNearZero : Lowering<From> {
  using Lowering<From>::Lowering;
  LogicalResult lower(From op, TensorBuilder &b, SmallVectorImpl<Value> &results, std::string &) const override {
    Value x = op.getOperand();
    results.push_back(elementOf(x).isF64() ? function(b, x) : Value(To::create(b.builder, b.location, x)));
    return success();
  }
};

template <class Op, Value (*function)(TensorBuilder &, Value, Value)> struct BinaryFunction : Lowering<Op> {
  using Lowering<Op>::Lowering;
  LogicalResult lower(Op op, TensorBuilder &b, SmallVectorImpl<Value> &results, std::string &) const override {
    Type wide = b.builder.getF64Type();
    Value result = function(b, b.convert(op.getLhs(), wide), b.convert(op.getRhs(), wide));
    results.push_back(narrowed(b, result, elementOf(op.getLhs())));
    return success();
  }
};

struct NextAfterLowering : Lowering<chlo::NextAfterOp> {
  using Lowering::Lowering;
  LogicalResult lower(chlo::NextAfterOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    results.push_back(nextAfter(b, op.getLhs(), op.getRhs()));
    return success();
  }
};

} // namespace

Value dgc::import::formula::expMinusOne(TensorBuilder &b, Value x) {
  SmallVector<double> inverses{1}; // of factorials, up to 16!
  for (int n = 2; n <= 16; ++n)
    inverses.push_back(inverses.back() / n);
  std::reverse(inverses.begin(), inverses.end());
  Value near = b.multiply(x, polynomial(b, x, inverses));
  Value far = ExponentialMinusOneOp::create(b.builder, b.location, x);
  return b.select(isBelow(b, b.abs(x), 0.5), near, far);
}

Value dgc::import::formula::logPlusOne(TensorBuilder &b, Value x) {
  // Twice the inverse hyperbolic tangent of x / (2 + x).
  Value y = b.divide(x, plus(b, x, 2));
  SmallVector<double> inverses;
  for (int n = 31; n >= 1; n -= 2)
    inverses.push_back(2.0 / n);
  Value near = b.multiply(y, polynomial(b, b.multiply(y, y), inverses));
  Value far = LogPlusOneOp::create(b.builder, b.location, x);
  return b.select(isBelow(b, b.abs(x), 0.5), near, far);
}

void dgc::import::addSpecialFunctionPatterns(RewritePatternSet &patterns) {
  patterns.add<ExactNearZero<stablehlo::ExponentialMinusOneOp, ExponentialMinusOneOp, formula::expMinusOne>,
               ExactNearZero<stablehlo::LogPlusOneOp, LogPlusOneOp, formula::logPlusOne>>(patterns.getContext());
  patterns.add<BinaryFunction<chlo::PolygammaOp, polygamma>, BinaryFunction<chlo::ZetaOp, zeta>, NextAfterLowering,
               UnaryFunction<chlo::BesselI1eOp, besselI1e>, UnaryFunction<chlo::DigammaOp, digamma>,
               UnaryFunction<chlo::LgammaOp, lgamma>>(patterns.getContext());
}
