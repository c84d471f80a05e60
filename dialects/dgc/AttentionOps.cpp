// Attention as one op, whose scores are kept nowhere.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/AttentionUtil.h"
#include "dialects/dgc/Clauses.h"

using namespace mlir;
using namespace dgc;

#define GET_OP_CLASSES
#include "dialects/dgc/AttentionOps.cpp.inc"

namespace dgc {
void registerAttentionOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/AttentionOps.cpp.inc"
      >();
}
} // namespace dgc

//===----------------------------------------------------------------------===//
// Types, costs, and how they are cut
//===----------------------------------------------------------------------===//

/// The type of the logarithms, [b, h, t].
static RankedTensorType logSumType(RankedTensorType query, int64_t heads) {
  return RankedTensorType::get({query.getDimSize(0), heads, query.getDimSize(1)}, computeType(query.getElementType()));
}

/// The type of the result, [b, t, h * e].
static RankedTensorType mixedType(RankedTensorType query, RankedTensorType value) {
  return RankedTensorType::get({query.getDimSize(0), query.getDimSize(1), value.getDimSize(2)}, query.getElementType());
}

/// Reports what is no attention of as many heads for keys as for queries, and none where all places see earlier ones alone.
static LogicalResult checkWhole(std::optional<Location> location, StringRef name, RankedTensorType q,
                                RankedTensorType k, RankedTensorType v, int64_t heads, bool causal) {
  if (failed(checkAttention(location, name, q, k, v, heads, heads)))
    return failure();
  if (causal && q.getDimSize(1) != k.getDimSize(1))
    return emitOptionalError(location, "'", name, "' is causal, but the query has ", q.getDimSize(1),
                             " places and the key ", k.getDimSize(1), ": these must be the same");
  return success();
}

LogicalResult FusedAttentionOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  RankedTensorType q = typeOf(adaptor.getQuery()), k = typeOf(adaptor.getKey()), v = typeOf(adaptor.getValue());
  if (failed(checkWhole(location, getOperationName(), q, k, v, adaptor.getHeads(), adaptor.getCausal())))
    return failure();
  types.push_back(mixedType(q, v));
  types.push_back(logSumType(q, adaptor.getHeads()));
  return success();
}

LogicalResult FusedAttentionGradOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  RankedTensorType q = typeOf(adaptor.getQuery()), k = typeOf(adaptor.getKey()), v = typeOf(adaptor.getValue());
  if (failed(checkWhole(location, getOperationName(), q, k, v, adaptor.getHeads(), adaptor.getCausal())))
    return failure();
  RankedTensorType mixed = mixedType(q, v), logSum = logSumType(q, adaptor.getHeads());
  if (typeOf(adaptor.getResult()) != mixed || typeOf(adaptor.getResultGradient()) != mixed ||
      typeOf(adaptor.getLogSum()) != logSum)
    return emitOptionalError(location, "'", getOperationName(), "' has a result of type ", typeOf(adaptor.getResult()),
                             ", logarithms of type ", typeOf(adaptor.getLogSum()), " and a gradient of type ",
                             typeOf(adaptor.getResultGradient()), ": dgc.fused_attention of these operands gives ",
                             mixed, " and ", logSum);
  types.append({q, k, v});
  return success();
}

/// The sizes of an attention.
namespace {
struct Sizes {
  template <typename Op>
  explicit Sizes(Op op)
      : batch(shapeOf(op.getQuery())[0]), to(shapeOf(op.getQuery())[1]), from(shapeOf(op.getKey())[1]),
        heads(op.getHeads()), features(shapeOf(op.getQuery())[2] / heads), mixed(shapeOf(op.getValue())[2] / heads),
        pairs(uint64_t(batch) * heads * to * from / (op.getCausal() ? 2 : 1)) {}

  int64_t batch, to, from, heads, features, mixed;
  uint64_t pairs; // of places that see each other
};
} // namespace

// Examples and heads do not know of each other. Along the places, and within a head, everything is needed.
ShardingRule FusedAttentionOp::getShardingRule() {
  Sizes sizes(*this);
  return ShardingRuleBuilder(*this)
      .factor({0, 0, 0}, {0, 0}, sizes.batch)
      .factor({1, -1, -1}, {1, 2}, sizes.to, FactorKind::NeedReplication)
      .factor({-1, 1, 1}, {-1, -1}, sizes.from, FactorKind::NeedReplication)
      .factor({2, 2, 2}, {2, 1}, sizes.heads)
      .factor({2, 2, -1}, {-1, -1}, sizes.features, FactorKind::NeedReplication)
      .factor({-1, -1, 2}, {2, -1}, sizes.mixed, FactorKind::NeedReplication)
      .build();
}

ShardingRule FusedAttentionGradOp::getShardingRule() {
  Sizes sizes(*this);
  return ShardingRuleBuilder(*this)
      .factor({0, 0, 0, 0, 0, 0}, {0, 0, 0}, sizes.batch)
      .factor({1, -1, -1, 1, 2, 1}, {1, -1, -1}, sizes.to, FactorKind::NeedReplication)
      .factor({-1, 1, 1, -1, -1, -1}, {-1, 1, 1}, sizes.from, FactorKind::NeedReplication)
      .factor({2, 2, 2, 2, 1, 2}, {2, 2, 2}, sizes.heads)
      .factor({2, 2, -1, -1, -1, -1}, {2, 2, -1}, sizes.features, FactorKind::NeedReplication)
      .factor({-1, -1, 2, 2, -1, 2}, {-1, -1, 2}, sizes.mixed, FactorKind::NeedReplication)
      .build();
}

/// Of a part of the heads, whose logarithms have this type.
static uint64_t headsOf(Value logSum) { return cast<RankedTensorType>(logSum.getType()).getDimSize(1); }

LogicalResult FusedAttentionOp::localize(TypeRange, TypeRange) {
  setHeads(headsOf(getLogSum()));
  return success();
}

LogicalResult FusedAttentionGradOp::localize(TypeRange, TypeRange) {
  setHeads(headsOf(getLogSum()));
  return success();
}

OpCost FusedAttentionOp::getCost() {
  Sizes sizes(*this);
  OpCost cost = costPerElement(*this, 0);
  cost.flops = sizes.pairs * (2 * (sizes.features + sizes.mixed) + 4);
  return cost;
}

OpCost FusedAttentionGradOp::getCost() {
  Sizes sizes(*this);
  OpCost cost = costPerElement(*this, 0);
  cost.flops = sizes.pairs * (2 * (3 * sizes.features + 2 * sizes.mixed) + 6);
  return cost;
}

//===----------------------------------------------------------------------===//
// What they compute
//===----------------------------------------------------------------------===//

namespace {
/// The operands with a dimension for the heads, in the type that is computed in, and the scores.
struct Parts {
  template <typename Op>
  Parts(CompositeBuilder &b, Op op)
      : b(b), heads(op.getHeads()), compute(computeType(elementOf(op.getQuery()))), query(split(op.getQuery())),
        key(split(op.getKey())), value(split(op.getValue())) {
    scores = b.multiply(b.dot(query, key, {0, 2}, {0, 2}, {3}, {3}), op.getScale().convertToDouble());
    if (op.getCausal())
      scores = hideOthers(b, seesEarlier(b, scores), scores);
  }
  Value split(Value x) { return splitHeads(b, b.convert(x, compute), heads); }
  /// [b, h, t, d] as the operands are.
  Value join(Value x, Value like) { return joinHeads(b, b.convert(x, elementOf(like))); }

  CompositeBuilder &b;
  int64_t heads;
  Type compute;
  Value query, key, value, scores;
};
} // namespace

FailureOr<SmallVector<Value>> FusedAttentionOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Parts parts(b, *this);
  Value largest = b.reduce(ReductionKind::Max, parts.scores, {3});
  Value powers = b.exponential(b.subtract(parts.scores, b.spread(largest, parts.scores, {3})));
  Value sum = b.sum(powers, {3});
  Value weights = b.divide(powers, b.spread(sum, powers, {3}));
  Value mixed = b.dot(weights, parts.value, {0, 1}, {0, 2}, {3}, {1});
  return SmallVector<Value>{parts.join(mixed, getQuery()), b.add(largest, b.log(sum))};
}

FailureOr<SmallVector<Value>> FusedAttentionGradOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Parts parts(b, *this);
  Value weights = b.exponential(b.subtract(parts.scores, b.spread(getLogSum(), parts.scores, {3})));
  Value gradient = parts.split(getResultGradient());
  Value ofWeights = b.dot(gradient, parts.value, {0, 2}, {0, 2}, {3}, {3});
  Value mean = b.transpose(b.sum(b.multiply(gradient, parts.split(getResult())), {3}), {0, 2, 1});
  Value ofScores = b.multiply(b.multiply(weights, b.subtract(ofWeights, b.spread(mean, ofWeights, {3}))),
                              getScale().convertToDouble());
  return SmallVector<Value>{
      parts.join(b.dot(ofScores, parts.key, {0, 1}, {0, 2}, {3}, {1}), getQuery()),
      parts.join(b.dot(ofScores, parts.query, {0, 1}, {0, 2}, {2}, {1}), getKey()),
      parts.join(b.dot(weights, gradient, {0, 1}, {0, 2}, {2}, {1}), getValue()),
  };
}

SmallVector<Value> FusedAttentionOp::buildGradients(OpBuilder &builder, ValueRange resultGradients,
                                                    const llvm::BitVector &) {
  if (!resultGradients[0] || resultGradients[1]) {
    emitOpError("has a gradient where the loss depends on its first result alone; dgc.attention gives just that");
    return {};
  }
  auto gradient = FusedAttentionGradOp::create(builder, getLoc(), getQuery(), getKey(), getValue(), getResult(),
                                               getLogSum(), resultGradients[0], getHeads(), getCausal(), getScale());
  return llvm::to_vector_of<Value>(gradient->getResults());
}
