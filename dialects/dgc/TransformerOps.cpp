// Layers of transformers: embeddings and attention.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/LayerUtil.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dgc;

static ParseResult parseAttentionScale(OpAsmParser &parser, FloatAttr &scale) {
  return parseOptionalNumber(parser, "scale", scale);
}

static void printAttentionScale(OpAsmPrinter &printer, Operation *, FloatAttr scale) {
  printOptionalNumber(printer, "scale", scale);
}

#define GET_OP_CLASSES
#include "dialects/dgc/TransformerOps.cpp.inc"

namespace mlir::dgc {
void registerTransformerOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/TransformerOps.cpp.inc"
      >();
}
} // namespace mlir::dgc

//===----------------------------------------------------------------------===//
// EmbeddingOp, PositionEmbeddingOp
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType table = typeOf(adaptor.getTable()), numbers = typeOf(adaptor.getNumbers());
  if (!isa<IntegerType>(numbers.getElementType()))
    return emitOptionalError(location, "'dgc.embedding' looks up ", numbers, ": the numbers of rows must be integers");
  if (table.getRank() != 2)
    return emitOptionalError(location, "'dgc.embedding' has a table of type ", table,
                             ", which must be a matrix of shape [symbols, features]");
  SmallVector<int64_t> shape(numbers.getShape());
  shape.push_back(table.getDimSize(1));
  types.push_back(RankedTensorType::get(shape, table.getElementType()));
  return success();
}

FailureOr<SmallVector<Value>> EmbeddingOp::decompose(OpBuilder &builder) {
  return SmallVector<Value>{GatherOp::create(builder, getLoc(), getTable(), getNumbers(), Value(), /*dimension=*/0)};
}

Value EmbeddingOp::getChoosingNumbers() { return getNumbers(); }
int64_t EmbeddingOp::getNumChoices() { return shapeOf(getTable()).front(); }

LogicalResult PositionEmbeddingOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput()), table = typeOf(adaptor.getTable());
  if (failed(checkElements(location, getOperationName(), input, table)))
    return failure();
  if (input.getRank() < 2 || table.getRank() != 2 || table.getDimSize(1) != input.getShape().back())
    return emitOptionalError(location, "'dgc.position_embedding' adds rows of ", table, " to ", input,
                             ": the table must be [positions, features], the input [.., positions, features]");
  int64_t places = input.getDimSize(input.getRank() - 2);
  if (table.getDimSize(0) < places)
    return emitOptionalError(location, "'dgc.position_embedding' has a table of ", table.getDimSize(0),
                             " rows for a sequence of ", places, ": it needs a row for every place");
  types.push_back(input);
  return success();
}

FailureOr<SmallVector<Value>> PositionEmbeddingOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  ArrayRef<int64_t> shape = shapeOf(getInput());
  int64_t rank = shape.size(), places = shape[rank - 2], features = shape[rank - 1];
  Value rows = b.slice(getTable(), {0, 0}, {places, features});
  return SmallVector<Value>{b.add(getInput(), b.broadcast(rows, shape, {rank - 2, rank - 1}))};
}

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType q = typeOf(adaptor.getQuery()), k = typeOf(adaptor.getKey()), v = typeOf(adaptor.getValue());
  int64_t heads = adaptor.getHeads();
  for (RankedTensorType type : {q, k, v})
    if (type.getRank() != 3)
      return emitOptionalError(location, "'dgc.attention' has an operand of type ", type,
                               ", which must be [batch, places, features]");
  if (failed(checkElements(location, getOperationName(), q, k)) ||
      failed(checkElements(location, getOperationName(), k, v)))
    return failure();
  if (q.getDimSize(0) != k.getDimSize(0) || k.getDimSize(0) != v.getDimSize(0) || k.getDimSize(1) != v.getDimSize(1) ||
      q.getDimSize(2) != k.getDimSize(2))
    return emitOptionalError(location, "'dgc.attention' has a query of type ", q, ", a key of type ", k,
                             " and a value of type ", v,
                             ": they must be [b, t, h * d], [b, s, h * d] and [b, s, h * e]");
  if (heads < 1 || q.getDimSize(2) % heads != 0 || v.getDimSize(2) % heads != 0)
    return emitOptionalError(location, "'dgc.attention' divides ", q.getDimSize(2), " and ", v.getDimSize(2),
                             " features among ", heads, " heads: the number of heads must divide both");
  if (adaptor.getCausal() && q.getDimSize(1) != k.getDimSize(1))
    return emitOptionalError(location, "'dgc.attention' is causal, but the query has ", q.getDimSize(1),
                             " places and the key ", k.getDimSize(1), ": these must be the same");
  types.push_back(RankedTensorType::get({q.getDimSize(0), q.getDimSize(1), v.getDimSize(2)}, q.getElementType()));
  return success();
}

FailureOr<SmallVector<Value>> AttentionOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getQuery()), compute = computeType(element);
  int64_t heads = getHeads();
  auto split = [&](Value x) {
    ArrayRef<int64_t> shape = shapeOf(x);
    return b.reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
  };
  Value q = split(getQuery()), k = split(getKey()), v = split(getValue());
  double scale = getScale() ? getScale()->convertToDouble() : 1 / std::sqrt(double(shapeOf(q)[3]));

  // Scores [b, h, t, s]; those of places that must not be seen are below all others. A finite number: the optimizer
  // would make a condition of the maximum of x and -infinity, which does not vectorize.
  Value scores = b.multiply(b.convert(b.dot(q, k, {0, 2}, {0, 2}, {3}, {3}), compute), scale);
  if (getCausal()) {
    Value from = b.iota(shapeOf(scores), builder.getI32Type(), 2),
          to = b.iota(shapeOf(scores), builder.getI32Type(), 3);
    Value seen = b.compare(ComparisonDirection::GE, from, to);
    scores = b.select(seen, scores, b.splat(-1e30, scores));
  }
  Value weights = b.convert(SoftmaxOp::create(builder, getLoc(), scores, /*dim=*/-1), element);
  Value mixed = b.dot(weights, v, {0, 1}, {0, 2}, {3}, {1});
  return SmallVector<Value>{b.reshape(b.transpose(mixed, {0, 2, 1, 3}), shapeOf(getResult()))};
}
