// ONNX ops of sequences that hand a state on: linear attention, and convolutions that look back.

#include "compiler/import/onnx/Node.h"

#include <cmath>

using namespace mlir;

namespace dgc::import {
namespace {

/// [batch, steps, heads * size] as [batch, heads, steps, size] in f32 at least.
Value heads(Node &n, unsigned input, int64_t count) {
  SmallVector<int64_t> s(n.shape(input));
  Value x = n.b.transpose(n.b.reshape(n.in(input), {s[0], s[1], count, s[2] / count}), {0, 2, 1, 3});
  return elementOf(x).isF64() ? x : n.b.convert(x, n.b.builder.getF32Type());
}

/// Step `i` of [batch, heads, steps, size].
Value stepOf(Node &n, Value x, int64_t i) {
  SmallVector<int64_t> s(tensorOf(x).getShape());
  return n.b.reshape(n.b.slice(x, {0, 0, i, 0}, {s[0], s[1], i + 1, s[3]}), {s[0], s[1], s[3]});
}

/// The sizes of a linear attention and its operands, [batch, heads, steps, size].
struct Linear {
  int64_t heads = 0, shared = 0, batch = 0, steps = 0, keySize = 0, valueSize = 0;
  Value q, k, v, decay, beta, state; // the last three may be null
};

FailureOr<Linear> linearOf(Node &n) {
  Linear all;
  all.heads = n.integer("q_num_heads", 0);
  all.shared = n.integer("kv_num_heads", 0);
  StringRef rule = n.text("update_rule", "gated_delta");
  const bool isGated = rule == "gated" || rule == "gated_delta", isDelta = rule == "delta" || rule == "gated_delta";
  if (!isGated && !isDelta && rule != "linear")
    return n.refuse("update_rule '" + rule + "'");
  if (isGated != n.has(4) || isDelta != n.has(5))
    return n.refuse("update_rule '" + rule + "' has other operands");
  if (all.heads < 1 || all.shared < 1 || all.heads % all.shared != 0)
    return n.refuse("its numbers of heads are missing or do not fit");
  for (unsigned input : {0U, 1U, 2U, 4U, 5U})
    if (n.has(input) &&
        (n.rank(input) != 3 || n.shape(input)[0] != n.shape(0)[0] || n.shape(input)[1] != n.shape(0)[1]))
      return n.refuse("operand " + Twine(input) + " does not fit");
  all.batch = n.shape(0)[0];
  all.steps = n.shape(0)[1];
  all.keySize = n.shape(0)[2] / all.heads;
  all.valueSize = n.shape(2)[2] / all.shared;
  if (n.shape(0)[2] % all.heads != 0 || n.shape(2)[2] % all.shared != 0 || n.shape(1)[2] != all.keySize * all.shared)
    return n.refuse("its operands are not divided by their heads");
  if (all.steps > kMostRounds)
    return n.refuse("has " + Twine(all.steps) + " steps; " + Twine(kMostRounds) + " are supported");
  auto isOneOf = [&](unsigned input, int64_t x, int64_t y) {
    return !n.has(input) || n.shape(input)[2] == x || n.shape(input)[2] == y;
  };
  if (!isOneOf(4, all.shared, all.shared * all.keySize) || !isOneOf(5, all.shared, 1))
    return n.refuse("its decay or beta does not fit its heads");
  all.q = heads(n, 0, all.heads);
  all.k = heads(n, 1, all.shared);
  all.v = heads(n, 2, all.shared);
  all.decay = n.has(4) ? heads(n, 4, all.shared) : Value();
  all.beta = n.has(5) ? heads(n, 5, n.shape(5)[2]) : Value();
  SmallVector<int64_t> state{all.batch, all.shared, all.keySize, all.valueSize};
  if (n.has(3) && ArrayRef(state) != n.shape(3))
    return n.refuse("its state does not fit");
  Type element = elementOf(all.q);
  all.state = n.has(3) ? n.b.convert(n.in(3), element) : n.b.constant(RankedTensorType::get(state, element), 0);
  return all;
}

/// The state after a step: it decays, and gets the outer product of key and value; with beta, of what the value is more than
/// the state says of the key.
Value nextState(Node &n, const Linear &all, Value state, int64_t step) {
  SmallVector<int64_t> shape(tensorOf(state).getShape());
  Value k = stepOf(n, all.k, step), v = stepOf(n, all.v, step);
  if (all.decay)
    state = n.b.multiply(state,
                         n.b.broadcast(n.broadcast(n.b.exponential(stepOf(n, all.decay, step)), tensorOf(k).getShape()),
                                       shape, {0, 1, 2}));
  if (all.beta) {
    Value found = n.b.dot(k, state, {0, 1}, {0, 1}, {2}, {2});
    v = n.b.multiply(n.broadcast(stepOf(n, all.beta, step), tensorOf(v).getShape()), n.b.subtract(v, found));
  }
  return n.b.add(state, n.b.multiply(n.b.broadcast(k, shape, {0, 1, 2}), n.b.broadcast(v, shape, {0, 1, 3})));
}

LogicalResult linearAttention(Node &n) {
  FailureOr<Linear> all = linearOf(n);
  if (failed(all))
    return failure();
  const int64_t group = all->heads / all->shared;
  const double given = n.number("scale", 0),
               scale = given == 0 ? 1 / std::sqrt(static_cast<double>(all->keySize)) : given;
  Value state = all->state;
  SmallVector<Value> steps;
  for (int64_t i = 0; i < all->steps; ++i) {
    state = nextState(n, *all, state, i);
    // Heads that share a state are read together.
    Value q = n.b.reshape(stepOf(n, all->q, i), {all->batch, all->shared, group, all->keySize});
    Value y = n.b.dot(q, state, {0, 1}, {0, 1}, {3}, {2});
    steps.push_back(n.b.reshape(y, {all->batch, 1, all->heads * all->valueSize}));
  }
  Value y = steps.size() == 1 ? steps[0] : Value(ConcatenateOp::create(n.b.builder, n.b.location, steps, 1));
  Type element = elementOf(n.in(0));
  return n.give(ValueRange{n.b.convert(n.b.multiply(y, scale), element),
                           n.b.convert(state, n.has(3) ? elementOf(n.in(3)) : element)});
}

/// Each channel with a kernel of its own, over what was before it and itself.
LogicalResult causalConvolution(Node &n) {
  StringRef activation = n.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return n.refuse("activation '" + activation + "'");
  if (n.rank(0) != 3 || n.rank(1) != 3 || n.shape(1)[0] != n.shape(0)[1] || n.shape(1)[1] != 1)
    return n.refuse("its weights do not fit its operand");
  const int64_t channels = n.shape(0)[1], before = n.shape(1)[2] - 1;
  SmallVector<int64_t> past{n.shape(0)[0], channels, before};
  if (n.has(3) && n.shape(3) != ArrayRef(past))
    return n.refuse("its state does not fit");
  Value x = n.in(0);
  if (before > 0) {
    Value state = n.has(3) ? n.in(3) : n.b.constant(RankedTensorType::get(past, elementOf(x)), 0);
    x = ConcatenateOp::create(n.b.builder, n.b.location, ValueRange{state, x}, 2);
  } else if (n.wants(1)) {
    return n.refuse("its state has no elements");
  }
  Value y = ConvolutionOp::create(n.b.builder, n.b.location, n.b.transpose(x, {0, 2, 1}),
                                  n.b.transpose(n.in(1), {2, 1, 0}), ArrayRef<int64_t>{1}, ArrayRef<int64_t>{0, 0},
                                  ArrayRef<int64_t>{1}, ArrayRef<int64_t>{1}, static_cast<uint64_t>(channels));
  y = n.b.transpose(y, {0, 2, 1});
  if (n.has(2))
    y = n.b.add(y, n.b.broadcast(n.in(2), tensorOf(y).getShape(), {1}));
  if (activation != "none")
    y = n.b.multiply(y, LogisticOp::create(n.b.builder, n.b.location, y));
  SmallVector<int64_t> limits(tensorOf(x).getShape()), starts{0, 0, limits[2] - before};
  return n.give(ValueRange{y, before > 0 ? n.b.slice(x, starts, limits) : Value()});
}

constexpr OnnxRule rules[] = {
    {"CausalConvWithState", causalConvolution},
    {"LinearAttention", linearAttention},
};

} // namespace

ArrayRef<OnnxRule> onnxLinearAttentionRules() { return rules; }

} // namespace dgc::import
