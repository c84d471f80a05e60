// Losses and metrics: means over the global batch.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/BatchMean.h"

using namespace mlir;
using namespace dgc;

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

LogicalResult CrossEntropyOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType logits = typeOf(adaptor.getLogits()), labels = typeOf(adaptor.getLabels());
  types.push_back(meanType(logits));
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
  Value logTotal = b.log(rows.total), losses;
  if (isa<FloatType>(elementOf(getLabels()))) {
    Value labels = b.convert(getLabels(), element);
    Value weighted = b.multiply(logTotal, b.sum(labels, {rows.last}));
    losses = b.subtract(weighted, b.sum(b.multiply(labels, rows.shifted), {rows.last}));
  } else {
    Value hit = isLabel(b, getLabels(), getLogits());
    Value picked = b.sum(b.select(hit, rows.shifted, b.splat(0, rows.shifted)), {rows.last});
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
  Value labels = distributions ? b.convert(getLabels(), element) : Value();
  if (wanted.test(0)) {
    Value mass = distributions ? b.multiply(share, b.sum(labels, {rows.last})) : share;
    Value spreadOut = b.multiply(rows.exponentials, alongRow(b.divide(mass, rows.total)));
    Value gradient;
    if (distributions)
      gradient = b.subtract(spreadOut, b.multiply(labels, alongRow(share)));
    else
      gradient = b.select(isLabel(b, getLabels(), getLogits()), b.subtract(spreadOut, alongRow(share)), spreadOut);
    results[0] = b.convert(gradient, logitType);
  }
  if (distributions && wanted.test(1)) {
    Value losses = b.subtract(alongRow(b.log(rows.total)), rows.shifted);
    results[1] = b.convert(b.multiply(losses, alongRow(share)), elementOf(getLabels()));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// MeanSquaredErrorOp
//===----------------------------------------------------------------------===//

LogicalResult MeanSquaredErrorOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  RankedTensorType prediction = typeOf(adaptor.getPrediction()), target = typeOf(adaptor.getTarget());
  if (prediction != target)
    return emitOptionalError(location, "'dgc.mean_squared_error' compares a prediction of type ", prediction,
                             " with a target of type ", target, ": they must be the same");
  if (prediction.getRank() == 0)
    return emitOptionalError(location, "'dgc.mean_squared_error' has scalar operands: it takes the mean over a batch");
  types.push_back(meanType(prediction));
  return success();
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

// The first class whose logit is the maximum of its row, against the label.
FailureOr<SmallVector<Value>> AccuracyOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  Type i32 = builder.getI32Type(), element = computeType(elementOf(getLogits()));
  Value logits = b.convert(getLogits(), element);
  int64_t last = tensorOf(logits).getRank() - 1;
  Value largest = b.spread(b.reduce(ReductionKind::Max, logits, {last}), logits, {last});
  Value classes = b.iota(shapeOf(logits), i32, last);
  Value isLargest = b.compare(ComparisonDirection::EQ, logits, largest);
  Value candidates = b.select(isLargest, classes, b.splat(double(shapeOf(logits)[last]), classes));
  Value best = b.reduce(ReductionKind::Min, candidates, {last});
  Value hit = b.compare(ComparisonDirection::EQ, best, b.convert(getLabels(), i32));
  return meanOver(b, b.convert(hit, element), count, getValid());
}
