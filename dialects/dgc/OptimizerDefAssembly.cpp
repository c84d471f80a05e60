// The text of the definitions of optimizers.

#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/ModelBody.h"
#include "dialects/dgc/OptimizerClauses.h"

using namespace mlir;
using namespace dgc;

using Arguments = SmallVector<OpAsmParser::Argument>;

/// `"momentum"`
static ParseResult parseName(OpAsmParser &parser, StringAttr &name) {
  SMLoc location = parser.getCurrentLocation();
  std::string text;
  if (failed(parser.parseOptionalString(&text)) || text.empty())
    return parser.emitError(location, "expected a name, such as \"momentum\"");
  name = parser.getBuilder().getStringAttr(text);
  return success();
}

static ParseResult parseNeeds(OpAsmParser &parser, StringAttr &needs) {
  return succeeded(parser.parseOptionalKeyword("needs")) ? parseName(parser, needs) : ParseResult(success());
}

/// `"beta" %beta = 0.9 in [0, 1) needs "momentum"`
static ParseResult parseParameter(OpAsmParser &parser, Arguments &arguments, SmallVectorImpl<Attribute> &parameters) {
  StringAttr name, needs;
  IntervalAttr range;
  TypedAttr value;
  if (parseName(parser, name) || parser.parseArgument(arguments.emplace_back()) || parser.parseEqual())
    return failure();
  SMLoc location = parser.getCurrentLocation();
  if (!startsLiteral(parser))
    return parser.emitError(location, "expected the value that the parameter has where a model gives none: a number, "
                                      "true or false");
  if (parseLiteral(parser, value))
    return failure();
  if (auto integer = dyn_cast<IntegerAttr>(value); integer && !integer.getType().isInteger(1))
    value = parser.getBuilder().getF64FloatAttr(integer.getType().isUnsignedInteger()
                                                    ? double(integer.getValue().getZExtValue())
                                                    : double(integer.getValue().getSExtValue()));
  if (succeeded(parser.parseOptionalKeyword("in")) && parseInterval(parser, range))
    return failure();
  if (parseNeeds(parser, needs))
    return failure();
  parameters.push_back(OptimizerParameterAttr::get(parser.getContext(), name, value, range, needs));
  return success();
}

/// `"row" %r = 0.0 reduced [-1] needs "momentum"`
static ParseResult parseState(OpAsmParser &parser, Arguments &arguments, SmallVectorImpl<Attribute> &states) {
  StringAttr name, needs, parameter;
  FloatAttr number = parser.getBuilder().getF64FloatAttr(0);
  if (parseName(parser, name) || parser.parseArgument(arguments.emplace_back()))
    return failure();
  if (succeeded(parser.parseOptionalEqual())) {
    if (startsLiteral(parser) ? parseNumber(parser, number) : parseName(parser, parameter))
      return failure();
  }
  DenseI64ArrayAttr reduced;
  if (parseOptionalList(parser, "reduced", 1, reduced) || parseNeeds(parser, needs))
    return failure();
  states.push_back(OptimizerStateAttr::get(parser.getContext(), name,
                                           parameter ? Attribute(parameter) : Attribute(number), reduced, needs));
  return success();
}

/// `(%w, %g, %rate, %step) rank in [2, inf) else adamw parameters (..) state (..)`; `arguments` are those of the body.
static ParseResult parseSignature(OpAsmParser &parser, Arguments &arguments, OptimizerDefOp::Properties &properties) {
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren))
    return failure();
  if (arguments.size() != OptimizerDefOp::firstState)
    return parser.emitError(location)
           << "expected four values, as in '(%w, %g, %rate, %step)': the weight, its gradient, "
           << "the learning rate and the number of the step";
  if (succeeded(parser.parseOptionalKeyword("rank"))) {
    if (parser.parseKeyword("in") || parseInterval(parser, properties.rank))
      return failure();
    if (succeeded(parser.parseOptionalKeyword("else")) && parseOptimizerReference(parser, properties.otherwise))
      return failure();
  }
  Arguments parameterArguments;
  SmallVector<Attribute> parameters, states;
  auto list = [&](StringRef keyword, llvm::function_ref<ParseResult()> parseElement) -> ParseResult {
    return succeeded(parser.parseOptionalKeyword(keyword))
               ? parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseElement)
               : ParseResult(success());
  };
  if (list("parameters", [&] { return parseParameter(parser, parameterArguments, parameters); }) ||
      list("state", [&] { return parseState(parser, arguments, states); }))
    return failure();
  llvm::append_range(arguments, parameterArguments);
  for (OpAsmParser::Argument &argument : arguments)
    argument.type = UntypedType::get(parser.getContext());
  properties.parameters = parser.getBuilder().getArrayAttr(parameters);
  properties.states = parser.getBuilder().getArrayAttr(states);
  return success();
}

ParseResult OptimizerDefOp::parse(OpAsmParser &parser, OperationState &state) {
  Properties &properties = state.getOrAddProperties<Properties>();
  Builder &builder = parser.getBuilder();
  Arguments arguments;
  if (succeeded(parser.parseOptionalKeyword("private")))
    state.addAttribute(SymbolTable::getVisibilityAttrName(), builder.getStringAttr("private"));
  if (parser.parseSymbolName(properties.sym_name) || parseSignature(parser, arguments, properties))
    return failure();
  Region *body = state.addRegion();
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes) || parseModelBody(parser, *body, arguments))
    return failure();
  ensureTerminator(*body, builder, state.location);
  return success();
}

static void printNeeds(OpAsmPrinter &printer, StringAttr needs) {
  if (needs)
    printer << " needs " << needs;
}

static void printParameter(OpAsmPrinter &printer, OptimizerParameterAttr parameter, Value value) {
  printer << parameter.getName() << ' ' << value << " = ";
  if (auto number = dyn_cast<FloatAttr>(parameter.getValue()))
    printNumber(printer, number.getValueAsDouble());
  else
    printer << parameter.getValue();
  if (parameter.getRange()) {
    printer << " in ";
    printInterval(printer, parameter.getRange());
  }
  printNeeds(printer, parameter.getNeeds());
}

static void printState(OpAsmPrinter &printer, OptimizerStateAttr state, Value value) {
  printer << state.getName() << ' ' << value;
  auto number = dyn_cast<FloatAttr>(state.getInit());
  if (!number) {
    printer << " = " << state.getInit();
  } else if (number.getValueAsDouble() != 0) {
    printer << " = ";
    printNumber(printer, number.getValueAsDouble());
  }
  printOptionalList(printer, "reduced", state.getReduced());
  printNeeds(printer, state.getNeeds());
}

/// ` keyword (..)`, with `print` for each attribute and its value in the body; nothing for none.
template <typename AttrT>
static void printClause(OpAsmPrinter &printer, StringRef keyword, ArrayAttr attributes, Block::BlockArgListType values,
                        void (*print)(OpAsmPrinter &, AttrT, Value)) {
  if (attributes.empty())
    return;
  printer << ' ' << keyword << " (";
  llvm::interleaveComma(llvm::zip_equal(attributes.getAsRange<AttrT>(), values), printer,
                        [&](auto pair) { print(printer, std::get<0>(pair), std::get<1>(pair)); });
  printer << ')';
}

void OptimizerDefOp::print(OpAsmPrinter &printer) {
  if (SymbolTable::getSymbolVisibility(*this) == SymbolTable::Visibility::Private)
    printer << " private";
  printer << ' ';
  printer.printSymbolName(getSymName());
  Block::BlockArgListType arguments = getBody().getArguments();
  printer << '(';
  llvm::interleaveComma(arguments.take_front(firstState), printer);
  printer << ')';
  if (std::optional<IntervalAttr> rank = getRank()) {
    printer << " rank in ";
    printInterval(printer, *rank);
  }
  if (std::optional<Attribute> otherwise = getOtherwise()) {
    printer << " else ";
    printOptimizerReference(printer, *this, *otherwise);
  }
  printClause(printer, "parameters", getParameters(), arguments.take_back(getParameters().size()), printParameter);
  printClause(printer, "state", getStates(), arguments.slice(firstState, getStates().size()), printState);
  printer << ' ';
  SmallVector<NamedAttribute> others;
  for (NamedAttribute attribute : (*this)->getDiscardableAttrs())
    if (attribute.getName() != SymbolTable::getVisibilityAttrName())
      others.push_back(attribute);
  printer.printOptionalAttrDictWithKeyword(others);
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void OptimizerDefOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  SmallVector<std::string> names{"w", "g", "rate", "step"};
  for (auto state : getStates().getAsRange<OptimizerStateAttr>())
    names.push_back(state.getName().str());
  for (auto parameter : getParameters().getAsRange<OptimizerParameterAttr>())
    names.push_back(parameter.getName().str());
  for (auto [argument, name] : llvm::zip(region.getArguments(), names))
    setName(argument, name);
}
