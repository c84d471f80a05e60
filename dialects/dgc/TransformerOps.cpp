// Layers of transformers: embeddings and attention.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/AttentionUtil.h"
#include "dialects/dgc/Clauses.h"
#include <cmath>

using namespace mlir;
using namespace dgc;

static ParseResult parseAttentionScale(OpAsmParser &parser, FloatAttr &scale) {
  return parseOptionalNumber(parser, "scale", scale);
}

static void printAttentionScale(OpAsmPrinter &printer, Operation *, FloatAttr scale) {
  printOptionalNumber(printer, "scale", scale);
}

#define GET_OP_CLASSES
#include "dialects/dgc/TransformerOps.cpp.inc"

namespace dgc {
void registerTransformerOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/TransformerOps.cpp.inc"
      >();
}
} // namespace dgc

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

LogicalResult dgc::checkAttention(std::optional<Location> location, StringRef name, RankedTensorType q,
                                  RankedTensorType k, RankedTensorType v, int64_t heads, bool causal) {
  for (RankedTensorType type : {q, k, v})
    if (type.getRank() != 3)
      return emitOptionalError(location, "'", name, "' has an operand of type ", type,
                               ", which must be [batch, places, features]");
  if (failed(checkElements(location, name, q, k)) || failed(checkElements(location, name, k, v)))
    return failure();
  if (q.getDimSize(0) != k.getDimSize(0) || k.getDimSize(0) != v.getDimSize(0) || k.getDimSize(1) != v.getDimSize(1) ||
      q.getDimSize(2) != k.getDimSize(2))
    return emitOptionalError(location, "'", name, "' has a query of type ", q, ", a key of type ", k,
                             " and a value of type ", v,
                             ": they must be [b, t, h * d], [b, s, h * d] and [b, s, h * e]");
  if (heads < 1 || q.getDimSize(2) % heads != 0 || v.getDimSize(2) % heads != 0)
    return emitOptionalError(location, "'", name, "' divides ", q.getDimSize(2), " and ", v.getDimSize(2),
                             " features among ", heads, " heads: the number of heads must divide both");
  if (causal && q.getDimSize(1) != k.getDimSize(1))
    return emitOptionalError(location, "'", name, "' is causal, but the query has ", q.getDimSize(1),
                             " places and the key ", k.getDimSize(1), ": these must be the same");
  return success();
}

LogicalResult AttentionOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType q = typeOf(adaptor.getQuery()), k = typeOf(adaptor.getKey()), v = typeOf(adaptor.getValue());
  if (failed(checkAttention(location, getOperationName(), q, k, v, adaptor.getHeads(), adaptor.getCausal())))
    return failure();
  types.push_back(RankedTensorType::get({q.getDimSize(0), q.getDimSize(1), v.getDimSize(2)}, q.getElementType()));
  return success();
}

double AttentionOp::getFactor() {
  if (getScale())
    return getScale()->convertToDouble();
  int64_t featuresOfHead = shapeOf(getQuery())[2] / int64_t(getHeads());
  return 1 / std::sqrt(double(featuresOfHead));
}

/// Without a scale of its own the features of a head are counted.
SmallVector<int64_t> AttentionOp::getCountedDims(unsigned index) {
  return index > 1 || getScale() ? SmallVector<int64_t>() : SmallVector<int64_t>{2};
}

FailureOr<SmallVector<Value>> AttentionOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getQuery()), compute = computeType(element);
  int64_t heads = getHeads();
  Value q = splitHeads(b, getQuery(), heads), k = splitHeads(b, getKey(), heads), v = splitHeads(b, getValue(), heads);
  Value scores = b.multiply(b.convert(b.dot(q, k, {0, 2}, {0, 2}, {3}, {3}), compute), getFactor());
  if (getCausal())
    scores = hideLater(b, scores);
  Value weights = b.convert(SoftmaxOp::create(builder, getLoc(), scores, /*dim=*/-1), element);
  return SmallVector<Value>{joinHeads(b, b.dot(weights, v, {0, 1}, {0, 2}, {3}, {1}))};
}
