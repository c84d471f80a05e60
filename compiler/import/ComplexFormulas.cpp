// Functions of complex numbers by real ones.

#include "compiler/import/Complex.h"
#include "compiler/import/Formulas.h"
#include <numbers>

using namespace mlir;

namespace dgc::import::formula {

static Value number(TensorBuilder &b, double value, Value like) { return b.splat(value, like); }
static Value plus(TensorBuilder &b, Value x, double value) { return b.add(x, number(b, value, x)); }
static Value square(TensorBuilder &b, Value x) { return b.multiply(x, x); }
static Value atan2(TensorBuilder &b, Value y, Value x) { return Atan2Op::create(b.builder, b.location, y, x); }
static Value isAbove(TensorBuilder &b, Value x, double bound) {
  return b.compare(ComparisonDirection::GT, x, number(b, bound, x));
}
static Value isZero(TensorBuilder &b, Value x) { return b.equal(x, number(b, 0, x)); }

/// The sine and cosine of numbers of f64, exact to some units in the last place near their zeros as well: of what is left of
/// multiples of pi / 2, of which the upper parts of pi / 2 are taken away exactly.
static std::pair<Value, Value> sineAndCosine(TensorBuilder &b, Value x) {
  Value times = b.floor(plus(b, b.multiply(x, 2 * std::numbers::inv_pi), 0.5)), rest = x;
  for (double part : {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69})
    rest = b.subtract(rest, b.multiply(times, part));
  Value sine = b.sine(rest), cosine = b.cosine(rest);
  Value quarter = b.subtract(times, b.multiply(b.floor(b.multiply(times, 0.25)), 4));
  Value isOdd =
      OrOp::create(b.builder, b.location, b.equal(quarter, number(b, 1, x)), b.equal(quarter, number(b, 3, x)));
  Value isFar =
      NotOp::create(b.builder, b.location, b.compare(ComparisonDirection::LT, b.abs(x), number(b, 1e5, x))); // NaN, too
  auto turned = [&](Value even, Value odd, double first, double second) {
    Value size = b.select(isOdd, odd, even);
    Value isTurned = OrOp::create(b.builder, b.location, b.equal(quarter, number(b, first, x)),
                                  b.equal(quarter, number(b, second, x)));
    return b.select(isTurned, b.negate(size), size);
  };
  return {b.select(isFar, b.sine(x), turned(sine, cosine, 2, 3)),
          b.select(isFar, b.cosine(x), turned(cosine, sine, 1, 2))};
}

/// The magnitude of `x` with the sign of `like`, that of a zero included.
static Value copySign(TensorBuilder &b, Value x, Value like) {
  Value angle = atan2(b, like, number(b, -1, like)); // pi or -pi for zeros
  Value isNegative = b.compare(ComparisonDirection::LT, angle, number(b, 0, angle));
  Value size = b.abs(x);
  return b.select(isNegative, b.negate(size), size);
}

Complex multiply(TensorBuilder &b, Complex x, Complex y) {
  return {b.subtract(b.multiply(x.real, y.real), b.multiply(x.imaginary, y.imaginary)),
          b.add(b.multiply(x.real, y.imaginary), b.multiply(x.imaginary, y.real))};
}

Complex square(TensorBuilder &b, Complex x) {
  return {b.multiply(b.subtract(x.real, x.imaginary), b.add(x.real, x.imaginary)),
          b.multiply(b.multiply(x.real, x.imaginary), 2)};
}

/// R. L. Smith, "Algorithm 116: Complex division", 1962: no square that overflows.
Complex divide(TensorBuilder &b, Complex x, Complex y) {
  Value isFlat = b.compare(ComparisonDirection::GE, b.abs(y.real), b.abs(y.imaginary));
  Value large = b.select(isFlat, y.real, y.imaginary), small = b.select(isFlat, y.imaginary, y.real);
  Value ratio = b.select(isZero(b, small), small, b.divide(small, large));
  Value size = b.add(large, b.multiply(small, ratio));
  Value first = b.select(isFlat, x.real, x.imaginary), second = b.select(isFlat, x.imaginary, x.real);
  Value real = b.divide(b.add(first, b.multiply(second, ratio)), size);
  Value turned = b.divide(b.subtract(second, b.multiply(first, ratio)), size);
  return {real, b.select(isFlat, turned, b.negate(turned))};
}

Value magnitude(TensorBuilder &b, Complex x) {
  Value p = b.abs(x.real), q = b.abs(x.imaginary), large = b.maximum(p, q), small = b.minimum(p, q);
  Value ratio = b.divide(small, b.select(isZero(b, large), number(b, 1, large), large));
  Value size = b.multiply(large, b.sqrt(plus(b, square(b, ratio), 1)));
  Value infinity = number(b, std::numeric_limits<double>::infinity(), p);
  return b.select(b.equal(large, infinity), infinity, size);
}

/// A factor times e to the power of x, that overflows only where the product does.
static Value scaledExponential(TensorBuilder &b, Value x, Value factor) {
  Value half = b.exponential(b.multiply(x, 0.5));
  return b.multiply(b.multiply(half, factor), half);
}

Complex exponential(TensorBuilder &b, Complex x) {
  auto [sine, cosine] = sineAndCosine(b, x.imaginary);
  Value imaginary = scaledExponential(b, x.real, sine);
  return {scaledExponential(b, x.real, cosine), b.select(isZero(b, x.imaginary), x.imaginary, imaginary)};
}

Complex exponentialMinusOne(TensorBuilder &b, Complex x) {
  Value half = b.sine(b.multiply(x.imaginary, 0.5));
  Value less = expMinusOne(b, x.real);
  Value near = b.subtract(b.multiply(less, b.cosine(x.imaginary)), b.multiply(square(b, half), 2));
  Complex all = exponential(b, x);
  return {b.select(isAbove(b, x.real, 30), all.real, near), all.imaginary};
}

Complex log(TensorBuilder &b, Complex x) {
  Value p = b.abs(x.real), q = b.abs(x.imaginary), large = b.maximum(p, q), small = b.minimum(p, q);
  Value far = b.log(magnitude(b, x));
  // Near 1: log(1 + ((large - 1) (large + 1) + small^2)) / 2.
  Value above = b.add(b.multiply(plus(b, large, -1), plus(b, large, 1)), square(b, small));
  Value near = b.multiply(logPlusOne(b, above), 0.5);
  Value isNear = AndOp::create(b.builder, b.location, isAbove(b, large, 0.5),
                               b.compare(ComparisonDirection::LT, large, number(b, 2, large)));
  return {b.select(isNear, near, far), atan2(b, x.imaginary, x.real)};
}

Complex logPlusOne(TensorBuilder &b, Complex x) {
  Complex far = log(b, {plus(b, x.real, 1), x.imaginary});
  Value above = b.add(b.multiply(x.real, plus(b, x.real, 2)), square(b, x.imaginary));
  Value isNear =
      b.compare(ComparisonDirection::LT, b.maximum(b.abs(x.real), b.abs(x.imaginary)), number(b, 0.5, x.real));
  return {b.select(isNear, b.multiply(logPlusOne(b, above), 0.5), far.real), far.imaginary};
}

Complex logistic(TensorBuilder &b, Complex x) {
  Complex other = exponential(b, {b.negate(x.real), b.negate(x.imaginary)});
  Value one = number(b, 1, x.real);
  return divide(b, {one, number(b, 0, one)}, {b.add(one, other.real), other.imaginary});
}

Complex sqrt(TensorBuilder &b, Complex x) {
  // Halves and twice the roots of small numbers, so that the sum does not overflow.
  Value p = b.abs(x.real), size = b.add(b.multiply(p, 0.5), b.multiply(magnitude(b, x), 0.5));
  Value root = b.sqrt(size);
  Value other = b.divide(b.multiply(b.abs(x.imaginary), 0.5), b.select(isZero(b, root), number(b, 1, root), root));
  Value isRight = b.compare(ComparisonDirection::GE, x.real, number(b, 0, x.real));
  Value infinity = number(b, std::numeric_limits<double>::infinity(), p);
  Value isEndless = b.equal(b.abs(x.imaginary), infinity);
  Value real = b.select(isEndless, infinity, b.select(isRight, root, other));
  Value imaginary = b.select(isEndless, infinity, b.select(isRight, other, root));
  return {real, copySign(b, imaginary, x.imaginary)};
}

Complex atan2(TensorBuilder &b, Complex y, Complex x) {
  Complex p = square(b, x), q = square(b, y);
  Complex size = sqrt(b, {b.add(p.real, q.real), b.add(p.imaginary, q.imaginary)});
  Complex turned = log(b, divide(b, {b.subtract(x.real, y.imaginary), b.add(x.imaginary, y.real)}, size));
  return {turned.imaginary, b.negate(turned.real)};
}

Complex rsqrt(TensorBuilder &b, Complex x) {
  Complex root = sqrt(b, x);
  Value one = number(b, 1, x.real);
  return divide(b, {one, number(b, 0, one)}, root);
}

Complex sign(TensorBuilder &b, Complex x) {
  Value size = magnitude(b, x), divisor = b.select(isZero(b, size), number(b, 1, size), size);
  return {b.divide(x.real, divisor), b.divide(x.imaginary, divisor)};
}

/// The hyperbolic sine and cosine, by one exponential where it does not overflow.
static std::pair<Value, Value> hyperbolic(TensorBuilder &b, Value x) {
  Value size = b.abs(x), e = b.exponential(b.minimum(size, number(b, 700, x)));
  Value half = b.multiply(e, 0.5), inverse = b.divide(number(b, 0.5, e), e);
  Value isMiddle = AndOp::create(b.builder, b.location, isAbove(b, size, 1),
                                 b.compare(ComparisonDirection::LE, size, number(b, 700, size)));
  return {b.select(isMiddle, b.multiply(b.sign(x), b.subtract(half, inverse)), sinh(b, x)),
          b.select(isAbove(b, size, 700), cosh(b, x), b.add(half, inverse))};
}

Complex sinh(TensorBuilder &b, Complex x) {
  auto [odd, even] = hyperbolic(b, x.real);
  auto [sine, cosine] = sineAndCosine(b, x.imaginary);
  return {b.multiply(odd, cosine), b.select(isZero(b, x.imaginary), x.imaginary, b.multiply(even, sine))};
}

Complex cosh(TensorBuilder &b, Complex x) {
  auto [odd, even] = hyperbolic(b, x.real);
  auto [sine, cosine] = sineAndCosine(b, x.imaginary);
  Value isReal = OrOp::create(b.builder, b.location, isZero(b, x.imaginary), isZero(b, x.real));
  return {b.multiply(even, cosine), b.select(isReal, number(b, 0, x.real), b.multiply(odd, sine))};
}

Complex sine(TensorBuilder &b, Complex x) { // -i sinh(i x)
  Complex turned = sinh(b, {b.negate(x.imaginary), x.real});
  return {turned.imaginary, b.negate(turned.real)};
}

Complex cosine(TensorBuilder &b, Complex x) { return cosh(b, {b.negate(x.imaginary), x.real}); }

/// W. Kahan, "Branch cuts for complex elementary functions", 1987.
Complex tanh(TensorBuilder &b, Complex x) {
  Value t = TanOp::create(b.builder, b.location, x.imaginary);
  Value limit = number(b, 20, x.real);
  Value near = b.maximum(b.minimum(x.real, limit), b.negate(limit)), s = sinh(b, near);
  Value beta = plus(b, square(b, t), 1), rho = b.sqrt(plus(b, square(b, s), 1));
  Value divisor = plus(b, b.multiply(beta, square(b, s)), 1);
  Value real = b.divide(b.multiply(beta, b.multiply(rho, s)), divisor), imaginary = b.divide(t, divisor);
  Value isFar = isAbove(b, b.abs(x.real), 20);
  Value small = b.multiply(b.multiply(b.sine(x.imaginary), b.cosine(x.imaginary)),
                           b.multiply(b.exponential(b.multiply(b.abs(x.real), -2)), 4));
  return {b.select(isFar, b.sign(x.real), real), b.select(isFar, small, imaginary)};
}

Complex tan(TensorBuilder &b, Complex x) { // -i tanh(i x)
  Complex turned = tanh(b, {b.negate(x.imaginary), x.real});
  return {turned.imaginary, b.negate(turned.real)};
}

/// The real part by T. Hull, T. Fairgrieve and P. Tang, "Implementing the complex arcsine and arccosine functions", 1997,
/// where squares do not overflow; else, and the imaginary one, by Kahan.
Complex acosh(TensorBuilder &b, Complex x) {
  Complex up = sqrt(b, {plus(b, x.real, 1), x.imaginary}), down = sqrt(b, {plus(b, x.real, -1), x.imaginary});
  Value far = asinh(b, b.add(b.multiply(down.real, up.real), b.multiply(down.imaginary, up.imaginary)));
  Value p = b.abs(x.real), q = b.abs(x.imaginary), height = square(b, q);
  Value more = plus(b, p, 1), less = plus(b, p, -1), toMore = magnitude(b, {more, q}), toLess = magnitude(b, {less, q});
  Value distance = b.add(toLess, b.negate(less));
  Value inside = b.divide(height, b.select(isZero(b, distance), number(b, 1, p), distance));
  Value isInside = b.compare(ComparisonDirection::LE, p, number(b, 1, p));
  Value excess =
      b.multiply(b.add(b.divide(height, b.add(toMore, more)), b.select(isInside, inside, b.add(toLess, less))), 0.5);
  Value near = logPlusOne(b, b.add(excess, b.sqrt(b.multiply(excess, plus(b, excess, 2)))));
  Value isNear = b.compare(ComparisonDirection::LT, b.maximum(p, q), number(b, 1e3, p));
  return {b.select(isNear, near, far), b.multiply(atan2(b, down.imaginary, up.real), 2)};
}

/// Kahan's atanh, turned: far from 0 the real part is pi / 2, with the sign of that of x.
Complex atan(TensorBuilder &b, Complex x) { // -i atanh(i x)
  Value p = b.negate(x.imaginary), q = x.real, one = number(b, 1, p);
  Value less = b.subtract(one, p), more = b.add(one, p);
  Value above = b.add(square(b, less), square(b, q));
  Value real = b.multiply(logPlusOne(b, b.divide(b.multiply(p, 4), above)), 0.25);
  Value imaginary = b.multiply(atan2(b, b.multiply(q, 2), b.subtract(b.multiply(less, more), square(b, q))), 0.5);
  return {imaginary, b.negate(real)};
}

Complex power(TensorBuilder &b, Complex x, Complex y) {
  Complex result = exponential(b, multiply(b, y, log(b, x)));
  Value one = number(b, 1, x.real), zero = number(b, 0, x.real);
  auto both = [&](Complex z) -> Value {
    return AndOp::create(b.builder, b.location, isZero(b, z.real), isZero(b, z.imaginary));
  };
  // 0 to the power of 0 is 1, to that of any other number 0; all to the power of 0 are 1.
  Value base = both(x), exponent = both(y);
  return {b.select(exponent, one, b.select(base, zero, result.real)),
          b.select(OrOp::create(b.builder, b.location, base, exponent), zero, result.imaginary)};
}

} // namespace dgc::import::formula
