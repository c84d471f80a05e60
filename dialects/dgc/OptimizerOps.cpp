// The optimizer of a model, and the updates that it becomes.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/CompositeBuilder.h"
#include "dialects/dgc/SumTerms.h"
#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;
using namespace dgc;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

static ParseResult parseSGDClauses(OpAsmParser &parser, FloatAttr &momentum, UnitAttr &nesterov, FloatAttr &decay) {
  if (failed(parseOptionalNumber(parser, "momentum", momentum)))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("nesterov")))
    nesterov = parser.getBuilder().getUnitAttr();
  return parseOptionalNumber(parser, "weight_decay", decay);
}

static void printSGDClauses(OpAsmPrinter &printer, Operation *, FloatAttr momentum, UnitAttr nesterov,
                            FloatAttr decay) {
  printOptionalNumber(printer, "momentum", momentum);
  if (nesterov)
    printer << " nesterov";
  printOptionalNumber(printer, "weight_decay", decay);
}

static ParseResult parseAdamClauses(OpAsmParser &parser, FloatAttr &beta1, FloatAttr &beta2, FloatAttr &epsilon,
                                    FloatAttr &decay, UnitAttr &decoupled) {
  if (parser.parseKeyword("beta1") || parseNumber(parser, beta1) || parser.parseKeyword("beta2") ||
      parseNumber(parser, beta2) || parser.parseKeyword("epsilon") || parseNumber(parser, epsilon) ||
      parseOptionalNumber(parser, "weight_decay", decay))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("decoupled")))
    decoupled = parser.getBuilder().getUnitAttr();
  return success();
}

static void printAdamClauses(OpAsmPrinter &printer, Operation *, FloatAttr beta1, FloatAttr beta2, FloatAttr epsilon,
                             FloatAttr decay, UnitAttr decoupled) {
  printOptionalNumber(printer, "beta1", beta1);
  printOptionalNumber(printer, "beta2", beta2);
  printOptionalNumber(printer, "epsilon", epsilon);
  printOptionalNumber(printer, "weight_decay", decay);
  if (decoupled)
    printer << " decoupled";
}

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

/// The fields of an optimizer, in the order in which they are printed after the learning rate.
static ArrayRef<StringRef> fieldsOf(OptimizerKind kind) {
  static constexpr StringRef sgd[] = {"learning_rate", "momentum", "nesterov", "weight_decay", "clip_global_norm"};
  static constexpr StringRef adam[] = {"learning_rate", "beta1",        "beta2",
                                       "epsilon",       "weight_decay", "clip_global_norm"};
  return kind == OptimizerKind::SGD ? ArrayRef<StringRef>(sgd) : ArrayRef<StringRef>(adam);
}

ParseResult OptimizerOp::parse(OpAsmParser &parser, OperationState &state) {
  SMLoc location = parser.getCurrentLocation();
  StringRef name;
  std::optional<OptimizerKind> kind;
  if (succeeded(parser.parseOptionalKeyword(&name)))
    kind = symbolizeOptimizerKind(name);
  if (!kind)
    return parser.emitError(location) << (name.empty() ? "expected an optimizer"
                                                       : "unknown optimizer '" + name.str() + "'")
                                      << ": write sgd, adam or adamw";
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.kind = OptimizerKindAttr::get(parser.getContext(), *kind);

  ArrayRef<StringRef> fields = fieldsOf(*kind);
  while (true) {
    location = parser.getCurrentLocation();
    StringRef field;
    if (failed(parseOptionalField(parser, field)))
      break;
    if (!llvm::is_contained(fields, field))
      return parser.emitError(location) << stringifyOptimizerKind(*kind) << " has no field '" << field << "': it takes "
                                        << alternatives(fields)
                                        << "; after the learning rate there may be cosine, step and warm_up";
    auto once = [&](bool given) -> ParseResult {
      return given ? parser.emitError(location) << "field '" << field << "' is given a second time"
                   : ParseResult(success());
    };
    auto number = [&](FloatAttr &value) { return failed(once(bool(value))) ? failure() : parseNumber(parser, value); };
    ParseResult result = success();
    if (field == "learning_rate")
      result = failed(once(bool(properties.learning_rate))) ? ParseResult(failure())
                                                            : parseSchedule(parser, properties.learning_rate);
    else if (field == "nesterov")
      properties.nesterov = parser.getBuilder().getUnitAttr();
    else
      result = number(field == "momentum"       ? properties.momentum
                      : field == "weight_decay" ? properties.weight_decay
                      : field == "beta1"        ? properties.beta1
                      : field == "beta2"        ? properties.beta2
                      : field == "epsilon"      ? properties.epsilon
                                                : properties.clip_global_norm);
    if (failed(result))
      return failure();
  }
  if (!properties.learning_rate)
    return parser.emitError(location) << "the optimizer needs a learning rate, such as 'learning_rate 0.1'";
  return parser.parseOptionalAttrDict(state.attributes);
}

void OptimizerOp::print(OpAsmPrinter &printer) {
  printer << ' ' << stringifyOptimizerKind(getKind()) << " learning_rate ";
  printSchedule(printer, nullptr, getLearningRateAttr());
  printOptionalNumber(printer, "momentum", getMomentumAttr());
  if (getNesterov())
    printer << " nesterov";
  printOptionalNumber(printer, "beta1", getBeta1Attr());
  printOptionalNumber(printer, "beta2", getBeta2Attr());
  printOptionalNumber(printer, "epsilon", getEpsilonAttr());
  printOptionalNumber(printer, "weight_decay", getWeightDecayAttr());
  printOptionalNumber(printer, "clip_global_norm", getClipGlobalNormAttr());
  printer.printOptionalAttrDict(llvm::to_vector((*this)->getDiscardableAttrs()));
}

LogicalResult OptimizerOp::verify() {
  auto check = [&](StringRef field, FloatAttr value, bool (*accepts)(double), StringRef range) -> LogicalResult {
    if (!value)
      return success();
    if (std::abs(value.getValueAsDouble()) > std::numeric_limits<float>::max())
      return emitOpError() << "has " << field << ' ' << value.getValueAsDouble()
                           << ", beyond the range of f32, in which optimizers compute: the largest is 3.4e38";
    if (accepts(value.getValueAsDouble()))
      return success();
    return emitOpError() << "has " << field << ' ' << value.getValueAsDouble() << ", which must be " << range;
  };
  auto positive = [](double value) { return value > 0; };
  auto notNegative = [](double value) { return value >= 0; };
  auto fraction = [](double value) { return value >= 0 && value < 1; };
  if (failed(check("learning_rate", getLearningRate().getBase(), notNegative, "0 or more")) ||
      failed(check("momentum", getMomentumAttr(), fraction, "at least 0 and below 1")) ||
      failed(check("beta1", getBeta1Attr(), fraction, "at least 0 and below 1")) ||
      failed(check("beta2", getBeta2Attr(), fraction, "at least 0 and below 1")) ||
      failed(check("epsilon", getEpsilonAttr(), positive, "above 0")) ||
      failed(check("weight_decay", getWeightDecayAttr(), notNegative, "0 or more")) ||
      failed(check("clip_global_norm", getClipGlobalNormAttr(), positive, "above 0")))
    return failure();
  bool isSGD = getKind() == OptimizerKind::SGD;
  if (getNesterov() && (!getMomentum() || getMomentum()->isZero()))
    return emitOpError("has nesterov but no momentum: write 'momentum 0.9 nesterov'");
  if (!isSGD && (getMomentum() || getNesterov()))
    return emitOpError() << "has a momentum, which " << stringifyOptimizerKind(getKind())
                         << " does not take: use beta1";
  if (isSGD && (getBeta1() || getBeta2() || getEpsilon()))
    return emitOpError("has beta1, beta2 or epsilon, which sgd does not take: use adam or adamw");
  return success();
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
  if (schedule.getKind() == LearningRateKind::Cosine) {
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
// ApplySGDOp, ApplyAdamOp
//===----------------------------------------------------------------------===//

/// All tensors of an update have the type of the weight.
static LogicalResult inferUpdate(std::optional<Location> location, StringRef name, ValueRange tensors, Value rate,
                                 SmallVectorImpl<Type> &types) {
  auto weight = withoutEncoding(cast<RankedTensorType>(tensors.front().getType()));
  for (Value tensor : tensors.drop_front())
    if (withoutEncoding(cast<RankedTensorType>(tensor.getType())) != weight)
      return emitOptionalError(location, "'", name, "' updates a weight of type ", weight, " with a tensor of type ",
                               tensor.getType(), ": they must be the same");
  if (cast<RankedTensorType>(rate.getType()).getRank() != 0)
    return emitOptionalError(location, "'", name, "' takes a scalar learning rate, not ", rate.getType());
  types.push_back(weight);
  return success();
}

LogicalResult ApplySGDOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  SmallVector<Value> tensors{adaptor.getWeight(), adaptor.getGradient()};
  if (adaptor.getVelocity())
    tensors.push_back(adaptor.getVelocity());
  if (failed(inferUpdate(location, getOperationName(), tensors, adaptor.getRate(), types)))
    return failure();
  if (adaptor.getVelocity())
    types.push_back(types.front());
  return success();
}

/// Builds an update in f32 for half-precision weights.
namespace {
struct Update {
  CompositeBuilder b;
  Value weight;
  Type element, compute;

  Update(OpBuilder &builder, Location location, Value weight)
      : b(builder, location), weight(weight), element(elementOf(weight)), compute(computeType(element)) {}
  Value wide(Value tensor) { return b.convert(tensor, compute); }
  Value narrow(Value tensor) { return b.convert(tensor, element); }
  /// A number times a tensor.
  Value times(double factor, Value tensor) { return b.multiply(tensor, factor); }
  Value timesScalar(Value scalar, Value tensor) {
    return b.multiply(tensor, b.broadcastScalar(b.convert(scalar, compute), shapeOf(tensor)));
  }
};
} // namespace

static double valueOr(const std::optional<APFloat> &value, double otherwise) {
  return value ? value->convertToDouble() : otherwise;
}

FailureOr<SmallVector<Value>> ApplySGDOp::decompose(OpBuilder &builder) {
  Update u(builder, getLoc(), getWeight());
  double momentum = valueOr(getMomentum(), 0), decay = valueOr(getWeightDecay(), 0);
  Value weight = u.wide(getWeight()), gradient = u.wide(getGradient());
  if (decay != 0)
    gradient = u.b.add(gradient, u.times(decay, weight));
  SmallVector<Value> results(1);
  if (getVelocity()) {
    Value velocity = u.b.add(u.times(momentum, u.wide(getVelocity())), gradient);
    results.push_back(u.narrow(velocity));
    gradient = getNesterov() ? u.b.add(gradient, u.times(momentum, velocity)) : velocity;
  }
  results[0] = u.narrow(u.b.subtract(weight, u.timesScalar(getRate(), gradient)));
  return results;
}

LogicalResult ApplyAdamOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  SmallVector<Value> tensors{adaptor.getWeight(), adaptor.getGradient(), adaptor.getMean(), adaptor.getSquare()};
  if (failed(inferUpdate(location, getOperationName(), tensors, adaptor.getRate(), types)))
    return failure();
  types.resize(3, types.front());
  return success();
}

FailureOr<SmallVector<Value>> ApplyAdamOp::decompose(OpBuilder &builder) {
  Update u(builder, getLoc(), getWeight());
  CompositeBuilder &b = u.b;
  double beta1 = getBeta1().convertToDouble(), beta2 = getBeta2().convertToDouble();
  double decay = valueOr(getWeightDecay(), 0);

  // 1 - beta^t as -expm1(t ln beta), which keeps its digits for beta near 1. Equal for all weights: computed once.
  Type f32 = builder.getF32Type();
  Value t = b.add(b.convert(getStep(), f32), b.scalar(1, f32));
  auto correction = [&](double beta) {
    if (beta == 0)
      return b.scalar(1, f32);
    return b.negate(b.exponentialMinusOne(b.multiply(t, b.scalar(std::log(beta), f32))));
  };
  Value rate = b.convert(getRate(), f32);
  Value stepSize = b.divide(rate, correction(beta1)), squareScale = b.rsqrt(correction(beta2));

  Value weight = u.wide(getWeight()), gradient = u.wide(getGradient());
  if (decay != 0 && !getDecoupled())
    gradient = b.add(gradient, u.times(decay, weight));
  Value mean = b.add(u.times(beta1, u.wide(getMean())), u.times(1 - beta1, gradient));
  Value square = b.add(u.times(beta2, u.wide(getSquare())), u.times(1 - beta2, b.multiply(gradient, gradient)));
  Value root = u.timesScalar(squareScale, b.sqrt(square));
  Value denominator = b.add(root, b.splat(getEpsilon().convertToDouble(), root));
  Value updated = weight;
  if (decay != 0 && getDecoupled())
    updated = b.subtract(updated, u.timesScalar(b.multiply(rate, b.scalar(decay, f32)), weight));
  updated = b.subtract(updated, b.divide(u.timesScalar(stepSize, mean), denominator));
  return SmallVector<Value>{u.narrow(updated), u.narrow(mean), u.narrow(square)};
}
