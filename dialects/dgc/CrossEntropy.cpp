// dgc.cross_entropy.

#include "dialects/dgc/BatchMean.h"
#include "dialects/dgc/LossUtil.h"

using namespace mlir;
using namespace dgc;

static double smoothingOf(const std::optional<APFloat> &smoothing) {
  return smoothing ? smoothing->convertToDouble() : 0;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Checks that labels of the type can be `index`, and are numbers of classes.
static LogicalResult checkIgnored(std::optional<Location> location, std::optional<int64_t> index, Type label) {
  if (!index)
    return success();
  auto integer = dyn_cast<IntegerType>(label);
  if (!integer)
    return emitOptionalError(location, "'dgc.cross_entropy' has an ignore_index and distributions as labels: it is for "
                                       "labels that are numbers of classes; give places of distributions a weight of "
                                       "0, as sample_weights");
  const bool isUnsigned = integer.isUnsigned();
  const unsigned bits = integer.getWidth();
  if (isUnsigned ? *index < 0 || (bits < 64 && *index >= int64_t(1) << bits)
                 : bits < 64 && (*index < -(int64_t(1) << (bits - 1)) || *index >= int64_t(1) << (bits - 1)))
    return emitOptionalError(location, "'dgc.cross_entropy' has the ignore_index ", *index,
                             ", which no label is: the labels are ", label);
  return success();
}

static LogicalResult checkClassWeights(std::optional<Location> location, Value weights, int64_t classes) {
  if (!weights || typeOf(weights).getShape() == ArrayRef(classes))
    return success();
  return emitOptionalError(location, "'dgc.cross_entropy' has weights of type ", typeOf(weights),
                           ", which must be a vector of ", classes, " elements, one for each class");
}

LogicalResult CrossEntropyOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType logits = typeOf(adaptor.getLogits()), labels = typeOf(adaptor.getLabels());
  types.push_back(meanType(logits));
  const double smoothing = smoothingOf(adaptor.getLabelSmoothing());
  if (!(smoothing >= 0 && smoothing < 1))
    return emitOptionalError(location, "'dgc.cross_entropy' has a label_smoothing of ", smoothing,
                             ", which must be at least 0 and below 1");
  if (failed(checkIgnored(location, adaptor.getIgnoreIndex(), labels.getElementType())))
    return failure();
  if (!isa<FloatType>(labels.getElementType())) {
    if (failed(checkLabels(location, getOperationName(), logits, labels)))
      return failure();
  } else if (logits.getRank() < 2 || labels.getShape() != logits.getShape()) {
    return emitOptionalError(location, "'dgc.cross_entropy' has labels of type ", labels, " for logits of type ",
                             logits,
                             ": distributions have the shape of the logits, [batch, .., classes]; the numbers "
                             "of classes must be integers");
  }
  if (failed(checkClassWeights(location, adaptor.getWeights(), logits.getShape().back())))
    return failure();
  return checkSampleWeights(location, getOperationName(), adaptor.getSampleWeights(), logits.getShape().drop_back());
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

namespace {
/// What the loss and its gradient have in common, row by row.
struct SoftmaxRows {
  Value shifted, exponentials, total; // x - max, its exponential, and the sum of that over the classes
  int64_t last;

  /// The loss does not depend on the maximum: a gradient of the decomposition leaves it out (`isDifferentiated`).
  SoftmaxRows(CompositeBuilder &b, Value logits, bool isDifferentiated = false) : last(tensorOf(logits).getRank() - 1) {
    Value x = b.convert(logits, computeType(elementOf(logits)));
    Value largest = b.reduce(ReductionKind::Max, x, {last});
    if (isDifferentiated)
      largest = b.stopGradient(largest);
    shifted = b.subtract(x, b.spread(largest, x, {last}));
    exponentials = b.exponential(shifted);
    total = b.sum(exponentials, {last});
  }
};
} // namespace

/// The distributions `labels`, of which the share `smoothing` is spread evenly over the classes.
static Value smoothed(CompositeBuilder &b, Value labels, double smoothing) {
  const auto classes = double(shapeOf(labels).back());
  return smoothing == 0 ? labels : b.plus(b.multiply(labels, 1 - smoothing), smoothing / classes);
}

/// The weights of the classes, repeated to the shape of the logits.
static Value wideWeights(CompositeBuilder &b, CrossEntropyOp op, Type element) {
  return b.broadcastLast(b.convert(op.getWeights(), element), shapeOf(op.getLogits()));
}

/// The weight of the class that each place has as its label.
static Value weightsOfLabels(CompositeBuilder &b, CrossEntropyOp op, Type element) {
  Value weights = wideWeights(b, op, element);
  Value hit = isLabel(b, op.getLabels(), op.getLogits());
  return b.sum(b.select(hit, weights, b.splat(0, weights)), {tensorOf(weights).getRank() - 1});
}

/// log(total) * sum(labels) - sum(labels * shifted): labels, and with weights also the products with these, need not add up
/// to 1.
static Value lossesOfDistributions(CompositeBuilder &b, CrossEntropyOp op, const SoftmaxRows &rows, double smoothing) {
  Type element = elementOf(rows.shifted);
  Value labels = smoothed(b, b.convert(op.getLabels(), element), smoothing);
  if (op.getWeights())
    labels = b.multiply(labels, wideWeights(b, op, element));
  Value weighted = b.multiply(b.log(rows.total), b.sum(labels, {rows.last}));
  return b.subtract(weighted, b.sum(b.multiply(labels, rows.shifted), {rows.last}));
}

/// log(total) - shifted[label]; with weights, times that of the label.
static Value lossesOfNumbers(CompositeBuilder &b, CrossEntropyOp op, const SoftmaxRows &rows, double smoothing) {
  Value logTotal = b.log(rows.total), hit = isLabel(b, op.getLabels(), op.getLogits());
  Value picked = b.sum(b.select(hit, rows.shifted, b.splat(0, rows.shifted)), {rows.last});
  const double share = smoothing / double(op.getNumChoices());
  if (!op.getWeights()) {
    if (smoothing != 0)
      picked = b.add(b.multiply(picked, 1 - smoothing), b.multiply(b.sum(rows.shifted, {rows.last}), share));
    return b.subtract(logTotal, picked);
  }
  Type element = elementOf(rows.shifted);
  Value losses = b.multiply(weightsOfLabels(b, op, element), b.subtract(logTotal, picked));
  if (smoothing == 0)
    return losses;
  Value weights = wideWeights(b, op, element);
  Value even = b.subtract(b.multiply(logTotal, b.sum(weights, {rows.last})),
                          b.sum(b.multiply(weights, rows.shifted), {rows.last}));
  return b.add(b.multiply(losses, 1 - smoothing), b.multiply(even, share));
}

/// True at the places that count: whose label is not `ignore_index`.
static Value countedPlaces(CompositeBuilder &b, CrossEntropyOp op) {
  const auto index = static_cast<int64_t>(*op.getIgnoreIndex());
  return b.compare(ComparisonDirection::NE, op.getLabels(), b.splat(double(index), op.getLabels()));
}

/// What each place adds to the divisor of the mean, of the type of `losses`; null where all add 1.
static Value divisors(CompositeBuilder &b, CrossEntropyOp op, Value losses) {
  Value result;
  auto multiplyBy = [&](Value factor) { result = result ? b.multiply(result, factor) : factor; };
  if (op.getWeights() && isa<IntegerType>(elementOf(op.getLabels())))
    multiplyBy(weightsOfLabels(b, op, elementOf(losses)));
  if (op.getSampleWeights())
    multiplyBy(spreadSampleWeights(b, op.getSampleWeights(), losses));
  if (op.getIgnoreIndex())
    multiplyBy(b.convert(countedPlaces(b, op), elementOf(losses)));
  return result;
}

SmallVector<int64_t> CrossEntropyOp::getCountedDims(unsigned index) {
  return index > 1 ? SmallVector<int64_t>() : leadingDims(tensorOf(getLogits()).getRank());
}

// Labels may be probabilities as well. One that is ignored need not be a class.
Value CrossEntropyOp::getChoosingNumbers() {
  std::optional<int64_t> ignored = getIgnoreIndex();
  const bool ignoresOthers = ignored && (*ignored < 0 || *ignored >= getNumChoices());
  return isa<IntegerType>(elementOf(getLabels())) && !ignoresOthers ? Value(getLabels()) : Value();
}
int64_t CrossEntropyOp::getNumChoices() { return shapeOf(getLogits()).back(); }

FailureOr<SmallVector<Value>> CrossEntropyOp::decompose(OpBuilder &builder) { return decomposeWithCount(builder, {}); }

FailureOr<SmallVector<Value>> CrossEntropyOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  SoftmaxRows rows(b, getLogits(), !keepForGradient());
  const double smoothing = smoothingOf(getLabelSmoothing());
  Value losses = isa<FloatType>(elementOf(getLabels())) ? lossesOfDistributions(b, *this, rows, smoothing)
                                                        : lossesOfNumbers(b, *this, rows, smoothing);
  Value divisor = divisors(b, *this, losses);
  if (!divisor)
    return SmallVector<Value>{meanOver(b, losses, count, getValid())};
  if (getSampleWeights())
    losses = b.multiply(losses, spreadSampleWeights(b, getSampleWeights(), losses));
  if (getIgnoreIndex())
    losses = b.select(countedPlaces(b, *this), losses, b.splat(0, losses));
  return SmallVector<Value>{quotientOfSums(b, losses, divisor, getValid())};
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

// Weights may be trained, too: their gradients are those of the decomposition.
bool CrossEntropyOp::keepForGradient() { return !getWeights() && !getSampleWeights(); }

/// What each place, of the shape of `like`, adds to a mean whose gradient is the scalar `gradient`.
static Value shareOfPlaces(CompositeBuilder &b, CrossEntropyOp op, Value gradient, Value like) {
  Type element = elementOf(like);
  if (!op.getIgnoreIndex())
    return batchMeanGradient(b, gradient, op.getValid(), shapeOf(like), element);
  Value counted = maskExamples(b, b.convert(countedPlaces(b, op), element), op.getValid());
  Value count = b.sum(counted, allDims(tensorOf(counted).getRank()));
  Value share = b.divide(b.convert(gradient, element), b.maximum(count, b.splat(1, count)));
  return b.multiply(counted, b.broadcastScalar(share, shapeOf(like)));
}

// (softmax - labels) * share, where the share of a row is gradient / count or 0. Written as exponentials * (share /
// total) - labels * share, which divides once a row.
SmallVector<Value> CrossEntropyOp::buildGradients(OpBuilder &builder, ValueRange gradients, const BitVector &wanted) {
  CompositeBuilder b(builder, getLoc());
  SoftmaxRows rows(b, getLogits());
  Type element = elementOf(rows.shifted), logitType = elementOf(getLogits());
  bool distributions = isa<FloatType>(elementOf(getLabels()));
  Value share = shareOfPlaces(b, *this, gradients[0], rows.total);
  auto alongRow = [&](Value value) { return b.spread(value, rows.shifted, {rows.last}); };

  SmallVector<Value> results(getNumOperands());
  const double smoothing = smoothingOf(getLabelSmoothing());
  Value labels = distributions ? smoothed(b, b.convert(getLabels(), element), smoothing) : Value();
  if (wanted.test(0)) {
    Value mass = distributions ? b.multiply(share, b.sum(labels, {rows.last})) : share;
    Value spreadOut = b.multiply(rows.exponentials, alongRow(b.divide(mass, rows.total)));
    Value gradient;
    if (distributions) {
      gradient = b.subtract(spreadOut, b.multiply(labels, alongRow(share)));
    } else {
      Value every = spreadOut, ofLabel = share;
      if (smoothing != 0) {
        every = b.subtract(spreadOut, alongRow(b.multiply(share, smoothing / double(getNumChoices()))));
        ofLabel = b.multiply(share, 1 - smoothing);
      }
      gradient = b.select(isLabel(b, getLabels(), getLogits()), b.subtract(every, alongRow(ofLabel)), every);
    }
    results[0] = b.convert(gradient, logitType);
  }
  if (distributions && wanted.test(1)) {
    Value losses = b.subtract(alongRow(b.log(rows.total)), rows.shifted);
    Value slope = smoothing == 0 ? share : b.multiply(share, 1 - smoothing);
    results[1] = b.convert(b.multiply(losses, alongRow(slope)), elementOf(getLabels()));
  }
  return results;
}
