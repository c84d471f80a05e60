// From the ops of the dialect chlo to those of dgc.

#include "compiler/import/Formulas.h"
#include "compiler/import/Patterns.h"
#include <numbers>

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

namespace {

/// A function of one operand, given as a formula in the type in which it is computed: at least f32.
template <class Op, formula::Function function> struct Formula : Lowering<Op> {
  using Lowering<Op>::Lowering;
  LogicalResult lower(Op op, TensorBuilder &b, SmallVectorImpl<Value> &results, std::string &) const override {
    results.push_back(formula::apply(b, function, op.getOperand()));
    return success();
  }
};

Value one(TensorBuilder &b, Value like) { return b.splat(1, like); }
Value plus(TensorBuilder &b, Value x, double number) { return b.add(x, b.splat(number, x)); }
Value logPlusOne(TensorBuilder &b, Value x) { return LogPlusOneOp::create(b.builder, b.location, x); }
Value atan2(TensorBuilder &b, Value y, Value x) { return Atan2Op::create(b.builder, b.location, y, x); }
Value isAbove(TensorBuilder &b, Value x, double bound) {
  return b.compare(ComparisonDirection::GT, x, b.splat(bound, x));
}

Value square(TensorBuilder &b, Value x) { return b.multiply(x, x); }
Value erf(TensorBuilder &b, Value x) { return ErfOp::create(b.builder, b.location, x); }
Value tan(TensorBuilder &b, Value x) { return TanOp::create(b.builder, b.location, x); }

Value polynomial(TensorBuilder &b, Value x, ArrayRef<double> coefficients) {
  Value sum = b.splat(coefficients.front(), x);
  for (double each : coefficients.drop_front())
    sum = plus(b, b.multiply(sum, x), each);
  return sum;
}

/// exp(-y^2), y not negative, with a relative error that does not grow with y.
Value expOfMinusSquare(TensorBuilder &b, Value y) {
  Value high = b.multiply(FloorOp::create(b.builder, b.location, b.multiply(y, 16)), 1.0 / 16);
  Value rest = b.multiply(b.subtract(y, high), b.add(y, high));
  return b.multiply(b.exponential(b.negate(square(b, high))), b.exponential(b.negate(rest)));
}

/// W. J. Cody, "Rational Chebyshev approximations for the error function", 1969, in f64: within 4 units in the last place, also
/// where erf is nearly 1. Up to 0.46875 it is 1 - erf.
Value erfc(TensorBuilder &b, Value operand) {
  Value x = b.convert(operand, b.builder.getF64Type()), y = b.abs(x);
  Value middle = b.divide(
      polynomial(b, y,
                 {2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 6.61191906371416295e1,
                  2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
                  1.23033935479799725e3}),
      polynomial(b, y,
                 {1, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
                  3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3}));
  Value s = b.divide(one(b, y), square(b, y));
  Value small = b.divide(polynomial(b, s,
                                    {1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
                                     1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4}),
                         polynomial(b, s,
                                    {1, 2.56852019228982242, 1.87295284992346725, 5.27905102951428412e-1,
                                     6.05183413124413191e-2, 2.33520497626869185e-3}));
  Value tail = b.divide(b.subtract(b.splat(std::numbers::inv_sqrtpi, y), b.multiply(s, small)), y);
  Value upper = b.multiply(expOfMinusSquare(b, y), b.select(isAbove(b, y, 4), tail, middle));
  Value isNegative = b.compare(ComparisonDirection::LT, x, b.splat(0, x));
  Value outside = b.select(isNegative, b.subtract(b.splat(2, x), upper), upper);
  Value result = b.select(isAbove(b, y, 0.46875), outside, b.subtract(one(b, x), erf(b, x)));
  return b.convert(result, elementOf(operand));
}

/// Newton's method from a value of single precision on. Near 1 the difference is that of the complements.
Value refinedErfInv(TensorBuilder &b, Value x, Value near) {
  Value a = b.abs(x), y = b.abs(near), isTail = isAbove(b, a, 0.5);
  for (int step = 0; step < 2; ++step) {
    Value complement = b.subtract(b.subtract(one(b, a), a), erfc(b, y));
    Value error = b.select(isTail, complement, b.subtract(erf(b, y), a));
    Value slope = b.multiply(b.exponential(b.multiply(y, y)), std::sqrt(std::numbers::pi) / 2);
    y = b.subtract(y, b.multiply(error, slope));
  }
  return b.multiply(y, SignOp::create(b.builder, b.location, x));
}

/// M. Giles, "Approximating the erfinv function", 2010: single precision.
Value erfInv(TensorBuilder &b, Value x) {
  Value w = b.negate(logPlusOne(b, b.negate(b.multiply(x, x))));
  Value centre = polynomial(b, plus(b, w, -2.5),
                            {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                             -0.00125372503, -0.00417768164, 0.246640727, 1.50140941});
  Value tail = polynomial(b, plus(b, b.sqrt(w), -3),
                          {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
                           0.00943887047, 1.00167406, 2.83297682});
  Value isInCentre = b.compare(ComparisonDirection::LT, w, b.splat(5, w));
  Value inside = b.multiply(b.select(isInCentre, centre, tail), x);
  if (elementOf(x).isF64())
    inside = refinedErfInv(b, x, inside);
  Value isEnd = b.equal(b.abs(x), one(b, x));
  return b.select(isEnd, b.multiply(x, b.splat(std::numeric_limits<double>::infinity(), x)), inside);
}

} // namespace

namespace dgc::import::formula {

Value atan(TensorBuilder &b, Value x) { return atan2(b, x, one(b, x)); }
Value asin(TensorBuilder &b, Value x) {
  Value cosine = b.sqrt(b.multiply(b.subtract(one(b, x), x), plus(b, x, 1)));
  return b.multiply(atan2(b, x, plus(b, cosine, 1)), 2);
}
Value acos(TensorBuilder &b, Value x) {
  return b.multiply(atan2(b, b.sqrt(b.subtract(one(b, x), x)), b.sqrt(plus(b, x, 1))), 2);
}

/// Half of e to the power of x: it overflows where cosh does.
static Value halfExponential(TensorBuilder &b, Value x) { return b.exponential(plus(b, x, -std::numbers::ln2)); }
Value cosh(TensorBuilder &b, Value x) { return b.add(halfExponential(b, x), halfExponential(b, b.negate(x))); }
Value sinh(TensorBuilder &b, Value x) {
  SmallVector<double> inverses{1}; // of odd factorials, up to 19!
  for (int n = 3; n < 20; n += 2)
    inverses.push_back(inverses.back() / (n * (n - 1)));
  std::reverse(inverses.begin(), inverses.end());
  Value near = b.multiply(x, polynomial(b, square(b, x), inverses));
  Value far = b.subtract(halfExponential(b, x), halfExponential(b, b.negate(x)));
  return b.select(isAbove(b, b.abs(x), 1), far, near);
}
Value asinh(TensorBuilder &b, Value x) {
  Value a = b.abs(x), squared = b.multiply(a, a);
  Value near = logPlusOne(b, b.add(a, b.divide(squared, plus(b, b.sqrt(plus(b, squared, 1)), 1))));
  Value far = plus(b, b.log(a), std::numbers::ln2);
  return b.multiply(b.sign(x), b.select(isAbove(b, a, 1e9), far, near));
}
Value acosh(TensorBuilder &b, Value x) {
  Value t = plus(b, x, -1);
  Value near = logPlusOne(b, b.add(t, b.sqrt(b.multiply(t, plus(b, t, 2)))));
  return b.select(isAbove(b, x, 1e9), plus(b, b.log(x), std::numbers::ln2), near);
}
Value atanh(TensorBuilder &b, Value x) {
  return b.multiply(b.subtract(logPlusOne(b, x), logPlusOne(b, b.negate(x))), 0.5);
}

Value apply(TensorBuilder &b, Function function, Value x) {
  Type element = elementOf(x);
  const bool isNarrow = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  return b.convert(function(b, isNarrow ? b.convert(x, b.builder.getF32Type()) : x), element);
}

} // namespace dgc::import::formula

namespace {

struct TopKLowering : Lowering<chlo::TopKOp> {
  using Lowering::Lowering;
  LogicalResult lower(chlo::TopKOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    if (op.getK() == 0 || op.getK() > kMostLargest)
      return refuse(reason, "more than " + Twine(kMostLargest) + " elements");
    auto [values, indices] =
        largestElements(b, op.getOperand(), static_cast<int64_t>(op.getK()), elementOf(op.getIndices()));
    results.assign({values, indices});
    return success();
  }
};

} // namespace

void dgc::import::addChloPatterns(RewritePatternSet &patterns) {
  patterns.add<Formula<chlo::AcosOp, formula::acos>, Formula<chlo::AcoshOp, formula::acosh>,
               Formula<chlo::AsinOp, formula::asin>, Formula<chlo::AsinhOp, formula::asinh>,
               Formula<chlo::AtanOp, formula::atan>, Formula<chlo::AtanhOp, formula::atanh>,
               Formula<chlo::CoshOp, formula::cosh>, Formula<chlo::ErfInvOp, erfInv>, Formula<chlo::ErfOp, erf>,
               Formula<chlo::ErfcOp, erfc>, Formula<chlo::SinhOp, formula::sinh>, Formula<chlo::SquareOp, square>,
               Formula<chlo::TanOp, tan>, TopKLowering>(patterns.getContext());
}
