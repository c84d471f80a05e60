// Schedules of learning rates as they are written.

#include "dialects/dgc/Clauses.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace dgc;

ScheduleAttr ScheduleAttr::constant(MLIRContext *context, double rate) {
  Builder builder(context);
  return get(context, LearningRateKind::Constant, builder.getF64FloatAttr(rate), 0, builder.getF64FloatAttr(1), 0, {});
}

namespace {
/// How a kind of schedule is written: `word NUMBER, word NUMBER` after its name.
struct Form {
  LearningRateKind kind;
  StringRef stepsWord, factorWord, powerWord, example;
};
} // namespace

/// The form of a kind; null for a constant rate.
static const Form *formOf(LearningRateKind kind) {
  static constexpr Form forms[] = {
      {LearningRateKind::Linear, "steps", "final", "", "learning_rate 0.1 linear steps 1000 final 0.0"},
      {LearningRateKind::Cosine, "steps", "final", "", "learning_rate 0.1 cosine steps 1000 final 0.0"},
      {LearningRateKind::Polynomial, "steps", "final", "power",
       "learning_rate 0.1 polynomial steps 1000 final 0.0 power 2.0"},
      {LearningRateKind::Step, "every", "times", "", "learning_rate 0.1 step every 1000 times 0.5"},
      {LearningRateKind::Exponential, "every", "times", "", "learning_rate 0.1 exponential every 1000 times 0.5"}};
  const Form *form = llvm::find_if(forms, [&](const Form &each) { return each.kind == kind; });
  return form == std::end(forms) ? nullptr : form;
}

/// The kind that comes next in the text; a constant rate where none does.
static LearningRateKind parseKind(AsmParser &parser) {
  for (unsigned i = 0; i <= getMaxEnumValForLearningRateKind(); ++i)
    if (std::optional<LearningRateKind> kind = symbolizeLearningRateKind(i))
      if (formOf(*kind) && succeeded(parser.parseOptionalKeyword(stringifyLearningRateKind(*kind))))
        return *kind;
  return LearningRateKind::Constant;
}

static ParseResult parseSteps(AsmParser &parser, int64_t &steps) {
  SMLoc location = parser.getCurrentLocation();
  if (failed(parser.parseInteger(steps)))
    return failure();
  if (steps <= 0)
    return parser.emitError(location) << "expected a number of steps above 0, not " << steps;
  return success();
}

/// A power above 0.
static ParseResult parsePower(AsmParser &parser, const Form &form, FloatAttr &power) {
  if (failed(parseWord(parser, form.powerWord, form.example)))
    return failure();
  SMLoc location = parser.getCurrentLocation();
  if (failed(parseNumber(parser, power)))
    return failure();
  if (!(power.getValueAsDouble() > 0))
    return parser.emitError(location) << "expected a power above 0, not " << power.getValueAsDouble();
  return success();
}

ParseResult dgc::parseSchedule(AsmParser &parser, ScheduleAttr &schedule) {
  FloatAttr base, factor = parser.getBuilder().getF64FloatAttr(1.0), power;
  int64_t steps = 0, warmUp = 0;
  if (failed(parseNumber(parser, base)))
    return failure();
  LearningRateKind kind = parseKind(parser);
  if (const Form *form = formOf(kind)) {
    if (parseWord(parser, form->stepsWord, form->example) || parseSteps(parser, steps) ||
        parseWord(parser, form->factorWord, form->example) || parseNumber(parser, factor))
      return failure();
    if (!form->powerWord.empty() && parsePower(parser, *form, power))
      return failure();
  }
  if (succeeded(parser.parseOptionalKeyword("warm_up")) && parseSteps(parser, warmUp))
    return failure();
  schedule = ScheduleAttr::get(parser.getContext(), kind, base, steps, factor, warmUp, power);
  return success();
}

void dgc::printSchedule(AsmPrinter &printer, Operation *, ScheduleAttr schedule) {
  printNumber(printer, nullptr, schedule.getBase());
  if (const Form *form = formOf(schedule.getKind())) {
    printer << ' ' << stringifyLearningRateKind(schedule.getKind()) << ' ' << form->stepsWord << ' '
            << schedule.getSteps();
    printOptionalNumber(printer, form->factorWord, schedule.getFactor());
    if (!form->powerWord.empty())
      printOptionalNumber(printer, form->powerWord, schedule.getPower());
  }
  if (schedule.getWarmUp() > 0)
    printer << " warm_up " << schedule.getWarmUp();
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
