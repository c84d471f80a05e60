// Activations.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/CompositeBuilder.h"
#include "dialects/dgc/OpSupport.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace dgc;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

static ParseResult parseSlope(OpAsmParser &parser, FloatAttr &slope) {
  return parseOptionalNumber(parser, "slope", slope);
}
static void printSlope(OpAsmPrinter &printer, Operation *, FloatAttr slope) {
  printOptionalNumber(printer, "slope", slope);
}

static ParseResult parseAlpha(OpAsmParser &parser, FloatAttr &alpha) {
  return parseOptionalNumber(parser, "alpha", alpha);
}
static void printAlpha(OpAsmPrinter &printer, Operation *, FloatAttr alpha) {
  printOptionalNumber(printer, "alpha", alpha);
}

#define GET_OP_CLASSES
#include "dialects/dgc/ActivationOps.cpp.inc"

namespace dgc {
void registerActivationOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/ActivationOps.cpp.inc"
      >();
}
} // namespace dgc

static RankedTensorType typeOf(Value value) { return withoutEncoding(cast<RankedTensorType>(value.getType())); }

//===----------------------------------------------------------------------===//
// ReluOp, SigmoidOp
//===----------------------------------------------------------------------===//

LogicalResult ReluOp::inferTypes(std::optional<Location>, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(typeOf(adaptor.getInput()));
  return success();
}

FailureOr<SmallVector<Value>> ReluOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  return SmallVector<Value>{b.maximum(getInput(), b.splat(0, getInput()))};
}

// Looks at the result, which is above 0 where the input is: the input need not be kept.
SmallVector<Value> ReluOp::buildGradients(OpBuilder &builder, ValueRange gradients, const BitVector &) {
  CompositeBuilder b(builder, getLoc());
  Value zero = b.splat(0, getResult());
  return {b.select(b.compare(ComparisonDirection::GT, getResult(), zero), gradients[0], zero)};
}

LogicalResult SigmoidOp::inferTypes(std::optional<Location>, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(typeOf(adaptor.getInput()));
  return success();
}

FailureOr<SmallVector<Value>> SigmoidOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  return SmallVector<Value>{b.logistic(getInput())};
}

//===----------------------------------------------------------------------===//
// SiluOp, LeakyReluOp, EluOp
//===----------------------------------------------------------------------===//

LogicalResult SiluOp::inferTypes(std::optional<Location>, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(typeOf(adaptor.getInput()));
  return success();
}

FailureOr<SmallVector<Value>> SiluOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput());
  Value x = b.convert(getInput(), computeType(element));
  return SmallVector<Value>{b.convert(b.multiply(x, b.logistic(x)), element)};
}

LogicalResult SwigluOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType gate = typeOf(adaptor.getGate());
  if (adaptor.getInput()) {
    types.push_back(gate);
    return checkSameType(location, getOperationName(), gate, adaptor.getInput().getType());
  }
  if (gate.getRank() == 0 || gate.getShape().back() % 2 != 0)
    return emitOptionalError(location, "'dgc.swiglu' takes halves of the last dimension of ", gate,
                             ", whose size must be even; 'dgc.swiglu %gate, %x' takes two tensors");
  SmallVector<int64_t> shape(gate.getShape());
  shape.back() /= 2;
  types.push_back(RankedTensorType::get(shape, gate.getElementType()));
  return success();
}

FailureOr<SmallVector<Value>> SwigluOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getGate()), compute = computeType(element);
  Value gate = getGate(), x = getInput();
  if (!x) {
    SmallVector<int64_t> middle(shapeOf(gate).size(), 0), end(shapeOf(getResult()));
    middle.back() = end.back();
    x = b.slice(gate, middle, shapeOf(gate));
    gate = b.slice(gate, SmallVector<int64_t>(end.size(), 0), end);
  }
  gate = b.convert(gate, compute);
  Value open = b.multiply(gate, b.logistic(gate));
  return SmallVector<Value>{b.convert(b.multiply(open, b.convert(x, compute)), element)};
}

LogicalResult LeakyReluOp::inferTypes(std::optional<Location>, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(typeOf(adaptor.getInput()));
  return success();
}

FailureOr<SmallVector<Value>> LeakyReluOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  const double slope = getSlope() ? getSlope()->convertToDouble() : 0.01;
  Value above = b.compare(ComparisonDirection::GT, getInput(), b.splat(0, getInput()));
  return SmallVector<Value>{b.select(above, getInput(), b.multiply(getInput(), slope))};
}

static double alphaOf(const std::optional<APFloat> &alpha) { return alpha ? alpha->convertToDouble() : 1; }

LogicalResult EluOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  if (!(alphaOf(adaptor.getAlpha()) > 0))
    return emitOptionalError(location, "'dgc.elu' has an alpha of ", alphaOf(adaptor.getAlpha()),
                             ", which must be above 0");
  types.push_back(typeOf(adaptor.getInput()));
  return success();
}

FailureOr<SmallVector<Value>> EluOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput());
  Value x = b.convert(getInput(), computeType(element)), zero = b.splat(0, x);
  Value below = b.multiply(b.exponentialMinusOne(b.minimum(x, zero)), alphaOf(getAlpha()));
  return SmallVector<Value>{b.convert(b.select(b.compare(ComparisonDirection::GT, x, zero), x, below), element)};
}

// Below 0 the derivative is alpha exp(x), the result plus alpha: the operand need not be kept.
SmallVector<Value> EluOp::buildGradients(OpBuilder &builder, ValueRange gradients, const BitVector &) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput()), compute = computeType(element);
  Value y = b.convert(getResult(), compute), dy = b.convert(gradients[0], compute);
  Value above = b.compare(ComparisonDirection::GT, y, b.splat(0, y));
  return {b.convert(b.select(above, dy, b.multiply(dy, b.plus(y, alphaOf(getAlpha())))), element)};
}

//===----------------------------------------------------------------------===//
// GeluOp
//===----------------------------------------------------------------------===//

static constexpr double cubic = 0.044715;
static const double root2OverPi = std::sqrt(2 / std::numbers::pi);

/// The share of x that gelu lets through: (1 + erf(x / sqrt 2)) / 2 or its approximation.
static Value geluGate(CompositeBuilder &b, Value x, bool approximate) {
  Value bend;
  if (approximate) {
    // tanh(sqrt(2 / pi) * x * (1 + 0.044715 x^2))
    Value inner = b.multiply(x, b.plus(b.multiply(b.multiply(x, x), cubic), 1));
    bend = b.tanh(b.multiply(inner, root2OverPi));
  } else {
    bend = b.erf(b.multiply(x, std::numbers::sqrt2 / 2));
  }
  return b.plus(b.multiply(bend, 0.5), 0.5);
}

LogicalResult GeluOp::inferTypes(std::optional<Location>, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(typeOf(adaptor.getInput()));
  return success();
}

FailureOr<SmallVector<Value>> GeluOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput());
  Value x = b.convert(getInput(), computeType(element));
  return SmallVector<Value>{b.convert(b.multiply(x, geluGate(b, x, getApproximate())), element)};
}

SmallVector<Value> GeluOp::buildGradients(OpBuilder &builder, ValueRange gradients, const BitVector &) {
  return {GeluGradOp::create(builder, getLoc(), getInput(), gradients[0], getApproximate())};
}

ShardingRule GeluOp::getShardingRule() { return ShardingRuleBuilder(*this).elementwise().build(); }
bool GeluOp::isLinearIn(int) { return false; }
OpCost GeluOp::getCost() { return costPerElement(*this, 30); }

LogicalResult GeluGradOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferSameType(location, getOperationName(), adaptor.getOperands(), types);
}

//   erf:  gate + x * exp(-x^2 / 2) / sqrt(2 pi)
//   tanh: gate + x * 2 gate (1 - gate) * sqrt(2 / pi) (1 + 3 * 0.044715 x^2), as tanh' = 4 gate (1 - gate)
FailureOr<SmallVector<Value>> GeluGradOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput());
  Value x = b.convert(getInput(), computeType(element)), gate = geluGate(b, x, getApproximate()), slope;
  if (getApproximate()) {
    Value bell = b.multiply(gate, b.subtract(b.splat(1, gate), gate));
    Value inner = b.plus(b.multiply(b.multiply(x, x), 6 * root2OverPi * cubic), 2 * root2OverPi);
    slope = b.multiply(bell, inner);
  } else {
    slope = b.multiply(b.exponential(b.multiply(b.multiply(x, x), -0.5)), 1 / std::sqrt(2 * std::numbers::pi));
  }
  Value derivative = b.add(gate, b.multiply(x, slope));
  return SmallVector<Value>{b.convert(b.multiply(b.convert(getGradient(), computeType(element)), derivative), element)};
}

ShardingRule GeluGradOp::getShardingRule() { return ShardingRuleBuilder(*this).elementwise().build(); }
bool GeluGradOp::isLinearIn(int index) { return index == 1; }
OpCost GeluGradOp::getCost() { return costPerElement(*this, 40); }

//===----------------------------------------------------------------------===//
// SoftmaxOp, LogSoftmaxOp
//===----------------------------------------------------------------------===//

/// The dimension that an attribute means, where -1 is the last.
static int64_t resolveDim(int64_t dim, int64_t rank) { return dim < 0 ? dim + rank : dim; }

static LogicalResult inferAlongDim(std::optional<Location> location, StringRef name, Value input, int64_t dim,
                                   SmallVectorImpl<Type> &types) {
  RankedTensorType type = typeOf(input);
  if (dim < -type.getRank() || dim >= type.getRank())
    return emitOptionalError(location, "'", name, "' runs along dimension ", dim, ", which ", type, " does not have");
  types.push_back(type);
  return success();
}

LogicalResult SoftmaxOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferAlongDim(location, getOperationName(), adaptor.getInput(), adaptor.getDim(), types);
}

/// x minus its maximum along a dimension.
static Value shiftByMax(CompositeBuilder &b, Value x, int64_t dim) {
  return b.subtract(x, b.spread(b.reduce(ReductionKind::Max, x, {dim}), x, {dim}));
}

FailureOr<SmallVector<Value>> SoftmaxOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput());
  int64_t dim = resolveDim(getDim(), tensorOf(getInput()).getRank());
  Value x = b.convert(getInput(), computeType(element));
  Value exponentials = b.exponential(shiftByMax(b, x, dim));
  Value total = b.spread(b.sum(exponentials, {dim}), x, {dim});
  return SmallVector<Value>{b.convert(b.divide(exponentials, total), element)};
}

// y * (dy - sum(dy * y))
SmallVector<Value> SoftmaxOp::buildGradients(OpBuilder &builder, ValueRange gradients, const BitVector &) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput()), compute = computeType(element);
  int64_t dim = resolveDim(getDim(), tensorOf(getInput()).getRank());
  Value y = b.convert(getResult(), compute), dy = b.convert(gradients[0], compute);
  Value mean = b.spread(b.sum(b.multiply(dy, y), {dim}), y, {dim});
  return {b.convert(b.multiply(y, b.subtract(dy, mean)), element)};
}

LogicalResult LogSoftmaxOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  return inferAlongDim(location, getOperationName(), adaptor.getInput(), adaptor.getDim(), types);
}

FailureOr<SmallVector<Value>> LogSoftmaxOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput());
  int64_t dim = resolveDim(getDim(), tensorOf(getInput()).getRank());
  Value shifted = shiftByMax(b, b.convert(getInput(), computeType(element)), dim);
  Value total = b.log(b.sum(b.exponential(shifted), {dim}));
  return SmallVector<Value>{b.convert(b.subtract(shifted, b.spread(total, shifted, {dim})), element)};
}

// dy - exp(y) * sum(dy)
SmallVector<Value> LogSoftmaxOp::buildGradients(OpBuilder &builder, ValueRange gradients, const BitVector &) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput()), compute = computeType(element);
  int64_t dim = resolveDim(getDim(), tensorOf(getInput()).getRank());
  Value y = b.convert(getResult(), compute), dy = b.convert(gradients[0], compute);
  Value total = b.spread(b.sum(dy, {dim}), y, {dim});
  return {b.convert(b.subtract(dy, b.multiply(b.exponential(y), total)), element)};
}
