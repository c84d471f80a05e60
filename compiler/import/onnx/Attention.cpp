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

/// The heads of the operands of an attention.
struct Heads {
  Value q, k, v; // [batch, heads, length, size]; keys and values with those of the past
  int64_t heads = 0, shared = 0, before = 0;
};

FailureOr<Heads> headsOf(Node &n) {
  Heads all;
  auto isSplit = [&](unsigned input) { return n.rank(input) == 4; };
  for (unsigned input : {0U, 1U, 2U})
    if (n.rank(input) != 3 && !isSplit(input))
      return n.refuse("operand " + Twine(input) + " has rank " + Twine(n.rank(input)));
  all.heads = isSplit(0) ? n.shape(0)[1] : n.integer("q_num_heads", 0);
  all.shared = isSplit(1) ? n.shape(1)[1] : n.integer("kv_num_heads", 0);
  if (all.heads < 1 || all.shared < 1 || all.heads % all.shared != 0)
    return n.refuse("its numbers of heads are missing or do not fit");
  for (auto [input, heads] : {std::pair(0U, all.heads), std::pair(1U, all.shared), std::pair(2U, all.shared)})
    if (!isSplit(input) && n.shape(input)[2] % heads != 0)
      return n.refuse("operand " + Twine(input) + " is not divided by its heads");
  all.q = splitHeads(n, n.in(0), all.heads);
  all.k = splitHeads(n, n.in(1), all.shared);
  all.v = splitHeads(n, n.in(2), all.shared);
  if (n.has(4) && n.has(5)) {
    all.before = n.shape(4)[2];
    all.k = ConcatenateOp::create(n.b.builder, n.b.location, ValueRange{n.in(4), all.k}, 2);
    all.v = ConcatenateOp::create(n.b.builder, n.b.location, ValueRange{n.in(5), all.v}, 2);
  }
  return all;
}

/// Adds the mask of the file, whose last dimension may be shorter.
FailureOr<Value> addMask(Node &n, Value scores) {
  SmallVector<int64_t> shape(tensorOf(scores).getShape()), own(n.shape(3)), together;
  Value mask = n.in(3);
  const bool isTruth = elementOf(mask).isInteger(1);
  if (!own.empty() && own.back() < shape.back() && own.back() != 1) {
    SmallVector<int64_t> low(own.size(), 0), high(own.size(), 0);
    high.back() = shape.back() - own.back();
    Value none = n.b.constant(RankedTensorType::get({}, elementOf(mask)), isTruth ? 0 : -INFINITY);
    mask = n.b.pad(mask, none, low, high);
    own.back() = shape.back();
  }
  if (!Node::joinShapes(shape, own, together) || ArrayRef(together) != ArrayRef(shape))
    return n.refuse("its mask does not fit");
  mask = n.broadcast(mask, shape);
  return isTruth ? n.b.select(mask, scores, n.splat(-INFINITY, scores)) : n.b.add(scores, mask);
}

/// Leaves out the keys that a query does not see: what is behind it, what is outside of its window, and padding.
FailureOr<Value> hideKeys(Node &n, const Heads &all, Value scores) {
  const int64_t left = n.integer("left_window_size", -1), right = n.integer("right_window_size", -1);
  const bool isCausal = n.integer("is_causal", 0) != 0;
  SmallVector<int64_t> shape(tensorOf(scores).getShape());
  auto type = RankedTensorType::get(shape, n.b.builder.getI64Type());
  auto numbers = [&](int64_t dim) -> Value { return IotaOp::create(n.b.builder, n.b.location, type, dim, Value()); };
  auto keep = [&](ComparisonDirection direction, Value x, Value y) {
    scores = n.b.select(n.b.compare(direction, x, y), scores, n.splat(-INFINITY, scores));
  };
  Value lengths;
  if (n.has(6)) {
    if (n.rank(6) != 1 || n.shape(6)[0] != shape[0] || n.has(4))
      return n.refuse("its lengths do not fit");
    lengths = n.b.broadcast(n.b.convert(n.in(6), n.b.builder.getI64Type()), shape, {0});
  }
  if (isCausal || left >= 0 || right >= 0) {
    // The place of a query among the keys: those with lengths are the last of them.
    Value keys = numbers(3), at = numbers(2);
    at = lengths ? n.b.subtract(n.b.add(at, lengths), n.splat(static_cast<double>(shape[2]), at))
                 : n.b.add(at, n.splat(static_cast<double>(all.before), at));
    if (isCausal)
      keep(ComparisonDirection::LE, keys, at);
    if (left >= 0)
      keep(ComparisonDirection::GE, keys, n.b.subtract(at, n.splat(static_cast<double>(left), at)));
    if (right >= 0)
      keep(ComparisonDirection::LE, keys, n.b.add(at, n.splat(static_cast<double>(right), at)));
  }
  if (lengths)
    keep(ComparisonDirection::LT, numbers(3), lengths);
  return scores;
}

LogicalResult attention(Node &n) {
  FailureOr<Heads> all = headsOf(n);
  const int64_t mode = n.integer("qk_matmul_output_mode", 0);
  if (failed(all) || mode < 0 || mode > 3)
    return failed(all) ? failure() : n.refuse("qk_matmul_output_mode " + Twine(mode));
  Value keys = repeatHeads(n, all->k, all->heads / all->shared),
        values = repeatHeads(n, all->v, all->heads / all->shared);
  Type element = elementOf(all->q);
  const auto size = static_cast<double>(tensorOf(all->q).getDimSize(3));
  const double root = std::sqrt(n.number("scale", 1 / std::sqrt(size)));
  Value scores = n.b.dot(n.b.multiply(all->q, root), n.b.multiply(keys, root), {0, 1}, {0, 1}, {3}, {3});
  SmallVector<Value> stages{scores};
  SmallVector<int64_t> shape(tensorOf(scores).getShape());
  if (const double cap = n.number("softcap", 0); cap > 0)
    scores = n.b.multiply(n.b.tanh(n.b.multiply(scores, 1 / cap)), cap);
  stages.push_back(scores);
  FailureOr<Value> masked = n.has(3) ? addMask(n, scores) : FailureOr<Value>(scores);
  masked = failed(masked) ? masked : hideKeys(n, *all, *masked);
  if (failed(masked))
    return failure();
  stages.push_back(*masked);
  Value weights = SoftmaxOp::create(n.b.builder, n.b.location, *masked, /*dim=*/-1);
  // Of a row without keys nothing remains.
  Value largest = n.b.reduce(ReductionKind::Max, *masked, {3}),
        isNone = n.b.equal(largest, n.splat(-INFINITY, largest));
  weights = n.b.select(n.b.broadcast(isNone, shape, {0, 1, 2}), n.splat(0, weights), weights);
  stages.push_back(weights);
  Value y = n.b.convert(n.b.dot(weights, values, {0, 1}, {0, 1}, {3}, {2}), element);
  if (n.rank(0) == 3) {
    ArrayRef<int64_t> s = tensorOf(y).getShape();
    SmallVector<int64_t> flat{s[0], s[2], s[1] * s[3]};
    y = n.b.reshape(n.b.transpose(y, {0, 2, 1, 3}), flat);
  }
  return n.give(ValueRange{y, all->k, all->v, n.b.convert(stages[static_cast<size_t>(mode)], element)});
}

/// An attention whose scores and weights go through graphs of the file.
LogicalResult flexAttention(Node &n) {
  for (unsigned input : {0U, 1U, 2U})
    if (n.rank(input) != 4)
      return n.refuse("operand " + Twine(input) + " has rank " + Twine(n.rank(input)));
  const int64_t heads = n.shape(0)[1], shared = n.shape(1)[1];
  if (heads % shared != 0 || n.shape(2)[1] != shared)
    return n.refuse("its numbers of heads do not fit");
  Type given = elementOf(n.in(0));
  Type wide = given.getIntOrFloatBitWidth() < 32 ? Type(n.b.builder.getF32Type()) : given;
  if (n.hasAttribute("softmax_precision")) {
    FailureOr<Type> wanted = n.elementType("softmax_precision", 1);
    if (failed(wanted) || !isa<FloatType>(*wanted))
      return failed(wanted) ? failure() : n.refuse("its softmax is of no floating-point numbers");
    wide = *wanted;
  }
  Value k = repeatHeads(n, n.in(1), heads / shared), v = repeatHeads(n, n.in(2), heads / shared);
  const double scale = n.number("scale", 1 / std::sqrt(static_cast<double>(n.shape(0)[3]))), root = std::sqrt(scale);
  Value scores = n.b.dot(n.b.multiply(n.in(0), root), n.b.multiply(k, root), {0, 1}, {0, 1}, {3}, {3});
  auto modified = [&](StringRef graph, Value x) -> FailureOr<Value> {
    if (!n.hasAttribute(graph))
      return x;
    FailureOr<SmallVector<Item>> results = n.run(graph, Item::of(x));
    if (failed(results))
      return failure();
    if (results->size() != 1 || results->front().isList)
      return n.refuse("its graph '" + graph + "' does not have one tensor as its result");
    Value y = n.valueOf(results->front());
    if (tensorOf(y).getShape() != tensorOf(x).getShape())
      return n.refuse("its graph '" + graph + "' changes the shape of its operand");
    return n.b.convert(y, elementOf(x));
  };
  FailureOr<Value> changed = modified("score_mod", n.b.convert(scores, wide));
  if (failed(changed))
    return failure();
  changed = modified("prob_mod", SoftmaxOp::create(n.b.builder, n.b.location, *changed, /*dim=*/-1));
  if (failed(changed))
    return failure();
  Value y = n.b.dot(*changed, n.b.convert(v, wide), {0, 1}, {0, 1}, {3}, {2});
  return n.give(n.b.convert(y, elementOf(n.in(2))));
}

//===-- Rotary embedding -------------------------------------------------===//

/// Elements `start`, `start + step` .. of the last dimension, `count` of them.
Value lastPart(Node &n, Value x, int64_t start, int64_t count, int64_t step = 1) {
  SmallVector<int64_t> limits(tensorOf(x).getShape()), starts(limits.size(), 0), strides(limits.size(), 1);
  starts.back() = start;
  limits.back() = start + (count - 1) * step + 1;
  strides.back() = step;
  return n.b.slice(x, starts, limits, strides);
}

/// Turns pairs of elements by angles, whose cosines and sines are given for each place of a sequence.
LogicalResult rotaryEmbedding(Node &n) {
  const bool isSplit = n.rank(0) == 4, isInterleaved = n.integer("interleaved", 0) != 0;
  const int64_t heads = isSplit ? n.shape(0)[1] : n.integer("num_heads", 0);
  if ((!isSplit && n.rank(0) != 3) || heads < 1 || (!isSplit && n.shape(0)[2] % heads != 0))
    return n.refuse("its operand is not divided by its heads");
  SmallVector<int64_t> given(n.shape(0));
  Value x = isSplit ? n.in(0) : splitHeads(n, n.in(0), heads); // [batch, heads, length, size]
  SmallVector<int64_t> shape(tensorOf(x).getShape());
  const int64_t wanted = n.integer("rotary_embedding_dim", 0), turned = wanted == 0 ? shape[3] : wanted,
                half = turned / 2;
  if (turned < 2 || turned > shape[3] || turned % 2 != 0)
    return n.refuse("rotary_embedding_dim is " + Twine(turned) + " of " + Twine(shape[3]));
  SmallVector<int64_t> part{shape[0], shape[1], shape[2], half};
  auto anglesOf = [&](unsigned input) -> FailureOr<Value> {
    Value cache = n.in(input);
    if (n.has(3))
      cache = GatherOp::create(n.b.builder, n.b.location, cache, n.in(3), Value(), 0);
    ArrayRef<int64_t> own = tensorOf(cache).getShape();
    if (own.size() != 3 || own[0] != shape[0] || own[1] != shape[2] || own[2] != half)
      return n.refuse("its angles do not fit its operand");
    return n.b.broadcast(cache, part, {0, 2, 3});
  };
  FailureOr<Value> cosines = anglesOf(1), sines = anglesOf(2);
  if (failed(cosines) || failed(sines))
    return failure();
  Value first = lastPart(n, x, 0, half, isInterleaved ? 2 : 1);
  Value second = lastPart(n, x, isInterleaved ? 1 : half, half, isInterleaved ? 2 : 1);
  Value real = n.b.subtract(n.b.multiply(*cosines, first), n.b.multiply(*sines, second));
  Value imaginary = n.b.add(n.b.multiply(*sines, first), n.b.multiply(*cosines, second));
  SmallVector<int64_t> whole(part);
  whole.back() = turned;
  if (isInterleaved) {
    SmallVector<int64_t> wide(part);
    wide.push_back(1);
    real = n.b.reshape(real, wide);
    imaginary = n.b.reshape(imaginary, wide);
  }
  const int64_t dim = isInterleaved ? 4 : 3;
  Value y = ConcatenateOp::create(n.b.builder, n.b.location, ValueRange{real, imaginary}, dim);
  y = n.b.reshape(y, whole);
  if (turned < shape[3])
    y = ConcatenateOp::create(n.b.builder, n.b.location, ValueRange{y, lastPart(n, x, turned, shape[3] - turned)}, 3);
  return n.give(isSplit ? y : n.b.reshape(n.b.transpose(y, {0, 2, 1, 3}), given));
}

/// A cache with an update from a place on, which each example has its own of.
LogicalResult tensorScatter(Node &n) {
  FailureOr<int64_t> dim = n.dim(n.integer("axis", -2), n.rank(0));
  StringRef mode = n.text("mode", "linear");
  if (failed(dim) || *dim == 0 || (mode != "linear" && mode != "circular"))
    return failed(dim) ? failure() : n.refuse("mode '" + mode + "' along dimension " + Twine(*dim));
  SmallVector<int64_t> shape(n.shape(0)), part(n.shape(1)), narrow(shape);
  if (part.size() != shape.size() || part[*dim] > shape[*dim])
    return n.refuse("its update does not fit its cache");
  narrow[*dim] = part[*dim];
  if (narrow != part || (n.has(2) && (n.rank(2) != 1 || n.shape(2)[0] != shape[0])))
    return n.refuse("its update does not fit its cache");
  // The element of the update that comes to each place; negative or too large for none.
  SmallVector<int64_t> places{shape[0], shape[*dim]};
  auto type = RankedTensorType::get(places, n.b.builder.getI64Type());
  Value at = IotaOp::create(n.b.builder, n.b.location, type, 1, Value());
  auto number = [&](int64_t x) { return n.splat(static_cast<double>(x), at); };
  if (n.has(2))
    at = n.b.subtract(at, n.b.broadcast(n.b.convert(n.in(2), n.b.builder.getI64Type()), places, {0}));
  if (mode == "circular") {
    at = RemainderOp::create(n.b.builder, n.b.location, at, number(shape[*dim]));
    at = n.b.select(n.b.compare(ComparisonDirection::LT, at, number(0)), n.b.add(at, number(shape[*dim])), at);
  }
  Value isNew = AndOp::create(n.b.builder, n.b.location, n.b.compare(ComparisonDirection::GE, at, number(0)),
                              n.b.compare(ComparisonDirection::LT, at, number(part[*dim])));
  at = n.b.maximum(n.b.minimum(at, number(part[*dim] - 1)), number(0));
  Value examples = IotaOp::create(n.b.builder, n.b.location, type, 0, Value());
  // Rows [batch * length, ..] of the update, with its dimension second.
  SmallVector<int64_t> order = firstNumbers(n.rank(0)), rows, inverse(order.size());
  order.erase(order.begin() + *dim);
  order.insert(order.begin() + 1, *dim);
  for (auto [i, from] : llvm::enumerate(order)) {
    inverse[from] = static_cast<int64_t>(i);
    rows.push_back(part[from]);
  }
  SmallVector<int64_t> flat{rows[0] * rows[1]};
  flat.append(rows.begin() + 2, rows.end());
  Value update = n.b.reshape(n.b.transpose(n.in(1), order), flat);
  Value row = n.b.add(n.b.multiply(examples, number(part[*dim])), at);
  Value moved = GatherOp::create(n.b.builder, n.b.location, update, row, Value(), 0);
  return n.give(n.b.select(n.b.broadcast(isNew, shape, {0, *dim}), n.b.transpose(moved, inverse), n.in(0)));
}

constexpr OnnxRule rules[] = {
    {"ai.onnx.preview.FlexAttention", flexAttention},
    {"Attention", attention},
    {"RotaryEmbedding", rotaryEmbedding},
    {"TensorScatter", tensorScatter},
};

} // namespace

ArrayRef<OnnxRule> onnxAttentionRules() { return rules; }

} // namespace dgc::import
