// The gradient of attention, and that of softmax, as JAX writes them.

#include "compiler/import/raise/Attention.h"
#include "dialects/dgc/CompositeBuilder.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace dgc;

namespace dgc::import::raise {

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Whether `x` is -sum(g * e / s^2) along the dimension of the sum s of the exponentials e.
static bool isShare(const Expression &x, const Expression &gradient, const Exponentials &sum, const Expression &total) {
  const Product outer = Product::of(x);
  if (outer.coefficient != -1 || outer.factors.size() != 1 || !outer.divisors.empty())
    return false;
  std::optional<Expression> terms = outer.factors.front().reduced(ReductionKind::Sum);
  if (!terms || outer.factors.front().missingDim() != sum.dim)
    return false;
  Product inner = Product::of(*terms);
  const bool isOverSquare = inner.divisors.size() == 2 && inner.divisors[0].is(total) && inner.divisors[1].is(total);
  return isOverSquare && inner.coefficient == 1 && inner.factors.size() == 2 &&
         inner.take([&](const Expression &factor) { return factor.is(sum.exponentials); }) &&
         inner.factors.front().is(gradient);
}

/// The softmax e / s that is there, of the type of `like`.
static Value softmaxOf(const Exponentials &sum, const Expression &total, Value like) {
  for (Operation *user : sum.exponentials.stripped().value.getUsers()) {
    auto quotient = dyn_cast<DivideOp>(user);
    if (!quotient || quotient.getType() != like.getType())
      continue;
    const Expression y = total.with(quotient.getResult());
    Expression whole = Expression::of(quotient.getResult(), Precision::Ignored);
    if (whole.as<DivideOp>() && whole.operand(0).is(sum.exponentials) && whole.operand(1).is(total))
      return quotient.getResult();
  }
  return {};
}

// (g / s - sum(g e / s^2)) e becomes y (g - sum(g y)), which leaves y = e / s alone in need of e and s.
bool raiseSoftmaxGradient(Operation *op, OpBuilder &builder) {
  if (!isa<MultiplyOp>(op) || !isa<FloatType>(elementOf(op->getResult(0))))
    return false;
  Value root = op->getResult(0);
  return anyOrder<MultiplyOp>(
      Expression::of(root, Precision::Ignored), [&](const Expression &slope, const Expression &exponentials) {
        if (!exponentials.as<ExponentialOp>())
          return false;
        return anyOrder<AddOp>(slope, [&](const Expression &quotient, const Expression &share) {
          if (!quotient.as<DivideOp>())
            return false;
          const Expression total = quotient.operand(1), gradient = quotient.operand(0);
          std::optional<Exponentials> sum = Exponentials::of(total);
          if (!sum || !sum->exponentials.is(exponentials) || !gradient.isWhole() ||
              gradient.value.getType() != root.getType() || !isShare(share, gradient, *sum, total))
            return false;
          Value y = softmaxOf(*sum, total, root);
          if (!y || !y.getDefiningOp()->isBeforeInBlock(op))
            return false;
          builder.setInsertionPoint(op);
          CompositeBuilder b(builder, op->getLoc());
          Value inner = b.sum(b.multiply(gradient.value, y), {sum->dim});
          root.replaceAllUsesWith(b.multiply(y, b.subtract(gradient.value, b.spread(inner, y, {sum->dim}))));
          return true;
        });
      });
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// The products that the value goes into, behind what moves or scales it, or hides a part of it.
static llvm::SetVector<DotGeneralOp> productsOf(Value value) {
  llvm::SetVector<DotGeneralOp> products;
  llvm::SetVector<Operation *> seen;
  SmallVector<Value> left{value};
  constexpr size_t kMost = 32;
  while (!left.empty() && seen.size() < kMost) {
    for (Operation *user : left.pop_back_val().getUsers()) {
      if (auto dot = dyn_cast<DotGeneralOp>(user)) {
        products.insert(dot);
      } else if (isa<SelectOp, MultiplyOp, DivideOp, TransposeOp, ReshapeOp, ConvertOp, BroadcastInDimOp>(user) &&
                 seen.insert(user)) {
        left.push_back(user->getResult(0));
      }
    }
  }
  return products;
}

namespace {
/// The gradient of the scores, w * (dw - sum(dw * w)), and dw in it.
struct ScoresGradient {
  MultiplyOp op;
  Expression ofWeights;

  static std::optional<ScoresGradient> of(SoftmaxOp weights);
};
} // namespace

std::optional<ScoresGradient> ScoresGradient::of(SoftmaxOp weights) {
  const Expression w = Expression::of(weights.getResult(), Precision::Ignored);
  const int64_t dim = softmaxDim(weights);
  for (Operation *user : weights.getResult().getUsers()) {
    auto product = dyn_cast<MultiplyOp>(user);
    if (!product)
      continue;
    ScoresGradient found{product, {}};
    const bool isGradient =
        anyOrder<MultiplyOp>(Expression::of(product.getResult(), Precision::Ignored), [&](const Expression &first,
                                                                                          const Expression &second) {
          if (!first.is(w) || !second.as<SubtractOp>() || second.operand(1).missingDim() != dim)
            return false;
          std::optional<Expression> terms = second.operand(1).reduced(ReductionKind::Sum);
          found.ofWeights = second.operand(0).stripped();
          return terms && anyOrder<MultiplyOp>(*terms, [&](const Expression &dw, const Expression &inner) {
                   return inner.is(w) && dw.is(found.ofWeights);
                 });
        });
    if (isGradient)
      return found;
  }
  return std::nullopt;
}

/// Behind a product with a number, which is multiplied into `coefficient`.
static std::optional<Expression> behindNumber(const Expression &x, double &coefficient) {
  if (x.as<DivideOp>() && x.operand(1).number()) {
    coefficient /= *x.operand(1).number();
    return x.operand(0);
  }
  for (unsigned index : {0U, 1U})
    if (x.as<MultiplyOp>() && x.operand(index).number()) {
      coefficient *= *x.operand(index).number();
      return x.operand(1 - index);
    }
  return std::nullopt;
}

/// Behind the gradient of what hides scores, in the way in which they are hidden; notes the predicate as it stands here.
static std::optional<Expression> behindHiding(const Attention &parts, const Expression &x,
                                              SmallVectorImpl<Expression> &predicates) {
  const unsigned hidden = parts.hiddenIndex;
  if (!parts.predicate.value || !x.as<SelectOp>() || x.operand(hidden).number() != 0)
    return std::nullopt;
  predicates.push_back(x.operand(0).stripped());
  return x.operand(3 - hidden);
}

/// The roles of an operand of a product that is the gradient of the scores, times the factor of these; none where it is not.
static Roles rolesOfScoresGradient(const Attention &parts, Value operand, MultiplyOp gradient) {
  double coefficient = 1;
  SmallVector<Expression> predicates;
  Expression x = Expression::of(operand, Precision::Ignored).stripped();
  constexpr int kMostSteps = 8;
  for (int step = 0; step < kMostSteps && x.value != gradient.getResult(); ++step) {
    std::optional<Expression> inner = behindNumber(x, coefficient);
    if (!inner)
      inner = behindHiding(parts, x, predicates);
    if (!inner)
      return {};
    x = inner->stripped();
  }
  if (x.value != gradient.getResult() || !isAbout(coefficient, parts.scale, elementOf(operand)))
    return {};
  const Roles roles = rolesThrough(operand, x);
  // The predicate is that of the forward pass, along the same dimensions.
  for (const Expression &each : predicates) {
    Roles own;
    for (int64_t place : each.place)
      own.push_back(place < 0 || roles.empty() ? kUnit : roles[place]);
    if (each.value != parts.predicate.value || own != Roles(parts.predicate.place.begin(), parts.predicate.place.end()))
      return {};
  }
  return roles;
}

/// Notes the product of the gradient of the scores with keys, or with queries.
static bool addProduct(const Attention &parts, DotGeneralOp dot, MultiplyOp ofScores, AttentionGradient &found) {
  for (unsigned index : {0U, 1U}) {
    const Roles own = rolesOfScoresGradient(parts, dot->getOperand(index), ofScores);
    if (own.empty())
      continue;
    const Roles other = rolesFromOther(dot, 1 - index, own, kFeature);
    const Operand base = baseOf(dot->getOperand(1 - index), other);
    const bool isQuery = base == parts.k && isProductOver(dot, index, own, parts.batch(), parts.key);
    if (!isQuery && !(base == parts.q && isProductOver(dot, index, own, parts.batch(), parts.query())))
      return false;
    const size_t which = isQuery ? 0 : 1;
    if (found.products[which])
      return false;
    found.products[which] = dot;
    found.roles[which] = index == 0 ? resultRoles(dot, own, other) : resultRoles(dot, other, own);
    return true;
  }
  return false;
}

/// Notes the product of the weights with the gradient of the result.
static bool addValueProduct(Attention &parts, DotGeneralOp dot, AttentionGradient &found) {
  for (unsigned index : {0U, 1U}) {
    const Expression w = Expression::of(dot->getOperand(index), Precision::Ignored).stripped();
    if (w.value != parts.weights.getResult())
      continue;
    const Roles own = rolesThrough(dot->getOperand(index), w);
    if (own.empty())
      return false;
    const Roles other = rolesFromOther(dot, 1 - index, own, kValueFeature);
    if (!(baseOf(dot->getOperand(1 - index), other) == found.ofOutput) ||
        !isProductOver(dot, index, own, parts.batch(), parts.query()))
      return false;
    found.products[2] = dot;
    found.roles[2] = index == 0 ? resultRoles(dot, own, other) : resultRoles(dot, other, own);
    return true;
  }
  return false;
}

/// The gradient of the result, which with the values gives that of the weights.
static bool takeOutputGradient(const Attention &parts, const Expression &ofWeights, AttentionGradient &found) {
  auto dot = ofWeights.value.getDefiningOp<DotGeneralOp>();
  for (unsigned index = 0; dot && index < 2; ++index) {
    const Roles ofValue = rolesFromResult(dot, index, ofWeights.place, kValueFeature);
    if (!(baseOf(dot->getOperand(index), ofValue) == parts.v))
      continue;
    const Roles own = rolesFromResult(dot, 1 - index, ofWeights.place, kValueFeature);
    found.ofOutput = baseOf(dot->getOperand(1 - index), own);
    const Roles features = parts.v.has(kValueFeature) ? Roles{kValueFeature} : Roles{};
    return isProductOver(dot, index, ofValue, parts.batch(), features);
  }
  return false;
}

std::optional<AttentionGradient> AttentionGradient::of(Attention &parts) {
  std::optional<ScoresGradient> ofScores = ScoresGradient::of(parts.weights);
  AttentionGradient found;
  if (!ofScores || !takeOutputGradient(parts, ofScores->ofWeights, found))
    return std::nullopt;
  for (DotGeneralOp dot : productsOf(ofScores->op.getResult()))
    if (!addProduct(parts, dot, ofScores->op, found))
      return std::nullopt;
  for (DotGeneralOp dot : productsOf(parts.weights.getResult()))
    if (!found.products[2] && dot != parts.output && dot != found.products[0] && dot != found.products[1])
      (void)addValueProduct(parts, dot, found);
  const bool isWhole = found.products[0] && found.products[1] && found.products[2];
  return isWhole ? std::optional(found) : std::nullopt;
}

} // namespace dgc::import::raise
