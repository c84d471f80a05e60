// LSTM, GRU and RNN of ONNX: a scan over the steps for each direction.

#include "compiler/import/onnx/Loops.h"

using namespace mlir;

namespace dgc::import {
namespace {

/// The sizes of a layer and its operands; X and the results have the order [steps, batch, ..] here.
struct Layer {
  int64_t steps = 0, batch = 0, hidden = 0, directions = 1;
  Value x;
  SmallVector<std::string> activations; // for each direction as many as the op has
  bool isBatchFirst = false;
};

Value activate(Node &n, StringRef name, Value x) {
  if (name == "Tanh")
    return n.b.tanh(x);
  if (name == "Relu")
    return n.b.maximum(x, n.splat(0, x));
  return LogisticOp::create(n.b.builder, n.b.location, x);
}

FailureOr<Layer> layerOf(Node &n, ArrayRef<StringRef> defaults) {
  Layer layer;
  layer.isBatchFirst = n.integer("layout", 0) != 0;
  StringRef direction = n.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return n.refuse("direction '" + direction + "'");
  layer.directions = direction == "bidirectional" ? 2 : 1;
  if (n.rank(0) != 3 || n.rank(1) != 3 || n.rank(2) != 3 || n.shape(2)[0] != layer.directions)
    return n.refuse("its operands have other ranks or directions than it says");
  layer.x = layer.isBatchFirst ? n.b.transpose(n.in(0), {1, 0, 2}) : n.in(0);
  layer.steps = tensorOf(layer.x).getDimSize(0);
  layer.batch = tensorOf(layer.x).getDimSize(1);
  layer.hidden = n.shape(2)[2];
  if (n.hasAttribute("clip"))
    return n.refuse("with 'clip'");
  if (n.has(4)) {
    FailureOr<SmallVector<int64_t>> lengths = n.integers(4, "sequence_lens");
    if (failed(lengths))
      return failure();
    if (llvm::any_of(*lengths, [&](int64_t length) { return length != layer.steps; }))
      return n.refuse("with sequences of different lengths");
  }
  for (StringRef name : n.texts("activations")) {
    if (name != "Sigmoid" && name != "Tanh" && name != "Relu")
      return n.refuse("activation '" + name + "'");
    layer.activations.push_back(name.str());
  }
  while (layer.activations.size() < defaults.size() * static_cast<size_t>(layer.directions))
    layer.activations.push_back(defaults[layer.activations.size() % defaults.size()].str());
  return layer;
}

/// Entry `i` of the first dimension.
Value entry(Node &n, Value x, int64_t i) {
  SmallVector<int64_t> limits(tensorOf(x).getShape()), starts(limits.size(), 0);
  starts[0] = i;
  limits[0] = i + 1;
  SmallVector<int64_t> shape(ArrayRef(limits).drop_front());
  return n.b.reshape(n.b.slice(x, starts, limits), shape);
}

/// Columns of gate `g` of [batch, gates * hidden].
Value gate(Node &n, Value gates, int64_t g, int64_t hidden) {
  return n.b.slice(gates, {0, g * hidden}, {tensorOf(gates).getDimSize(0), (g + 1) * hidden});
}

/// Elements of a vector, repeated for the batch; null for none.
Value partOf(Node &n, Value vector, int64_t first, int64_t count, int64_t batch) {
  return n.b.broadcast(n.b.slice(vector, {first}, {first + count}), {batch, count}, {1});
}

/// What one direction computes.
struct Direction {
  Value outputs;      // of all steps, in the order of the operand: [steps, batch, hidden]
  Value hidden, cell; // the last ones
};

/// One direction of a layer with so many gates: what the gates get of the operand is one product for all steps.
class Cell {
public:
  Cell(Node &n, const Layer &layer, int64_t gates, int64_t direction)
      : n(n), layer(layer), gates(gates), direction(direction) {
    weights = entry(n, n.in(1), direction);   // [gates * hidden, input]
    recurrent = entry(n, n.in(2), direction); // [gates * hidden, hidden]
    if (n.has(3))
      bias = entry(n, n.in(3), direction);
    Value all = n.b.dot(layer.x, weights, {}, {}, {2}, {1}); // [steps, batch, gates * hidden]
    if (bias)
      all = n.b.add(all, n.b.broadcast(n.b.slice(bias, {0}, {gates * layer.hidden}), tensorOf(all).getShape(), {2}));
    fromInput = all;
  }

  Value initial(unsigned input) {
    if (!n.has(input))
      return n.b.constant(RankedTensorType::get({layer.batch, layer.hidden}, elementOf(layer.x)), 0);
    return entry(n, layer.isBatchFirst ? n.b.transpose(n.in(input), {1, 0, 2}) : n.in(input), direction);
  }
  /// h * R of some gates, with the bias of these where it is there.
  Value fromHidden(Value h, int64_t firstGate, int64_t count) {
    const int64_t first = firstGate * layer.hidden, size = count * layer.hidden;
    Value rows = n.b.slice(recurrent, {first, 0}, {first + size, layer.hidden});
    Value product = n.b.dot(h, rows, {}, {}, {1}, {1});
    return bias ? n.b.add(product, partOf(n, bias, gates * layer.hidden + first, size, layer.batch)) : product;
  }
  /// What the gates get of the operand: [steps, batch, gates * hidden].
  Value inputs() const { return fromInput; }
  StringRef activation(size_t i) {
    return layer.activations[static_cast<size_t>(direction) * (layer.activations.size() / layer.directions) + i];
  }
  bool isReverse() const { return direction == 1 || n.text("direction", "forward") == "reverse"; }

  Node &n;
  const Layer &layer;

private:
  int64_t gates, direction;
  Value weights, recurrent, bias, fromInput;
};

/// `step` makes the hidden state and the memory of the next step of what the gates get of the operand. Without a memory it
/// is null.
template <class Step> Direction runSteps(Cell &cell, Value hidden, Value memory, Step step) {
  TensorBuilder &b = cell.n.b;
  const Layer &layer = cell.layer;
  SmallVector<Value> carried{hidden};
  if (memory)
    carried.push_back(memory);
  SmallVector<Type> types = llvm::map_to_vector(carried, [](Value value) { return value.getType(); });
  types.push_back(RankedTensorType::get({layer.steps, layer.batch, layer.hidden}, elementOf(hidden)));
  auto scan = ScanOp::create(b.builder, b.location, types, carried, cell.inputs(), ValueRange(), /*dimension=*/0,
                             cell.isReverse(), /*count=*/IntegerAttr());
  {
    OpBuilder::InsertionGuard guard(b.builder);
    Block *block = b.builder.createBlock(&scan.getBody());
    for (Value value : carried)
      block->addArgument(value.getType(), b.location);
    RankedTensorType all = tensorOf(cell.inputs());
    Value input = block->addArgument(all.clone(all.getShape().drop_front()), b.location);
    Value nextHidden = block->getArgument(0), nextMemory = memory ? block->getArgument(1) : Value();
    step(input, nextHidden, nextMemory);
    SmallVector<Value> given{nextHidden};
    if (memory)
      given.push_back(nextMemory);
    given.push_back(nextHidden);
    YieldOp::create(b.builder, b.location, given);
  }
  isolate(scan, scan.getInvariantsMutable());
  return {scan.getResults().back(), scan.getResult(0), memory ? scan.getResult(1) : Value()};
}

/// Joins the directions: Y, Y_h, and Y_c where there are cells.
LogicalResult giveAll(Node &n, const Layer &layer, ArrayRef<Direction> all) {
  auto join = [&](ValueRange parts, int64_t dim) -> Value {
    return parts.size() == 1 ? parts[0] : Value(ConcatenateOp::create(n.b.builder, n.b.location, parts, dim));
  };
  SmallVector<Value> steps, hiddens, cells;
  for (const Direction &each : all)
    steps.push_back(n.b.reshape(each.outputs, {layer.steps, 1, layer.batch, layer.hidden}));
  for (const Direction &each : all) {
    hiddens.push_back(n.b.reshape(each.hidden, {1, layer.batch, layer.hidden}));
    if (each.cell)
      cells.push_back(n.b.reshape(each.cell, {1, layer.batch, layer.hidden}));
  }
  Value y = join(steps, 1);
  Value hidden = join(hiddens, 0), cell = cells.empty() ? Value() : join(cells, 0);
  if (layer.isBatchFirst) {
    y = n.b.transpose(y, {2, 0, 1, 3});
    hidden = n.b.transpose(hidden, {1, 0, 2});
    cell = cell ? n.b.transpose(cell, {1, 0, 2}) : cell;
  }
  return n.give(ValueRange{y, hidden, cell});
}

LogicalResult lstm(Node &n) {
  FailureOr<Layer> layer = layerOf(n, {"Sigmoid", "Tanh", "Tanh"});
  if (failed(layer))
    return failure();
  if (n.integer("input_forget", 0) != 0)
    return n.refuse("with 'input_forget'");
  const int64_t size = layer->hidden;
  SmallVector<Direction> all;
  for (int64_t d = 0; d < layer->directions; ++d) {
    Cell cell(n, *layer, 4, d);
    Value peephole = n.has(7) ? entry(n, n.in(7), d) : Value();
    auto watched = [&](Value gate, Value c, int64_t i) {
      return peephole ? n.b.add(gate, n.b.multiply(partOf(n, peephole, i * size, size, layer->batch), c)) : gate;
    };
    all.push_back(runSteps(cell, cell.initial(5), cell.initial(6), [&](Value x, Value &h, Value &c) {
      Value gates = n.b.add(x, cell.fromHidden(h, 0, 4)); // input, output, forget, cell
      Value input = activate(n, cell.activation(0), watched(gate(n, gates, 0, size), c, 0));
      Value forget = activate(n, cell.activation(0), watched(gate(n, gates, 2, size), c, 2));
      Value candidate = activate(n, cell.activation(1), gate(n, gates, 3, size));
      c = n.b.add(n.b.multiply(forget, c), n.b.multiply(input, candidate));
      Value output = activate(n, cell.activation(0), watched(gate(n, gates, 1, size), c, 1));
      h = n.b.multiply(output, activate(n, cell.activation(2), c));
    }));
  }
  return giveAll(n, *layer, all);
}

LogicalResult gru(Node &n) {
  FailureOr<Layer> layer = layerOf(n, {"Sigmoid", "Tanh"});
  if (failed(layer))
    return failure();
  const int64_t size = layer->hidden;
  const bool isLinear = n.integer("linear_before_reset", 0) != 0;
  SmallVector<Direction> all;
  for (int64_t d = 0; d < layer->directions; ++d) {
    Cell cell(n, *layer, 3, d);
    all.push_back(runSteps(cell, cell.initial(5), Value(), [&](Value x, Value &h, Value &) {
      Value gates = n.b.add(n.b.slice(x, {0, 0}, {layer->batch, 2 * size}), cell.fromHidden(h, 0, 2));
      Value update = activate(n, cell.activation(0), gate(n, gates, 0, size));
      Value reset = activate(n, cell.activation(0), gate(n, gates, 1, size));
      Value before =
          isLinear ? n.b.multiply(reset, cell.fromHidden(h, 2, 1)) : cell.fromHidden(n.b.multiply(reset, h), 2, 1);
      Value candidate = activate(n, cell.activation(1), n.b.add(gate(n, x, 2, size), before));
      Value kept = n.b.subtract(n.splat(1, update), update);
      h = n.b.add(n.b.multiply(kept, candidate), n.b.multiply(update, h));
    }));
  }
  return giveAll(n, *layer, all);
}

LogicalResult rnn(Node &n) {
  FailureOr<Layer> layer = layerOf(n, {"Tanh"});
  if (failed(layer))
    return failure();
  SmallVector<Direction> all;
  for (int64_t d = 0; d < layer->directions; ++d) {
    Cell cell(n, *layer, 1, d);
    all.push_back(runSteps(cell, cell.initial(5), Value(), [&](Value x, Value &h, Value &) {
      h = activate(n, cell.activation(0), n.b.add(x, cell.fromHidden(h, 0, 1)));
    }));
  }
  return giveAll(n, *layer, all);
}

constexpr OnnxRule rules[] = {{"GRU", gru}, {"LSTM", lstm}, {"RNN", rnn}};

} // namespace

ArrayRef<OnnxRule> onnxRecurrentRules() { return rules; }

} // namespace dgc::import
