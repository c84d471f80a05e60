// Updates of optimizers, as ONNX has them for training.

#include "compiler/import/onnx/Node.h"

using namespace mlir;

namespace dgc::import {
namespace {

/// The tensors of a node for each variable: all variables first, then all gradients, and so on.
struct Update {
  Value rate, count; // scalars: of integers the second
  Value x, gradient; // the gradient with the part of the norm
  SmallVector<Value> state;
};

Value times(Node &n, Value x, Value scalar) {
  return n.b.multiply(x, n.b.broadcast(n.b.reshape(n.b.convert(scalar, elementOf(x)), {}), tensorOf(x).getShape(), {}));
}

using Formula = void (*)(Node &n, Update &u);

/// Applies a formula to each variable, of so many states; results are in the order of the operands, without gradients.
template <Formula formula, unsigned states> LogicalResult update(Node &n) {
  if (n.numInputs() < 2 + 2 + states || (n.numInputs() - 2) % (2 + states) != 0)
    return n.refuse("has " + Twine(n.numInputs()) + " operands");
  const unsigned count = (n.numInputs() - 2) / (2 + states);
  SmallVector<SmallVector<Value>> results(1 + states);
  for (unsigned i = 0; i < count; ++i) {
    Update u{n.in(0), n.in(1), n.in(2 + i), n.in(2 + count + i), {}};
    for (unsigned part = 1; part < 2 + states; ++part)
      if (n.type(2 + part * count + i) != tensorOf(u.x))
        return n.refuse("operand " + Twine(2 + part * count + i) + " has another type than its variable");
    if (n.type(0).getNumElements() != 1 || n.type(1).getNumElements() != 1)
      return n.refuse("its rate or its count is no scalar");
    for (unsigned s = 0; s < states; ++s)
      u.state.push_back(n.in(2 + (2 + s) * count + i));
    u.gradient = n.b.add(n.b.multiply(u.x, n.number("norm_coefficient", 0)), u.gradient);
    formula(n, u);
    results[0].push_back(u.x);
    for (unsigned s = 0; s < states; ++s)
      results[1 + s].push_back(u.state[s]);
  }
  SmallVector<Value> all;
  for (ArrayRef<Value> list : results)
    llvm::append_range(all, list);
  return n.give(all);
}

void adagrad(Node &n, Update &u) {
  Value step = n.b.convert(u.count, elementOf(u.rate));
  Value decay = n.b.multiply(step, n.number("decay_factor", 0));
  Value rate = n.b.divide(n.b.reshape(u.rate, {}), n.b.reshape(n.b.add(decay, n.splat(1, decay)), {}));
  Value &sum = u.state[0];
  sum = n.b.add(sum, n.b.multiply(u.gradient, u.gradient));
  Value root = n.b.add(n.b.sqrt(sum), n.splat(n.number("epsilon", 0), sum));
  u.x = n.b.subtract(u.x, n.b.divide(times(n, u.gradient, rate), root));
}

void adam(Node &n, Update &u) {
  const double alpha = n.number("alpha", 0.9F), beta = n.number("beta", 0.999F);
  Value &mean = u.state[0], &square = u.state[1];
  mean = n.b.add(n.b.multiply(mean, alpha), n.b.multiply(u.gradient, 1 - alpha));
  square = n.b.add(n.b.multiply(square, beta), n.b.multiply(n.b.multiply(u.gradient, u.gradient), 1 - beta));
  // In the first step, number 0, nothing is corrected.
  Value rate = n.b.reshape(u.rate, {}), step = n.b.reshape(n.b.convert(u.count, elementOf(rate)), {});
  auto rest = [&](double base) {
    Value one = n.splat(1, rate);
    return n.b.subtract(one, n.b.power(n.splat(base, rate), step));
  };
  Value corrected = n.b.divide(n.b.multiply(rate, n.b.sqrt(rest(beta))), rest(alpha));
  rate = n.b.select(n.b.compare(ComparisonDirection::GT, step, n.splat(0, step)), corrected, rate);
  Value root = n.b.add(n.b.sqrt(square), n.splat(n.number("epsilon", 1e-6F), square));
  u.x = n.b.subtract(u.x, times(n, n.b.divide(mean, root), rate));
  u.x = n.b.multiply(u.x, 1 - n.number("norm_coefficient_post", 0));
}

void momentum(Node &n, Update &u) {
  Value count = n.b.reshape(u.count, {}), step = n.b.convert(count, elementOf(u.x));
  Value isLater = n.b.compare(ComparisonDirection::GT, count, n.splat(0, count));
  Value factor = n.b.select(isLater, n.splat(n.number("beta", 1), step), n.splat(1, step));
  Value &velocity = u.state[0];
  velocity = n.b.add(n.b.multiply(velocity, n.number("alpha", 0)), times(n, u.gradient, factor));
  Value step2 = velocity;
  if (n.text("mode", "standard") == "nesterov")
    step2 = n.b.add(u.gradient, n.b.multiply(velocity, n.number("alpha", 0)));
  u.x = n.b.subtract(u.x, times(n, step2, u.rate));
}

constexpr OnnxRule rules[] = {
    {"ai.onnx.preview.training.Adagrad", update<adagrad, 1>},
    {"ai.onnx.preview.training.Adam", update<adam, 2>},
    {"ai.onnx.preview.training.Momentum", update<momentum, 1>},
};

} // namespace

ArrayRef<OnnxRule> onnxTrainingRules() { return rules; }

} // namespace dgc::import
