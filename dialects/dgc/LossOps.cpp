// Losses and metrics: means over the global batch.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/BatchMean.h"
#include "dialects/dgc/Clauses.h"

using namespace mlir;
using namespace dgc;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

static ParseResult parseDelta(OpAsmParser &parser, FloatAttr &delta) {
  return parseOptionalNumber(parser, "delta", delta);
}
static void printDelta(OpAsmPrinter &printer, Operation *, FloatAttr delta) {
  printOptionalNumber(printer, "delta", delta);
}

static ParseResult parseLabelSmoothing(OpAsmParser &parser, FloatAttr &smoothing) {
  return parseOptionalNumber(parser, "label_smoothing", smoothing);
}
static void printLabelSmoothing(OpAsmPrinter &printer, Operation *, FloatAttr smoothing) {
  printOptionalNumber(printer, "label_smoothing", smoothing);
}

#define GET_OP_CLASSES
#include "dialects/dgc/LossOps.cpp.inc"

namespace dgc {
void registerLossOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/LossOps.cpp.inc"
      >();
}
} // namespace dgc

static RankedTensorType typeOf(Value value) { return withoutEncoding(cast<RankedTensorType>(value.getType())); }

/// A scalar of the type in which a mean of `input` is computed.
static RankedTensorType meanType(RankedTensorType input) {
  return RankedTensorType::get({}, computeType(input.getElementType()));
}

/// Checks integer labels against logits [batch, .., classes].
static LogicalResult checkLabels(std::optional<Location> location, StringRef name, RankedTensorType logits,
                                 RankedTensorType labels) {
  if (logits.getRank() < 2)
    return emitOptionalError(location, "'", name, "' has logits of type ", logits,
                             ", which must be [batch, .., classes]");
  if (labels.getShape() != logits.getShape().drop_back())
    return emitOptionalError(
        location, "'", name, "' has labels of type ", labels, " for logits of type ", logits,
        ": integer labels have the shape of the logits without their last dimension, ",
        RankedTensorType::get(logits.getShape().drop_back(), isa<IntegerType>(labels.getElementType())
                                                                 ? labels.getElementType()
                                                                 : IntegerType::get(labels.getContext(), 32)));
  return success();
}

/// True where the class is that of the label: the shape of the logits.
static Value isLabel(CompositeBuilder &b, Value labels, Value logits) {
  Type i32 = b.builder.getI32Type();
  int64_t last = tensorOf(logits).getRank() - 1;
  Value classes = b.iota(shapeOf(logits), i32, last);
  return b.compare(ComparisonDirection::EQ, classes, b.spread(b.convert(labels, i32), logits, {last}));
}

//===----------------------------------------------------------------------===//
// CrossEntropyOp
//===----------------------------------------------------------------------===//

static double smoothingOf(const std::optional<APFloat> &smoothing) {
  return smoothing ? smoothing->convertToDouble() : 0;
}

LogicalResult CrossEntropyOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType logits = typeOf(adaptor.getLogits()), labels = typeOf(adaptor.getLabels());
  types.push_back(meanType(logits));
  const double smoothing = smoothingOf(adaptor.getLabelSmoothing());
  if (!(smoothing >= 0 && smoothing < 1))
    return emitOptionalError(location, "'dgc.cross_entropy' has a label_smoothing of ", smoothing,
                             ", which must be at least 0 and below 1");
  if (!isa<FloatType>(labels.getElementType()))
    return checkLabels(location, getOperationName(), logits, labels);
  if (logits.getRank() < 2 || labels.getShape() != logits.getShape())
    return emitOptionalError(location, "'dgc.cross_entropy' has labels of type ", labels, " for logits of type ",
                             logits,
                             ": distributions have the shape of the logits, [batch, .., classes]; the numbers "
                             "of classes must be integers");
  return success();
}

namespace {
/// What the loss and its gradient have in common, row by row.
struct SoftmaxRows {
  Value shifted, exponentials, total; // x - max, its exponential, and the sum of that over the classes
  int64_t last;

  SoftmaxRows(CompositeBuilder &b, Value logits) : last(tensorOf(logits).getRank() - 1) {
    Value x = b.convert(logits, computeType(elementOf(logits)));
    shifted = b.subtract(x, b.spread(b.reduce(ReductionKind::Max, x, {last}), x, {last}));
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

/// The mean over all elements of `values`, of which `count` (an i64 scalar) are counted. Without it, of the real
/// examples.
static SmallVector<Value> meanOver(CompositeBuilder &b, Value values, Value count, Value valid) {
  if (!count)
    return {batchMean(b, values, valid)};
  return {b.divide(b.sum(values, allDims(tensorOf(values).getRank())), b.convert(count, elementOf(values)))};
}

SmallVector<int64_t> CrossEntropyOp::getCountedDims(unsigned index) {
  return index > 1 ? SmallVector<int64_t>() : leadingDims(tensorOf(getLogits()).getRank());
}

// log(total) - shifted[label], or for distributions log(total) * sum(labels) - sum(labels * shifted).
// Labels may be probabilities as well.
Value CrossEntropyOp::getChoosingNumbers() {
  return isa<IntegerType>(elementOf(getLabels())) ? Value(getLabels()) : Value();
}
int64_t CrossEntropyOp::getNumChoices() { return shapeOf(getLogits()).back(); }

FailureOr<SmallVector<Value>> CrossEntropyOp::decompose(OpBuilder &builder) { return decomposeWithCount(builder, {}); }

FailureOr<SmallVector<Value>> CrossEntropyOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  SoftmaxRows rows(b, getLogits());
  Type element = elementOf(rows.shifted);
  const double smoothing = smoothingOf(getLabelSmoothing());
  Value logTotal = b.log(rows.total), losses;
  if (isa<FloatType>(elementOf(getLabels()))) {
    Value labels = smoothed(b, b.convert(getLabels(), element), smoothing);
    Value weighted = b.multiply(logTotal, b.sum(labels, {rows.last}));
    losses = b.subtract(weighted, b.sum(b.multiply(labels, rows.shifted), {rows.last}));
  } else {
    Value hit = isLabel(b, getLabels(), getLogits());
    Value picked = b.sum(b.select(hit, rows.shifted, b.splat(0, rows.shifted)), {rows.last});
    if (smoothing != 0) {
      Value even = b.multiply(b.sum(rows.shifted, {rows.last}), smoothing / double(getNumChoices()));
      picked = b.add(b.multiply(picked, 1 - smoothing), even);
    }
    losses = b.subtract(logTotal, picked);
  }
  return meanOver(b, losses, count, getValid());
}

// (softmax - labels) * share, where the share of a row is gradient / count or 0. Written as exponentials * (share /
// total) - labels * share, which divides once a row.
SmallVector<Value> CrossEntropyOp::buildGradients(OpBuilder &builder, ValueRange gradients, const BitVector &wanted) {
  CompositeBuilder b(builder, getLoc());
  SoftmaxRows rows(b, getLogits());
  Type element = elementOf(rows.shifted), logitType = elementOf(getLogits());
  bool distributions = isa<FloatType>(elementOf(getLabels()));
  Value share = batchMeanGradient(b, gradients[0], getValid(), shapeOf(rows.total), element);
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

//===----------------------------------------------------------------------===//
// MeanSquaredErrorOp
//===----------------------------------------------------------------------===//

/// The type of a mean over all elements of two tensors of one type.
static LogicalResult inferElementLoss(std::optional<Location> location, StringRef name, Value prediction, Value target,
                                      SmallVectorImpl<Type> &types) {
  RankedTensorType type = typeOf(prediction);
  if (type != typeOf(target))
    return emitOptionalError(location, "'", name, "' compares a prediction of type ", type, " with a target of type ",
                             typeOf(target), ": they must be the same");
  if (type.getRank() == 0)
    return emitOptionalError(location, "'", name, "' has scalar operands: it takes the mean over a batch");
  types.push_back(meanType(type));
  return success();
}

LogicalResult MeanSquaredErrorOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  return inferElementLoss(location, getOperationName(), adaptor.getPrediction(), adaptor.getTarget(), types);
}

/// The difference, as it is computed.
static Value difference(CompositeBuilder &b, Value prediction, Value target) {
  Type compute = computeType(elementOf(prediction));
  return b.subtract(b.convert(prediction, compute), b.convert(target, compute));
}

SmallVector<int64_t> MeanSquaredErrorOp::getCountedDims(unsigned index) {
  return index > 1 ? SmallVector<int64_t>() : allDims(tensorOf(getPrediction()).getRank());
}

FailureOr<SmallVector<Value>> MeanSquaredErrorOp::decompose(OpBuilder &builder) {
  return decomposeWithCount(builder, {});
}

FailureOr<SmallVector<Value>> MeanSquaredErrorOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  Value delta = difference(b, getPrediction(), getTarget());
  return meanOver(b, b.multiply(delta, delta), count, getValid());
}

SmallVector<Value> MeanSquaredErrorOp::buildGradients(OpBuilder &builder, ValueRange gradients,
                                                      const BitVector &wanted) {
  CompositeBuilder b(builder, getLoc());
  Value delta = difference(b, getPrediction(), getTarget());
  Type compute = elementOf(delta), element = elementOf(getPrediction());
  Value share = batchMeanGradient(b, gradients[0], getValid(), shapeOf(delta), compute);
  Value gradient = b.convert(b.multiply(b.add(delta, delta), share), element);
  SmallVector<Value> results(getNumOperands());
  if (wanted.test(0))
    results[0] = gradient;
  if (wanted.test(1))
    results[1] = b.negate(gradient);
  return results;
}

//===----------------------------------------------------------------------===//
// MeanAbsoluteErrorOp, HuberLossOp, BinaryCrossEntropyOp
//===----------------------------------------------------------------------===//

LogicalResult MeanAbsoluteErrorOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  return inferElementLoss(location, getOperationName(), adaptor.getPrediction(), adaptor.getTarget(), types);
}

SmallVector<int64_t> MeanAbsoluteErrorOp::getCountedDims(unsigned index) {
  return index > 1 ? SmallVector<int64_t>() : allDims(tensorOf(getPrediction()).getRank());
}

FailureOr<SmallVector<Value>> MeanAbsoluteErrorOp::decompose(OpBuilder &builder) {
  return decomposeWithCount(builder, {});
}

FailureOr<SmallVector<Value>> MeanAbsoluteErrorOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  return meanOver(b, b.abs(difference(b, getPrediction(), getTarget())), count, getValid());
}

static double deltaOf(const std::optional<APFloat> &delta) { return delta ? delta->convertToDouble() : 1; }

LogicalResult HuberLossOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  if (!(deltaOf(adaptor.getDelta()) > 0))
    return emitOptionalError(location, "'dgc.huber_loss' has a delta of ", deltaOf(adaptor.getDelta()),
                             ", which must be above 0");
  return inferElementLoss(location, getOperationName(), adaptor.getPrediction(), adaptor.getTarget(), types);
}

SmallVector<int64_t> HuberLossOp::getCountedDims(unsigned index) {
  return index > 1 ? SmallVector<int64_t>() : allDims(tensorOf(getPrediction()).getRank());
}

FailureOr<SmallVector<Value>> HuberLossOp::decompose(OpBuilder &builder) { return decomposeWithCount(builder, {}); }

// With q = min(|d|, delta): q (|d| - q / 2).
FailureOr<SmallVector<Value>> HuberLossOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  Value distance = b.abs(difference(b, getPrediction(), getTarget()));
  Value near = b.minimum(distance, b.splat(deltaOf(getDelta()), distance));
  return meanOver(b, b.multiply(near, b.subtract(distance, b.multiply(near, 0.5))), count, getValid());
}

LogicalResult BinaryCrossEntropyOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  return inferElementLoss(location, getOperationName(), adaptor.getPrediction(), adaptor.getTarget(), types);
}

SmallVector<int64_t> BinaryCrossEntropyOp::getCountedDims(unsigned index) {
  return index > 1 ? SmallVector<int64_t>() : allDims(tensorOf(getPrediction()).getRank());
}

FailureOr<SmallVector<Value>> BinaryCrossEntropyOp::decompose(OpBuilder &builder) {
  return decomposeWithCount(builder, {});
}

// -t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)) is softplus(x) - t x.
FailureOr<SmallVector<Value>> BinaryCrossEntropyOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  Type compute = computeType(elementOf(getPrediction()));
  Value x = b.convert(getPrediction(), compute), target = b.convert(getTarget(), compute);
  return meanOver(b, b.subtract(b.softplus(x), b.multiply(target, x)), count, getValid());
}

//===----------------------------------------------------------------------===//
// KlDivergenceOp
//===----------------------------------------------------------------------===//

LogicalResult KlDivergenceOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType type = typeOf(adaptor.getLogProbabilities());
  if (type.getRank() == 1)
    return emitOptionalError(location, "'dgc.kl_divergence' has operands of type ", type,
                             ", which must be [batch, .., classes]");
  return inferElementLoss(location, getOperationName(), adaptor.getLogProbabilities(), adaptor.getTarget(), types);
}

SmallVector<int64_t> KlDivergenceOp::getCountedDims(unsigned index) {
  return index > 1 ? SmallVector<int64_t>() : leadingDims(tensorOf(getTarget()).getRank());
}

FailureOr<SmallVector<Value>> KlDivergenceOp::decompose(OpBuilder &builder) { return decomposeWithCount(builder, {}); }

FailureOr<SmallVector<Value>> KlDivergenceOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  Type compute = computeType(elementOf(getTarget()));
  Value target = b.convert(getTarget(), compute), logs = b.convert(getLogProbabilities(), compute);
  Value above = b.compare(ComparisonDirection::GT, target, b.splat(0, target));
  Value safe = b.select(above, target, b.splat(1, target)); // no logarithm of 0
  Value addends = b.multiply(target, b.subtract(b.log(safe), logs));
  return meanOver(b, b.sum(addends, {tensorOf(target).getRank() - 1}), count, getValid());
}

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
  return meanOver(b, b.convert(hit, element), count, getValid());
}
