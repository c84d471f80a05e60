// Losses: means over the global batch.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/BatchMean.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/LossUtil.h"

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

static ParseResult parseTemperature(OpAsmParser &parser, FloatAttr &temperature) {
  return parseOptionalNumber(parser, "temperature", temperature);
}
static void printTemperature(OpAsmPrinter &printer, Operation *, FloatAttr temperature) {
  printOptionalNumber(printer, "temperature", temperature);
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

//===----------------------------------------------------------------------===//
// MeanSquaredErrorOp
//===----------------------------------------------------------------------===//

/// The type of a mean over all elements of two tensors of one type. The losses lack the last `lostDims` of
/// their dimensions.
static LogicalResult inferElementLoss(std::optional<Location> location, StringRef name, Value prediction, Value target,
                                      Value sampleWeights, SmallVectorImpl<Type> &types, int64_t lostDims = 0) {
  RankedTensorType type = typeOf(prediction);
  if (type != typeOf(target))
    return emitOptionalError(location, "'", name, "' compares a prediction of type ", type, " with a target of type ",
                             typeOf(target), ": they must be the same");
  if (type.getRank() == 0)
    return emitOptionalError(location, "'", name, "' has scalar operands: it takes the mean over a batch");
  types.push_back(meanType(type));
  return checkSampleWeights(location, name, sampleWeights, type.getShape().drop_back(lostDims));
}

LogicalResult MeanSquaredErrorOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  return inferElementLoss(location, getOperationName(), adaptor.getPrediction(), adaptor.getTarget(),
                          adaptor.getSampleWeights(), types);
}

/// The mean of losses, each with the weight of its example where there are such.
static SmallVector<Value> sampleMean(CompositeBuilder &b, Value losses, Value sampleWeights, Value count, Value valid) {
  if (!sampleWeights)
    return {meanOver(b, losses, count, valid)};
  Value weights = spreadSampleWeights(b, sampleWeights, losses);
  return {quotientOfSums(b, b.multiply(weights, losses), weights, valid)};
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
  return sampleMean(b, b.multiply(delta, delta), getSampleWeights(), count, getValid());
}

// Weights may be trained, too: their gradients are those of the decomposition.
bool MeanSquaredErrorOp::keepForGradient() { return !getSampleWeights(); }

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
  return inferElementLoss(location, getOperationName(), adaptor.getPrediction(), adaptor.getTarget(),
                          adaptor.getSampleWeights(), types);
}

SmallVector<int64_t> MeanAbsoluteErrorOp::getCountedDims(unsigned index) {
  return index > 1 ? SmallVector<int64_t>() : allDims(tensorOf(getPrediction()).getRank());
}

FailureOr<SmallVector<Value>> MeanAbsoluteErrorOp::decompose(OpBuilder &builder) {
  return decomposeWithCount(builder, {});
}

FailureOr<SmallVector<Value>> MeanAbsoluteErrorOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  return sampleMean(b, b.abs(difference(b, getPrediction(), getTarget())), getSampleWeights(), count, getValid());
}

static double deltaOf(const std::optional<APFloat> &delta) { return delta ? delta->convertToDouble() : 1; }

LogicalResult HuberLossOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  if (!(deltaOf(adaptor.getDelta()) > 0))
    return emitOptionalError(location, "'dgc.huber_loss' has a delta of ", deltaOf(adaptor.getDelta()),
                             ", which must be above 0");
  return inferElementLoss(location, getOperationName(), adaptor.getPrediction(), adaptor.getTarget(),
                          adaptor.getSampleWeights(), types);
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
  return sampleMean(b, b.multiply(near, b.subtract(distance, b.multiply(near, 0.5))), getSampleWeights(), count,
                    getValid());
}

LogicalResult BinaryCrossEntropyOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  return inferElementLoss(location, getOperationName(), adaptor.getPrediction(), adaptor.getTarget(),
                          adaptor.getSampleWeights(), types);
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
  return sampleMean(b, b.subtract(b.softplus(x), b.multiply(target, x)), getSampleWeights(), count, getValid());
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
  return inferElementLoss(location, getOperationName(), adaptor.getLogProbabilities(), adaptor.getTarget(),
                          adaptor.getSampleWeights(), types, /*lostDims=*/1);
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
  return sampleMean(b, b.sum(addends, {tensorOf(target).getRank() - 1}), getSampleWeights(), count, getValid());
}

//===----------------------------------------------------------------------===//
// ContrastiveLossOp
//===----------------------------------------------------------------------===//

static double temperatureOf(const std::optional<APFloat> &temperature) {
  return temperature ? temperature->convertToDouble() : 1;
}

LogicalResult ContrastiveLossOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType lhs = typeOf(adaptor.getLhs()), rhs = typeOf(adaptor.getRhs());
  const double temperature = temperatureOf(adaptor.getTemperature());
  if (!(temperature > 0))
    return emitOptionalError(location, "'dgc.contrastive_loss' has a temperature of ", temperature,
                             ", which must be above 0");
  if (lhs != rhs || lhs.getRank() != 2)
    return emitOptionalError(location, "'dgc.contrastive_loss' pairs the rows of ", lhs, " and of ", rhs,
                             ": both must be [batch, features], of one type");
  types.push_back(meanType(lhs));
  return success();
}

SmallVector<int64_t> ContrastiveLossOp::getCountedDims(unsigned) { return {0}; }

FailureOr<SmallVector<Value>> ContrastiveLossOp::decompose(OpBuilder &builder) {
  return decomposeWithCount(builder, {});
}

// Along each row i, and each column i: log(sum of exp(s)) - s[i, i].
FailureOr<SmallVector<Value>> ContrastiveLossOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  Type compute = computeType(elementOf(getLhs()));
  Value scaled = b.multiply(b.convert(getLhs(), compute), 1 / temperatureOf(getTemperature()));
  Value rhs = b.convert(getRhs(), compute);
  Value similarities = b.dot(scaled, rhs, {}, {}, {1}, {1});
  Value logs = b.logSumExp(similarities, 1);
  if (!getOneWay())
    logs = b.multiply(b.add(logs, b.logSumExp(similarities, 0)), 0.5);
  Value losses = b.subtract(logs, b.sum(b.multiply(scaled, rhs), {1}));
  return SmallVector<Value>{meanOver(b, losses, count, /*valid=*/{})};
}
