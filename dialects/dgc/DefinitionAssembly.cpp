// The text that definitions of optimizers and schedules share: names, parameters and bodies.

#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/Definition.h"
#include "dialects/dgc/ModelBody.h"
#include "dialects/dgc/OptimizerClauses.h"

using namespace mlir;
using namespace dgc;

ParseResult dgc::parseQuotedName(OpAsmParser &parser, StringAttr &name) {
  SMLoc location = parser.getCurrentLocation();
  std::string text;
  if (failed(parser.parseOptionalString(&text)) || text.empty())
    return parser.emitError(location, "expected a name, such as \"momentum\"");
  name = parser.getBuilder().getStringAttr(text);
  return success();
}

ParseResult dgc::parseNeeds(OpAsmParser &parser, StringAttr &needs) {
  return succeeded(parser.parseOptionalKeyword("needs")) ? parseQuotedName(parser, needs) : ParseResult(success());
}

void dgc::printNeeds(OpAsmPrinter &printer, StringAttr needs) {
  if (needs)
    printer << " needs " << needs;
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// `= 0.9`: what the parameter is where a model gives no value.
static ParseResult parseValue(OpAsmParser &parser, bool isInteger, TypedAttr &value) {
  SMLoc location = parser.getCurrentLocation();
  if (!startsLiteral(parser))
    return parser.emitError(location, "expected the value that the parameter has where a model gives none: a number, "
                                      "true or false");
  if (parseLiteral(parser, value))
    return failure();
  auto integer = dyn_cast<IntegerAttr>(value);
  const bool isCounted = integer && integer.getType().isSignlessInteger(64);
  if (isInteger && !isCounted)
    return parser.emitError(location, "expected an i64, as the parameter is an integer");
  if (!isInteger && integer && !integer.getType().isInteger(1))
    value = parser.getBuilder().getF64FloatAttr(integer.getValue().roundToDouble(/*isSigned=*/isCounted));
  return success();
}

/// `"beta" %beta = 0.9 in [0, 1) needs "momentum"`; of a schedule `"steps" %n integer in [1, inf)` as well.
static ParseResult parseParameter(OpAsmParser &parser, bool isSchedule,
                                  SmallVectorImpl<OpAsmParser::Argument> &arguments,
                                  SmallVectorImpl<Attribute> &parameters) {
  StringAttr name, needs;
  IntervalAttr range;
  TypedAttr value;
  UnitAttr integer;
  if (parseQuotedName(parser, name) || parser.parseArgument(arguments.emplace_back()))
    return failure();
  if (isSchedule && succeeded(parser.parseOptionalKeyword("integer")))
    integer = parser.getBuilder().getUnitAttr();
  const bool hasValue = !isSchedule || succeeded(parser.parseOptionalEqual());
  if ((!isSchedule && parser.parseEqual()) || (hasValue && parseValue(parser, bool(integer), value)))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("in")) && parseInterval(parser, range))
    return failure();
  if (parseNeeds(parser, needs))
    return failure();
  parameters.push_back(ParameterAttr::get(parser.getContext(), name, value, range, needs, integer));
  return success();
}

ParseResult dgc::parseParameters(OpAsmParser &parser, bool isSchedule,
                                 SmallVectorImpl<OpAsmParser::Argument> &arguments, ArrayAttr &parameters) {
  SmallVector<Attribute> all;
  auto element = [&] { return parseParameter(parser, isSchedule, arguments, all); };
  if (succeeded(parser.parseOptionalKeyword("parameters")) &&
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, element))
    return failure();
  parameters = parser.getBuilder().getArrayAttr(all);
  return success();
}

static void printParameter(OpAsmPrinter &printer, ParameterAttr parameter, Value value) {
  printer << parameter.getName() << ' ' << value;
  if (parameter.getInteger())
    printer << " integer";
  if (TypedAttr otherwise = parameter.getValue()) {
    printer << " = ";
    printLiteral(printer, nullptr, otherwise);
  }
  if (parameter.getRange()) {
    printer << " in ";
    printInterval(printer, parameter.getRange());
  }
  printNeeds(printer, parameter.getNeeds());
}

void dgc::printParameters(OpAsmPrinter &printer, ArrayAttr parameters, Block::BlockArgListType values) {
  if (parameters.empty())
    return;
  printer << " parameters (";
  llvm::interleaveComma(llvm::zip_equal(parameters.getAsRange<ParameterAttr>(), values), printer,
                        [&](auto pair) { printParameter(printer, std::get<0>(pair), std::get<1>(pair)); });
  printer << ')';
}

//===----------------------------------------------------------------------===//
// Names and bodies
//===----------------------------------------------------------------------===//

ParseResult dgc::parseDefinitionName(OpAsmParser &parser, OperationState &state, StringAttr &name) {
  if (succeeded(parser.parseOptionalKeyword("private")))
    state.addAttribute(SymbolTable::getVisibilityAttrName(), parser.getBuilder().getStringAttr("private"));
  return parser.parseSymbolName(name);
}

ParseResult dgc::parseDefinitionBody(OpAsmParser &parser, OperationState &state,
                                     SmallVectorImpl<OpAsmParser::Argument> &arguments) {
  for (OpAsmParser::Argument &argument : arguments)
    argument.type = UntypedType::get(parser.getContext());
  Region *body = state.addRegion();
  return failure(parser.parseOptionalAttrDictWithKeyword(state.attributes) || parseModelBody(parser, *body, arguments));
}

void dgc::printDefinitionName(OpAsmPrinter &printer, Operation *op) {
  if (SymbolTable::getSymbolVisibility(op) == SymbolTable::Visibility::Private)
    printer << " private";
  printer << ' ';
  printer.printSymbolName(SymbolTable::getSymbolName(op));
}

void dgc::printDefinitionBody(OpAsmPrinter &printer, Operation *op) {
  printer << ' ';
  SmallVector<NamedAttribute> others;
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (attribute.getName() != SymbolTable::getVisibilityAttrName())
      others.push_back(attribute);
  printer.printOptionalAttrDictWithKeyword(others);
  printer.printRegion(op->getRegion(0), /*printEntryBlockArgs=*/false);
}
