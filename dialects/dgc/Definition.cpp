// What definitions of optimizers and schedules have in common.

#include "dialects/dgc/Definition.h"
#include "dialects/dgc/Clauses.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace dgc;

/// The most ops of a definition whose repeats are written out.
static constexpr uint64_t mostOps = uint64_t{1} << 14;

bool dgc::isDefinition(Operation *op) { return isa<OptimizerDefOp, ScheduleDefOp>(op); }

bool dgc::isInDefinition(Operation *op) {
  return op->getParentOfType<OptimizerDefOp>() || op->getParentOfType<ScheduleDefOp>();
}

std::string dgc::textOf(Attribute reference) {
  if (auto name = dyn_cast<StringAttr>(reference))
    return name.str();
  return "@" + cast<FlatSymbolRefAttr>(reference).getValue().str();
}

SmallVector<StringRef> dgc::publicNames(ModuleOp module) {
  SmallVector<StringRef> names;
  for (Operation &op : *module.getBody())
    if (isDefinition(&op) && SymbolTable::getSymbolVisibility(&op) == SymbolTable::Visibility::Public)
      names.push_back(SymbolTable::getSymbolName(&op));
  return names;
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

ParameterAttr dgc::findParameter(ArrayAttr parameters, StringRef name) {
  for (auto parameter : parameters.getAsRange<ParameterAttr>())
    if (parameter.getName() == name)
      return parameter;
  return {};
}

/// An integer as an f64; another value as it is.
static TypedAttr asFloat(TypedAttr value) {
  auto integer = dyn_cast<IntegerAttr>(value);
  if (!integer || integer.getType().isInteger(1))
    return value;
  const bool isSigned = !integer.getType().isUnsignedInteger();
  return Builder(value.getContext()).getF64FloatAttr(integer.getValue().roundToDouble(isSigned));
}

TypedAttr dgc::valueOf(ParameterAttr parameter, DictionaryAttr fields) {
  auto given = fields.getAs<TypedAttr>(parameter.getName());
  if (!given)
    return parameter.getValue();
  return parameter.getInteger() ? given : asFloat(given);
}

bool dgc::isSomething(TypedAttr value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return !number.getValue().isZero();
  return !cast<IntegerAttr>(value).getValue().isZero();
}

static bool isWord(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name, [](char letter) { return llvm::isAlnum(letter) || letter == '_'; });
}

/// Checks the value that holds where none is given.
static LogicalResult checkValue(Operation *definition, ParameterAttr parameter) {
  StringAttr name = parameter.getName();
  TypedAttr value = parameter.getValue();
  if (isa<OptimizerDefOp>(definition) && (!value || parameter.getInteger()))
    return definition->emitOpError() << "has the parameter " << name
                                     << (value ? ", an integer" : " without a value where a model gives none")
                                     << ": of an optimizer it is a number or a truth, with one";
  if (!value)
    return success();
  Type type = value.getType();
  if (parameter.getInteger() ? !type.isSignlessInteger(64) : !type.isF64() && !type.isInteger(1))
    return definition->emitOpError() << "has the parameter " << name << " of type " << type << ": it is an "
                                     << (parameter.getInteger() ? "i64, as it is an integer" : "f64, or an i1");
  auto number = dyn_cast<FloatAttr>(asFloat(value));
  if (number && parameter.getRange() && !parameter.getRange().contains(number.getValueAsDouble()))
    return definition->emitOpError() << "has the parameter " << name << " = " << number.getValueAsDouble()
                                     << ", which must be " << parameter.getRange().describe();
  return success();
}

LogicalResult dgc::checkParameters(Operation *definition, ArrayAttr parameters,
                                   ArrayRef<llvm::StringLiteral> reserved) {
  llvm::StringSet<> names;
  for (auto parameter : parameters.getAsRange<ParameterAttr>()) {
    StringAttr name = parameter.getName();
    if (!isWord(name) || llvm::is_contained(reserved, name.getValue())) {
      InFlightDiagnostic error = definition->emitOpError()
                                 << "has a parameter " << name << ": it is named by a word of letters, digits and _";
      if (!reserved.empty())
        error << ", other than those of all optimizers: " << alternatives(to_vector_of<StringRef>(reserved));
      return error;
    }
    if (!names.insert(name).second)
      return definition->emitOpError() << "has two parameters " << name << ": each needs a name of its own";
    if (failed(checkValue(definition, parameter)))
      return failure();
    if (parameter.getNeeds() && !findParameter(parameters, parameter.getNeeds()))
      return definition->emitOpError() << "has " << name << ", which needs " << parameter.getNeeds()
                                       << ", and that is no parameter";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

LogicalResult dgc::checkField(Operation *op, StringRef name, double value, IntervalAttr range) {
  if (std::abs(value) > std::numeric_limits<float>::max())
    return op->emitOpError() << "has " << name << ' ' << value
                             << ", beyond the range of f32, in which optimizers compute: the largest is 3.4e38";
  if (!range || range.contains(value))
    return success();
  return op->emitOpError() << "has " << name << ' ' << value << ", which must be " << range.describe();
}

/// Checks one field that a model gives.
static LogicalResult checkGiven(Operation *op, ParameterAttr parameter, Attribute value) {
  StringRef name = parameter.getName();
  if (isa_and_nonnull<BoolAttr>(parameter.getValue())) {
    if (!isa<BoolAttr>(value))
      return op->emitOpError() << "gives a number for " << name << ", which is a word alone: write '" << name << "'";
    return success();
  }
  if (parameter.getInteger()) {
    auto integer = dyn_cast<IntegerAttr>(value);
    if (!integer || !integer.getType().isSignlessInteger(64))
      return op->emitOpError() << "gives no integer for " << name << ": write '" << name
                               << " INTEGER', without a decimal point";
    IntervalAttr range = parameter.getRange();
    if (range && !range.contains(static_cast<double>(integer.getInt())))
      return op->emitOpError() << "has " << name << ' ' << integer.getInt() << ", which must be " << range.describe();
    return success();
  }
  auto typed = dyn_cast<TypedAttr>(value);
  auto number = typed ? dyn_cast<FloatAttr>(asFloat(typed)) : FloatAttr();
  if (!number)
    return op->emitOpError() << "gives no number for " << name << ": write '" << name << " NUMBER'";
  return checkField(op, name, number.getValueAsDouble(), parameter.getRange());
}

/// Checks that what a parameter needs is there.
static LogicalResult checkNeeds(Operation *op, ArrayRef<ParameterAttr> parameters, ParameterAttr parameter,
                                DictionaryAttr fields) {
  if (!parameter.getNeeds() || !fields.get(parameter.getName()) || !isSomething(valueOf(parameter, fields)))
    return success();
  const auto *needed = llvm::find_if(parameters, [&](auto each) { return each.getName() == parameter.getNeeds(); });
  if (needed == parameters.end() || isSomething(valueOf(*needed, fields)))
    return success();
  return op->emitOpError() << "has " << parameter.getName().getValue() << " but no " << parameter.getNeeds().getValue()
                           << ", which it needs: write '" << parameter.getNeeds().getValue()
                           << (isa_and_nonnull<BoolAttr>(needed->getValue()) ? "' as well" : " NUMBER' as well, not 0");
}

LogicalResult dgc::checkFields(Operation *op, ArrayRef<ParameterAttr> parameters, DictionaryAttr fields,
                               llvm::function_ref<std::string(StringRef)> describe) {
  for (NamedAttribute field : fields) {
    const auto *parameter = llvm::find_if(parameters, [&](auto each) { return each.getName() == field.getName(); });
    if (parameter == parameters.end())
      return op->emitError() << describe(field.getName());
    if (failed(checkGiven(op, *parameter, field.getValue())))
      return failure();
  }
  for (ParameterAttr parameter : parameters)
    if (!valueOf(parameter, fields))
      return op->emitOpError() << "gives no " << parameter.getName().getValue()
                               << ", which has no value otherwise: write '" << parameter.getName().getValue()
                               << (parameter.getInteger() ? " INTEGER'" : " NUMBER'");
  for (ParameterAttr parameter : parameters)
    if (failed(checkNeeds(op, parameters, parameter, fields)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

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

LogicalResult dgc::checkBody(Operation *definition, StringRef what) {
  Region &body = definition->getRegion(0);
  WalkResult walked = body.walk([&](Operation *op) -> WalkResult {
    if (!isa<VariableOp, AssignOp, GradientOp, ModeOpInterface>(op))
      return WalkResult::advance();
    const bool isVowel = StringRef("aeiou").contains(what.front());
    return op->emitOpError("is not of ") << (isVowel ? "an " : "a ") << what
                                         << ", which is a function of numbers: it has no variables, no "
                                            "gradients and nothing that differs between training and use";
  });
  if (walked.wasInterrupted())
    return failure();
  if (uint64_t ops = countOps(body.front()); ops > mostOps)
    return definition->emitOpError() << "has " << ops << " ops with its repeats written out"
                                     << (isa<OptimizerDefOp>(definition) ? ", for each weight" : "") << ": it may have "
                                     << mostOps;
  return success();
}

LogicalResult dgc::checkCalls(Operation *definition, StringRef what, StringRef instead) {
  WalkResult walked = definition->walk([&](CallOp call) -> WalkResult {
    auto block = SymbolTable::lookupNearestSymbolFrom<BlockOp>(definition, call.getCalleeAttr());
    if (!block || block.getBody().getOps<VariableOp>().empty()) // another block is not found by the call itself
      return WalkResult::advance();
    return call.emitOpError() << "is in " << what << ", and " << call.getCalleeAttr() << " has variables: " << instead;
  });
  return failure(walked.wasInterrupted());
}
