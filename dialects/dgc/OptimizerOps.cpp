// The optimizer of a model, how optimizers are written, and the updates that they become.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/CompositeBuilder.h"
#include "dialects/dgc/OptimizerClauses.h"
#include "dialects/dgc/OptimizerDefinition.h"
#include "dialects/dgc/ScheduleDefinition.h"
#include "dialects/dgc/SumTerms.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <limits>

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
static LogicalResult checkAllFields(OptimizerOp op) {
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
  if (isa<StringAttr>(getLearningRate().getDefinition()) && failed(checkSchedule(*this, getLearningRate())))
    return failure();
  return isa<StringAttr>(getDefinition()) ? checkAllFields(*this) : success();
}

/// Definitions of the module are not found before.
LogicalResult OptimizerOp::verifySymbolUses(SymbolTableCollection &) {
  if (isa<FlatSymbolRefAttr>(getLearningRate().getDefinition()) && failed(checkSchedule(*this, getLearningRate())))
    return failure();
  return isa<StringAttr>(getDefinition()) ? success() : checkAllFields(*this);
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

/// What fields are called that every optimizer has.
static constexpr llvm::StringLiteral reserved[] = {"learning_rate",        "clip_global_norm", "average", "state",
                                                   "learning_rate_factor", "frozen",           "for"};

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

static bool isWord(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name, [](char letter) { return llvm::isAlnum(letter) || letter == '_'; });
}

static LogicalResult checkStates(OptimizerDefOp definition) {
  llvm::StringSet<> names;
  for (auto state : definition.getStates().getAsRange<OptimizerStateAttr>()) {
    StringAttr name = state.getName();
    if (!isWord(name) || !names.insert(name).second)
      return definition.emitOpError() << "has a state " << name << ": each is named by a word of its own of letters, "
                                      << "digits and _";
    auto parameter = dyn_cast<StringAttr>(state.getInit());
    auto source = parameter ? findParameter(definition.getParameters(), parameter) : ParameterAttr();
    auto number = dyn_cast<FloatAttr>(source ? Attribute(source.getValue()) : state.getInit());
    if (!number || !number.getType().isF64())
      return definition.emitOpError() << "has the state " << name << " that begins with " << state.getInit()
                                      << ": it is a number, or the name of a parameter that is one";
    if (state.getNeeds() && !findParameter(definition.getParameters(), state.getNeeds()))
      return definition.emitOpError() << "has " << name << ", which needs " << state.getNeeds()
                                      << ", and that is no parameter";
    if (failed(checkReduced(definition, state)))
      return failure();
  }
  return success();
}

LogicalResult OptimizerDefOp::verify() {
  if (getOtherwise() && !getRank())
    return emitOpError("names another optimizer for other weights, but no weights of its own: write 'rank in [2, inf) "
                       "else NAME'");
  return failure(failed(checkParameters(*this, getParameters(), reserved)) || failed(checkStates(*this)));
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
  return checkBody(*this, "optimizer");
}

LogicalResult OptimizerDefOp::verifySymbolUses(SymbolTableCollection &) {
  if (failed(checkCalls(*this, "an optimizer", "an optimizer has states instead, after 'state'")))
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
