// The text of optimizers: of a model's own, and of definitions.

#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/OptimizerClauses.h"
#include "dialects/dgc/OptimizerDefinition.h"
#include "dialects/dgc/ScheduleDefinition.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/GlobPattern.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace dgc;

static constexpr llvm::StringLiteral kRate = "learning_rate", kClip = "clip_global_norm", kAverage = "average",
                                     kFor = "for", kRateFactor = "learning_rate_factor", kFrozen = "frozen";

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

/// A number, or `inf`.
static ParseResult parseEnd(AsmParser &parser, bool isUpper, FloatAttr &end) {
  if (isUpper && succeeded(parser.parseOptionalKeyword("inf"))) {
    end = parser.getBuilder().getF64FloatAttr(std::numeric_limits<double>::infinity());
    return success();
  }
  return parseNumber(parser, end);
}

ParseResult dgc::parseInterval(AsmParser &parser, IntervalAttr &interval) {
  SMLoc location = parser.getCurrentLocation();
  FloatAttr lower, upper;
  const bool hasLower = succeeded(parser.parseOptionalLSquare());
  if (!hasLower && failed(parser.parseOptionalLParen()))
    return parser.emitError(location, "expected a range such as [0, 1) or (0, inf): a bracket includes the number");
  if (parseEnd(parser, /*isUpper=*/false, lower) || parser.parseComma() || parseEnd(parser, /*isUpper=*/true, upper))
    return failure();
  const bool hasUpper = succeeded(parser.parseOptionalRSquare());
  if (!hasUpper && parser.parseRParen())
    return failure();
  if (!(lower.getValueAsDouble() <= upper.getValueAsDouble()))
    return parser.emitError(location, "expected a range whose first number is not above the second");
  interval = IntervalAttr::get(parser.getContext(), lower, upper, hasLower, hasUpper);
  return success();
}

static void printEnd(AsmPrinter &printer, FloatAttr end) {
  if (std::isinf(end.getValueAsDouble()))
    printer << "inf";
  else
    printNumber(printer, end.getValueAsDouble());
}

void dgc::printInterval(AsmPrinter &printer, IntervalAttr interval) {
  printer << (interval.getHasLower() ? '[' : '(');
  printEnd(printer, interval.getLower());
  printer << ", ";
  printEnd(printer, interval.getUpper());
  printer << (interval.getHasUpper() ? ']' : ')');
}

// The brackets of an attribute must match, so that it is written in words: at_least 0.0 below 1.0.
Attribute IntervalAttr::parse(AsmParser &parser, Type) {
  FloatAttr lower, upper;
  if (failed(parser.parseLess()))
    return {};
  const bool hasLower = succeeded(parser.parseOptionalKeyword("at_least"));
  if ((!hasLower && failed(parser.parseKeyword("above"))) || failed(parseEnd(parser, /*isUpper=*/false, lower)))
    return {};
  const bool hasUpper = succeeded(parser.parseOptionalKeyword("at_most"));
  if ((!hasUpper && failed(parser.parseKeyword("below"))) || failed(parseEnd(parser, /*isUpper=*/true, upper)) ||
      failed(parser.parseGreater()))
    return {};
  return IntervalAttr::get(parser.getContext(), lower, upper, hasLower, hasUpper);
}

void IntervalAttr::print(AsmPrinter &printer) const {
  printer << '<' << (getHasLower() ? "at_least " : "above ");
  printEnd(printer, getLower());
  printer << (getHasUpper() ? " at_most " : " below ");
  printEnd(printer, getUpper());
  printer << '>';
}

bool IntervalAttr::contains(double number) const {
  const double lower = getLower().getValueAsDouble(), upper = getUpper().getValueAsDouble();
  return (number > lower || (getHasLower() && number == lower)) &&
         (number < upper || (getHasUpper() && number == upper));
}

std::string IntervalAttr::describe() const {
  const double upper = getUpper().getValueAsDouble();
  std::string text;
  llvm::raw_string_ostream out(text);
  auto number = [](FloatAttr value) { return llvm::format("%g", value.getValueAsDouble()); };
  if (std::isinf(upper) && getHasLower())
    out << number(getLower()) << " or more";
  else
    out << (getHasLower() ? "at least " : "above ") << number(getLower());
  if (!std::isinf(upper))
    out << " and " << (getHasUpper() ? "at most " : "below ") << number(getUpper());
  return text;
}

//===----------------------------------------------------------------------===//
// References and fields
//===----------------------------------------------------------------------===//

std::string dgc::optimizerHint(MLIRContext *context) {
  std::string text;
  for (StringRef name : builtinOptimizers(context))
    text += (name + ", ").str();
  return text + "or @NAME, with a 'dgc.optimizer_def @NAME' next to the model";
}

std::string dgc::fieldHint(Attribute reference, StringRef field, ArrayRef<ParameterAttr> parameters) {
  SmallVector<StringRef> names{kRate}, schedules = builtinSchedules(reference.getContext());
  schedules.push_back("@SCHEDULE");
  for (ParameterAttr parameter : parameters)
    names.push_back(parameter.getName());
  names.push_back(kClip);
  names.push_back(kAverage);
  return textOf(reference) + " has no field '" + field.str() + "': it takes " + alternatives(names) +
         "; after the learning rate there may be " + alternatives(schedules) +
         ", and warm_up, and in the end for \"NAMES\"";
}

ParseResult dgc::parseOptimizerReference(OpAsmParser &parser, Attribute &reference) {
  SMLoc location = parser.getCurrentLocation();
  StringAttr symbol;
  if (succeeded(parser.parseOptionalSymbolName(symbol))) {
    reference = FlatSymbolRefAttr::get(symbol);
    return success();
  }
  StringRef name;
  if (failed(parser.parseOptionalKeyword(&name)) || !llvm::is_contained(builtinOptimizers(parser.getContext()), name)) {
    MLIRContext *context = parser.getContext();
    // A definition may use those that are none by themselves.
    auto known = context->getLoadedDialect<DGCDialect>()->getBuiltinOptimizers();
    if (name.empty() || !known.lookupSymbol<OptimizerDefOp>(name))
      return parser.emitError(location) << (name.empty() ? "expected an optimizer"
                                                         : "unknown optimizer '" + name.str() + "'")
                                        << ": write " << optimizerHint(context);
  }
  reference = parser.getBuilder().getStringAttr(name);
  return success();
}

void dgc::printOptimizerReference(OpAsmPrinter &printer, Operation *, Attribute reference) {
  if (auto name = dyn_cast<StringAttr>(reference))
    printer << name.getValue();
  else
    printer << reference;
}

/// What follows the name of a field: a number, or nothing for a word alone. `parameter` is null where it is not known
/// which of them.
static ParseResult parseFieldValue(OpAsmParser &parser, ParameterAttr parameter, Attribute &value) {
  const bool isNumber = parameter && isa<FloatAttr>(parameter.getValue());
  if (!isNumber && !startsLiteral(parser)) {
    value = parser.getBuilder().getBoolAttr(true);
    return success();
  }
  for (bool truth : {false, true})
    if (!isNumber && succeeded(parser.parseOptionalKeyword(truth ? "true" : "false"))) {
      value = parser.getBuilder().getBoolAttr(truth);
      return success();
    }
  FloatAttr number;
  if (failed(parseNumber(parser, number)))
    return failure();
  value = number;
  return success();
}

ParseResult dgc::parseOptimizerFields(OpAsmParser &parser, DictionaryAttr &fields) {
  NamedAttrList list;
  while (true) {
    SMLoc location = parser.getCurrentLocation();
    StringRef name;
    if (failed(parseOptionalField(parser, name)))
      break;
    Attribute value;
    if (list.get(name))
      return parser.emitError(location) << "field '" << name << "' is given a second time";
    if (failed(parseFieldValue(parser, {}, value)))
      return failure();
    list.set(name, value);
  }
  fields = list.getDictionary(parser.getContext());
  return success();
}

void dgc::printOptimizerFields(OpAsmPrinter &printer, Operation *, DictionaryAttr fields) {
  for (NamedAttribute field : fields) {
    printer << ' ' << field.getName().getValue();
    if (auto number = dyn_cast<FloatAttr>(field.getValue())) {
      printer << ' ';
      printNumber(printer, number.getValueAsDouble());
    } else if (auto truth = dyn_cast<BoolAttr>(field.getValue()); !truth) {
      printer << ' ' << field.getValue(); // the verifier refuses it
    } else if (!truth.getValue()) {
      printer << " false";
    }
  }
}

//===----------------------------------------------------------------------===//
// OptimizerOp
//===----------------------------------------------------------------------===//

namespace {
/// Parses what follows the name of the optimizer of a model.
class OptimizerParser {
public:
  OptimizerParser(OpAsmParser &parser, OptimizerOp::Properties &properties) : parser(parser), properties(properties) {
    reference = properties.definition;
    if (auto name = dyn_cast<StringAttr>(reference)) {
      auto builtin = parser.getContext()->getLoadedDialect<DGCDialect>()->getBuiltinOptimizers();
      definition = builtin.lookupSymbol<OptimizerDefOp>(name);
      parameters = fieldsOf(definition);
    }
  }

  ParseResult parse() {
    SMLoc location = parser.getCurrentLocation();
    StringRef field;
    while (succeeded(parseOptionalField(parser, field))) {
      if (failed(parseField(location, field)))
        return failure();
      location = parser.getCurrentLocation();
    }
    endGroup();
    MLIRContext *context = parser.getContext();
    properties.fields = fields.getDictionary(context);
    if (!groups.empty())
      properties.groups = ArrayAttr::get(context, groups);
    if (!properties.learning_rate)
      return parser.emitError(location) << "the optimizer needs a learning rate, such as 'learning_rate 0.1'";
    return success();
  }

private:
  /// A field is in the group that was begun last.
  struct Group {
    ArrayAttr patterns;
    FloatAttr rateFactor;
    UnitAttr frozen;
    NamedAttrList fields;
  };

  ParseResult parseField(SMLoc location, StringRef field) {
    auto once = [&](bool given) -> ParseResult {
      return given ? parser.emitError(location) << "field '" << field << "' is given a second time"
                   : ParseResult(success());
    };
    if (field == kFor)
      return beginGroup();
    if (field == kRate)
      return group                                          ? misplaced(location, field)
             : failed(once(bool(properties.learning_rate))) ? ParseResult(failure())
                                                            : parseSchedule(parser, properties.learning_rate);
    if (field == kClip)
      return group                                             ? misplaced(location, field)
             : failed(once(bool(properties.clip_global_norm))) ? ParseResult(failure())
                                                               : parseNumber(parser, properties.clip_global_norm);
    if (field == kAverage)
      return group                                    ? misplaced(location, field)
             : failed(once(bool(properties.average))) ? ParseResult(failure())
                                                      : parseNumber(parser, properties.average);
    if (group && field == kRateFactor)
      return failed(once(bool(group->rateFactor))) ? ParseResult(failure()) : parseNumber(parser, group->rateFactor);
    if (group && field == kFrozen) {
      group->frozen = parser.getBuilder().getUnitAttr();
      return success();
    }
    return parseParameter(location, field, once);
  }

  ParseResult parseParameter(SMLoc location, StringRef field, llvm::function_ref<ParseResult(bool)> once) {
    auto parameter = llvm::find_if(parameters, [&](auto each) { return each.getName().getValue() == field; });
    if (definition && parameter == parameters.end())
      return parser.emitError(location) << fieldHint(reference, field, parameters);
    NamedAttrList &list = group ? group->fields : fields;
    Attribute value;
    if (failed(once(bool(list.get(field)))) ||
        failed(parseFieldValue(parser, definition ? *parameter : ParameterAttr(), value)))
      return failure();
    list.set(field, value);
    return success();
  }

  ParseResult misplaced(SMLoc location, StringRef field) {
    return parser.emitError(location) << "'" << field << "' is for all variables: write it before the first 'for'"
                                      << (field == kRate ? ", and 'learning_rate_factor NUMBER' behind it" : "");
  }

  /// `"*.bias,*norm*"`
  ParseResult beginGroup() {
    endGroup();
    SMLoc location = parser.getCurrentLocation();
    std::string text;
    if (failed(parser.parseOptionalString(&text)))
      return parser.emitError(location, "expected the names of variables, as in 'for \"*.bias,*norm*\" weight_decay "
                                        "0.0'");
    SmallVector<Attribute> patterns;
    for (StringRef pattern : llvm::split(text, ',')) {
      llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(pattern.trim());
      if (!glob || pattern.trim().empty())
        return parser.emitError(location) << "expected names, in which * is for any letters, not '" << pattern << "'"
                                          << (glob ? "" : ": " + llvm::toString(glob.takeError()));
      patterns.push_back(parser.getBuilder().getStringAttr(pattern.trim()));
    }
    group.emplace();
    group->patterns = parser.getBuilder().getArrayAttr(patterns);
    return success();
  }

  void endGroup() {
    if (!group)
      return;
    MLIRContext *context = parser.getContext();
    groups.push_back(WeightGroupAttr::get(context, group->patterns, group->fields.getDictionary(context),
                                          group->rateFactor, group->frozen));
    group.reset();
  }

  OpAsmParser &parser;
  OptimizerOp::Properties &properties;
  Attribute reference;
  OptimizerDefOp definition; // of an optimizer of the language
  SmallVector<ParameterAttr> parameters;
  NamedAttrList fields;
  std::optional<Group> group;
  SmallVector<Attribute> groups;
};
} // namespace

ParseResult OptimizerOp::parse(OpAsmParser &parser, OperationState &state) {
  Properties &properties = state.getOrAddProperties<Properties>();
  if (parseOptimizerReference(parser, properties.definition) || OptimizerParser(parser, properties).parse())
    return failure();
  return parser.parseOptionalAttrDict(state.attributes);
}

void OptimizerOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printOptimizerReference(printer, *this, getDefinition());
  printer << ' ' << kRate << ' ';
  printSchedule(printer, nullptr, getLearningRateAttr());
  printOptimizerFields(printer, *this, getFields());
  printOptionalNumber(printer, kClip, getClipGlobalNormAttr());
  printOptionalNumber(printer, kAverage, getAverageAttr());
  for (auto group : getGroups().value_or(ArrayAttr::get(getContext(), {})).getAsRange<WeightGroupAttr>()) {
    std::string names;
    for (StringAttr pattern : group.getPatterns().getAsRange<StringAttr>())
      names += (names.empty() ? "" : ",") + pattern.str();
    printer << ' ' << kFor << ' ' << StringAttr::get(getContext(), names);
    printOptimizerFields(printer, *this, group.getFields());
    printOptionalNumber(printer, kRateFactor, group.getRateFactor());
    if (group.getFrozen())
      printer << ' ' << kFrozen;
  }
  printer.printOptionalAttrDict(llvm::to_vector((*this)->getDiscardableAttrs()));
}
