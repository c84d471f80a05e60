// Mixtures of experts.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/LayerUtil.h"
#include <cmath>

using namespace mlir;
using namespace dgc;

#define GET_OP_CLASSES
#include "dialects/dgc/MixtureOps.cpp.inc"

namespace dgc {
void registerMixtureOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/MixtureOps.cpp.inc"
      >();
}
} // namespace dgc

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Reports operands that are not [b, .., d], [d, n], [n, d, h], [n, h], [n, h, e] and [n, e].
static LogicalResult checkOperands(std::optional<Location> location, StringRef name, ArrayRef<RankedTensorType> types) {
  for (RankedTensorType type : types.drop_front())
    if (failed(checkElements(location, name, types[0], type)))
      return failure();
  RankedTensorType input = types[0], router = types[1], weights1 = types[2], weights2 = types[4];
  if (input.getRank() < 2)
    return emitOptionalError(location, "'", name, "' has an input of type ", input,
                             ", which must be [batch, .., features]");
  if (router.getRank() != 2 || router.getDimSize(0) != input.getShape().back())
    return emitOptionalError(location, "'", name, "' has an input of type ", input, " and a router of type ", router,
                             ", which must be [", input.getShape().back(), ", experts]");
  const int64_t experts = router.getDimSize(1), features = router.getDimSize(0);
  bool areMatrices = weights1.getRank() == 3 && weights2.getRank() == 3;
  const int64_t hidden = areMatrices ? weights1.getDimSize(2) : 0, last = areMatrices ? weights2.getDimSize(2) : 0;
  if (areMatrices && weights1.getShape() == ArrayRef<int64_t>{experts, features, hidden} &&
      types[3].getShape() == ArrayRef<int64_t>{experts, hidden} &&
      weights2.getShape() == ArrayRef<int64_t>{experts, hidden, last} &&
      types[5].getShape() == ArrayRef<int64_t>{experts, last})
    return success();
  return emitOptionalError(location, "'", name, "' has weights and biases of types ", weights1, ", ", types[3], ", ",
                           weights2, " and ", types[5], ": with ", experts, " experts and ", features,
                           " features they must be [", experts, ", ", features, ", h], [", experts, ", h], [", experts,
                           ", h, e] and [", experts, ", e]");
}

/// How many tokens an expert takes: no more than there are.
static int64_t slotsOfExpert(int64_t tokens, int64_t experts, int64_t top, double capacity) {
  const double slots = std::ceil(capacity * double(top) * double(tokens) / double(experts));
  return int64_t(std::clamp(slots, 1.0, std::max(double(tokens), 1.0)));
}

/// The vectors along the last dimension.
static int64_t tokensOf(RankedTensorType type) {
  int64_t tokens = 1;
  for (int64_t size : type.getShape().drop_back())
    tokens *= size;
  return tokens;
}

LogicalResult MixtureOfExpertsOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  SmallVector<RankedTensorType> operands =
      llvm::map_to_vector(adaptor.getOperands(), [](Value value) { return typeOf(value); });
  if (failed(checkOperands(location, getOperationName(), operands)))
    return failure();
  const auto top = static_cast<int64_t>(adaptor.getTop());
  if (top < 1 || top > operands[1].getDimSize(1))
    return emitOptionalError(location, "'dgc.mixture_of_experts' gives each token to ", top, " of ",
                             operands[1].getDimSize(1), " experts: there must be as many, and at least one");
  const double capacity = adaptor.getCapacity().convertToDouble();
  if (!(capacity > 0 && capacity <= 1e6))
    return emitOptionalError(location, "'dgc.mixture_of_experts' has the capacity ", capacity,
                             ", which must be above 0 and at most 1e6");
  const int64_t experts = operands[1].getDimSize(1);
  const int64_t slots = slotsOfExpert(tokensOf(operands[0]), experts, top, capacity);
  if (slots > std::numeric_limits<int32_t>::max() / experts)
    return emitOptionalError(location, "'dgc.mixture_of_experts' has ", experts, " experts that take ", slots,
                             " tokens each: together they must take less than 2147483648; lower the capacity");
  SmallVector<int64_t> shape(operands[0].getShape().drop_back());
  shape.push_back(operands[5].getDimSize(1));
  Type element = operands[0].getElementType();
  types.push_back(RankedTensorType::get(shape, element));
  types.push_back(RankedTensorType::get({}, computeType(element)));
  return success();
}

/// The balance is a mean over the tokens.
SmallVector<int64_t> MixtureOfExpertsOp::getCountedDims(unsigned index) {
  return index > 0 ? SmallVector<int64_t>() : leadingDims(tensorOf(getInput()).getRank());
}

//===----------------------------------------------------------------------===//
// What it computes
//===----------------------------------------------------------------------===//

namespace {
/// Gives tokens [b, t] to experts. Slot c of expert e is row e * capacity + c of what all experts take.
class Router {
public:
  Router(CompositeBuilder &b, Value probabilities, int64_t capacity)
      : b(b), probabilities(probabilities), shape(shapeOf(probabilities)), capacity(capacity) {}

  /// The slots of the next choice, [b, t]; of a token for which there is none, the number of all slots.
  Value slotsOf(Value chosen);
  /// The addend of the load-balance loss: the sum over the experts of first choices times probabilities.
  Value balance() const;
  int64_t numSlots() const { return shape[2] * capacity; }

private:
  Value earlier(Value isChosen) const;

  CompositeBuilder &b;
  Value probabilities; // [b, t, experts]
  ArrayRef<int64_t> shape;
  int64_t capacity;
  Value taken, first; // i32 [experts]: by all choices up to now, by the first one
};
} // namespace

/// How many tokens before each one made the same choice, for each expert: those of its example, and of examples before. There
/// are few examples, so that each looks at the counts of all: nothing is moved along the batch.
Value Router::earlier(Value isChosen) const {
  Value within =
      CumulativeSumOp::create(b.builder, b.location, isChosen, /*dim=*/1, /*reverse=*/false, /*exclusive=*/true);
  const int64_t examples = shape[0], experts = shape[2];
  Value counts = b.broadcast(b.sum(isChosen, {1}), {examples, examples, experts}, {1, 2});
  Value of = b.iota(shapeOf(counts), b.builder.getI32Type(), 0),
        from = b.iota(shapeOf(counts), b.builder.getI32Type(), 1);
  Value isBefore = b.compare(ComparisonDirection::LT, from, of);
  Value before = b.sum(b.select(isBefore, counts, b.splat(0, counts)), {1});
  return b.add(within, b.spread(before, within, {1}));
}

Value Router::slotsOf(Value chosen) {
  Type i32 = b.builder.getI32Type();
  Value experts = b.iota(shape, i32, 2), isHere = b.equal(experts, b.spread(chosen, experts, {2}));
  Value isChosen = b.convert(isHere, i32), position = earlier(isChosen), total = b.sum(isChosen, {0, 1});
  if (taken)
    position = b.add(position, b.spread(taken, position, {0, 1}));
  taken = taken ? b.add(taken, total) : total;
  first = first ? first : total;
  Value own = b.sum(b.select(isHere, position, b.splat(0, position)), {2});
  Value slot = b.add(b.multiply(chosen, b.splat(double(capacity), chosen)), own);
  return b.select(b.compare(ComparisonDirection::LT, own, b.splat(double(capacity), own)), slot,
                  b.splat(double(numSlots()), slot));
}

Value Router::balance() const {
  Value share = b.convert(first, elementOf(probabilities));
  return b.sum(b.multiply(share, b.sum(probabilities, {0, 1})), {0});
}

/// What the experts make of [experts, capacity, d].
static Value applyExperts(CompositeBuilder &b, MixtureOfExpertsOp op, Value x) {
  auto layer = [&](Value input, Value weights, Value bias) {
    Value product = b.dot(input, weights, {0}, {0}, {2}, {1});
    return b.add(product, b.broadcast(bias, shapeOf(product), {0, 2}));
  };
  Value hidden = layer(x, op.getWeights1(), op.getBias1());
  Value active = op.getGelu() ? GeluOp::create(b.builder, b.location, hidden, /*approximate=*/false).getResult()
                              : ReluOp::create(b.builder, b.location, hidden).getResult();
  return layer(active, op.getWeights2(), op.getBias2());
}

FailureOr<SmallVector<Value>> MixtureOfExpertsOp::decompose(OpBuilder &builder) {
  return decomposeWithCount(builder, {});
}

FailureOr<SmallVector<Value>> MixtureOfExpertsOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  Type element = elementOf(getInput()), compute = computeType(element);
  ArrayRef<int64_t> given = shapeOf(getInput());
  const int64_t examples = given[0], features = given.back(), experts = shapeOf(getRouter())[1], top = getTop();
  const int64_t tokens = tokensOf(tensorOf(getInput())), perExample = tokens / std::max<int64_t>(examples, 1);
  const int64_t capacity = slotsOfExpert(tokens, experts, top, getCapacity().convertToDouble());
  Value x = b.reshape(getInput(), {examples, perExample, features});
  Value logits = b.convert(b.dot(x, getRouter(), {}, {}, {2}, {0}), compute);
  Value probabilities = SoftmaxOp::create(builder, getLoc(), logits, /*dim=*/-1);
  auto best = TopKOp::create(builder, getLoc(), probabilities, top);

  auto choice = [&](Value all, int64_t round) {
    Value one = b.slice(all, {0, 0, round}, {examples, perExample, round + 1});
    return b.reshape(one, {examples, perExample});
  };
  Router router(b, probabilities, capacity);
  SmallVector<Value> slotsOfRound;
  Value dispatched;
  for (int64_t round = 0; round < top; ++round) {
    slotsOfRound.push_back(router.slotsOf(choice(best.getIndices(), round)));
    Value rows = ScatterAddOp::create(builder, getLoc(), slotsOfRound.back(), x, Value(), 0, router.numSlots());
    dispatched = dispatched ? b.add(dispatched, rows) : rows;
  }
  Value results = applyExperts(b, *this, b.reshape(dispatched, {experts, capacity, features}));
  const int64_t last = shapeOf(results)[2];
  results = b.reshape(results, {router.numSlots(), last});

  Value weights = best.getValues(), result;
  if (top > 1)
    weights = b.divide(weights, b.spread(b.sum(weights, {2}), weights, {2}));
  for (int64_t round = 0; round < top; ++round) {
    Value rows =
        b.convert(GatherOp::create(builder, getLoc(), results, slotsOfRound[round], Value(), /*dimension=*/0), compute);
    Value part = b.multiply(rows, b.spread(choice(weights, round), rows, {2}));
    result = result ? b.add(result, part) : part;
  }
  Value real = count ? b.convert(count, compute) : b.scalar(double(tokens), compute);
  Value balance = b.divide(b.multiply(router.balance(), double(experts)), b.multiply(real, real));
  return SmallVector<Value>{b.reshape(b.convert(result, element), shapeOf(getResult())), balance};
}
