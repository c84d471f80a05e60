// Optimizers by name: where they are found, what they take and keep.

#include "dialects/dgc/OptimizerDefinition.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/OptimizerClauses.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/GlobPattern.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace dgc;

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

static constexpr char builtinText[] =
#include "dialects/dgc/Optimizers.mlir.inc"
    ;

// What is in the text names optimizers of the text, which cannot be found before it has been read: its test verifies it.
ModuleOp DGCDialect::getBuiltinOptimizers() {
  std::call_once(optimizersAreRead, [&] {
    optimizers = parseSourceString<ModuleOp>(builtinText, ParserConfig(getContext(), /*verifyAfterParse=*/false),
                                             "Optimizers.mlir");
    if (!optimizers)
      llvm::report_fatal_error("the optimizers of the language cannot be read");
  });
  return *optimizers;
}

static ModuleOp builtinsOf(MLIRContext *context) {
  return context->getLoadedDialect<DGCDialect>()->getBuiltinOptimizers();
}

OptimizerDefOp dgc::findOptimizer(Attribute reference, Operation *from) {
  if (auto name = dyn_cast<StringAttr>(reference))
    return builtinsOf(from->getContext()).lookupSymbol<OptimizerDefOp>(name);
  return SymbolTable::lookupNearestSymbolFrom<OptimizerDefOp>(from, cast<FlatSymbolRefAttr>(reference));
}

SmallVector<StringRef> dgc::builtinOptimizers(MLIRContext *context) {
  SmallVector<StringRef> names;
  for (auto definition : builtinsOf(context).getOps<OptimizerDefOp>())
    if (SymbolTable::getSymbolVisibility(definition) == SymbolTable::Visibility::Public)
      names.push_back(definition.getSymName());
  return names;
}

std::string dgc::textOf(Attribute reference) {
  if (auto name = dyn_cast<StringAttr>(reference))
    return name.str();
  return "@" + cast<FlatSymbolRefAttr>(reference).getValue().str();
}

Attribute dgc::optimizerForRank(Attribute reference, int64_t rank, Operation *from) {
  while (reference) {
    OptimizerDefOp definition = findOptimizer(reference, from);
    if (!definition)
      return {};
    if (!definition.getRank() || definition.getRank()->contains(double(rank)))
      return reference;
    Attribute next = definition.getOtherwise().value_or(Attribute());
    // An optimizer of the language names another of them as its module does.
    auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(next);
    reference = symbol && isa<StringAttr>(reference) ? symbol.getAttr() : next;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Parameters and states
//===----------------------------------------------------------------------===//

static auto parametersOf(OptimizerDefOp definition) {
  return definition.getParameters().getAsRange<OptimizerParameterAttr>();
}

SmallVector<OptimizerParameterAttr> dgc::fieldsOf(OptimizerDefOp definition) {
  SmallVector<OptimizerParameterAttr> fields;
  llvm::StringSet<> names;
  llvm::SmallPtrSet<Operation *, 4> seen; // a definition that is not verified yet may be its own alternative
  while (definition && seen.insert(definition).second) {
    for (OptimizerParameterAttr parameter : parametersOf(definition))
      if (names.insert(parameter.getName().getValue()).second)
        fields.push_back(parameter);
    definition = definition.getOtherwise() ? findOptimizer(*definition.getOtherwise(), definition) : OptimizerDefOp();
  }
  return fields;
}

DictionaryAttr dgc::ownFields(OptimizerDefOp definition, DictionaryAttr fields) {
  SmallVector<NamedAttribute> own;
  for (NamedAttribute field : fields)
    if (llvm::any_of(parametersOf(definition), [&](auto parameter) { return parameter.getName() == field.getName(); }))
      own.push_back(field);
  return DictionaryAttr::get(fields.getContext(), own);
}

TypedAttr dgc::valueOf(OptimizerDefOp definition, StringRef name, DictionaryAttr fields) {
  for (OptimizerParameterAttr parameter : parametersOf(definition))
    if (parameter.getName() == name) {
      auto given = fields.getAs<TypedAttr>(name);
      return given ? given : parameter.getValue();
    }
  return {};
}

/// A truth that holds, or a number that is not 0.
static bool isSomething(TypedAttr value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return !number.getValue().isZero();
  return cast<BoolAttr>(value).getValue();
}

SmallVector<OptimizerStateAttr> dgc::statesOf(OptimizerDefOp definition, DictionaryAttr fields) {
  SmallVector<OptimizerStateAttr> states;
  for (auto state : definition.getStates().getAsRange<OptimizerStateAttr>())
    if (!state.getNeeds() || isSomething(valueOf(definition, state.getNeeds().getValue(), fields)))
      states.push_back(state);
  return states;
}

InitAttr dgc::initOf(OptimizerStateAttr state, OptimizerDefOp definition, DictionaryAttr fields) {
  Attribute value = state.getInit();
  if (auto parameter = dyn_cast<StringAttr>(value))
    value = valueOf(definition, parameter, fields);
  double number = cast<FloatAttr>(value).getValueAsDouble();
  return number == 0 ? InitAttr::get(state.getContext(), InitKind::Zeros)
                     : InitAttr::constant(state.getContext(), number);
}

RankedTensorType OptimizerStateAttr::typeFor(RankedTensorType weight) const {
  SmallVector<int64_t> shape(weight.getShape());
  if (DenseI64ArrayAttr dims = getReduced())
    for (int64_t dim : dims.asArrayRef())
      shape[dim + weight.getRank()] = 1;
  return RankedTensorType::get(shape, weight.getElementType());
}

//===----------------------------------------------------------------------===//
// Checks
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
static LogicalResult checkGiven(Operation *op, OptimizerParameterAttr parameter, Attribute value) {
  StringRef name = parameter.getName();
  if (isa<BoolAttr>(parameter.getValue()) && !isa<BoolAttr>(value))
    return op->emitOpError() << "gives a number for " << name << ", which is a word alone: write '" << name << "'";
  if (isa<BoolAttr>(parameter.getValue()))
    return success();
  auto number = dyn_cast<FloatAttr>(value);
  if (!number)
    return op->emitOpError() << "gives no number for " << name << ": write '" << name << " NUMBER'";
  return checkField(op, name, number.getValueAsDouble(), parameter.getRange());
}

LogicalResult dgc::checkOptimizer(Operation *op, Attribute reference, DictionaryAttr fields) {
  OptimizerDefOp definition = findOptimizer(reference, op);
  if (!definition)
    return op->emitOpError() << "is " << textOf(reference) << ", which there is not: write "
                             << optimizerHint(op->getContext());
  SmallVector<OptimizerParameterAttr> parameters = fieldsOf(definition);
  for (NamedAttribute field : fields) {
    auto parameter = llvm::find_if(parameters, [&](auto each) { return each.getName() == field.getName(); });
    if (parameter == parameters.end())
      return op->emitError() << fieldHint(reference, field.getName(), parameters);
    if (failed(checkGiven(op, *parameter, field.getValue())))
      return failure();
  }
  auto valueIn = [&](OptimizerParameterAttr parameter) {
    auto given = fields.getAs<TypedAttr>(parameter.getName());
    return given ? given : parameter.getValue();
  };
  for (OptimizerParameterAttr parameter : parameters) {
    if (!parameter.getNeeds() || !fields.get(parameter.getName()) || !isSomething(valueIn(parameter)))
      continue;
    auto needed = llvm::find_if(parameters, [&](auto each) { return each.getName() == parameter.getNeeds(); });
    if (needed != parameters.end() && !isSomething(valueIn(*needed)))
      return op->emitOpError() << "has " << parameter.getName().getValue() << " but no "
                               << parameter.getNeeds().getValue() << ", which it needs: write '"
                               << parameter.getNeeds().getValue()
                               << (isa<BoolAttr>(needed->getValue()) ? "' as well" : " NUMBER' as well, not 0");
  }
  return success();
}

bool WeightGroupAttr::matches(StringRef name) const {
  return llvm::any_of(getPatterns().getAsRange<StringAttr>(), [&](StringAttr pattern) {
    llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(pattern);
    if (glob)
      return glob->match(name);
    consumeError(glob.takeError()); // it is refused where it is written
    return false;
  });
}
