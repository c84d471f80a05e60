// Cross-entropy and its gradient, as JAX and optax write them.

#include "compiler/import/raise/Expression.h"
#include "dialects/dgc/CompositeBuilder.h"

using namespace mlir;
using namespace dgc;

namespace dgc::import::raise {

namespace {
/// Logits whose last dimension is the class, and the labels: numbers of classes, or distributions of the shape of the logits.
struct Loss {
  Value logits;
  Expression labels;
  bool areNumbers = false;
};
} // namespace

/// Whether there is a label for each place of the logits, in their order.
static bool areOfPlaces(const Expression &labels, const Expression &logits) {
  SmallVector<int64_t> expected = logits.dims();
  expected.pop_back(); // the class
  return labels.dims() == expected;
}

/// The logits of logarithms of probabilities along one dimension of the space, and that dimension.
static std::optional<std::pair<Expression, int64_t>> logitsOf(const Expression &logarithms) {
  if (auto composite = logarithms.as<LogSoftmaxOp>()) {
    const Expression bare = logarithms.stripped();
    return std::pair{logarithms.operand(0).stripped(), bare.place[softmaxDim(composite)]};
  }
  if (!logarithms.as<SubtractOp>() || !logarithms.operand(1).as<LogOp>() || !logarithms.operand(0).as<SubtractOp>())
    return std::nullopt;
  std::optional<Exponentials> sum = Exponentials::of(logarithms.operand(1).operand(0));
  if (!sum || !sum->exponentials.operand(0).is(logarithms.operand(0)))
    return std::nullopt;
  return std::pair{sum->input.stripped(), sum->dim};
}

/// Whether all elements of the value are those of the space, in their order, with the dimension `last` as the last one.
static bool hasAll(const Expression &x, int64_t last) {
  int64_t elements = 1;
  for (int64_t size : *x.space)
    elements *= size;
  const SmallVector<int64_t> dims = x.dims();
  return !dims.empty() && dims.back() == last && llvm::is_sorted(dims) && x.place.back() == last &&
         tensorOf(x.value).getNumElements() == elements;
}

/// A number behind what keeps it between 0 and `size` - 1.
static Expression withoutClamp(const Expression &x, int64_t size) {
  if (!x.as<ClampOp>())
    return x.stripped();
  std::optional<double> low = x.operand(0).number(), high = x.operand(2).number();
  const bool isRange = low && high && *low <= 0 && *high >= double(size - 1);
  return isRange ? x.operand(1).stripped() : x.stripped();
}

/// The numbers of the classes, where `pred` is true at the class of each place.
static std::optional<Expression> chosenClass(const Expression &pred, int64_t dim) {
  if (!pred.as<CompareOp>() || pred.as<CompareOp>().getComparisonDirection() != ComparisonDirection::EQ)
    return std::nullopt;
  for (unsigned index : {0U, 1U}) {
    Expression numbers = pred.operand(1 - index);
    if (!pred.operand(index).countsAlong(dim, 0) || llvm::is_contained(numbers.stripped().place, dim) ||
        !isa<IntegerType>(elementOf(numbers.value)))
      continue;
    return withoutClamp(numbers, (*pred.space)[dim]);
  }
  return std::nullopt;
}

/// The dimension that a comparison with the numbers of classes counts along; none where there is no such.
static std::optional<int64_t> classDim(const Expression &pred) {
  if (!pred.as<CompareOp>())
    return std::nullopt;
  for (unsigned index : {0U, 1U})
    if (auto iota = pred.operand(index).as<IotaOp>()) {
      const int64_t dim = pred.operand(index).stripped().place[static_cast<int64_t>(iota.getDimension())];
      return dim < 0 ? std::nullopt : std::optional(dim);
    }
  return std::nullopt;
}

/// The value that the predicate asks whether it is in a range from 0 on; null where it asks something else.
static Value valueInRange(const Expression &pred) {
  Value value;
  (void)anyOrder<AndOp>(pred, [&](const Expression &low, const Expression &high) {
    auto above = low.as<CompareOp>(), below = high.as<CompareOp>();
    if (!above || !below || above.getComparisonDirection() != ComparisonDirection::GE ||
        below.getComparisonDirection() != ComparisonDirection::LE || low.operand(1).number() != 0 ||
        !high.operand(1).number() || !low.operand(0).is(high.operand(0)))
      return false;
    value = low.operand(0).stripped().value;
    return true;
  });
  return value;
}

/// What the sum over all elements of an expression is the sum of, times a number: behind sums, numbers, and what is NaN where a
/// label is no class.
static std::optional<Expression> addedUp(Value value, double &coefficient, Value &guard) {
  constexpr int kMostSteps = 8;
  Expression x = Expression::of(value);
  bool isSum = false;
  for (int step = 0; step < kMostSteps; ++step) {
    const Product product = Product::of(x);
    if (product.factors.size() != 1 || !product.divisors.empty())
      break;
    Expression inner = product.factors.front();
    if (tensorOf(inner.value).getNumElements() != tensorOf(x.value).getNumElements())
      return std::nullopt;
    coefficient *= product.coefficient;
    if (inner.as<SelectOp>()) {
      std::optional<double> other = inner.operand(2).number();
      Value inRange = other && std::isnan(*other) ? valueInRange(inner.operand(0)) : Value();
      if (inRange && !guard)
        guard = inRange;
      if (!inRange || guard != inRange) {
        x = Expression::of(inner.value);
        break;
      }
      x = Expression::of(inner.operand(1).value);
      continue;
    }
    x = Expression::of(inner.value);
    auto sum = inner.as<ReduceOp>();
    if (!sum || sum.getKind() != ReductionKind::Sum)
      break;
    isSum = true;
    x = Expression::of(sum.getOperand());
  }
  return isSum ? std::optional(x) : std::nullopt;
}

namespace {
/// From what is chosen by numbers of classes, and along which dimension of the space.
struct Choice {
  Expression from, labels;
  int64_t dim;
};
} // namespace

/// What is chosen by numbers of classes: a sum over the classes of what is 0 but at one.
static std::optional<Choice> chosen(const Expression &terms) {
  if (!terms.as<SelectOp>() || terms.operand(2).number() != 0)
    return std::nullopt;
  std::optional<int64_t> dim = classDim(terms.operand(0));
  std::optional<Expression> labels = dim ? chosenClass(terms.operand(0), *dim) : std::nullopt;
  return labels ? std::optional(Choice{terms.operand(1), *labels, *dim}) : std::nullopt;
}

/// Whether it is the number of the row of each place.
static bool isRowNumber(const Expression &x) {
  Expression row = withoutClamp(x, x.space->front());
  if (row.as<SelectOp>()) { // a row below 0 would count from the end; none is
    const Expression pred = row.operand(0);
    auto compare = pred.as<CompareOp>();
    if (!compare || compare.getComparisonDirection() != ComparisonDirection::LT || pred.operand(1).number() != 0 ||
        !pred.operand(0).countsAlong(0, 0))
      return false;
    row = row.operand(2).stripped();
  }
  return row.countsAlong(0, 0);
}

/// The numbers in the rows of a table of logarithms that is seen as a vector: row * classes + number.
static std::optional<Expression> numberInRow(const Expression &index, int64_t classes) {
  std::optional<Expression> labels;
  (void)anyOrder<AddOp>(index, [&](const Expression &number, const Expression &start) {
    const Product product = Product::of(start);
    if (product.factors.size() != 1 || !product.divisors.empty() || product.coefficient != double(classes) ||
        !isRowNumber(product.factors.front()))
      return false;
    labels = withoutClamp(number, classes);
    return true;
  });
  return labels;
}

/// Whether the predicate only asks whether rows and the labels are numbers from 0 on, below those of rows and classes.
static bool isOfTable(const Expression &pred, const Expression &labels, int64_t classes) {
  if (pred.as<AndOp>())
    return isOfTable(pred.operand(0), labels, classes) && isOfTable(pred.operand(1), labels, classes);
  auto compare = pred.as<CompareOp>();
  if (!compare)
    return false;
  Expression asked = pred.operand(0);
  while (asked.as<ConvertOp>())
    asked = asked.operand(0);
  const bool isLabel = asked.is(labels);
  if (!isLabel && !isRowNumber(asked))
    return false;
  const int64_t last = (isLabel ? classes : pred.space->front()) - 1;
  const std::optional<double> bound = pred.operand(1).number();
  return compare.getComparisonDirection() == ComparisonDirection::GE
             ? bound == 0
             : compare.getComparisonDirection() == ComparisonDirection::LE && bound == double(last);
}

/// -log(probability of the label), added up and divided by the number of places.
static std::optional<Loss> lossOf(Value value) {
  double coefficient = 1;
  Value guard;
  std::optional<Expression> terms = addedUp(value, coefficient, guard);
  if (!terms)
    return std::nullopt;
  Loss loss;
  std::optional<Expression> logits;
  int64_t dim = -1;
  auto take = [&](const Expression &logarithms) {
    std::optional<std::pair<Expression, int64_t>> found = logitsOf(logarithms);
    if (!found)
      return false;
    std::tie(logits, dim) = std::pair{std::optional(found->first), found->second};
    return true;
  };
  double sign = -1;
  if (std::optional<Choice> pick = chosen(*terms)) {
    if (!take(pick->from) || pick->dim != dim)
      return std::nullopt;
    loss.labels = pick->labels;
    loss.areNumbers = true;
  } else if (auto gather = terms->as<GatherOp>()) {
    auto flat = gather.getOperand().getDefiningOp<ReshapeOp>();
    if (!flat || gather.getOffset() || tensorOf(flat.getResult()).getRank() != 1 ||
        tensorOf(flat.getOperand()).getRank() != 2 || tensorOf(gather.getIndices()).getRank() != 1 ||
        !take(Expression::of(flat.getOperand())))
      return std::nullopt;
    std::optional<Expression> labels =
        numberInRow(Expression::of(gather.getIndices()), tensorOf(flat.getOperand()).getDimSize(1));
    if (!labels)
      return std::nullopt;
    loss.labels = *labels;
    loss.areNumbers = true;
  } else if (terms->as<SubtractOp>()) {
    // log(sum of exponentials) + largest - logit of the label
    sign = 1;
    const Expression total = terms->operand(0);
    double one = 1;
    std::optional<Expression> inner = addedUp(terms->operand(1).value, one, guard);
    std::optional<Choice> pick = inner ? chosen(*inner) : std::nullopt;
    if (!pick || one != 1)
      return std::nullopt;
    logits = pick->from.stripped();
    loss.labels = pick->labels;
    loss.areNumbers = true;
    dim = pick->dim;
    const Expression here = Expression::of(logits->value);
    const bool isTotal = anyOrder<AddOp>(total, [&](const Expression &logarithm, const Expression &largest) {
      if (!logarithm.as<LogOp>())
        return false;
      auto sum = logarithm.operand(0).as<ReduceOp>();
      if (!sum)
        return false;
      // The sum has the dimensions of the logits but that of the classes.
      Expression all = here.with(sum.getResult());
      all.place = firstNumbers(tensorOf(sum.getResult()).getRank());
      std::optional<Exponentials> exponentials = Exponentials::of(all);
      return exponentials && exponentials->input.is(here) &&
             exponentials->largest.stripped().value == largest.stripped().value;
    });
    if (!isTotal)
      return std::nullopt;
  } else {
    const Product product = Product::of(*terms);
    if (product.factors.size() != 2 || !product.divisors.empty())
      return std::nullopt;
    coefficient *= product.coefficient;
    const bool isFirst = take(product.factors[0]);
    if (!isFirst && !take(product.factors[1]))
      return std::nullopt;
    loss.labels = product.factors[isFirst ? 1 : 0];
    if (!isa<FloatType>(elementOf(loss.labels.value)) || !hasAll(loss.labels, dim))
      return std::nullopt;
  }
  if (tensorOf(logits->value).getRank() < 2 || !hasAll(*logits, dim))
    return std::nullopt;
  const int64_t places = tensorOf(logits->value).getNumElements() / tensorOf(logits->value).getShape().back();
  if (!isAbout(sign * coefficient * double(places), 1, elementOf(logits->value)) ||
      (guard && guard != loss.labels.value) || (loss.areNumbers && !areOfPlaces(loss.labels, *logits)))
    return std::nullopt;
  loss.logits = logits->value;
  return loss;
}

/// The composite at the insertion point of the builder.
static Value write(OpBuilder &builder, Location location, const Loss &loss) {
  CompositeBuilder b(builder, location);
  ArrayRef<int64_t> shape = tensorOf(loss.logits).getShape();
  Value labels = b.reshape(loss.labels.value, loss.areNumbers ? shape.drop_back() : shape);
  return CrossEntropyOp::create(builder, location, loss.logits, labels, /*weights=*/Value(), /*sample_weights=*/Value(),
                                /*valid=*/Value(), /*label_smoothing=*/FloatAttr(), /*ignore_index=*/IntegerAttr())
      .getResult();
}

bool raiseCrossEntropy(Operation *op, OpBuilder &builder) {
  Value result = op->getResult(0);
  if (!isa<DivideOp, MultiplyOp, NegateOp, ReduceOp>(op) || tensorOf(result).getRank() != 0 ||
      !isa<FloatType>(elementOf(result)))
    return false;
  std::optional<Loss> loss = lossOf(result);
  if (!loss || result.getType() != RankedTensorType::get({}, elementOf(loss->logits)) ||
      !isClosed(op, {loss->logits, loss->labels.value}))
    return false;
  builder.setInsertionPoint(op);
  result.replaceAllUsesWith(write(builder, op->getLoc(), *loss));
  return true;
}

//===----------------------------------------------------------------------===//
// The gradient
//===----------------------------------------------------------------------===//

namespace {
/// -share * labels, of the shape of the logits.
struct LabelTerm {
  Expression labels;
  double share;
  bool areNumbers;
};
} // namespace

/// What is added to zeros at the label of each row, in a table that is seen as a vector.
static std::optional<LabelTerm> labelTermOf(const Expression &x, ScatterAddOp scatter) {
  ArrayRef<int64_t> shape = tensorOf(x.stripped().value).getShape();
  std::optional<double> share = Expression::of(scatter.getUpdates()).number();
  const Expression places = Expression::of(scatter.getIndices());
  if (!share || scatter.getOffset() || shape.size() != 2 || x.stripped().place != firstNumbers(2) ||
      tensorOf(scatter.getIndices()).getShape() != shape.drop_back() || !places.as<SelectOp>() ||
      places.operand(2).number() != -1)
    return std::nullopt;
  std::optional<Expression> labels = numberInRow(places.operand(1), shape.back());
  if (!labels || !isOfTable(places.operand(0), *labels, shape.back()))
    return std::nullopt;
  return LabelTerm{*labels, -*share, true};
}

static std::optional<LabelTerm> labelTermOf(const Expression &x, int64_t dim) {
  if (auto flat = x.as<ReshapeOp>())
    if (auto scatter = flat.getOperand().getDefiningOp<ScatterAddOp>())
      return labelTermOf(x, scatter);
  if (x.as<SelectOp>()) {
    std::optional<double> share = x.operand(1).number();
    std::optional<Expression> labels = chosenClass(x.operand(0), dim);
    if (!share || !labels || x.operand(2).number() != 0)
      return std::nullopt;
    return LabelTerm{*labels, -*share, true};
  }
  const Product product = Product::of(x);
  if (product.factors.size() != 1 || !product.divisors.empty() || !hasAll(product.factors.front(), dim))
    return std::nullopt;
  return LabelTerm{product.factors.front(), -product.coefficient, false};
}

/// Whether `x` is the sum of what is taken away for the labels: -1 times that of `term`, along the classes.
static bool isMassOf(const Expression &x, const Expression &term, int64_t dim) {
  std::optional<Expression> added = x.reduced(ReductionKind::Sum);
  if (!added || x.missingDim() != dim)
    return false;
  return added->as<NegateOp>() && added->operand(0).is(term);
}

// share * sum(labels) / total * exponentials - share * labels
bool raiseCrossEntropyGradient(Operation *op, OpBuilder &builder) {
  Value result = op->getResult(0);
  if (!isa<AddOp>(op) || tensorOf(result).getRank() < 2 || !isa<FloatType>(elementOf(result)))
    return false;
  const Expression y = Expression::of(result);
  return anyOrder<AddOp>(y, [&](const Expression &term, const Expression &spread) {
    Product product = Product::of(spread);
    std::optional<Expression> exponentials =
        product.take([](const Expression &factor) { return bool(factor.as<ExponentialOp>()); });
    if (!exponentials || product.divisors.size() != 1)
      return false;
    const Expression total = product.divisors.front();
    std::optional<Exponentials> sum = Exponentials::of(total);
    if (!sum || !sum->exponentials.is(*exponentials) || !hasAll(sum->input.stripped(), sum->dim) ||
        !sum->input.isWhole() || sum->input.value.getType() != result.getType() ||
        sum->dim != tensorOf(result).getRank() - 1)
      return false;
    std::optional<LabelTerm> labels = labelTermOf(term, sum->dim);
    if (!labels)
      return false;
    const bool isNumber =
        product.factors.empty() && labels->areNumbers && isAbout(product.coefficient, labels->share, elementOf(result));
    const bool isMass =
        product.factors.size() == 1 && product.coefficient == 1 && isMassOf(product.factors.front(), term, sum->dim);
    const int64_t places = tensorOf(result).getNumElements() / tensorOf(result).getShape().back();
    if ((!isNumber && !isMass) || !(labels->share > 0) ||
        (labels->areNumbers && !areOfPlaces(labels->labels, sum->input)) ||
        (!labels->areNumbers && dependsOn(labels->labels.value, sum->input.value)))
      return false;
    builder.setInsertionPoint(op);
    CompositeBuilder b(builder, op->getLoc());
    const Loss loss{sum->input.value, labels->labels, labels->areNumbers};
    Value mean = write(builder, op->getLoc(), loss);
    Type type = result.getType();
    Value gradient = GradientOp::create(builder, op->getLoc(), type, mean, loss.logits).getResult(0);
    const double upstream = labels->share * double(places);
    if (!isAbout(upstream, 1, elementOf(result)))
      gradient = b.multiply(gradient, upstream);
    result.replaceAllUsesWith(gradient);
    return true;
  });
}

} // namespace dgc::import::raise
