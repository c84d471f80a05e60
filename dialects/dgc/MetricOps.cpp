// Metrics: how often predictions are right.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/BatchMean.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/LossUtil.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace dgc;

static ParseResult parseThreshold(OpAsmParser &parser, FloatAttr &threshold) {
  return parseOptionalNumber(parser, "threshold", threshold);
}
static void printThreshold(OpAsmPrinter &printer, Operation *, FloatAttr threshold) {
  printOptionalNumber(printer, "threshold", threshold);
}

#define GET_OP_CLASSES
#include "dialects/dgc/MetricOps.cpp.inc"

namespace dgc {
void registerMetricOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/MetricOps.cpp.inc"
      >();
}
} // namespace dgc

//===----------------------------------------------------------------------===//
// AccuracyOp
//===----------------------------------------------------------------------===//

LogicalResult AccuracyOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType logits = typeOf(adaptor.getLogits());
  types.push_back(meanType(logits));
  return checkLabels(location, getOperationName(), logits, typeOf(adaptor.getLabels()));
}

SmallVector<int64_t> AccuracyOp::getCountedDims(unsigned index) {
  return index > 1 ? SmallVector<int64_t>() : leadingDims(tensorOf(getLogits()).getRank());
}

FailureOr<SmallVector<Value>> AccuracyOp::decompose(OpBuilder &builder) { return decomposeWithCount(builder, {}); }

FailureOr<SmallVector<Value>> AccuracyOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  Type element = computeType(elementOf(getLogits()));
  Value best = b.argmax(b.convert(getLogits(), element), tensorOf(getLogits()).getRank() - 1);
  Value hit = b.compare(ComparisonDirection::EQ, best, b.convert(getLabels(), builder.getI32Type()));
  return SmallVector<Value>{meanOver(b, b.convert(hit, element), count, getValid())};
}

//===----------------------------------------------------------------------===//
// TopKAccuracyOp
//===----------------------------------------------------------------------===//

LogicalResult TopKAccuracyOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType logits = typeOf(adaptor.getLogits());
  types.push_back(meanType(logits));
  if (failed(checkLabels(location, getOperationName(), logits, typeOf(adaptor.getLabels()))))
    return failure();
  const auto k = static_cast<int64_t>(adaptor.getK());
  if (k < 1 || k > logits.getShape().back())
    return emitOptionalError(location, "'dgc.top_k_accuracy' looks at the ", k, " largest of ",
                             logits.getShape().back(), " logits: k must be from 1 to ", logits.getShape().back());
  return success();
}

SmallVector<int64_t> TopKAccuracyOp::getCountedDims(unsigned index) {
  return index > 1 ? SmallVector<int64_t>() : leadingDims(tensorOf(getLogits()).getRank());
}

FailureOr<SmallVector<Value>> TopKAccuracyOp::decompose(OpBuilder &builder) { return decomposeWithCount(builder, {}); }

// A logit goes before that of the label if it is larger, or equal and of an earlier class. A label that is no class is
// behind all.
FailureOr<SmallVector<Value>> TopKAccuracyOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  Type i32 = builder.getI32Type();
  Value x = b.convert(getLogits(), computeType(elementOf(getLogits())));
  const int64_t last = tensorOf(x).getRank() - 1;
  Value lowest = b.splat(-std::numeric_limits<double>::infinity(), x);
  Value picked = b.reduce(ReductionKind::Max, b.select(isLabel(b, getLabels(), x), x, lowest), {last});
  Value ofLabel = b.spread(picked, x, {last}), label = b.spread(b.convert(getLabels(), i32), x, {last});
  Value isEarlier = b.compare(ComparisonDirection::LT, b.iota(shapeOf(x), i32, last), label);
  auto counts = [&](ComparisonDirection direction) { return b.convert(b.compare(direction, x, ofLabel), i32); };
  Value before = b.sum(b.select(isEarlier, counts(ComparisonDirection::GE), counts(ComparisonDirection::GT)), {last});
  Value hit = b.compare(ComparisonDirection::LT, before, b.splat(double(getK()), before));
  return SmallVector<Value>{meanOver(b, b.convert(hit, elementOf(x)), count, getValid())};
}

//===----------------------------------------------------------------------===//
// PrecisionOp, RecallOp, F1ScoreOp
//===----------------------------------------------------------------------===//

template <typename Adaptor>
static LogicalResult inferCounts(std::optional<Location> location, StringRef name, Adaptor adaptor,
                                 SmallVectorImpl<Type> &types) {
  RankedTensorType logits = typeOf(adaptor.getLogits()), labels = typeOf(adaptor.getLabels());
  types.append(2, meanType(logits));
  if (!adaptor.getClassNumber()) {
    if (logits.getShape() == labels.getShape() && logits.getRank() > 0)
      return success();
    return emitOptionalError(location, "'", name, "' has labels of type ", labels, " for logits of type ", logits,
                             ": there is a label for each logit, [batch, ..]; for logits of classes say which one: "
                             "class 1");
  }
  if (adaptor.getThreshold())
    return emitOptionalError(location, "'", name,
                             "' has a threshold and a class: with a class, what has its largest "
                             "logit there is predicted");
  if (failed(checkLabels(location, name, logits, labels)))
    return failure();
  const int64_t number = *adaptor.getClassNumber(), classes = logits.getShape().back();
  if (number < 0 || number >= classes)
    return emitOptionalError(location, "'", name, "' is of class ", number, "; the logits have ", classes,
                             ", from 0 on");
  return success();
}

/// True where the label of an element that is positive or not says that it is.
static Value isPositive(CompositeBuilder &b, Value labels) {
  const bool isFloat = isa<FloatType>(elementOf(labels));
  return isFloat ? b.compare(ComparisonDirection::GT, labels, b.splat(0.5, labels))
                 : b.compare(ComparisonDirection::NE, labels, b.splat(0, labels));
}

namespace {
/// 1 where an element is predicted, positive, both; else 0.
struct Predictions {
  Value predicted, positive, both;

  template <typename OpT> Predictions(CompositeBuilder &b, OpT op) {
    Type element = computeType(elementOf(op.getLogits()));
    Value x = b.convert(op.getLogits(), element), labels = op.getLabels();
    auto ones = [&](ComparisonDirection direction, Value value, double than) {
      return b.convert(b.compare(direction, value, b.splat(than, value)), element);
    };
    if (std::optional<int64_t> number = op.getClassNumber()) {
      predicted = ones(ComparisonDirection::EQ, b.argmax(x, tensorOf(x).getRank() - 1), double(*number));
      positive = ones(ComparisonDirection::EQ, b.convert(labels, b.builder.getI32Type()), double(*number));
    } else {
      predicted = ones(ComparisonDirection::GT, x, op.getThreshold() ? op.getThreshold()->convertToDouble() : 0);
      positive = b.convert(isPositive(b, labels), element);
    }
    both = b.multiply(predicted, positive);
  }
};
} // namespace

/// The sums of both over all examples.
static SmallVector<Value> totals(CompositeBuilder &b, Value numerators, Value denominators) {
  SmallVector<int64_t> dims = allDims(tensorOf(numerators).getRank());
  return {b.sum(numerators, dims), b.sum(denominators, dims)};
}

LogicalResult PrecisionOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferCounts(location, getOperationName(), adaptor, types);
}

FailureOr<SmallVector<Value>> PrecisionOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Predictions made(b, *this);
  return totals(b, made.both, made.predicted);
}

LogicalResult RecallOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferCounts(location, getOperationName(), adaptor, types);
}

FailureOr<SmallVector<Value>> RecallOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Predictions made(b, *this);
  return totals(b, made.both, made.positive);
}

LogicalResult F1ScoreOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferCounts(location, getOperationName(), adaptor, types);
}

FailureOr<SmallVector<Value>> F1ScoreOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Predictions made(b, *this);
  return totals(b, b.multiply(made.both, 2), b.add(made.predicted, made.positive));
}

//===----------------------------------------------------------------------===//
// ConfusionMatrixOp, MacroF1Op, ClassF1Op
//===----------------------------------------------------------------------===//

LogicalResult ConfusionMatrixOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType logits = typeOf(adaptor.getLogits());
  if (failed(checkLabels(location, getOperationName(), logits, typeOf(adaptor.getLabels()))))
    return failure();
  const int64_t classes = logits.getShape().back();
  types.push_back(RankedTensorType::get({classes, classes}, Float32Type::get(logits.getContext())));
  return success();
}

// The product of both indicators over the examples. In f64, which mixed precision leaves as it is: counts stay exact.
FailureOr<SmallVector<Value>> ConfusionMatrixOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Value x = b.convert(getLogits(), computeType(elementOf(getLogits())));
  const int64_t last = tensorOf(x).getRank() - 1;
  Value label = b.convert(isLabel(b, getLabels(), x), builder.getF64Type());
  Value predicted = b.convert(isLabel(b, b.argmax(x, last), x), builder.getF64Type());
  SmallVector<int64_t> examples = allDims(last);
  Value counts = b.dot(label, predicted, {}, {}, examples, examples);
  return SmallVector<Value>{b.convert(counts, builder.getF32Type())};
}

/// Reports counts that are no confusion matrix.
static LogicalResult checkCounts(std::optional<Location> location, StringRef name, RankedTensorType counts) {
  if (counts.getRank() == 2 && counts.getDimSize(0) == counts.getDimSize(1))
    return success();
  return emitOptionalError(location, "'", name, "' has counts of type ", counts,
                           ", which must be [classes, classes]: those of dgc.confusion_matrix");
}

/// The F1 score of each class; 0 for one without examples and predictions.
static Value scoresOfClasses(CompositeBuilder &b, Value counts) {
  counts = b.convert(counts, computeType(elementOf(counts)));
  ArrayRef<int64_t> shape = shapeOf(counts);
  Value isRight = b.equal(b.iota(shape, b.builder.getI32Type(), 0), b.iota(shape, b.builder.getI32Type(), 1));
  Value right = b.sum(b.select(isRight, counts, b.splat(0, counts)), {1});
  Value both = b.add(b.sum(counts, {0}), b.sum(counts, {1}));
  Value isNone = b.equal(both, b.splat(0, both));
  return b.divide(b.multiply(right, 2), b.select(isNone, b.splat(1, both), both));
}

LogicalResult MacroF1Op::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType counts = typeOf(adaptor.getCounts());
  types.push_back(meanType(counts));
  return checkCounts(location, getOperationName(), counts);
}

FailureOr<SmallVector<Value>> MacroF1Op::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Value scores = scoresOfClasses(b, getCounts());
  return SmallVector<Value>{b.multiply(b.sum(scores, {0}), 1.0 / double(shapeOf(scores)[0]))};
}

LogicalResult ClassF1Op::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType counts = typeOf(adaptor.getCounts());
  types.push_back(RankedTensorType::get(counts.getShape().take_back(), computeType(counts.getElementType())));
  return checkCounts(location, getOperationName(), counts);
}

FailureOr<SmallVector<Value>> ClassF1Op::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  return SmallVector<Value>{scoresOfClasses(b, getCounts())};
}

//===----------------------------------------------------------------------===//
// ThresholdCountsOp, AreaUnderCurveOp
//===----------------------------------------------------------------------===//

LogicalResult ThresholdCountsOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType logits = typeOf(adaptor.getLogits()), labels = typeOf(adaptor.getLabels());
  const auto thresholds = static_cast<int64_t>(adaptor.getThresholds());
  if (thresholds < 2 || thresholds > 65536)
    return emitOptionalError(location, "'dgc.threshold_counts' has ", thresholds,
                             " thresholds: there are from 2 to 65536 of them, from 0 to 1; 200 is usual");
  types.append(2, RankedTensorType::get({thresholds}, computeType(logits.getElementType())));
  if (logits.getShape() == labels.getShape() && logits.getRank() > 0)
    return success();
  return emitOptionalError(location, "'dgc.threshold_counts' has labels of type ", labels, " for logits of type ",
                           logits, ": there is a label for each logit, [batch, ..]");
}

/// The logits of probabilities that are evenly spaced from 0 to 1.
static SmallVector<double> thresholdLogits(int64_t count) {
  SmallVector<double> logits{-std::numeric_limits<double>::infinity()};
  for (int64_t k = 1; k < count - 1; ++k)
    logits.push_back(std::log(double(k) / double(count - 1 - k)));
  logits.push_back(std::numeric_limits<double>::infinity());
  return logits;
}

FailureOr<SmallVector<Value>> ThresholdCountsOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Type element = computeType(elementOf(getLogits()));
  Value x = b.convert(getLogits(), element);
  const auto count = static_cast<int64_t>(getThresholds());
  SmallVector<int64_t> shape(shapeOf(x)), elements = allDims(tensorOf(x).getRank());
  shape.push_back(count);
  Value thresholds = b.broadcastLast(b.constant({count}, element, thresholdLogits(count)), shape);
  Value ones = b.convert(b.compare(ComparisonDirection::GE, b.broadcast(x, shape, elements), thresholds), element);
  Value zeros = b.splat(0, ones), positive = b.broadcast(isPositive(b, getLabels()), shape, elements);
  return SmallVector<Value>{b.sum(b.select(positive, ones, zeros), elements),
                            b.sum(b.select(positive, zeros, ones), elements)};
}

LogicalResult AreaUnderCurveOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  RankedTensorType positives = typeOf(adaptor.getTruePositives()), negatives = typeOf(adaptor.getFalsePositives());
  types.push_back(meanType(positives));
  if (positives == negatives && positives.getRank() == 1 && positives.getDimSize(0) > 1)
    return success();
  return emitOptionalError(location, "'dgc.area_under_curve' has counts of types ", positives, " and ", negatives,
                           ", which must be of one type, [thresholds]: those of dgc.threshold_counts");
}

/// Element `index` of a vector, as a scalar.
static Value elementAt(CompositeBuilder &b, Value vector, int64_t index) {
  return b.sum(b.slice(vector, {index}, {index + 1}), {0});
}

FailureOr<SmallVector<Value>> AreaUnderCurveOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Type element = computeType(elementOf(getTruePositives()));
  ArrayRef<int64_t> shape = shapeOf(getTruePositives());
  auto rates = [&](Value counts) {
    counts = b.convert(counts, element);
    Value all = elementAt(b, counts, 0), isNone = b.equal(all, b.scalar(0, element));
    return b.divide(counts, b.broadcastScalar(b.select(isNone, b.scalar(1, element), all), shape));
  };
  auto next = [&](Value values) { return b.padZero(b.slice(values, {1}, shape), {0}, {1}); };
  Value x = rates(getFalsePositives()), y = rates(getTruePositives());
  Value areas = b.multiply(b.subtract(x, next(x)), b.add(y, next(y)));
  return SmallVector<Value>{b.multiply(b.sum(areas, {0}), 0.5)};
}

//===----------------------------------------------------------------------===//
// R2SumsOp, R2ScoreOp
//===----------------------------------------------------------------------===//

LogicalResult R2SumsOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType prediction = typeOf(adaptor.getPrediction()), target = typeOf(adaptor.getTarget());
  types.push_back(RankedTensorType::get({4}, Float64Type::get(target.getContext())));
  if (prediction.getShape() == target.getShape() && target.getRank() > 0)
    return success();
  return emitOptionalError(location, "'dgc.r2_sums' has a prediction of type ", prediction, " for a target of type ",
                           target, ": both have one shape, [batch, ..]");
}

SmallVector<int64_t> R2SumsOp::getCountedDims(unsigned) { return allDims(tensorOf(getTarget()).getRank()); }

FailureOr<SmallVector<Value>> R2SumsOp::decompose(OpBuilder &builder) { return decomposeWithCount(builder, {}); }

// In f64: the variance is a small difference of the sums where the mean is far from 0.
FailureOr<SmallVector<Value>> R2SumsOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  Type f64 = builder.getF64Type();
  Value target = b.convert(getTarget(), f64), error = b.subtract(target, b.convert(getPrediction(), f64));
  Value number = count ? b.convert(count, f64) : b.scalar(double(tensorOf(target).getNumElements()), f64);
  SmallVector<int64_t> dims = allDims(tensorOf(target).getRank());
  SmallVector<Value> sums{b.sum(b.multiply(error, error), dims), b.sum(target, dims),
                          b.sum(b.multiply(target, target), dims), number};
  for (Value &sum : sums)
    sum = b.reshape(sum, {1});
  return SmallVector<Value>{ConcatenateOp::create(builder, getLoc(), sums, int64_t(0)).getResult()};
}

LogicalResult R2ScoreOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType sums = typeOf(adaptor.getSums());
  types.push_back(meanType(sums));
  if (sums.getRank() == 1 && sums.getDimSize(0) == 4)
    return success();
  return emitOptionalError(location, "'dgc.r2_score' has sums of type ", sums,
                           ", which must be the four of dgc.r2_sums");
}

FailureOr<SmallVector<Value>> R2ScoreOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Type element = computeType(elementOf(getSums()));
  Value sums = b.convert(getSums(), element);
  Value errors = elementAt(b, sums, 0), total = elementAt(b, sums, 1), squares = elementAt(b, sums, 2),
        number = elementAt(b, sums, 3);
  Value variance = b.subtract(squares, b.divide(b.multiply(total, total), number));
  Value zero = b.scalar(0, element), one = b.scalar(1, element);
  Value varies = b.compare(ComparisonDirection::GT, variance, zero);
  Value score = b.subtract(one, b.divide(errors, b.select(varies, variance, one)));
  return SmallVector<Value>{b.select(varies, score, zero)};
}
