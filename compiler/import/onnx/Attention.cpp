// Attention of ONNX.

#include "compiler/import/onnx/Node.h"

#include <cmath>

using namespace mlir;

namespace dgc::import {
namespace {

/// [batch, length, heads * size] as [batch, heads, length, size].
Value splitHeads(Node &n, Value x, int64_t heads) {
  ArrayRef<int64_t> shape = tensorOf(x).getShape();
  if (shape.size() == 4)
    return x;
  return n.b.transpose(n.b.reshape(x, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
}

/// Every head as often as heads of the query share it.
Value repeatHeads(Node &n, Value x, int64_t times) {
  if (times == 1)
    return x;
  SmallVector<int64_t> s(tensorOf(x).getShape());
  Value wide = n.b.broadcast(x, {s[0], s[1], times, s[2], s[3]}, {0, 1, 3, 4});
  return n.b.reshape(wide, {s[0], s[1] * times, s[2], s[3]});
}

LogicalResult attention(Node &n) {
  if (n.has(6) || n.integer("left_window_size", -1) >= 0 || n.integer("right_window_size", -1) >= 0)
    return n.refuse("with lengths of its own or a window");
  if (n.wants(3) && n.integer("qk_matmul_output_mode", 0) != 0)
    return n.refuse("qk_matmul_output_mode " + Twine(n.integer("qk_matmul_output_mode", 0)));
  const bool isFlat = n.rank(0) == 3;
  const int64_t heads = isFlat ? n.integer("q_num_heads", 0) : n.shape(0)[1],
                shared = n.rank(1) == 3 ? n.integer("kv_num_heads", 0) : n.shape(1)[1];
  if (heads < 1 || shared < 1 || heads % shared != 0)
    return n.refuse("its numbers of heads are missing or do not fit");
  Value q = splitHeads(n, n.in(0), heads), k = splitHeads(n, n.in(1), shared), v = splitHeads(n, n.in(2), shared);
  const int64_t before = n.has(4) ? n.shape(4)[2] : 0;
  if (n.has(4) && n.has(5)) {
    k = ConcatenateOp::create(n.b.builder, n.b.location, ValueRange{n.in(4), k}, 2);
    v = ConcatenateOp::create(n.b.builder, n.b.location, ValueRange{n.in(5), v}, 2);
  }
  Value allKeys = repeatHeads(n, k, heads / shared), allValues = repeatHeads(n, v, heads / shared);
  Type element = elementOf(q);
  const auto size = static_cast<double>(tensorOf(q).getDimSize(3));
  const double root = std::sqrt(n.number("scale", 1 / std::sqrt(size)));
  Value scores = n.b.dot(n.b.multiply(q, root), n.b.multiply(allKeys, root), {0, 1}, {0, 1}, {3}, {3});
  Value products = scores;
  SmallVector<int64_t> shape(tensorOf(scores).getShape());
  if (const double cap = n.number("softcap", 0); cap > 0)
    scores = n.b.multiply(n.b.tanh(n.b.multiply(scores, 1 / cap)), cap);
  Value lowest = n.splat(-INFINITY, scores);
  if (n.has(3)) {
    SmallVector<int64_t> together;
    if (!Node::joinShapes(shape, n.shape(3), together) || ArrayRef(together) != ArrayRef(shape))
      return n.refuse("its mask does not fit");
    Value mask = n.broadcast(n.in(3), shape);
    scores = elementOf(mask).isInteger(1) ? n.b.select(mask, scores, lowest) : n.b.add(scores, mask);
  }
  if (n.integer("is_causal", 0) != 0) {
    auto type = RankedTensorType::get(shape, n.b.builder.getI64Type());
    Value queries = IotaOp::create(n.b.builder, n.b.location, type, 2, Value());
    Value keys = IotaOp::create(n.b.builder, n.b.location, type, 3, Value());
    Value last = n.b.add(queries, n.splat(static_cast<double>(before), queries));
    scores = n.b.select(n.b.compare(ComparisonDirection::LE, keys, last), scores, lowest);
  }
  Value weights = SoftmaxOp::create(n.b.builder, n.b.location, scores, /*dim=*/-1);
  // Of a row without keys nothing remains.
  Value isNone = n.b.equal(n.b.reduce(ReductionKind::Max, scores, {3}),
                           n.splat(-INFINITY, n.b.reduce(ReductionKind::Max, scores, {3})));
  weights = n.b.select(n.b.broadcast(isNone, shape, {0, 1, 2}), n.splat(0, weights), weights);
  Value y = n.b.convert(n.b.dot(weights, allValues, {0, 1}, {0, 1}, {3}, {2}), element);
  if (isFlat) {
    ArrayRef<int64_t> s = tensorOf(y).getShape();
    SmallVector<int64_t> flat{s[0], s[2], s[1] * s[3]};
    y = n.b.reshape(n.b.transpose(y, {0, 2, 1, 3}), flat);
  }
  return n.give(ValueRange{y, k, v, products});
}

constexpr OnnxRule rules[] = {{"Attention", attention}};

} // namespace

ArrayRef<OnnxRule> onnxAttentionRules() { return rules; }

} // namespace dgc::import
