// Schedules of learning rates as they are written.

#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/OptimizerClauses.h"
#include "dialects/dgc/ScheduleDefinition.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace dgc;

static constexpr llvm::StringLiteral kConstant = "constant", kWarmUp = "warm_up";

ScheduleAttr ScheduleAttr::constant(MLIRContext *context, double rate) {
  Builder builder(context);
  return get(context, builder.getStringAttr(kConstant), builder.getF64FloatAttr(rate), builder.getDictionaryAttr({}),
             0);
}

static ScheduleDefOp builtinNamed(MLIRContext *context, StringRef name) {
  return context->getLoadedDialect<DGCDialect>()->getBuiltinSchedules().lookupSymbol<ScheduleDefOp>(name);
}

/// How a schedule of the language is written, for diagnostics.
static std::string exampleOf(ScheduleDefOp definition) {
  std::string text = ("learning_rate 0.1 " + definition.getSymName()).str();
  for (auto parameter : definition.getParameters().getAsRange<ParameterAttr>())
    text += (" " + parameter.getName().getValue() + (parameter.getInteger() ? " STEPS" : " NUMBER")).str();
  return text;
}

/// `steps 1000 final 0.0`: the parameters of a schedule of the language, in their order.
static ParseResult parseBuiltinFields(AsmParser &parser, ScheduleDefOp definition, DictionaryAttr &fields) {
  NamedAttrList list;
  for (auto parameter : definition.getParameters().getAsRange<ParameterAttr>()) {
    if (failed(parseWord(parser, parameter.getName().getValue(), exampleOf(definition))))
      return failure();
    int64_t integer = 0;
    FloatAttr number;
    if (parameter.getInteger() ? parser.parseInteger(integer) : parseNumber(parser, number))
      return failure();
    list.set(parameter.getName(),
             number ? Attribute(number) : Attribute(parser.getBuilder().getI64IntegerAttr(integer)));
  }
  fields = list.getDictionary(parser.getContext());
  return success();
}

/// `(steps 100 peak 0.5 flat)`, or nothing: values of parameters of a schedule that is not known yet.
static ParseResult parseFields(AsmParser &parser, DictionaryAttr &fields) {
  NamedAttrList list;
  if (succeeded(parser.parseOptionalLParen()))
    while (failed(parser.parseOptionalRParen())) {
      SMLoc location = parser.getCurrentLocation();
      StringRef name;
      TypedAttr value = parser.getBuilder().getBoolAttr(true);
      if (failed(parser.parseOptionalKeyword(&name)))
        return parser.emitError(location, "expected the name of a parameter and its value, as in '(steps 100)'");
      if (list.get(name))
        return parser.emitError(location) << "parameter '" << name << "' is given a second time";
      if (startsLiteral(parser) && parseLiteral(parser, value))
        return failure();
      list.set(name, value);
    }
  fields = list.getDictionary(parser.getContext());
  return success();
}

ParseResult dgc::parseSchedule(AsmParser &parser, ScheduleAttr &schedule) {
  MLIRContext *context = parser.getContext();
  FloatAttr base;
  if (failed(parseNumber(parser, base)))
    return failure();
  Attribute definition = parser.getBuilder().getStringAttr(kConstant);
  auto fields = DictionaryAttr::get(context);
  StringAttr symbol;
  if (succeeded(parser.parseOptionalSymbolName(symbol))) {
    definition = FlatSymbolRefAttr::get(symbol);
    if (parseFields(parser, fields))
      return failure();
  } else {
    for (StringRef name : builtinSchedules(context))
      if (succeeded(parser.parseOptionalKeyword(name))) {
        definition = parser.getBuilder().getStringAttr(name);
        if (parseBuiltinFields(parser, builtinNamed(context, name), fields))
          return failure();
        break;
      }
  }
  int64_t warmUp = 0;
  if (succeeded(parser.parseOptionalKeyword(kWarmUp))) {
    SMLoc location = parser.getCurrentLocation();
    if (failed(parser.parseInteger(warmUp)))
      return failure();
    if (warmUp <= 0)
      return parser.emitError(location) << "expected a number of steps above 0, not " << warmUp;
  }
  schedule = ScheduleAttr::get(context, definition, base, fields, warmUp);
  return success();
}

static void printField(AsmPrinter &printer, StringRef name, TypedAttr value) {
  printer << name;
  auto truth = dyn_cast<BoolAttr>(value);
  if (!truth || !truth.getValue()) {
    printer << ' ';
    printLiteral(printer, nullptr, value);
  }
}

void dgc::printSchedule(AsmPrinter &printer, Operation *, ScheduleAttr schedule) {
  printNumber(printer, nullptr, schedule.getBase());
  DictionaryAttr fields = schedule.getFields();
  if (auto name = dyn_cast<StringAttr>(schedule.getDefinition()); name && name != kConstant) {
    printer << ' ' << name.getValue();
    for (auto parameter : builtinNamed(name.getContext(), name).getParameters().getAsRange<ParameterAttr>()) {
      printer << ' ';
      printField(printer, parameter.getName(), fields.getAs<TypedAttr>(parameter.getName()));
    }
  } else if (!name) {
    printer << ' ' << schedule.getDefinition();
    if (!fields.empty()) {
      printer << '(';
      llvm::interleave(
          fields, printer,
          [&](NamedAttribute field) { printField(printer, field.getName(), cast<TypedAttr>(field.getValue())); }, " ");
      printer << ')';
    }
  }
  if (schedule.getWarmUp() > 0)
    printer << ' ' << kWarmUp << ' ' << schedule.getWarmUp();
}

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  ScheduleAttr schedule;
  if (failed(parser.parseLess()) || failed(parseSchedule(parser, schedule)) || failed(parser.parseGreater()))
    return {};
  return schedule;
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printSchedule(printer, nullptr, *this);
  printer << '>';
}

//===----------------------------------------------------------------------===//
// ScheduleDefOp
//===----------------------------------------------------------------------===//

ParseResult ScheduleDefOp::parse(OpAsmParser &parser, OperationState &state) {
  Properties &properties = state.getOrAddProperties<Properties>();
  SmallVector<OpAsmParser::Argument> arguments;
  if (parseDefinitionName(parser, state, properties.sym_name))
    return failure();
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren))
    return failure();
  if (arguments.size() != firstParameter)
    return parser.emitError(location) << "expected two values, as in '(%rate, %step)': the learning rate that a model "
                                         "gives and the number of the step";
  if (parseParameters(parser, /*isSchedule=*/true, arguments, properties.parameters) ||
      parseDefinitionBody(parser, state, arguments))
    return failure();
  ensureTerminator(*state.regions.back(), parser.getBuilder(), state.location);
  return success();
}

void ScheduleDefOp::print(OpAsmPrinter &printer) {
  printDefinitionName(printer, *this);
  Block::BlockArgListType arguments = getBody().getArguments();
  printer << '(';
  llvm::interleaveComma(arguments.take_front(firstParameter), printer);
  printer << ')';
  printParameters(printer, getParameters(), arguments.drop_front(firstParameter));
  printDefinitionBody(printer, *this);
}

void ScheduleDefOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  SmallVector<std::string> names{"rate", "step"};
  for (auto parameter : getParameters().getAsRange<ParameterAttr>())
    names.push_back(parameter.getName().str());
  for (auto [argument, name] : llvm::zip(region.getArguments(), names))
    setName(argument, name);
}
