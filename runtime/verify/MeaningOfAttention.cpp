// Attention, as dgc.fused_attention and dgc.fused_attention_grad are decomposed.
#include "runtime/verify/MeaningParts.h"

#include <limits>

using namespace dgc;
using namespace dgc::verify;
using reference::Opcode;
using reference::Type;

namespace {
/// Arrays of its own are [batch, heads, t, s], or without some of the last dimensions.
class AttentionMeaning {
public:
  AttentionMeaning(const artifact::Attention &op, KernelBuilder &kernel);
  void forward();
  void backward();

private:
  using Strides = std::vector<int64_t>; // of (batch, heads, place, features)

  /// Of [batch, places, heads * features].
  Strides split(int64_t places, int64_t size) const { return {places * heads * size, size, heads * size, 1}; }
  Strides pairs() const { return {heads * to * from, to * from, from, 1}; }
  Strides rows() const { return {heads * to, to, 1, 0}; }
  uint32_t own(int64_t count) { return kernel.own(type, static_cast<uint64_t>(batch * heads * count)); }
  uint32_t ownPairs() { return own(to * from); }

  /// A product for each example and head: r[i, j] = sum over k of x[i, k] * y[j, k], where strides are of
  /// (batch, heads, i or j, k), and those of r of (batch, heads, i, j).
  struct Side {
    uint32_t buffer;
    Strides strides;
    bool isTransposed = false; // its places are k
  };
  void multiply(const Side &x, const Side &y, int64_t i, int64_t j, int64_t k, uint32_t result, const Strides &strides);
  /// The same, rounded, to a buffer of the program that is [batch, i, heads * j].
  void multiplyTo(int64_t result, const Side &x, const Side &y, int64_t i, int64_t j, int64_t k);

  uint32_t scores();
  /// value(nest, i) for each pair, with the value of `pairs` and what `perRow` has for its row.
  template <typename F> uint32_t forPairs(uint32_t pairs, uint32_t perRow, Strides strides, F value);
  Side query() { return {kernel.input(op.query()), split(to, features)}; }
  Side key() { return {kernel.input(op.key()), split(from, features)}; }
  Side value() { return {kernel.input(op.value()), split(from, mixed)}; }
  Side gradient() { return {kernel.input(op.result_gradient()), split(to, mixed)}; }
  static Side transposed(Side side) {
    side.isTransposed = true;
    return side;
  }

  const artifact::Attention &op;
  KernelBuilder &kernel;
  Type type;
  int64_t batch, heads, to, from, features, mixed;
};
} // namespace

AttentionMeaning::AttentionMeaning(const artifact::Attention &op, KernelBuilder &kernel)
    : op(op), kernel(kernel), type(computeType(kernel.typeOf(kernel.input(op.query())))),
      heads(static_cast<int64_t>(op.heads())) {
  const std::vector<int64_t> query = kernel.shapeOf(op.query());
  batch = query[0];
  to = query[1];
  from = kernel.shapeOf(op.key())[1];
  features = query[2] / heads;
  mixed = kernel.shapeOf(op.value())[2] / heads;
}

void AttentionMeaning::multiply(const Side &x, const Side &y, int64_t i, int64_t j, int64_t k, uint32_t result,
                                const Strides &strides) {
  const Strides &a = x.strides, &b = y.strides;
  const Loop kept[] = {{batch, a[0], b[0], strides[0]},
                       {heads, a[1], b[1], strides[1]},
                       {i, a[x.isTransposed ? 3 : 2], 0, strides[2]},
                       {j, 0, b[y.isTransposed ? 3 : 2], strides[3]}};
  const Loop reduced[] = {{k, a[x.isTransposed ? 2 : 3], b[y.isTransposed ? 2 : 3], 0}};
  sumProducts(kernel, kept, reduced, {x.buffer}, {y.buffer}, result);
}

void AttentionMeaning::multiplyTo(int64_t result, const Side &x, const Side &y, int64_t i, int64_t j, int64_t k) {
  const uint32_t buffer = kernel.result(result), sums = sumsOf(kernel, buffer);
  multiply(x, y, i, j, k, sums, split(i, j));
  storeSums(kernel, sums, buffer);
}

/// scale * query key^T, where later places are far below all others.
uint32_t AttentionMeaning::scores() {
  const uint32_t products = ownPairs(), result = ownPairs();
  multiply(query(), key(), to, from, features, products, pairs());
  NestBuilder nest(kernel, {batch * heads, to, from});
  const std::vector<int64_t> strides{to * from, from, 1};
  uint32_t score = nest.times(nest.load(products, strides), op.scale());
  if (op.causal()) {
    const uint32_t isLater = nest.emit(Opcode::LessS, Type::I1, {nest.index(1), nest.index(2)});
    score = nest.emit(Opcode::Select, type, {isLater, nest.number(-1e30, type), score});
  }
  nest.output(result, strides, score);
  return result;
}

template <typename F> uint32_t AttentionMeaning::forPairs(uint32_t pairs, uint32_t perRow, Strides strides, F value) {
  const uint32_t result = ownPairs();
  NestBuilder nest(kernel, {batch, heads, to, from});
  const uint32_t x = nest.load(pairs, this->pairs()), y = nest.load(perRow, std::move(strides));
  nest.output(result, this->pairs(), value(nest, x, y));
  return result;
}

void AttentionMeaning::forward() {
  const uint32_t all = scores(), largest = own(to), total = own(to);
  fill(kernel, largest, -std::numeric_limits<double>::infinity());
  {
    NestBuilder nest(kernel, {batch * heads * to, from}, 1);
    const uint32_t x = nest.load(all, {from, 1});
    nest.output(largest, {1, 0}, nest.emit(Opcode::Maximum, {nest.current(0, type), x}));
  }
  const uint32_t powers = forPairs(all, largest, rows(), [](NestBuilder &nest, uint32_t x, uint32_t most) {
    return nest.emit(Opcode::Exp, {nest.subtract(x, most)});
  });
  const Loop kept{batch * heads * to, from, 0, 1}, reduced{from, 1, 0, 0};
  sum(kernel, std::span(&kept, 1), std::span(&reduced, 1), {powers}, total);
  const uint32_t weights =
      forPairs(powers, total, rows(), [](NestBuilder &nest, uint32_t x, uint32_t all) { return nest.divide(x, all); });
  multiplyTo(op.result(), {weights, pairs()}, transposed(value()), to, mixed, from);
  const uint32_t logSum = kernel.result(op.log_sum());
  NestBuilder nest(kernel, {batch * heads * to});
  const uint32_t logarithm = nest.emit(Opcode::Log, {nest.load(total, {1})});
  nest.output(logSum, {1}, nest.add(nest.load(largest, {1}), logarithm));
}

void AttentionMeaning::backward() {
  const uint32_t weights =
      forPairs(scores(), kernel.input(op.log_sum()), rows(), [](NestBuilder &nest, uint32_t x, uint32_t logSum) {
        return nest.emit(Opcode::Exp, {nest.subtract(x, logSum)});
      });
  const uint32_t ofWeights = ownPairs(), mean = own(to);
  multiply(gradient(), value(), to, from, mixed, ofWeights, pairs());
  const Side result{kernel.input(op.result()), split(to, mixed)}, given = gradient();
  const Strides &a = given.strides, &b = result.strides, means = rows();
  const Loop kept[] = {{batch, a[0], b[0], means[0]}, {heads, a[1], b[1], means[1]}, {to, a[2], b[2], means[2]}};
  const Loop reduced[] = {{mixed, a[3], b[3], 0}};
  sumProducts(kernel, kept, reduced, {given.buffer}, {result.buffer}, mean);
  const uint32_t shifted = forPairs(
      ofWeights, mean, rows(), [](NestBuilder &nest, uint32_t x, uint32_t mean) { return nest.subtract(x, mean); });
  const uint32_t ofScores = forPairs(weights, shifted, pairs(), [&](NestBuilder &nest, uint32_t x, uint32_t slope) {
    return nest.times(nest.multiply(x, slope), op.scale());
  });
  multiplyTo(op.query_gradient(), {ofScores, pairs()}, transposed(key()), to, features, from);
  multiplyTo(op.key_gradient(), transposed({ofScores, pairs()}), transposed(query()), from, features, to);
  multiplyTo(op.value_gradient(), transposed({weights, pairs()}), transposed(gradient()), from, mixed, to);
}

absl::Status dgc::verify::express(const artifact::Attention &op, KernelBuilder &kernel) {
  AttentionMeaning meaning(op, kernel);
  if (op.backward())
    meaning.backward();
  else
    meaning.forward();
  return absl::OkStatus();
}
