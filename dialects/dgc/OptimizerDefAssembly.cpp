// The text of the definitions of optimizers.

#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/OptimizerClauses.h"

using namespace mlir;
using namespace dgc;

using Arguments = SmallVector<OpAsmParser::Argument>;

/// `"row" %r = 0.0 reduced [-1] needs "momentum"`
static ParseResult parseState(OpAsmParser &parser, Arguments &arguments, SmallVectorImpl<Attribute> &states) {
  StringAttr name, needs, parameter;
  FloatAttr number = parser.getBuilder().getF64FloatAttr(0);
  if (parseQuotedName(parser, name) || parser.parseArgument(arguments.emplace_back()))
    return failure();
  if (succeeded(parser.parseOptionalEqual())) {
    if (startsLiteral(parser) ? parseNumber(parser, number) : parseQuotedName(parser, parameter))
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
  SmallVector<Attribute> states;
  auto element = [&] { return parseState(parser, arguments, states); };
  if (parseParameters(parser, /*isSchedule=*/false, parameterArguments, properties.parameters) ||
      (succeeded(parser.parseOptionalKeyword("state")) &&
       parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, element)))
    return failure();
  llvm::append_range(arguments, parameterArguments);
  properties.states = parser.getBuilder().getArrayAttr(states);
  return success();
}

ParseResult OptimizerDefOp::parse(OpAsmParser &parser, OperationState &state) {
  Properties &properties = state.getOrAddProperties<Properties>();
  Arguments arguments;
  if (parseDefinitionName(parser, state, properties.sym_name) || parseSignature(parser, arguments, properties) ||
      parseDefinitionBody(parser, state, arguments))
    return failure();
  ensureTerminator(*state.regions.back(), parser.getBuilder(), state.location);
  return success();
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

void OptimizerDefOp::print(OpAsmPrinter &printer) {
  printDefinitionName(printer, *this);
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
  printParameters(printer, getParameters(), arguments.take_back(getParameters().size()));
  if (!getStates().empty()) {
    printer << " state (";
    llvm::interleaveComma(
        llvm::zip_equal(getStates().getAsRange<OptimizerStateAttr>(), arguments.slice(firstState, getStates().size())),
        printer, [&](auto pair) { printState(printer, std::get<0>(pair), std::get<1>(pair)); });
    printer << ')';
  }
  printDefinitionBody(printer, *this);
}

void OptimizerDefOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  SmallVector<std::string> names{"w", "g", "rate", "step"};
  for (auto state : getStates().getAsRange<OptimizerStateAttr>())
    names.push_back(state.getName().str());
  for (auto parameter : getParameters().getAsRange<ParameterAttr>())
    names.push_back(parameter.getName().str());
  for (auto [argument, name] : llvm::zip(region.getArguments(), names))
    setName(argument, name);
}
