// Softmax, its logarithm, silu and gelu, as JAX writes them.

#include "compiler/import/raise/Expression.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace dgc;

namespace dgc::import::raise {

/// Whether `x` is the maximum of `of` along the dimension; one that is not finite may be 0 instead.
static bool isMaximum(const Expression &x, const Expression &of, int64_t dim) {
  if (auto select = x.as<SelectOp>()) {
    const bool isGuarded = x.operand(0).as<IsFiniteOp>() && x.operand(0).operand(0).is(x.operand(1));
    return isGuarded && x.operand(2).number() == 0 && isMaximum(x.operand(1), of, dim);
  }
  std::optional<Expression> reduced = x.reduced(ReductionKind::Max);
  return reduced && reduced->is(of) && x.missingDim() == dim;
}

std::optional<Exponentials> Exponentials::of(const Expression &total) {
  std::optional<Expression> terms = total.reduced(ReductionKind::Sum);
  std::optional<int64_t> dim = total.missingDim();
  if (!terms || !dim || !terms->as<ExponentialOp>())
    return std::nullopt;
  Expression shifted = terms->operand(0);
  if (!shifted.as<SubtractOp>() || !isMaximum(shifted.operand(1), shifted.operand(0), *dim))
    return std::nullopt;
  return Exponentials{shifted.operand(0), shifted.operand(1), *terms, *dim};
}

/// Replaces `op` by a composite of the value, where nothing else uses what is between them.
template <class Op, class... Args> static bool replace(Operation *op, OpBuilder &builder, Value input, Args... args) {
  if (input.getType() != op->getResult(0).getType() || !isClosed(op, input))
    return false;
  builder.setInsertionPoint(op);
  op->getResult(0).replaceAllUsesWith(Op::create(builder, op->getLoc(), input, args...).getResult());
  return true;
}

bool raiseSoftmax(Operation *op, OpBuilder &builder) {
  if (!isa<DivideOp>(op))
    return false;
  Expression y = Expression::of(op->getResult(0), Precision::Ignored);
  if (!y.as<DivideOp>())
    return false;
  std::optional<Exponentials> sum = Exponentials::of(y.operand(1));
  if (!sum || !sum->exponentials.is(y.operand(0)) || !sum->input.isWhole())
    return false;
  const int64_t rank = static_cast<int64_t>(y.space->size());
  return replace<SoftmaxOp>(op, builder, sum->input.value, sum->dim == rank - 1 ? -1 : sum->dim);
}

bool raiseLogSoftmax(Operation *op, OpBuilder &builder) {
  if (!isa<SubtractOp>(op))
    return false;
  Expression y = Expression::of(op->getResult(0), Precision::Ignored);
  if (!y.as<SubtractOp>() || !y.operand(1).as<LogOp>() || !y.operand(0).as<SubtractOp>())
    return false;
  std::optional<Exponentials> sum = Exponentials::of(y.operand(1).operand(0));
  if (!sum || !sum->input.isWhole() || !sum->exponentials.operand(0).is(y.operand(0)))
    return false;
  const int64_t rank = static_cast<int64_t>(y.space->size());
  return replace<LogSoftmaxOp>(op, builder, sum->input.value, sum->dim == rank - 1 ? -1 : sum->dim);
}

/// Whether `x` is 1 / (1 + exp(-of)).
static bool isLogistic(const Expression &x, const Expression &of) {
  if (x.as<LogisticOp>())
    return x.operand(0).is(of);
  if (!x.as<DivideOp>() || x.operand(0).number() != 1)
    return false;
  return anyOrder<AddOp>(x.operand(1), [&](const Expression &one, const Expression &power) {
    return one.number() == 1 && power.as<ExponentialOp>() && power.operand(0).as<NegateOp>() &&
           power.operand(0).operand(0).is(of);
  });
}

bool raiseSilu(Operation *op, OpBuilder &builder) {
  if (!isa<MultiplyOp>(op) || !isa<FloatType>(elementOf(op->getResult(0))))
    return false;
  return anyOrder<MultiplyOp>(Expression::of(op->getResult(0)), [&](const Expression &x, const Expression &logistic) {
    return x.isWhole() && isLogistic(logistic, x) && replace<SiluOp>(op, builder, x.value);
  });
}

//===----------------------------------------------------------------------===//
// Gelu
//===----------------------------------------------------------------------===//

/// Whether `x` is `coefficient` times the product of `of` with itself, `power` times.
static bool isPower(const Expression &x, double coefficient, const Expression &of, size_t power) {
  const Product product = Product::of(x);
  if (!product.divisors.empty() || !isAbout(product.coefficient, coefficient, elementOf(x.value)))
    return false;
  if (product.factors.size() == 1 && product.factors.front().as<PowerOp>())
    return product.factors.front().operand(0).is(of) && product.factors.front().operand(1).number() == double(power);
  return product.factors.size() == power &&
         llvm::all_of(product.factors, [&](const Expression &factor) { return factor.is(of); });
}

/// sqrt(2 / pi) (x + 0.044715 x^3)
static bool isTanhArgument(const Expression &argument, const Expression &x) {
  Product product = Product::of(argument);
  if (product.factors.size() != 1 || !product.divisors.empty() ||
      !isAbout(product.coefficient, std::sqrt(2 / std::numbers::pi), elementOf(x.value)))
    return false;
  return anyOrder<AddOp>(product.factors.front(), [&](const Expression &linear, const Expression &cubic) {
    return linear.is(x) && isPower(cubic, 0.044715, x, 3);
  });
}

/// The argument of the complementary error function, in the form in which this importer writes it: what it is where that is
/// exact, 1 - erf, chosen by the argument, and computed in f64.
static std::optional<Expression> erfcArgument(const Expression &x) {
  if (!x.as<ConvertOp>() || !x.operand(0).as<SelectOp>())
    return std::nullopt;
  Expression inner = x.operand(0);
  auto isMagnitude = [](const Expression &compared) {
    auto compare = compared.as<CompareOp>();
    return compare && compare.getComparisonDirection() == ComparisonDirection::GT && compared.operand(0).as<AbsOp>() &&
           compared.operand(1).number() == 0.46875;
  };
  if (!isMagnitude(inner.operand(0)) || !inner.operand(2).as<SubtractOp>() || inner.operand(2).operand(0).number() != 1)
    return std::nullopt;
  Expression erf = inner.operand(2).operand(1);
  if (!erf.as<ErfOp>() || !erf.operand(0).as<ConvertOp>() || !inner.operand(0).operand(0).operand(0).is(erf.operand(0)))
    return std::nullopt;
  return erf.operand(0).operand(0);
}

/// Whether it is 1 + tanh(..), or twice the normal distribution function of x.
static bool isGate(const Expression &gate, const Expression &x, bool &isApproximate) {
  const double slope = std::numbers::sqrt2 / 2;
  if (std::optional<Expression> argument = erfcArgument(gate))
    return isPower(*argument, -slope, x, 1);
  return anyOrder<AddOp>(gate, [&](const Expression &one, const Expression &function) {
    isApproximate = bool(function.as<TanhOp>());
    if (one.number() != 1 || (!isApproximate && !function.as<ErfOp>()))
      return false;
    return isApproximate ? isTanhArgument(function.operand(0), x) : isPower(function.operand(0), slope, x, 1);
  });
}

bool raiseGelu(Operation *op, OpBuilder &builder) {
  if (!isa<MultiplyOp, DivideOp>(op) || !isa<FloatType>(elementOf(op->getResult(0))))
    return false;
  Expression y = Expression::of(op->getResult(0));
  const Product product = Product::of(y);
  if (product.factors.size() != 2 || !product.divisors.empty() ||
      !isAbout(product.coefficient, 0.5, elementOf(y.value)))
    return false;
  for (unsigned index : {0U, 1U}) {
    const Expression &x = product.factors[index];
    bool isApproximate = false;
    if (x.isWhole() && isGate(product.factors[1 - index], x, isApproximate))
      return replace<GeluOp>(op, builder, x.value, isApproximate);
  }
  return false;
}

} // namespace dgc::import::raise
