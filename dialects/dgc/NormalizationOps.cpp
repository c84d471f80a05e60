// Normalization along the features and over the batch.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/BatchMean.h"
#include "dialects/dgc/Clauses.h"

using namespace mlir;
using namespace dgc;

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

namespace dgc {
void registerNormalizationOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/NormalizationOps.cpp.inc"
      >();
}
} // namespace dgc

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

/// Divides by `count`, an i64 scalar; without it, by `size`.
static Value over(CompositeBuilder &b, Value x, int64_t size, Value count = {}) {
  return count ? b.divide(x, b.broadcastScalar(b.convert(count, elementOf(x)), shapeOf(x)))
               : b.multiply(x, 1.0 / double(size));
}

//===----------------------------------------------------------------------===//
// LayerNormOp
//===----------------------------------------------------------------------===//

LogicalResult LayerNormOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput());
  types.push_back(input);
  return checkVectors(location, getOperationName(), input, {adaptor.getScale(), adaptor.getOffset()});
}

namespace {
/// (x - mean) / sqrt(variance + epsilon) along the last dimension, and the factor of it. `count` elements of that
/// dimension are counted; null: all.
struct NormalizedRows {
  Value normalized, factor; // [.., c], [..]
  NormalizedRows(CompositeBuilder &b, Value x, double epsilon, Value count = {}) {
    int64_t last = tensorOf(x).getRank() - 1, size = shapeOf(x)[last];
    Value centered = b.subtract(x, b.spread(over(b, b.sum(x, {last}), size, count), x, {last}));
    Value variance = over(b, b.sum(b.multiply(centered, centered), {last}), size, count);
    factor = b.rsqrt(b.plus(variance, epsilon));
    normalized = b.multiply(centered, b.spread(factor, x, {last}));
  }
};
} // namespace

SmallVector<int64_t> LayerNormOp::getCountedDims(unsigned index) {
  return index > 0 ? SmallVector<int64_t>() : SmallVector<int64_t>{tensorOf(getInput()).getRank() - 1};
}

FailureOr<SmallVector<Value>> LayerNormOp::decompose(OpBuilder &builder) { return decomposeWithCount(builder, {}); }

FailureOr<SmallVector<Value>> LayerNormOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput()), compute = computeType(element);
  Value x = b.convert(getInput(), compute);
  NormalizedRows rows(b, x, numberOr(getEpsilon(), 1e-5), count);
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
// RmsNormOp
//===----------------------------------------------------------------------===//

LogicalResult RmsNormOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput());
  types.push_back(input);
  return checkVectors(location, getOperationName(), input, adaptor.getScale());
}

SmallVector<int64_t> RmsNormOp::getCountedDims(unsigned index) {
  return index > 0 ? SmallVector<int64_t>() : SmallVector<int64_t>{tensorOf(getInput()).getRank() - 1};
}

/// 1 / sqrt(mean(x^2) + epsilon) along the last dimension, repeated along it.
static Value inverseRms(CompositeBuilder &b, Value x, double epsilon, Value count = {}) {
  const int64_t last = tensorOf(x).getRank() - 1;
  Value mean = over(b, b.sum(b.multiply(x, x), {last}), shapeOf(x)[last], count);
  return b.spread(b.rsqrt(b.plus(mean, epsilon)), x, {last});
}

FailureOr<SmallVector<Value>> RmsNormOp::decompose(OpBuilder &builder) { return decomposeWithCount(builder, {}); }

FailureOr<SmallVector<Value>> RmsNormOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput()), compute = computeType(element);
  Value x = b.convert(getInput(), compute), scale = b.convert(getScale(), compute);
  Value normalized = b.multiply(x, inverseRms(b, x, numberOr(getEpsilon(), 1e-5), count));
  return SmallVector<Value>{b.convert(b.multiply(normalized, b.broadcastLast(scale, shapeOf(x))), element)};
}

// With f = 1 / sqrt(mean(x^2) + epsilon), n = x * f and h = dy * scale: dx = f * (h - n * mean(h * n)); the scale gets
// the sum of dy * n.
SmallVector<Value> RmsNormOp::buildGradients(OpBuilder &builder, ValueRange gradients, const BitVector &wanted) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput()), compute = computeType(element);
  Value x = b.convert(getInput(), compute), dy = b.convert(gradients[0], compute);
  Value factor = inverseRms(b, x, numberOr(getEpsilon(), 1e-5)), normalized = b.multiply(x, factor);
  const int64_t rank = tensorOf(x).getRank(), last = rank - 1;
  SmallVector<Value> results(2);
  if (wanted.test(0)) {
    Value h = b.multiply(dy, b.broadcastLast(b.convert(getScale(), compute), shapeOf(x)));
    Value mean = b.spread(over(b, b.sum(b.multiply(h, normalized), {last}), shapeOf(x)[last]), x, {last});
    results[0] = b.convert(b.multiply(factor, b.subtract(h, b.multiply(normalized, mean))), element);
  }
  if (wanted.test(1))
    results[1] = b.convert(b.sum(b.multiply(dy, normalized), leadingDims(rank)), element);
  return results;
}

//===----------------------------------------------------------------------===//
// GroupNormOp
//===----------------------------------------------------------------------===//

LogicalResult GroupNormOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput());
  types.push_back(input);
  if (failed(checkVectors(location, getOperationName(), input, {adaptor.getScale(), adaptor.getOffset()})))
    return failure();
  const int64_t groups = adaptor.getGroups(), channels = input.getShape().back();
  if (groups < 1 || channels % groups != 0)
    return emitOptionalError(location, "'dgc.group_norm' has ", groups, " groups for ", channels,
                             " channels: their number must divide that of the channels");
  return success();
}

FailureOr<SmallVector<Value>> GroupNormOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput()), compute = computeType(element);
  ArrayRef<int64_t> shape = shapeOf(getInput());
  const auto groups = static_cast<int64_t>(getGroups());
  // [n, .., groups, channels / groups], reduced to [n, groups].
  SmallVector<int64_t> grouped(shape.drop_back()), reduced;
  grouped.append({groups, shape.back() / groups});
  for (int64_t dim = 1, rank = grouped.size(); dim < rank; ++dim)
    if (dim != rank - 2)
      reduced.push_back(dim);
  int64_t count = 1;
  for (int64_t dim : reduced)
    count *= grouped[dim];

  Value x = b.reshape(b.convert(getInput(), compute), grouped);
  auto mean = [&](Value values) { return over(b, b.sum(values, reduced), count); };
  Value centered = b.subtract(x, b.spread(mean(x), x, reduced));
  Value variance = mean(b.multiply(centered, centered));
  Value factor = b.rsqrt(b.plus(variance, numberOr(getEpsilon(), 1e-5)));
  Value normalized = b.reshape(b.multiply(centered, b.spread(factor, x, reduced)), shape);
  auto alongChannels = [&](Value vector) { return b.broadcastLast(b.convert(vector, compute), shape); };
  Value result = b.add(b.multiply(normalized, alongChannels(getScale())), alongChannels(getOffset()));
  return SmallVector<Value>{b.convert(result, element)};
}

//===----------------------------------------------------------------------===//
// InstanceNormOp
//===----------------------------------------------------------------------===//

LogicalResult InstanceNormOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput());
  types.push_back(input);
  return checkVectors(location, getOperationName(), input, {adaptor.getScale(), adaptor.getOffset()});
}

FailureOr<SmallVector<Value>> InstanceNormOp::decompose(OpBuilder &builder) {
  return SmallVector<Value>{GroupNormOp::create(builder, getLoc(), getInput(), getScale(), getOffset(),
                                                builder.getI64IntegerAttr(shapeOf(getInput()).back()),
                                                getEpsilonAttr())};
}

//===----------------------------------------------------------------------===//
// BatchNormOp
//===----------------------------------------------------------------------===//

LogicalResult BatchNormOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput());
  types.append({input, typeOf(adaptor.getMean()), typeOf(adaptor.getVariance())});
  // What belongs to channels may be in what it is computed in.
  Type vectors = typeOf(adaptor.getScale()).getElementType();
  return checkVectors(location, getOperationName(),
                      vectors == computeType(input.getElementType()) ? input.clone(vectors) : input,
                      {adaptor.getScale(), adaptor.getOffset(), adaptor.getMean(), adaptor.getVariance()});
}

void BatchNormOp::setValidCount(Value count) { getValidMutable().assign(count); }

void BatchNormOp::setMode(bool training, Value, Value, int64_t) {
  setTraining(training);
  if (!training)
    getValidMutable().clear();
}

SmallVector<std::pair<Value, unsigned>> BatchNormOp::getRunningStatistics() {
  return {{getMean(), 1}, {getVariance(), 2}};
}

namespace {
/// Mean and variance of each channel: of the real examples of the batch, or those that are given. `counted`, an i64
/// scalar, is the number of elements of a channel; null: of the real examples.
struct ChannelStatistics {
  Value mean, variance, count; // [c], [c]; a scalar, null where they are given
  ChannelStatistics(CompositeBuilder &b, BatchNormOp op, Value x, Value counted = {}) {
    Type compute = elementOf(x);
    if (!op.getTraining()) {
      mean = b.convert(op.getMean(), compute);
      variance = b.convert(op.getVariance(), compute);
      return;
    }
    count = counted ? b.convert(counted, compute) : exampleCount(b, op.getValid(), shapeOf(x).drop_back(), compute);
    auto channelMean = [&](Value values) {
      Value total = b.sum(maskExamples(b, values, op.getValid()), leadingDims(tensorOf(x).getRank()));
      return b.divide(total, b.broadcastScalar(count, shapeOf(total)));
    };
    mean = channelMean(x);
    Value delta = b.subtract(x, b.broadcastLast(mean, shapeOf(x)));
    variance = channelMean(b.multiply(delta, delta));
  }
};

/// 1 / sqrt(variance + epsilon).
Value normalizer(CompositeBuilder &b, BatchNormOp op, Value variance) {
  return b.rsqrt(b.add(variance, b.splat(numberOr(op.getEpsilon(), 1e-5), variance)));
}
} // namespace

SmallVector<int64_t> BatchNormOp::getCountedDims(unsigned index) {
  return index > 0 || !getTraining() ? SmallVector<int64_t>() : leadingDims(tensorOf(getInput()).getRank());
}

FailureOr<SmallVector<Value>> BatchNormOp::decompose(OpBuilder &builder) { return decomposeWithCount(builder, {}); }

FailureOr<SmallVector<Value>> BatchNormOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput()), compute = computeType(element);
  Value x = b.convert(getInput(), compute);
  ChannelStatistics channels(b, *this, x, count);
  Value nextMean = getMean(), nextVariance = getVariance();
  auto alongChannels = [&](Value vector) { return b.broadcastLast(vector, shapeOf(x)); };
  if (getTraining()) {
    double momentum = numberOr(getMomentum(), 0.9);
    auto running = [&](Value old, Value fresh) {
      Value last = b.convert(old, compute);
      Value kept = b.multiply(last, b.splat(momentum, last)), added = b.multiply(fresh, b.splat(1 - momentum, fresh));
      return b.convert(b.add(kept, added), elementOf(old));
    };
    nextMean = running(getMean(), channels.mean);
    nextVariance = running(getVariance(), channels.variance);
  }
  Value factor = normalizer(b, *this, channels.variance), delta = b.subtract(x, alongChannels(channels.mean));
  Value scaled = b.multiply(delta, alongChannels(b.multiply(factor, b.convert(getScale(), compute))));
  Value result = b.add(scaled, alongChannels(b.convert(getOffset(), compute)));
  return SmallVector<Value>{b.convert(result, element), nextMean, nextVariance};
}

// With f = 1 / sqrt(variance + epsilon) and n = (x - mean) * f, the offset gets the sum of dy and the scale that of
// dy * n, over all elements of a channel. Where mean and variance are those of the batch,
//   dx = f * scale * (dy - (sum(dy) + n * sum(dy * n)) / count), the second part for real examples alone.
// The running statistics that are returned are, in training, averages of the old ones and of those of the batch.
SmallVector<Value> BatchNormOp::buildGradients(OpBuilder &builder, ValueRange gradients, const BitVector &wanted) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput()), compute = computeType(element);
  Value x = b.convert(getInput(), compute);
  ChannelStatistics channels(b, *this, x);
  double momentum = numberOr(getMomentum(), 0.9);
  auto alongChannels = [&](Value vector) { return b.broadcastLast(vector, shapeOf(x)); };
  auto overCount = [&](Value vector) { return b.divide(vector, b.broadcastScalar(channels.count, shapeOf(vector))); };
  auto plus = [&](Value sum, Value more) { return !sum ? more : !more ? sum : b.add(sum, more); };
  Value delta = b.subtract(x, alongChannels(channels.mean)), factor = normalizer(b, *this, channels.variance);

  Value ofX, ofScale, ofOffset, ofMean, ofVariance; // of the batch, or of those that are given
  if (gradients[0]) {
    Value dy = b.convert(gradients[0], compute), normalized = b.multiply(delta, alongChannels(factor));
    Value slope = b.multiply(factor, b.convert(getScale(), compute));
    SmallVector<int64_t> reduced = leadingDims(tensorOf(x).getRank());
    ofOffset = b.sum(dy, reduced);
    ofScale = b.sum(b.multiply(dy, normalized), reduced);
    if (getTraining()) {
      Value shared =
          b.add(alongChannels(overCount(ofOffset)), b.multiply(normalized, alongChannels(overCount(ofScale))));
      ofX = b.multiply(alongChannels(slope), b.subtract(dy, maskExamples(b, shared, getValid())));
    } else {
      ofX = b.multiply(alongChannels(slope), dy);
      ofMean = b.negate(b.multiply(slope, ofOffset));
      ofVariance = b.multiply(b.multiply(b.multiply(slope, factor), ofScale), -0.5);
    }
  }
  // What the statistics that are returned ask for.
  Value next[] = {gradients[1] ? b.convert(gradients[1], compute) : Value(),
                  gradients[2] ? b.convert(gradients[2], compute) : Value()};
  if (getTraining()) {
    if (next[0])
      ofX = plus(ofX, maskExamples(b, alongChannels(overCount(b.multiply(next[0], 1 - momentum))), getValid()));
    if (next[1])
      ofX =
          plus(ofX, maskExamples(b, b.multiply(delta, alongChannels(overCount(b.multiply(next[1], 2 - 2 * momentum)))),
                                 getValid()));
    for (Value &gradient : next)
      gradient = gradient ? b.multiply(gradient, momentum) : Value();
  }
  SmallVector<Value> results{ofX, ofScale, ofOffset, plus(ofMean, next[0]), plus(ofVariance, next[1])};
  for (auto [index, result] : llvm::enumerate(results))
    result = result && wanted.test(index) ? b.convert(result, elementOf(getOperand(index))) : Value();
  results.resize(getNumOperands());
  return results;
}
