// Normalization along the features and over the batch.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/BatchMean.h"
#include "dialects/dgc/Clauses.h"

using namespace mlir;
using namespace mlir::dgc;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

static ParseResult parseEpsilon(OpAsmParser &parser, FloatAttr &epsilon) {
  return parseOptionalNumber(parser, "epsilon", epsilon);
}

static void printEpsilon(OpAsmPrinter &printer, Operation *, FloatAttr epsilon) {
  printOptionalNumber(printer, "epsilon", epsilon);
}

static ParseResult parseBatchNormClauses(OpAsmParser &parser, FloatAttr &momentum, FloatAttr &epsilon) {
  return failure(failed(parseOptionalNumber(parser, "momentum", momentum)) ||
                 failed(parseOptionalNumber(parser, "epsilon", epsilon)));
}

static void printBatchNormClauses(OpAsmPrinter &printer, Operation *, FloatAttr momentum, FloatAttr epsilon) {
  printOptionalNumber(printer, "momentum", momentum);
  printOptionalNumber(printer, "epsilon", epsilon);
}

#define GET_OP_CLASSES
#include "dialects/dgc/NormalizationOps.cpp.inc"

namespace mlir::dgc {
void registerNormalizationOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/NormalizationOps.cpp.inc"
      >();
}
} // namespace mlir::dgc

static RankedTensorType typeOf(Value value) { return withoutEncoding(cast<RankedTensorType>(value.getType())); }

/// Checks that each of `vectors` has one element for each element of the last dimension of `input`.
static LogicalResult checkVectors(std::optional<Location> location, StringRef name, RankedTensorType input,
                                  ValueRange vectors) {
  if (input.getRank() < 2)
    return emitOptionalError(location, "'", name, "' has an input of type ", input, ", which must be [batch, .., c]");
  auto vector = RankedTensorType::get({input.getShape().back()}, input.getElementType());
  for (Value value : vectors)
    if (typeOf(value) != vector)
      return emitOptionalError(location, "'", name, "' has an input of type ", input, " and a parameter of type ",
                               typeOf(value), ", which must be ", vector);
  return success();
}

static double numberOr(const std::optional<APFloat> &value, double otherwise) {
  return value ? value->convertToDouble() : otherwise;
}

/// Divides by a count that is known.
static Value over(CompositeBuilder &b, Value x, int64_t count) { return b.multiply(x, 1.0 / double(count)); }

//===----------------------------------------------------------------------===//
// LayerNormOp
//===----------------------------------------------------------------------===//

LogicalResult LayerNormOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput());
  types.push_back(input);
  return checkVectors(location, getOperationName(), input, {adaptor.getScale(), adaptor.getOffset()});
}

namespace {
/// (x - mean) / sqrt(variance + epsilon) along the last dimension, and the factor of it.
struct NormalizedRows {
  Value normalized, factor; // [.., c], [..]
  NormalizedRows(CompositeBuilder &b, Value x, double epsilon) {
    int64_t last = tensorOf(x).getRank() - 1, size = shapeOf(x)[last];
    Value centered = b.subtract(x, b.spread(over(b, b.sum(x, {last}), size), x, {last}));
    Value variance = over(b, b.sum(b.multiply(centered, centered), {last}), size);
    factor = b.rsqrt(b.add(variance, b.splat(epsilon, variance)));
    normalized = b.multiply(centered, b.spread(factor, x, {last}));
  }
};
} // namespace

FailureOr<SmallVector<Value>> LayerNormOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput()), compute = computeType(element);
  Value x = b.convert(getInput(), compute);
  NormalizedRows rows(b, x, numberOr(getEpsilon(), 1e-5));
  Value scaled = b.multiply(rows.normalized, b.broadcastLast(b.convert(getScale(), compute), shapeOf(x)));
  return SmallVector<Value>{
      b.convert(b.add(scaled, b.broadcastLast(b.convert(getOffset(), compute), shapeOf(x))), element)};
}

// With n = normalized and h = dy * scale: dx = factor * (h - mean(h) - n * mean(h * n)); the scale gets the sum of
// dy * n, the offset that of dy.
SmallVector<Value> LayerNormOp::buildGradients(OpBuilder &builder, ValueRange gradients, const BitVector &wanted) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput()), compute = computeType(element);
  Value x = b.convert(getInput(), compute), dy = b.convert(gradients[0], compute);
  NormalizedRows rows(b, x, numberOr(getEpsilon(), 1e-5));
  int64_t rank = tensorOf(x).getRank(), last = rank - 1, size = shapeOf(x)[last];
  SmallVector<Value> results(3);
  if (wanted.test(0)) {
    Value h = b.multiply(dy, b.broadcastLast(b.convert(getScale(), compute), shapeOf(x)));
    auto rowMean = [&](Value value) { return b.spread(over(b, b.sum(value, {last}), size), x, {last}); };
    Value inner =
        b.subtract(b.subtract(h, rowMean(h)), b.multiply(rows.normalized, rowMean(b.multiply(h, rows.normalized))));
    results[0] = b.convert(b.multiply(b.spread(rows.factor, x, {last}), inner), element);
  }
  if (wanted.test(1))
    results[1] = b.convert(b.sum(b.multiply(dy, rows.normalized), leadingDims(rank)), element);
  if (wanted.test(2))
    results[2] = b.convert(b.sum(dy, leadingDims(rank)), element);
  return results;
}

//===----------------------------------------------------------------------===//
// BatchNormOp
//===----------------------------------------------------------------------===//

LogicalResult BatchNormOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput());
  types.append({input, typeOf(adaptor.getMean()), typeOf(adaptor.getVariance())});
  return checkVectors(location, getOperationName(), input,
                      {adaptor.getScale(), adaptor.getOffset(), adaptor.getMean(), adaptor.getVariance()});
}

void BatchNormOp::setValidCount(Value count) { getValidMutable().assign(count); }

void BatchNormOp::setMode(bool training, Value, Value, int64_t) {
  setTraining(training);
  if (!training)
    getValidMutable().clear();
}

FailureOr<SmallVector<Value>> BatchNormOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput()), compute = computeType(element);
  Value x = b.convert(getInput(), compute);
  Value mean = b.convert(getMean(), compute), variance = b.convert(getVariance(), compute);
  Value nextMean = getMean(), nextVariance = getVariance();
  auto alongChannels = [&](Value vector) { return b.broadcastLast(vector, shapeOf(x)); };
  if (getTraining()) {
    Value runningMean = mean, runningVariance = variance;
    SmallVector<int64_t> reduced = leadingDims(tensorOf(x).getRank());
    Value count = exampleCount(b, getValid(), shapeOf(x).drop_back(), compute);
    auto channelMean = [&](Value values) {
      Value total = b.sum(maskExamples(b, values, getValid()), reduced);
      return b.divide(total, b.broadcastScalar(count, shapeOf(total)));
    };
    mean = channelMean(x);
    Value delta = b.subtract(x, alongChannels(mean));
    variance = channelMean(b.multiply(delta, delta));
    double momentum = numberOr(getMomentum(), 0.9);
    auto running = [&](Value old, Value fresh) {
      Value kept = b.multiply(old, b.splat(momentum, old)), added = b.multiply(fresh, b.splat(1 - momentum, fresh));
      return b.convert(b.add(kept, added), element);
    };
    nextMean = running(runningMean, mean);
    nextVariance = running(runningVariance, variance);
  }
  Value factor = b.rsqrt(b.add(variance, b.splat(numberOr(getEpsilon(), 1e-5), variance)));
  Value scaled =
      b.multiply(b.subtract(x, alongChannels(mean)), alongChannels(b.multiply(factor, b.convert(getScale(), compute))));
  Value result = b.add(scaled, alongChannels(b.convert(getOffset(), compute)));
  return SmallVector<Value>{b.convert(result, element), nextMean, nextVariance};
}
