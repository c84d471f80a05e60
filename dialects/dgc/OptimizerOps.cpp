// The optimizer of a model, how optimizers are written, and the updates that they become.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/CompositeBuilder.h"
#include "dialects/dgc/OptimizerClauses.h"
#include "dialects/dgc/OptimizerDefinition.h"
#include "dialects/dgc/SumTerms.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;
using namespace dgc;

#define GET_OP_CLASSES
#include "dialects/dgc/OptimizerOps.cpp.inc"

namespace dgc {
void registerOptimizerOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/OptimizerOps.cpp.inc"
      >();
}
} // namespace dgc

//===----------------------------------------------------------------------===//
// OptimizerOp
//===----------------------------------------------------------------------===//

/// The range from `lower`, which belongs to it or not, to below `upper`.
static IntervalAttr from(MLIRContext *context, double lower, bool hasLower,
                         double upper = std::numeric_limits<double>::infinity()) {
  auto number = [&](double value) { return Builder(context).getF64FloatAttr(value); };
  return IntervalAttr::get(context, number(lower), number(upper), hasLower, false);
}

/// `fields` with those of `over` in their place.
static DictionaryAttr overlay(DictionaryAttr fields, DictionaryAttr over) {
  NamedAttrList list(fields);
  for (NamedAttribute field : over)
    list.set(field.getName(), field.getValue());
  return list.getDictionary(fields.getContext());
}

static auto groupsOf(OptimizerOp op) {
  return op.getGroups().value_or(ArrayAttr::get(op.getContext(), {})).getAsRange<WeightGroupAttr>();
}

/// Checks the fields of the optimizer, and of each group.
static LogicalResult checkFields(OptimizerOp op) {
  if (failed(checkOptimizer(op, op.getDefinition(), op.getFields())))
    return failure();
  for (WeightGroupAttr group : groupsOf(op))
    if (failed(checkOptimizer(op, op.getDefinition(), overlay(op.getFields(), group.getFields()))))
      return failure();
  return success();
}

LogicalResult OptimizerOp::verify() {
  IntervalAttr notNegative = from(getContext(), 0, /*hasLower=*/true), positive = from(getContext(), 0, false),
               fraction = from(getContext(), 0, true, 1);
  if (failed(checkField(*this, "learning_rate", getLearningRate().getBase().getValueAsDouble(), notNegative)))
    return failure();
  if (FloatAttr most = getClipGlobalNormAttr())
    if (failed(checkField(*this, "clip_global_norm", most.getValueAsDouble(), positive)))
      return failure();
  if (FloatAttr decay = getAverageAttr())
    if (failed(checkField(*this, "average", decay.getValueAsDouble(), fraction)))
      return failure();
  for (WeightGroupAttr group : groupsOf(*this))
    if (FloatAttr factor = group.getRateFactor())
      if (failed(checkField(*this, "learning_rate_factor", factor.getValueAsDouble(), notNegative)))
        return failure();
  return isa<StringAttr>(getDefinition()) ? checkFields(*this) : success();
}

/// A definition of the module is not found before.
LogicalResult OptimizerOp::verifySymbolUses(SymbolTableCollection &) {
  return isa<StringAttr>(getDefinition()) ? success() : checkFields(*this);
}

WeightGroupAttr OptimizerOp::groupOf(StringRef name) {
  WeightGroupAttr last;
  for (WeightGroupAttr group : groupsOf(*this))
    if (group.matches(name))
      last = group;
  return last;
}

bool OptimizerOp::freezes(StringRef name) {
  WeightGroupAttr group = groupOf(name);
  return group && group.getFrozen();
}

DictionaryAttr OptimizerOp::fieldsFor(StringRef name) {
  WeightGroupAttr group = groupOf(name);
  return group ? overlay(getFields(), group.getFields()) : getFields();
}

//===----------------------------------------------------------------------===//
// OptimizerDefOp
//===----------------------------------------------------------------------===//

/// The most ops of a definition whose repeats are written out.
static constexpr uint64_t mostOps = uint64_t{1} << 14;

/// What fields are called that every optimizer has.
static constexpr llvm::StringLiteral reserved[] = {"learning_rate",        "clip_global_norm", "average", "state",
                                                   "learning_rate_factor", "frozen",           "for"};

static bool isWord(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name, [](char letter) { return llvm::isAlnum(letter) || letter == '_'; });
}

static OptimizerParameterAttr findParameter(OptimizerDefOp definition, StringAttr name) {
  for (auto parameter : definition.getParameters().getAsRange<OptimizerParameterAttr>())
    if (parameter.getName() == name)
      return parameter;
  return {};
}

static LogicalResult checkNeeds(OptimizerDefOp definition, StringAttr name, StringAttr needs) {
  if (!needs || findParameter(definition, needs))
    return success();
  return definition.emitOpError() << "has " << name << ", which needs " << needs << ", and that is no parameter";
}

static LogicalResult checkParameters(OptimizerDefOp definition) {
  llvm::StringSet<> names;
  for (auto parameter : definition.getParameters().getAsRange<OptimizerParameterAttr>()) {
    StringAttr name = parameter.getName();
    if (!isWord(name) || llvm::is_contained(reserved, name.getValue()))
      return definition.emitOpError() << "has a parameter " << name
                                      << ": it is named by a word of letters, digits and _, "
                                      << "other than those of all optimizers: "
                                      << alternatives(to_vector_of<StringRef>(reserved));
    if (!names.insert(name).second)
      return definition.emitOpError() << "has two parameters " << name << ": each needs a name of its own";
    auto number = dyn_cast<FloatAttr>(parameter.getValue());
    if (number ? !number.getType().isF64() : !isa<BoolAttr>(parameter.getValue()))
      return definition.emitOpError() << "has the parameter " << name << " of type " << parameter.getValue().getType()
                                      << ": it is an f64, or an i1";
    if (number && parameter.getRange() && !parameter.getRange().contains(number.getValueAsDouble()))
      return definition.emitOpError() << "has the parameter " << name << " = " << number.getValueAsDouble()
                                      << ", which must be " << parameter.getRange().describe();
    if (failed(checkNeeds(definition, name, parameter.getNeeds())))
      return failure();
  }
  return success();
}

/// Checks which dimensions a state has not: each weight must have them.
static LogicalResult checkReduced(OptimizerDefOp definition, OptimizerStateAttr state) {
  llvm::SmallDenseSet<int64_t> seen;
  if (!state.getReduced())
    return success();
  for (int64_t dim : state.getReduced().asArrayRef()) {
    if (dim >= 0 || !seen.insert(dim).second)
      return definition.emitOpError() << "has the state " << state.getName() << " reduced along dimension " << dim
                                      << ": dimensions are counted from the last one, -1, and named once";
    std::optional<IntervalAttr> rank = definition.getRank();
    if (!rank || rank->getLower().getValueAsDouble() + (rank->getHasLower() ? 0 : 1) < double(-dim))
      return definition.emitOpError() << "has the state " << state.getName() << " reduced along dimension " << dim
                                      << ", which not all weights have: write 'rank in [" << -dim
                                      << ", inf)' before the parameters, and 'else NAME' for the others";
  }
  return success();
}

static LogicalResult checkStates(OptimizerDefOp definition) {
  llvm::StringSet<> names;
  for (auto state : definition.getStates().getAsRange<OptimizerStateAttr>()) {
    StringAttr name = state.getName();
    if (!isWord(name) || !names.insert(name).second)
      return definition.emitOpError() << "has a state " << name << ": each is named by a word of its own of letters, "
                                      << "digits and _";
    auto parameter = dyn_cast<StringAttr>(state.getInit());
    auto source = parameter ? findParameter(definition, parameter) : OptimizerParameterAttr();
    auto number = dyn_cast<FloatAttr>(source ? Attribute(source.getValue()) : state.getInit());
    if (!number || !number.getType().isF64())
      return definition.emitOpError() << "has the state " << name << " that begins with " << state.getInit()
                                      << ": it is a number, or the name of a parameter that is one";
    if (failed(checkNeeds(definition, name, state.getNeeds())) || failed(checkReduced(definition, state)))
      return failure();
  }
  return success();
}

LogicalResult OptimizerDefOp::verify() {
  if (getOtherwise() && !getRank())
    return emitOpError("names another optimizer for other weights, but no weights of its own: write 'rank in [2, inf) "
                       "else NAME'");
  return failure(failed(checkParameters(*this)) || failed(checkStates(*this)));
}

/// The ops of a body with its repeats written out.
static uint64_t countOps(Block &body) {
  uint64_t count = 0;
  for (Operation &op : body.without_terminator()) {
    auto repeat = dyn_cast<RepeatOp>(op);
    uint64_t ops = repeat ? llvm::SaturatingMultiply(uint64_t(std::max<int64_t>(repeat.getCount(), 0)),
                                                     countOps(repeat.getBody().front()))
                          : 1;
    count = llvm::SaturatingAdd(count, ops);
  }
  return count;
}

LogicalResult OptimizerDefOp::verifyRegions() {
  Block &body = getBody().front();
  size_t takes = firstState + getStates().size() + getParameters().size();
  if (body.getNumArguments() != takes || !llvm::all_of(body.getArgumentTypes(), llvm::IsaPred<UntypedType>))
    return emitOpError() << "has " << body.getNumArguments() << " arguments inside: these are " << takes
                         << " values without types, four and one for each state and each parameter";
  size_t gives = body.getTerminator()->getNumOperands(), needs = getStates().size() + 1;
  if (gives != needs)
    return emitOpError() << "gives " << gives << (gives == 1 ? " value" : " values") << ", and has " << needs - 1
                         << (needs == 2 ? " state" : " states")
                         << ": end it with 'dgc.return' of the new weight and the new value of each state";
  WalkResult walked = body.walk([](Operation *op) -> WalkResult {
    if (!isa<VariableOp, AssignOp, GradientOp, ModeOpInterface>(op))
      return WalkResult::advance();
    return op->emitOpError("is not of an optimizer, which is a function of numbers: it has no variables, no "
                           "gradients and nothing that differs between training and use");
  });
  if (walked.wasInterrupted())
    return failure();
  if (uint64_t ops = countOps(body); ops > mostOps)
    return emitOpError() << "has " << ops << " ops with its repeats written out, for each weight: it may have "
                         << mostOps;
  return success();
}

LogicalResult OptimizerDefOp::verifySymbolUses(SymbolTableCollection &) {
  WalkResult walked = getBody().walk([&](CallOp call) -> WalkResult {
    auto block = SymbolTable::lookupNearestSymbolFrom<BlockOp>(*this, call.getCalleeAttr());
    if (!block || block.getBody().getOps<VariableOp>().empty()) // another block is not found by the call itself
      return WalkResult::advance();
    return call.emitOpError() << "is in an optimizer, and " << call.getCalleeAttr()
                              << " has variables: an optimizer has "
                              << "states instead, after 'state'";
  });
  if (walked.wasInterrupted())
    return failure();
  llvm::SmallPtrSet<Operation *, 4> seen{*this};
  for (OptimizerDefOp at = *this; at.getOtherwise();) {
    OptimizerDefOp next = findOptimizer(*at.getOtherwise(), at);
    if (!next)
      return emitOpError() << "leaves other weights to " << textOf(*at.getOtherwise()) << ", which there is not: write "
                           << optimizerHint(getContext());
    if (!seen.insert(next).second)
      return emitOpError() << "leaves weights of other ranks to itself, by way of " << textOf(*at.getOtherwise());
    at = next;
  }
  return success();
}

/// Whether all ops of a body, and of the blocks that it calls, are elementwise.
static bool isElementwise(Operation *body, llvm::SmallPtrSetImpl<Operation *> &seen) {
  if (!seen.insert(body).second)
    return true;
  WalkResult walked = body->walk([&](Operation *op) {
    bool fits =
        op == body || isa<ElementwiseOpInterface, LiteralOp, RepeatOp>(op) || op->hasTrait<OpTrait::IsTerminator>();
    if (auto call = dyn_cast<CallOp>(op)) {
      auto block = SymbolTable::lookupNearestSymbolFrom<BlockOp>(body, call.getCalleeAttr());
      fits = block && isElementwise(block, seen);
    }
    return fits ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !walked.wasInterrupted();
}

bool OptimizerDefOp::isElementwise() {
  auto states = getStates().getAsRange<OptimizerStateAttr>();
  llvm::SmallPtrSet<Operation *, 8> seen;
  return llvm::none_of(states, [](OptimizerStateAttr state) { return bool(state.getReduced()); }) &&
         ::isElementwise(*this, seen);
}

//===----------------------------------------------------------------------===//
// LearningRateOp
//===----------------------------------------------------------------------===//

LogicalResult LearningRateOp::inferTypes(std::optional<Location>, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get({}, Float32Type::get(adaptor.getSchedule().getContext())));
  return success();
}

FailureOr<SmallVector<Value>> LearningRateOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  ScheduleAttr schedule = getSchedule();
  Type f32 = builder.getF32Type();
  auto number = [&](double value) { return b.scalar(value, f32); };
  double base = schedule.getBase().getValueAsDouble(), factor = schedule.getFactor().getValueAsDouble();
  Value rate = number(base);
  if (schedule.getKind() == LearningRateKind::Constant && schedule.getWarmUp() == 0)
    return SmallVector<Value>{rate};

  // The step counted from the end of the warm-up.
  Value step = b.convert(getStep(), f32), warm = number(double(schedule.getWarmUp()));
  Value since = b.maximum(b.subtract(step, warm), number(0)), steps = number(double(schedule.getSteps()));
  // 1 before the first step, 0 from the last one on.
  auto left = [&] { return b.subtract(number(1), b.minimum(b.divide(since, steps), number(1))); };
  auto between = [&](Value part) { return b.add(number(factor), b.multiply(part, number(base - factor))); };
  if (schedule.getKind() == LearningRateKind::Linear) {
    rate = between(left());
  } else if (schedule.getKind() == LearningRateKind::Polynomial) {
    rate = between(b.power(left(), number(schedule.getPower().getValueAsDouble())));
  } else if (schedule.getKind() == LearningRateKind::Exponential) {
    rate = b.multiply(rate, b.power(number(factor), b.divide(since, steps)));
  } else if (schedule.getKind() == LearningRateKind::Cosine) {
    // final + (base - final) * (1 + cos(pi * min(since / steps, 1))) / 2
    Value done = b.minimum(b.divide(since, steps), number(1));
    Value wave = b.add(b.cosine(b.multiply(done, number(std::numbers::pi))), number(1));
    rate = b.add(number(factor), b.multiply(wave, number((base - factor) / 2)));
  } else if (schedule.getKind() == LearningRateKind::Step) {
    rate = b.multiply(rate, b.power(number(factor), b.floor(b.divide(since, steps))));
  }
  if (schedule.getWarmUp() > 0) {
    Value rising = b.divide(b.multiply(number(base), b.add(step, number(1))), warm);
    rate = b.select(b.compare(ComparisonDirection::LT, step, warm), rising, rate);
  }
  return SmallVector<Value>{rate};
}

//===----------------------------------------------------------------------===//
// ClipByGlobalNormOp
//===----------------------------------------------------------------------===//

LogicalResult ClipByGlobalNormOp::inferTypes(std::optional<Location>, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getGradients().getTypes());
  return success();
}

FailureOr<SmallVector<Value>> ClipByGlobalNormOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Type f32 = builder.getF32Type();
  SmallVector<Value> sums;
  for (Value gradient : getGradients()) {
    Type compute = computeType(elementOf(gradient));
    Value wide = b.convert(gradient, compute);
    sums.push_back(b.convert(b.sum(b.multiply(wide, wide), allDims(tensorOf(gradient).getRank())), f32));
  }
  if (sums.empty())
    return SmallVector<Value>{};
  Value squares = addInPairs(sums, [&](Value x, Value y) { return b.add(x, y); });
  // max / larger of max and the norm: 1 for small gradients, and no division by zero.
  Value bound = b.scalar(getMax().convertToDouble(), f32);
  Value factor = b.divide(bound, b.maximum(bound, b.sqrt(squares)));
  SmallVector<Value> clipped;
  for (Value gradient : getGradients()) {
    Value scale = b.convert(factor, elementOf(gradient));
    clipped.push_back(b.multiply(gradient, b.broadcastScalar(scale, shapeOf(gradient))));
  }
  return clipped;
}

//===----------------------------------------------------------------------===//
// ApplyOptimizerOp
//===----------------------------------------------------------------------===//

LogicalResult ApplyOptimizerOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  auto typeOf = [](Value value) { return withoutEncoding(cast<RankedTensorType>(value.getType())); };
  RankedTensorType weight = typeOf(adaptor.getWeight()), gradient = typeOf(adaptor.getGradient());
  if (gradient != weight)
    return emitOptionalError(location, "'", getOperationName(), "' updates a weight of type ", weight,
                             " with a gradient of type ", gradient, ": they must be the same");
  if (typeOf(adaptor.getRate()).getRank() != 0)
    return emitOptionalError(location, "'", getOperationName(), "' takes a scalar learning rate, not ",
                             adaptor.getRate().getType());
  types.push_back(weight);
  for (Value state : adaptor.getStates())
    types.push_back(typeOf(state));
  return success();
}

LogicalResult ApplyOptimizerOp::verifySymbolUses(SymbolTableCollection &) {
  if (failed(checkOptimizer(*this, getDefinition(), getFields())))
    return failure();
  OptimizerDefOp definition = findOptimizer(getDefinition(), *this);
  auto weight = dyn_cast<RankedTensorType>(getWeight().getType());
  if (!weight)
    return emitOpError("is of functions on tensors, and not of a model: write 'dgc.optimizer'");
  if (definition.getRank() && !definition.getRank()->contains(double(weight.getRank())))
    return emitOpError() << "is for weights whose rank is " << definition.getRank()->describe() << ", not for "
                         << weight;
  SmallVector<OptimizerStateAttr> states = statesOf(definition, getFields());
  if (getStates().size() != states.size())
    return emitOpError() << "takes " << states.size() << (states.size() == 1 ? " state" : " states")
                         << " with these fields, not " << getStates().size();
  for (auto [state, value] : llvm::zip_equal(states, getStates()))
    if (auto type = state.typeFor(withoutEncoding(weight)); withoutEncoding(tensorOf(value)) != type)
      return emitOpError() << "takes a state " << state.getName() << " of type " << type << " with a weight of type "
                           << weight << ", not " << value.getType();
  return success();
}

bool ApplyOptimizerOp::isElementwise() { return findOptimizer(getDefinition(), *this).isElementwise(); }

FailureOr<SmallVector<Value>> ApplyOptimizerOp::decompose(OpBuilder &builder) {
  return buildUpdate(findOptimizer(getDefinition(), *this), *this, builder);
}
