// Recurrent layers.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/LayerUtil.h"

using namespace mlir;
using namespace dgc;

#define GET_OP_CLASSES
#include "dialects/dgc/RecurrentOps.cpp.inc"

namespace dgc {
void registerRecurrentOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/RecurrentOps.cpp.inc"
      >();
}
} // namespace dgc

/// Checks the operands of a layer with `gates` parts in its weights and `states` values that it carries; its result types.
static LogicalResult inferRecurrent(std::optional<Location> location, StringRef name, ValueRange operands,
                                    ValueRange biases, ValueRange initial, int64_t gates, size_t states,
                                    SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(operands[0]), weights = typeOf(operands[1]), recurrent = typeOf(operands[2]);
  if (input.getRank() != 3)
    return emitOptionalError(location, "'", name, "' has an input of type ", input,
                             ", which must be [batch, time, features]");
  if (recurrent.getRank() != 2 || recurrent.getDimSize(1) != gates * recurrent.getDimSize(0))
    return emitOptionalError(location, "'", name, "' has recurrent weights of type ", recurrent, ", which must be [n, ",
                             gates, " * n]");
  const int64_t units = recurrent.getDimSize(0);
  if (weights.getRank() != 2 || weights.getDimSize(0) != input.getDimSize(2) || weights.getDimSize(1) != gates * units)
    return emitOptionalError(location, "'", name, "' has weights of type ", weights, ", which must be a matrix of ",
                             input.getDimSize(2), " by ", gates * units, ": one row for each feature of the input");
  for (Value operand : operands.drop_front())
    if (failed(checkElements(location, name, input, typeOf(operand))))
      return failure();
  for (Value bias : biases)
    if (failed(checkBias(location, name, input, bias, gates * units)))
      return failure();
  auto state = RankedTensorType::get({input.getDimSize(0), units}, input.getElementType());
  if (!initial.empty() && initial.size() != states)
    return emitOptionalError(location, "'", name, "' begins with ", initial.size(), " values; it carries ", states);
  for (Value value : initial)
    if (typeOf(value) != state)
      return emitOptionalError(location, "'", name, "' begins with a value of type ", typeOf(value), ", which must be ",
                               state);
  types.push_back(RankedTensorType::get({input.getDimSize(0), input.getDimSize(1), units}, input.getElementType()));
  types.append(states, state);
  return success();
}

LogicalResult LSTMOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferRecurrent(location, getOperationName(),
                        {adaptor.getInput(), adaptor.getWeights(), adaptor.getRecurrentWeights()}, {adaptor.getBias()},
                        adaptor.getInitial(), 4, 2, types);
}

LogicalResult GRUOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferRecurrent(location, getOperationName(),
                        {adaptor.getInput(), adaptor.getWeights(), adaptor.getRecurrentWeights()},
                        {adaptor.getBias(), adaptor.getRecurrentBias()}, adaptor.getInitial(), 3, 1, types);
}

/// Builds a round: from the slice of the input, times its weights and with its bias, and what is carried and the invariants,
/// the next values of what is carried, the hidden state first.
using Round =
    function_ref<SmallVector<Value>(CompositeBuilder &, Value input, ValueRange carried, ValueRange invariants)>;

/// A scan over the time of `input`. Products of the input are computed for all places at once, before it.
static SmallVector<Value> buildRecurrent(CompositeBuilder &b, Value input, Value weights, Value bias,
                                         ValueRange initial, size_t states, ValueRange invariants, int64_t units,
                                         bool reverse, Round round) {
  RankedTensorType type = typeOf(input);
  Value scanned = addBias(b, b.dot(input, weights, {}, {}, {2}, {0}), bias);
  SmallVector<Value> carried(initial);
  while (carried.size() < states)
    carried.push_back(b.splat(0, {type.getDimSize(0), units}, type.getElementType()));
  SmallVector<Type> types(states, carried[0].getType());
  types.push_back(RankedTensorType::get({type.getDimSize(0), type.getDimSize(1), units}, type.getElementType()));
  auto scan = ScanOp::create(b.builder, b.location, types, carried, scanned, invariants, /*dimension=*/1, reverse,
                             /*count=*/IntegerAttr());
  OpBuilder::InsertionGuard guard(b.builder);
  Block *block = b.builder.createBlock(&scan.getBody());
  for (Value value : carried)
    block->addArgument(value.getType(), b.location);
  block->addArgument(RankedTensorType::get({type.getDimSize(0), shapeOf(scanned).back()}, type.getElementType()),
                     b.location);
  for (Value value : invariants)
    block->addArgument(value.getType(), b.location);
  auto arguments = block->getArguments();
  SmallVector<Value> next = round(b, arguments[states], ValueRange(arguments).take_front(states),
                                  ValueRange(arguments).drop_front(states + 1));
  next.push_back(next[0]);
  YieldOp::create(b.builder, b.location, next);
  SmallVector<Value> results{scan.getResults().back()};
  llvm::append_range(results, scan.getResults().drop_back());
  return results;
}

/// Part `which` of the last dimension of [b, k * units].
static Value gateOf(CompositeBuilder &b, Value gates, int64_t which, int64_t units) {
  return b.slice(gates, {0, which * units}, {shapeOf(gates)[0], (which + 1) * units});
}

FailureOr<SmallVector<Value>> LSTMOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  const int64_t n = shapeOf(getRecurrentWeights())[0];
  return buildRecurrent(b, getInput(), getWeights(), getBias(), getInitial(), 2, getRecurrentWeights(), n, getReverse(),
                        [&](CompositeBuilder &b, Value input, ValueRange carried, ValueRange weights) {
                          Value z = b.add(input, b.dot(carried[0], weights[0], {}, {}, {1}, {0}));
                          Value kept = b.multiply(b.logistic(gateOf(b, z, 1, n)), carried[1]);
                          Value added = b.multiply(b.logistic(gateOf(b, z, 0, n)), b.tanh(gateOf(b, z, 2, n)));
                          Value cell = b.add(kept, added);
                          return SmallVector<Value>{b.multiply(b.logistic(gateOf(b, z, 3, n)), b.tanh(cell)), cell};
                        });
}

FailureOr<SmallVector<Value>> GRUOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  const int64_t n = shapeOf(getRecurrentWeights())[0];
  return buildRecurrent(
      b, getInput(), getWeights(), getBias(), getInitial(), 1, {getRecurrentWeights(), getRecurrentBias()}, n,
      getReverse(), [&](CompositeBuilder &b, Value input, ValueRange carried, ValueRange weights) {
        Value h = carried[0], q = addBias(b, b.dot(h, weights[0], {}, {}, {1}, {0}), weights[1]);
        auto sum = [&](int64_t gate) { return b.add(gateOf(b, input, gate, n), gateOf(b, q, gate, n)); };
        Value reset = b.logistic(sum(0)), update = b.logistic(sum(1));
        Value candidate = b.tanh(b.add(gateOf(b, input, 2, n), b.multiply(reset, gateOf(b, q, 2, n))));
        return SmallVector<Value>{b.add(candidate, b.multiply(update, b.subtract(h, candidate)))};
      });
}
