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

static ParseResult parseRotaryBase(OpAsmParser &parser, FloatAttr &base) {
  return parseOptionalNumber(parser, "base", base);
}

static void printRotaryBase(OpAsmPrinter &printer, Operation *, FloatAttr base) {
  printOptionalNumber(printer, "base", base);
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
// EmbeddingOp, EmbeddingBagOp, PositionEmbeddingOp
//===----------------------------------------------------------------------===//

/// Reports what is no table, or no numbers of its rows.
static LogicalResult checkTable(std::optional<Location> location, StringRef name, RankedTensorType table,
                                RankedTensorType numbers) {
  if (!isa<IntegerType>(numbers.getElementType()))
    return emitOptionalError(location, "'", name, "' looks up ", numbers, ": the numbers of rows must be integers");
  if (table.getRank() != 2)
    return emitOptionalError(location, "'", name, "' has a table of type ", table,
                             ", which must be a matrix of shape [symbols, features]");
  return success();
}

LogicalResult EmbeddingOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType table = typeOf(adaptor.getTable()), numbers = typeOf(adaptor.getNumbers());
  if (failed(checkTable(location, getOperationName(), table, numbers)))
    return failure();
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

LogicalResult EmbeddingBagOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType table = typeOf(adaptor.getTable()), numbers = typeOf(adaptor.getNumbers());
  if (failed(checkTable(location, getOperationName(), table, numbers)))
    return failure();
  if (numbers.getRank() == 0)
    return emitOptionalError(location, "'dgc.embedding_bag' adds up along the last dimension of the numbers, but ",
                             numbers, " has none; dgc.embedding takes one row for a number");
  SmallVector<int64_t> shape(numbers.getShape().drop_back());
  shape.push_back(table.getDimSize(1));
  types.push_back(RankedTensorType::get(shape, table.getElementType()));
  return success();
}

FailureOr<SmallVector<Value>> EmbeddingBagOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  const int64_t last = tensorOf(getNumbers()).getRank() - 1;
  Type element = elementOf(getTable()), compute = computeType(element);
  Value rows = GatherOp::create(builder, getLoc(), getTable(), getNumbers(), Value(), /*dimension=*/0);
  if (!getMean())
    return SmallVector<Value>{b.sum(rows, {last})};
  Value total = b.sum(b.convert(rows, compute), {last});
  // An i64 holds the number of rows, whatever type the numbers have.
  Value numbers = b.convert(getNumbers(), builder.getI64Type());
  Value isBelow = b.compare(ComparisonDirection::LT, numbers, b.splat(double(shapeOf(getTable())[0]), numbers));
  Value isRow =
      AndOp::create(builder, getLoc(), b.compare(ComparisonDirection::GE, numbers, b.splat(0, numbers)), isBelow);
  Value count = b.sum(b.convert(isRow, compute), {last});
  Value divisor = b.spread(b.maximum(count, b.splat(1, count)), total, {last});
  return SmallVector<Value>{b.convert(b.divide(total, divisor), element)};
}

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
// RotaryEmbeddingOp
//===----------------------------------------------------------------------===//

LogicalResult RotaryEmbeddingOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput());
  if (input.getRank() < 2)
    return emitOptionalError(location, "'dgc.rotary_embedding' has an input of type ", input,
                             ", which must be [.., places, features]");
  const int64_t heads = adaptor.getHeads(), features = input.getShape().back();
  if (heads < 1 || features % heads != 0 || features / heads % 2 != 0)
    return emitOptionalError(location, "'dgc.rotary_embedding' makes pairs of ", features, " features in ", heads,
                             " heads: each head must have the same even number of features");
  if (adaptor.getBase() && adaptor.getBase()->convertToDouble() <= 0)
    return emitOptionalError(location, "'dgc.rotary_embedding' has the base ", adaptor.getBase()->convertToDouble(),
                             ", which must be above 0");
  types.push_back(input);
  if (!adaptor.getPlaces())
    return success();
  RankedTensorType places = typeOf(adaptor.getPlaces());
  ArrayRef<int64_t> leading = input.getShape().drop_back();
  if (places.getShape() == leading || places.getShape() == leading.take_back())
    return success();
  return emitOptionalError(
      location, "'dgc.rotary_embedding' has an input of type ", input, " and places of type ", places,
      ": there must be one for each place of the sequence, [", leading.back(),
      "], or for each place of each example, of the shape of the input without its last dimension");
}

/// For each place and pair the angle: [.., t, pairs].
static Value rotaryAngles(CompositeBuilder &b, Value places, int64_t pairs, double base) {
  SmallVector<double> frequencies;
  for (int64_t pair = 0; pair < pairs; ++pair)
    frequencies.push_back(std::pow(base, -double(pair) / double(pairs)));
  SmallVector<int64_t> shape(shapeOf(places));
  SmallVector<int64_t> dims = allDims(shape.size());
  shape.push_back(pairs);
  Value frequency = b.broadcastLast(b.constant({pairs}, elementOf(places), frequencies), shape);
  return b.multiply(b.broadcast(places, shape, dims), frequency);
}

// With the pairs as a dimension of two, x cos + reversed(x) (-sin, sin) is (a cos - b sin, b cos + a sin).
FailureOr<SmallVector<Value>> RotaryEmbeddingOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput()), compute = computeType(element);
  const int64_t rank = tensorOf(getInput()).getRank(), heads = getHeads(), features = shapeOf(getInput()).back();
  const int64_t pairs = features / heads / 2, sides = getInterleaved() ? rank + 1 : rank;
  SmallVector<int64_t> shape(shapeOf(getInput()).drop_back());
  shape.append({heads, getInterleaved() ? pairs : 2, getInterleaved() ? 2 : pairs});
  Value x = b.reshape(b.convert(getInput(), compute), shape);

  Value places = getPlaces() ? b.convert(getPlaces(), compute) : b.iota({shape[rank - 2]}, compute, 0);
  Value angles = rotaryAngles(b, places, pairs, getBase() ? getBase()->convertToDouble() : 10000);
  SmallVector<int64_t> dims =
      getPlaces() && tensorOf(places).getRank() > 1 ? leadingDims(rank) : SmallVector<int64_t>{rank - 2};
  dims.push_back(getInterleaved() ? rank : rank + 1);
  Value signs = b.broadcast(b.constant({2}, compute, {-1, 1}), shape, {sides});
  Value sine = b.multiply(b.broadcast(b.sine(angles), shape, dims), signs);
  Value other = ReverseOp::create(builder, getLoc(), x, ArrayRef<int64_t>{sides});
  Value turned = b.add(b.multiply(x, b.broadcast(b.cosine(angles), shape, dims)), b.multiply(other, sine));
  return SmallVector<Value>{b.convert(b.reshape(turned, shapeOf(getInput())), element)};
}

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

LogicalResult dgc::checkAttention(std::optional<Location> location, StringRef name, RankedTensorType q,
                                  RankedTensorType k, RankedTensorType v, int64_t heads, int64_t keyHeads) {
  for (RankedTensorType type : {q, k, v})
    if (type.getRank() != 3)
      return emitOptionalError(location, "'", name, "' has an operand of type ", type,
                               ", which must be [batch, places, features]");
  if (failed(checkElements(location, name, q, k)) || failed(checkElements(location, name, k, v)))
    return failure();
  if (keyHeads != heads && (heads < 1 || keyHeads < 1 || heads % keyHeads != 0))
    return emitOptionalError(location, "'", name, "' has ", heads, " heads for queries and ", keyHeads,
                             " for keys and values: the second number must divide the first");
  const int64_t features = q.getDimSize(2), ofKeys = k.getDimSize(2), ofValues = v.getDimSize(2);
  const bool isWhole = keyHeads == heads;
  const bool fits = isWhole ? features == ofKeys
                            : features % heads == 0 && ofKeys % keyHeads == 0 && ofValues % keyHeads == 0 &&
                                  features / heads == ofKeys / keyHeads;
  if (q.getDimSize(0) != k.getDimSize(0) || k.getDimSize(0) != v.getDimSize(0) || k.getDimSize(1) != v.getDimSize(1) ||
      !fits) {
    std::string all = isWhole ? "h" : std::to_string(heads), own = isWhole ? "h" : std::to_string(keyHeads);
    return emitOptionalError(location, "'", name, "' has a query of type ", q, ", a key of type ", k,
                             " and a value of type ", v, ": they must be [b, t, ", all, " * d], [b, s, ", own,
                             " * d] and [b, s, ", own, " * e]");
  }
  if (heads < 1 || features % heads != 0 || ofValues % keyHeads != 0)
    return emitOptionalError(location, "'", name, "' divides ", features, " and ", ofValues, " features among ", heads,
                             " heads: the number of heads must divide both");
  return success();
}
/// Reports a mask that is not broadcast to the scores [b, h, t, s], or is not added to them.
static LogicalResult checkMask(std::optional<Location> location, RankedTensorType query, Value mask,
                               ArrayRef<int64_t> scores) {
  if (!mask)
    return success();
  RankedTensorType type = typeOf(mask);
  Type element = type.getElementType(), own = query.getElementType();
  if (!element.isInteger(1) && element != own && element != computeType(own)) {
    std::string wanted;
    llvm::raw_string_ostream(wanted) << own;
    return emitOptionalError(location, "'dgc.attention' has a mask of type ", type, " for a query of type ", query,
                             ": its elements must be i1, or those of the query: 'dgc.convert %m to ", wanted, "'");
  }
  const int64_t rank = type.getRank();
  bool fits = rank <= int64_t(scores.size());
  for (int64_t i = 0; fits && i < rank; ++i)
    fits = type.getDimSize(i) == 1 || type.getDimSize(i) == scores[scores.size() - rank + i];
  if (fits)
    return success();
  return emitOptionalError(
      location, "'dgc.attention' has a mask of type ", type, " for scores of shape [", scores[0], ", ", scores[1], ", ",
      scores[2], ", ", scores[3],
      "], [batch, heads, places of the query, places of the key]: each dimension, from the last one "
      "on, must be 1 or that of the scores");
}

LogicalResult AttentionOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType q = typeOf(adaptor.getQuery()), k = typeOf(adaptor.getKey()), v = typeOf(adaptor.getValue());
  const int64_t heads = adaptor.getHeads(), keyHeads = adaptor.getKvHeads().value_or(heads);
  if (failed(checkAttention(location, getOperationName(), q, k, v, heads, keyHeads)))
    return failure();
  const int64_t batch = q.getDimSize(0), to = q.getDimSize(1), from = k.getDimSize(1);
  if (adaptor.getCausal() && to > from)
    return emitOptionalError(location, "'dgc.attention' is causal, but the query has ", to, " places and the key ",
                             from, ": the places of the query are the last ones of the key, and must not be more");
  types.push_back(RankedTensorType::get({batch, to, v.getDimSize(2) / keyHeads * heads}, q.getElementType()));
  return checkMask(location, q, adaptor.getMask(), {batch, heads, to, from});
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

/// A mask, which is broadcast to [b, h, t, s], as the scores are: [b, h, t, s], or [b, h / g, t, g, s] for groups of g heads.
static Value alignMask(CompositeBuilder &b, Value mask, Value scores) {
  SmallVector<int64_t> sizes(4 - tensorOf(mask).getRank(), 1);
  llvm::append_range(sizes, shapeOf(mask));
  ArrayRef<int64_t> shape = shapeOf(scores);
  if (shape.size() == 5) {
    bool hasHeads = sizes[1] != 1;
    mask = b.reshape(mask, {sizes[0], hasHeads ? shape[1] : 1, hasHeads ? shape[3] : 1, sizes[2], sizes[3]});
    mask = b.transpose(mask, {0, 1, 3, 2, 4});
  } else {
    mask = b.reshape(mask, sizes);
  }
  return b.broadcast(mask, shape, allDims(shape.size()));
}

// The heads of the query that share one of the keys are a dimension of their own behind the places: [b, k, t, g, s].
FailureOr<SmallVector<Value>> AttentionOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getQuery()), compute = computeType(element);
  const int64_t heads = getHeads(), keyHeads = getNumKeyHeads();
  Value q = splitHeads(b, getQuery(), heads), k = splitHeads(b, getKey(), keyHeads);
  Value v = splitHeads(b, getValue(), keyHeads);
  ArrayRef<int64_t> shape = shapeOf(q);
  if (keyHeads != heads)
    q = b.reshape(q, {shape[0], shape[1], keyHeads, heads / keyHeads, shape[3]});
  const int64_t last = tensorOf(q).getRank() - 1;
  Value scores = b.multiply(b.convert(b.dot(q, k, {0, 2}, {0, 2}, {last}, {3}), compute), getFactor());
  Value mask = getMask() ? alignMask(b, getMask(), scores) : Value(), visible;
  if (mask && elementOf(mask).isInteger(1))
    visible = mask;
  else if (mask)
    scores = b.add(scores, b.convert(mask, compute));
  const bool mayBeBlind = visible != nullptr; // a place may see none
  if (getCausal()) {
    Value earlier = seesEarlier(b, scores);
    visible = visible ? AndOp::create(builder, getLoc(), visible, earlier) : earlier;
  }
  if (visible)
    scores = hideOthers(b, visible, scores);
  Value weights = SoftmaxOp::create(builder, getLoc(), scores, /*dim=*/-1);
  if (mayBeBlind)
    weights = b.select(visible, weights, b.splat(0, weights));
  return SmallVector<Value>{joinHeads(b, b.dot(b.convert(weights, element), v, {0, 1}, {0, 2}, {last}, {1}))};
}
