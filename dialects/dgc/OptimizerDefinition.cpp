// Optimizers by name: where they are found, what they take and keep.

#include "dialects/dgc/OptimizerDefinition.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/OptimizerClauses.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/GlobPattern.h"

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

SmallVector<StringRef> dgc::builtinOptimizers(MLIRContext *context) { return publicNames(builtinsOf(context)); }

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

SmallVector<ParameterAttr> dgc::fieldsOf(OptimizerDefOp definition) {
  SmallVector<ParameterAttr> fields;
  llvm::StringSet<> names;
  llvm::SmallPtrSet<Operation *, 4> seen; // a definition that is not verified yet may be its own alternative
  while (definition && seen.insert(definition).second) {
    for (auto parameter : definition.getParameters().getAsRange<ParameterAttr>())
      if (names.insert(parameter.getName().getValue()).second)
        fields.push_back(parameter);
    definition = definition.getOtherwise() ? findOptimizer(*definition.getOtherwise(), definition) : OptimizerDefOp();
  }
  return fields;
}

DictionaryAttr dgc::ownFields(OptimizerDefOp definition, DictionaryAttr fields) {
  SmallVector<NamedAttribute> own;
  for (NamedAttribute field : fields)
    if (findParameter(definition.getParameters(), field.getName()))
      own.push_back(field);
  return DictionaryAttr::get(fields.getContext(), own);
}

/// The value of a parameter of this name.
static TypedAttr valueOf(OptimizerDefOp definition, StringRef name, DictionaryAttr fields) {
  return valueOf(findParameter(definition.getParameters(), name), fields);
}

SmallVector<OptimizerStateAttr> dgc::statesOf(OptimizerDefOp definition, DictionaryAttr fields) {
  SmallVector<OptimizerStateAttr> states;
  for (auto state : definition.getStates().getAsRange<OptimizerStateAttr>())
    if (!state.getNeeds() || isSomething(::valueOf(definition, state.getNeeds().getValue(), fields)))
      states.push_back(state);
  return states;
}

InitAttr dgc::initOf(OptimizerStateAttr state, OptimizerDefOp definition, DictionaryAttr fields) {
  Attribute value = state.getInit();
  if (auto parameter = dyn_cast<StringAttr>(value))
    value = ::valueOf(definition, parameter, fields);
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

LogicalResult dgc::checkOptimizer(Operation *op, Attribute reference, DictionaryAttr fields) {
  OptimizerDefOp definition = findOptimizer(reference, op);
  if (!definition)
    return op->emitOpError() << "is " << textOf(reference) << ", which there is not: write "
                             << optimizerHint(op->getContext());
  SmallVector<ParameterAttr> parameters = fieldsOf(definition);
  return checkFields(op, parameters, fields, [&](StringRef field) { return fieldHint(reference, field, parameters); });
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
