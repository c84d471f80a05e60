// ONNX ops with subgraphs: branches, and loops. Rounds are written out one after the other where their number is known.

#include "compiler/import/onnx/Loops.h"

using namespace mlir;

namespace dgc::import {
namespace {

/// Whether a constant is true; nothing where it is not known.
std::optional<bool> truthOf(const Item &item) {
  if (!item.constant || !item.constant.getElementType().isInteger(1) || item.constant.getNumElements() != 1)
    return std::nullopt;
  return *item.constant.getValues<bool>().begin();
}

Item truth(Node &n, bool value) {
  return Item::of(DenseElementsAttr::get(RankedTensorType::get({}, n.b.builder.getI1Type()), value));
}

/// `x` where the condition, one truth value, holds, else `y`. Fails without a diagnostic where their types differ.
FailureOr<Item> choose(Node &n, Value condition, const Item &x, const Item &y) {
  if (x.isList || y.isList)
    return failure();
  Value onTrue = n.valueOf(x), onFalse = n.valueOf(y);
  if (onTrue.getType() != onFalse.getType())
    return failure();
  Value wide = n.b.broadcast(n.b.reshape(condition, {}), tensorOf(onTrue).getShape(), {});
  return Item::of(n.b.select(wide, onTrue, onFalse));
}

/// Both branches are computed where it is not known which one is taken: ops have no effects.
LogicalResult branch(Node &n) {
  const Item condition = n.item(0);
  if (!condition || condition.isList)
    return n.refuse("its condition is no tensor");
  if (std::optional<bool> known = truthOf(condition)) {
    FailureOr<SmallVector<Item>> results = n.run(*known ? "then_branch" : "else_branch", {});
    return failed(results) ? failure() : n.giveItems(*results);
  }
  if (n.type(0).getNumElements() != 1)
    return n.refuse("its condition has " + Twine(n.type(0).getNumElements()) + " elements");
  FailureOr<SmallVector<Item>> onTrue = n.run("then_branch", {}), onFalse = n.run("else_branch", {});
  if (failed(onTrue) || failed(onFalse))
    return failure();
  if (onTrue->size() != onFalse->size())
    return n.refuse("its branches have different numbers of results");
  SmallVector<Item> results;
  for (auto [i, x, y] : llvm::enumerate(*onTrue, *onFalse)) {
    FailureOr<Item> chosen = choose(n, n.in(0), x, y);
    if (failed(chosen))
      return n.refuse("result " + Twine(i) + " has another shape or type in its other branch, and which one is taken " +
                      "is not known when a model is compiled");
    results.push_back(*chosen);
  }
  return n.giveItems(results);
}

/// Entry `i` of a dimension, which the result does not have.
Value entryOf(Node &n, Value x, int64_t dim, int64_t i) {
  SmallVector<int64_t> limits(tensorOf(x).getShape()), starts(limits.size(), 0), shape(limits);
  starts[dim] = i;
  limits[dim] = i + 1;
  shape.erase(shape.begin() + dim);
  return n.b.reshape(n.b.slice(x, starts, limits), shape);
}

/// One after the other in a new dimension. Fails with a diagnostic where they do not fit.
FailureOr<Value> stack(Node &n, ArrayRef<Value> parts, int64_t axis) {
  if (parts.empty())
    return n.refuse("has no rounds, and a result of each: tensors have at least one element");
  FailureOr<int64_t> dim = n.dim(axis, tensorOf(parts[0]).getRank() + 1);
  if (failed(dim))
    return failure();
  SmallVector<int64_t> shape(tensorOf(parts[0]).getShape());
  shape.insert(shape.begin() + *dim, 1);
  SmallVector<Value> wide;
  for (Value part : parts) {
    if (part.getType() != parts[0].getType())
      return n.refuse("results of its rounds have different shapes");
    wide.push_back(n.b.reshape(part, shape));
  }
  return wide.size() == 1 ? wide[0] : Value(ConcatenateOp::create(n.b.builder, n.b.location, wide, *dim));
}

//===-- Loop -------------------------------------------------------------===//

/// What goes from round to round. `active` is null while every round is sure to take place.
struct LoopState {
  SmallVector<Item> carried;
  SmallVector<SmallVector<Value>> rounds; // what each round adds to a result
  Item condition;
  Value active;
};

/// One round. What follows a round whose condition does not hold changes nothing.
LogicalResult runRound(Node &n, LoopState &state, int64_t round) {
  auto scalar = RankedTensorType::get({}, n.b.builder.getI64Type());
  SmallVector<Item> inputs{Item::of(DenseElementsAttr::get(scalar, round)), truth(n, true)};
  llvm::append_range(inputs, state.carried);
  FailureOr<SmallVector<Item>> results = n.run("body", inputs);
  if (failed(results))
    return failure();
  const size_t count = state.carried.size();
  if (results->size() != 1 + count + state.rounds.size())
    return n.refuse("its body has " + Twine(results->size()) + " results");
  for (size_t i = 0; i < count; ++i) {
    const Item &next = (*results)[1 + i];
    FailureOr<Item> chosen = state.active ? choose(n, state.active, next, state.carried[i]) : FailureOr<Item>(next);
    if (failed(chosen))
      return n.refuse("operand " + Twine(i) + " of its body changes its shape, and how many rounds there are is not " +
                      "known when a model is compiled");
    state.carried[i] = *chosen;
  }
  for (auto [i, list] : llvm::enumerate(state.rounds)) {
    const Item &item = (*results)[1 + count + i];
    if (item.isList)
      return n.refuse("a result of each round is a sequence");
    list.push_back(n.valueOf(item));
  }
  state.condition = (*results)[0];
  if (state.condition.isList)
    return n.refuse("its condition is no tensor");
  return success();
}

/// Takes note of the condition for the next round of a loop with a trip count; false ends the loop.
FailureOr<bool> continues(Node &n, LoopState &state) {
  if (!state.condition)
    return true;
  if (std::optional<bool> known = truthOf(state.condition))
    return *known;
  if (!state.rounds.empty())
    return n.refuse("its condition is not known when a model is compiled, and it has a result of each round");
  Value holds = n.valueOf(state.condition);
  if (!elementOf(holds).isInteger(1) || tensorOf(holds).getNumElements() != 1)
    return n.refuse("its condition is not one truth value");
  holds = n.b.reshape(holds, {});
  state.active = state.active ? Value(AndOp::create(n.b.builder, n.b.location, state.active, holds)) : holds;
  return true;
}

LogicalResult loop(Node &n) {
  LoopState state;
  state.condition = n.item(1);
  for (unsigned i = 2; i < n.numInputs(); ++i)
    state.carried.push_back(n.item(i));
  if (n.numResultsOf("body") < state.carried.size() + 1)
    return n.refuse("its body has " + Twine(n.numResultsOf("body")) + " results");
  state.rounds.resize(n.numResultsOf("body") - state.carried.size() - 1);
  int64_t most = INT64_MAX;
  if (n.has(0) && !n.constant(0))
    return buildWhile(n);
  if (n.has(0)) {
    FailureOr<SmallVector<int64_t>> given = n.integers(0, "trip count");
    if (failed(given) || given->size() != 1)
      return failed(given) ? failure() : n.refuse("its trip count is not one integer");
    most = given->front();
  }
  if (n.has(0) && most > kMostRounds && state.rounds.empty())
    return buildWhile(n);
  for (int64_t round = 0; round < most; ++round) {
    if (!n.has(0) && (!state.condition || (!state.condition.isList && !truthOf(state.condition))))
      return buildWhile(n); // what was made of the rounds so far is not used
    FailureOr<bool> goesOn = continues(n, state);
    if (failed(goesOn))
      return failure();
    if (!*goesOn)
      break;
    if (round >= kMostRounds)
      return n.refuse("has more than " + Twine(kMostRounds) + " rounds");
    if (failed(runRound(n, state, round)))
      return failure();
  }
  SmallVector<Item> results = state.carried;
  for (auto [i, list] : llvm::enumerate(state.rounds)) {
    FailureOr<Value> all =
        n.wants(static_cast<unsigned>(results.size())) ? stack(n, list, 0) : FailureOr<Value>(Value());
    if (failed(all))
      return failure();
    results.push_back(Item::of(*all));
  }
  return n.giveItems(results);
}

//===-- Scan -------------------------------------------------------------===//

/// What a scan says of its operands: states, then what it goes through.
struct ScanSides {
  size_t states = 0, scanned = 0, stacked = 0;
  SmallVector<int64_t> axes, directions, resultAxes, resultDirections;
};

/// Goes through entries of the operands: the last states, then the results of all rounds.
FailureOr<SmallVector<Value>> runScan(Node &n, const ScanSides &sides, ArrayRef<Value> operands) {
  SmallVector<Item> states;
  for (Value state : operands.take_front(sides.states))
    states.push_back(Item::of(state));
  ArrayRef<Value> scanned = operands.drop_front(sides.states);
  SmallVector<int64_t> dims;
  for (auto [x, axis] : llvm::zip_equal(scanned, sides.axes)) {
    FailureOr<int64_t> dim = n.dim(axis, tensorOf(x).getRank());
    if (failed(dim))
      return failure();
    dims.push_back(*dim);
    if (tensorOf(x).getDimSize(*dim) != tensorOf(scanned[0]).getDimSize(dims[0]))
      return n.refuse("its operands have different numbers of entries");
  }
  const int64_t rounds = tensorOf(scanned[0]).getDimSize(dims[0]);
  if (rounds > kMostRounds)
    return n.refuse("has " + Twine(rounds) + " rounds; " + Twine(kMostRounds) + " are supported");
  SmallVector<SmallVector<Value>> stacked(sides.stacked);
  for (int64_t round = 0; round < rounds; ++round) {
    SmallVector<Item> inputs = states;
    for (auto [x, dim, direction] : llvm::zip_equal(scanned, dims, sides.directions))
      inputs.push_back(Item::of(entryOf(n, x, dim, direction != 0 ? rounds - 1 - round : round)));
    FailureOr<SmallVector<Item>> results = n.run("body", inputs);
    if (failed(results))
      return failure();
    if (llvm::any_of(*results, [](const Item &item) { return item.isList; }))
      return n.refuse("a result of its body is a sequence");
    states.assign(results->begin(), results->begin() + static_cast<ptrdiff_t>(sides.states));
    for (auto [list, item] : llvm::zip_equal(stacked, ArrayRef(*results).drop_front(sides.states)))
      list.push_back(n.valueOf(item));
  }
  SmallVector<Value> all = llvm::map_to_vector(states, [&](const Item &item) { return n.valueOf(item); });
  for (auto [list, axis, direction] : llvm::zip_equal(stacked, sides.resultAxes, sides.resultDirections)) {
    if (direction != 0)
      std::reverse(list.begin(), list.end());
    FailureOr<Value> together = stack(n, list, axis);
    if (failed(together))
      return failure();
    all.push_back(*together);
  }
  return all;
}

/// Version 8 has a batch: every operand has it as dimension 0, and each entry of it is a scan of its own.
FailureOr<SmallVector<Value>> runBatch(Node &n, const ScanSides &sides, ArrayRef<Value> operands) {
  if (tensorOf(operands[0]).getRank() < 1)
    return n.refuse("an operand has no batch");
  const int64_t batch = tensorOf(operands[0]).getDimSize(0);
  SmallVector<SmallVector<Value>> parts(sides.states + sides.stacked);
  for (int64_t i = 0; i < batch; ++i) {
    SmallVector<Value> entries;
    for (Value x : operands) {
      if (tensorOf(x).getRank() < 1 || tensorOf(x).getDimSize(0) != batch)
        return n.refuse("its operands have different batches");
      entries.push_back(entryOf(n, x, 0, i));
    }
    FailureOr<SmallVector<Value>> results = runScan(n, sides, entries);
    if (failed(results))
      return failure();
    for (auto [list, value] : llvm::zip_equal(parts, *results))
      list.push_back(value);
  }
  SmallVector<Value> all;
  for (ArrayRef<Value> list : parts) {
    FailureOr<Value> together = stack(n, list, 0);
    if (failed(together))
      return failure();
    all.push_back(*together);
  }
  return all;
}

LogicalResult scan(Node &n) {
  const bool isBatched = n.version() < 9;
  if (isBatched && n.has(0))
    return n.refuse("with sequences of different lengths");
  const unsigned first = isBatched ? 1 : 0;
  const int64_t scanned = n.integer("num_scan_inputs", 0), inputs = int64_t{n.numInputs()} - first;
  ScanSides sides;
  if (scanned < 1 || scanned > inputs || n.numInputsOf("body") != inputs ||
      n.numResultsOf("body") < static_cast<size_t>(inputs - scanned))
    return n.refuse("its body does not have its operands");
  sides.scanned = static_cast<size_t>(scanned);
  sides.states = static_cast<size_t>(inputs - scanned);
  sides.stacked = n.numResultsOf("body") - sides.states;
  auto list = [&](StringRef name, size_t count) {
    SmallVector<int64_t> given = n.integers(name);
    given.resize(count, 0);
    return given;
  };
  sides.axes = list("scan_input_axes", sides.scanned);
  sides.directions = list(isBatched ? "directions" : "scan_input_directions", sides.scanned);
  sides.resultAxes = list("scan_output_axes", sides.stacked);
  sides.resultDirections = list("scan_output_directions", sides.stacked);
  SmallVector<Value> operands;
  for (unsigned i = first; i < n.numInputs(); ++i)
    operands.push_back(n.in(i));
  FailureOr<SmallVector<Value>> results = isBatched ? runBatch(n, sides, operands) : runScan(n, sides, operands);
  return failed(results) ? failure() : n.give(*results);
}

constexpr OnnxRule rules[] = {
    {"If", branch, 7, /*takesLists=*/true},
    {"Loop", loop, 7, /*takesLists=*/true},
    {"Scan", scan, 8},
};

} // namespace

ArrayRef<OnnxRule> onnxControlRules() { return rules; }

} // namespace dgc::import
