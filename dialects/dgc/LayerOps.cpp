// Layers: matrix products, and what changes shape or scale between them.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/LayerUtil.h"

using namespace mlir;
using namespace dgc;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

static ParseResult parseScaleClause(OpAsmParser &parser, FloatAttr &factor, FloatAttr &offset) {
  if (parser.parseKeyword("by") || parseNumber(parser, factor))
    return failure();
  return parseOptionalNumber(parser, "plus", offset);
}

static void printScaleClause(OpAsmPrinter &printer, Operation *, FloatAttr factor, FloatAttr offset) {
  printer << "by ";
  printNumber(printer, nullptr, factor);
  printOptionalNumber(printer, "plus", offset);
}

#define GET_OP_CLASSES
#include "dialects/dgc/LayerOps.cpp.inc"

namespace dgc {
void registerLayerOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/LayerOps.cpp.inc"
      >();
}
} // namespace dgc

//===----------------------------------------------------------------------===//
// MatmulOp, DenseOp
//===----------------------------------------------------------------------===//

/// The right operand is stored as [.., n, k] where it is `transposed`, else as [.., k, n].
static LogicalResult inferMatmul(std::optional<Location> location, StringRef name, Value lhs, Value rhs,
                                 bool transposed, SmallVectorImpl<Type> &types) {
  RankedTensorType a = typeOf(lhs), b = typeOf(rhs);
  if (failed(checkElements(location, name, a, b)))
    return failure();
  if (a.getRank() < 2 || b.getRank() < 2)
    return emitOptionalError(location, "'", name, "' multiplies matrices, but has operands of types ", a, " and ", b,
                             ": each needs two dimensions or more");
  if (b.getRank() != 2 && (a.getRank() != b.getRank() || a.getShape().drop_back(2) != b.getShape().drop_back(2)))
    return emitOptionalError(location, "'", name, "' has operands of types ", a, " and ", b,
                             ": their leading dimensions must be the same, or the right operand must have two "
                             "dimensions only");
  int64_t inner = a.getShape().back(), last = b.getRank() - 1, rows = b.getDimSize(transposed ? last : last - 1);
  if (inner != rows)
    return emitOptionalError(location, "'", name, "' multiplies ", a, " by ", b, ": the last dimension of the left (",
                             inner, ") must be the ", transposed ? "last" : "last but one", " of the right (", rows,
                             ")");
  SmallVector<int64_t> shape(a.getShape().drop_back());
  shape.push_back(b.getDimSize(transposed ? last - 1 : last));
  types.push_back(RankedTensorType::get(shape, a.getElementType()));
  return success();
}

static Value buildMatmul(CompositeBuilder &b, Value lhs, Value rhs, bool transposed = false) {
  int64_t leftRank = tensorOf(lhs).getRank(), rightRank = tensorOf(rhs).getRank();
  SmallVector<int64_t> batch = rightRank == 2 ? SmallVector<int64_t>() : leadingDims(rightRank, 2);
  return DotGeneralOp::create(b.builder, b.location, lhs, rhs, batch, batch, ArrayRef<int64_t>{leftRank - 1},
                              ArrayRef<int64_t>{transposed ? rightRank - 1 : rightRank - 2});
}

LogicalResult MatmulOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferMatmul(location, getOperationName(), adaptor.getLhs(), adaptor.getRhs(), adaptor.getTransposed(), types);
}

FailureOr<SmallVector<Value>> MatmulOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  return SmallVector<Value>{buildMatmul(b, getLhs(), getRhs(), getTransposed())};
}

LogicalResult DenseOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType weights = typeOf(adaptor.getWeights()), input = typeOf(adaptor.getInput());
  if (weights.getRank() != 2)
    return emitOptionalError(location, "'dgc.dense' has weights of type ", weights,
                             ", which must be a matrix of shape [in, out]");
  if (input.getRank() > 2 && input.getShape().back() != weights.getDimSize(0))
    return emitOptionalError(location, "'dgc.dense' has an input of type ", input, " and weights of type ", weights,
                             ": the last dimension of the input must be ", weights.getDimSize(0),
                             "; where the input is an image, flatten it first: dgc.flatten %x");
  if (failed(inferMatmul(location, getOperationName(), adaptor.getInput(), adaptor.getWeights(),
                         /*transposed=*/false, types)))
    return failure();
  return checkBias(location, getOperationName(), input, adaptor.getBias(), weights.getDimSize(1));
}

FailureOr<SmallVector<Value>> DenseOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  return SmallVector<Value>{addBias(b, buildMatmul(b, getInput(), getWeights()), getBias())};
}

//===----------------------------------------------------------------------===//
// BiasAddOp, ScaleOp
//===----------------------------------------------------------------------===//

LogicalResult BiasAddOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput());
  if (input.getRank() == 0)
    return emitOptionalError(location, "'dgc.bias_add' has a scalar as its input: it needs a dimension of channels");
  types.push_back(input);
  return checkBias(location, getOperationName(), input, adaptor.getBias(), input.getShape().back());
}

FailureOr<SmallVector<Value>> BiasAddOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  return SmallVector<Value>{addBias(b, getInput(), getBias())};
}

LogicalResult ScaleOp::inferTypes(std::optional<Location>, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(typeOf(adaptor.getInput()));
  return success();
}

FailureOr<SmallVector<Value>> ScaleOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Value result = b.multiply(getInput(), b.splat(getFactor().convertToDouble(), getInput()));
  if (getOffset())
    result = b.add(result, b.splat(getOffset()->convertToDouble(), result));
  return SmallVector<Value>{result};
}

//===----------------------------------------------------------------------===//
// MeanOp, ArgmaxOp, TopKOp, OneHotOp
//===----------------------------------------------------------------------===//

/// The dimensions that a mean is over, in their order and counted from the first one: all where none are given.
static SmallVector<int64_t> dimsOfMean(std::optional<ArrayRef<int64_t>> dims, int64_t rank) {
  SmallVector<int64_t> result = dims ? SmallVector<int64_t>(*dims) : allDims(rank);
  for (int64_t &dim : result)
    if (dim < 0 && dim >= -rank)
      dim += rank;
  llvm::sort(result);
  return result;
}

LogicalResult MeanOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput());
  llvm::SmallBitVector left(input.getRank(), true);
  for (int64_t dim : dimsOfMean(adaptor.getDims(), input.getRank())) {
    if (dim < 0 || dim >= input.getRank() || !left.test(dim))
      return emitOptionalError(location, "'dgc.mean' has dimension ", dim, " in its list, for an operand of type ",
                               input, ": each must be one of 0 to ", input.getRank() - 1, ", once");
    left.reset(dim);
  }
  SmallVector<int64_t> shape;
  for (unsigned dim = 0; dim < left.size(); ++dim)
    if (left.test(dim) || adaptor.getKeep())
      shape.push_back(left.test(dim) ? input.getDimSize(dim) : 1);
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

SmallVector<int64_t> MeanOp::getCountedDims(unsigned) { return dimsOfMean(getDims(), tensorOf(getInput()).getRank()); }

FailureOr<SmallVector<Value>> MeanOp::decompose(OpBuilder &builder) { return decomposeWithCount(builder, {}); }

FailureOr<SmallVector<Value>> MeanOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput());
  Value x = b.convert(getInput(), computeType(element));
  SmallVector<int64_t> dims = getCountedDims(0);
  int64_t size = 1;
  for (int64_t dim : dims)
    size *= shapeOf(x)[dim];
  Value total = b.sum(x, dims);
  Value mean = count ? b.divide(total, b.broadcastScalar(b.convert(count, elementOf(x)), shapeOf(total)))
                     : b.multiply(total, 1.0 / double(size));
  return SmallVector<Value>{b.reshape(b.convert(mean, element), tensorOf(getResult()).getShape())};
}

LogicalResult ArgmaxOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput());
  const int64_t rank = input.getRank(), dim = adaptor.getDim();
  if (dim < -rank || dim >= rank)
    return emitOptionalError(location, "'dgc.argmax' runs along dimension ", dim, ", which ", input, " does not have");
  SmallVector<int64_t> shape(input.getShape());
  shape.erase(shape.begin() + (dim < 0 ? dim + rank : dim));
  types.push_back(RankedTensorType::get(shape, IntegerType::get(input.getContext(), 32)));
  return success();
}

FailureOr<SmallVector<Value>> ArgmaxOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  const int64_t rank = tensorOf(getInput()).getRank(), given = getDim();
  return SmallVector<Value>{b.argmax(getInput(), given < 0 ? given + rank : given)};
}

LogicalResult TopKOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput());
  const auto k = static_cast<int64_t>(adaptor.getK());
  if (input.getRank() == 0)
    return emitOptionalError(location, "'dgc.top_k' has a scalar as its operand: it needs a dimension to choose along");
  if (k < 1 || k > input.getShape().back())
    return emitOptionalError(location, "'dgc.top_k' takes the largest ", k, " of ", input.getShape().back(),
                             " elements along the last dimension of ", input, ": k must be 1 to ",
                             input.getShape().back());
  SmallVector<int64_t> shape(input.getShape());
  shape.back() = k;
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  types.push_back(RankedTensorType::get(shape, IntegerType::get(input.getContext(), 32)));
  return success();
}

/// Values [..] each as the elements at one index of the last dimension of the result.
static Value stackLast(CompositeBuilder &b, ArrayRef<Value> values) {
  SmallVector<int64_t> shape(shapeOf(values.front()));
  shape.push_back(1);
  SmallVector<Value> parts = llvm::map_to_vector(values, [&](Value value) { return b.reshape(value, shape); });
  return parts.size() == 1 ? parts.front()
                           : ConcatenateOp::create(b.builder, b.location, parts, int64_t(shape.size()) - 1).getResult();
}

// Each round takes the first of the largest elements after the last one in the order: those that are smaller, or equal
// with a higher index.
FailureOr<SmallVector<Value>> TopKOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Value x = getInput();
  const int64_t last = tensorOf(x).getRank() - 1;
  auto both = [&](Value p, Value q) { return p ? AndOp::create(builder, getLoc(), p, q).getResult() : q; };
  Value places = b.iota(shapeOf(x), builder.getI32Type(), last), none = b.splat(double(shapeOf(x)[last]), places);
  Value lowest = b.broadcastScalar(b.identity(ReductionKind::Max, elementOf(x)), shapeOf(x)), after;
  SmallVector<Value> values, indices;
  for (int64_t round = 0, k = getK(); round < k; ++round) {
    values.push_back(b.reduce(ReductionKind::Max, after ? b.select(after, x, lowest) : x, {last}));
    Value value = b.spread(values.back(), x, {last});
    Value hit = both(after, b.equal(x, value));
    indices.push_back(b.reduce(ReductionKind::Min, b.select(hit, places, none), {last}));
    Value isHigher = b.compare(ComparisonDirection::GT, places, b.spread(indices.back(), places, {last}));
    Value isBelow = b.compare(ComparisonDirection::LT, x, value);
    after = OrOp::create(builder, getLoc(), isBelow, both(b.equal(x, value), isHigher));
  }
  return SmallVector<Value>{stackLast(b, values), stackLast(b, indices)};
}

// An element that was taken gets the gradient of its value: of [.., k, n], summed over k.
SmallVector<Value> TopKOp::buildGradients(OpBuilder &builder, ValueRange gradients, const BitVector &) {
  if (!gradients[0])
    return {Value()};
  CompositeBuilder b(builder, getLoc());
  SmallVector<int64_t> shape(shapeOf(getValues()));
  const auto rank = static_cast<int64_t>(shape.size());
  shape.push_back(shapeOf(getInput()).back());
  Value places = b.iota(shape, builder.getI32Type(), rank);
  Value isTaken = b.equal(places, b.spread(getIndices(), places, {rank}));
  Value gradient = b.broadcast(gradients[0], shape, allDims(rank));
  return {b.sum(b.select(isTaken, gradient, b.splat(0, gradient)), {rank - 1})};
}

LogicalResult OneHotOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput());
  if (static_cast<int64_t>(adaptor.getClasses()) < 1)
    return emitOptionalError(location, "'dgc.one_hot' has ", static_cast<int64_t>(adaptor.getClasses()),
                             " classes, which must be at least 1");
  SmallVector<int64_t> shape(input.getShape());
  shape.push_back(adaptor.getClasses());
  types.push_back(RankedTensorType::get(shape, Float32Type::get(input.getContext())));
  return success();
}

FailureOr<SmallVector<Value>> OneHotOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  ArrayRef<int64_t> shape = shapeOf(getResult());
  const auto last = static_cast<int64_t>(shape.size()) - 1;
  // No number that is no index becomes one.
  Type given = elementOf(getInput()), compute = given.getIntOrFloatBitWidth() < 32 || given.isInteger(32)
                                                    ? builder.getI32Type()
                                                    : builder.getI64Type();
  Value classes = b.iota(shape, compute, last), numbers = b.spread(b.convert(getInput(), compute), classes, {last});
  return SmallVector<Value>{b.convert(b.compare(ComparisonDirection::EQ, classes, numbers), builder.getF32Type())};
}

//===----------------------------------------------------------------------===//
// FlattenOp, ExpandDimsOp
//===----------------------------------------------------------------------===//

LogicalResult FlattenOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput());
  if (input.getRank() == 0)
    return emitOptionalError(location, "'dgc.flatten' has a scalar as its operand: it keeps the first dimension, and "
                                       "needs one");
  int64_t rest = 1;
  for (int64_t size : input.getShape().drop_front())
    rest *= size;
  types.push_back(RankedTensorType::get({input.getDimSize(0), rest}, input.getElementType()));
  return success();
}

FailureOr<SmallVector<Value>> FlattenOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  return SmallVector<Value>{b.reshape(getInput(), shapeOf(getResult()))};
}

LogicalResult ExpandDimsOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput());
  int64_t rank = input.getRank() + 1, dim = adaptor.getDim();
  if (dim < -rank || dim >= rank)
    return emitOptionalError(location, "'dgc.expand_dims' inserts dimension ", dim, " into ", input, ": from ", -rank,
                             " to ", rank - 1, " are possible");
  SmallVector<int64_t> shape(input.getShape());
  shape.insert(shape.begin() + (dim < 0 ? dim + rank : dim), 1);
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

FailureOr<SmallVector<Value>> ExpandDimsOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  return SmallVector<Value>{b.reshape(getInput(), shapeOf(getResult()))};
}
