// Schedules by name, and the learning rate that they give.

#include "dialects/dgc/ScheduleDefinition.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/CompositeBuilder.h"
#include "dialects/dgc/DefinitionWriter.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace dgc;

static constexpr char builtinText[] =
#include "dialects/dgc/Schedules.mlir.inc"
    ;

ModuleOp DGCDialect::getBuiltinSchedules() {
  std::call_once(schedulesAreRead, [&] {
    schedules = parseSourceString<ModuleOp>(builtinText, ParserConfig(getContext(), /*verifyAfterParse=*/false),
                                            "Schedules.mlir");
    if (!schedules)
      llvm::report_fatal_error("the schedules of the language cannot be read");
  });
  return *schedules;
}

static ModuleOp builtinsOf(MLIRContext *context) {
  return context->getLoadedDialect<DGCDialect>()->getBuiltinSchedules();
}

ScheduleDefOp dgc::findSchedule(Attribute reference, Operation *from) {
  if (auto name = dyn_cast<StringAttr>(reference))
    return builtinsOf(from->getContext()).lookupSymbol<ScheduleDefOp>(name);
  return SymbolTable::lookupNearestSymbolFrom<ScheduleDefOp>(from, cast<FlatSymbolRefAttr>(reference));
}

SmallVector<StringRef> dgc::builtinSchedules(MLIRContext *context) { return publicNames(builtinsOf(context)); }

LogicalResult dgc::checkSchedule(Operation *op, ScheduleAttr schedule) {
  ScheduleDefOp definition = findSchedule(schedule.getDefinition(), op);
  if (!definition)
    return op->emitOpError() << "has a learning rate that follows " << textOf(schedule.getDefinition())
                             << ", which there is not: write " << llvm::join(builtinSchedules(op->getContext()), ", ")
                             << ", or @NAME, with a 'dgc.schedule_def @NAME' next to the model";
  auto parameters = llvm::to_vector(definition.getParameters().getAsRange<ParameterAttr>());
  return checkFields(op, parameters, schedule.getFields(), [&](StringRef field) {
    std::string what = textOf(schedule.getDefinition()) + " has no parameter '" + field.str() + "': ";
    SmallVector<StringRef> names;
    for (ParameterAttr parameter : parameters)
      names.push_back(parameter.getName());
    return what + (names.empty() ? "it has none" : "it takes " + alternatives(names));
  });
}

//===----------------------------------------------------------------------===//
// The learning rate
//===----------------------------------------------------------------------===//

/// The rate that a definition gives for a step, an f32 scalar; its ops are added to `builder`.
static FailureOr<Value> rateOf(ScheduleDefOp definition, bool isBuiltin, FloatAttr base, Value step,
                               DictionaryAttr fields, Location location, OpBuilder &builder) {
  DefinitionWriter writer(definition, location, isBuiltin);
  Block &body = definition.getBody().front();
  writer.bindNumber(body.getArgument(0), base);
  writer.bindTensor(body.getArgument(1), step);
  writer.bindParameters(definition.getParameters(), fields);
  if (failed(writer.write()))
    return failure();
  auto terminator = cast<ReturnOp>(body.getTerminator());
  Value returned = terminator.getValues().front(), rate;
  CompositeBuilder b(writer.builder, location);
  Type f32 = builder.getF32Type();
  if (TypedAttr number = writer.numberOf(returned)) {
    auto value = dyn_cast<FloatAttr>(number);
    if (!value)
      return terminator.emitOpError("gives a truth or an integer for the learning rate, which is a float");
    rate = b.scalar(value.getValueAsDouble(), f32);
  } else {
    Value value = writer.tensorOf(returned);
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getRank() != 0 || !isa<FloatType>(type.getElementType()))
      return terminator.emitOpError() << "gives a value of type " << type
                                      << " for the learning rate, which is a number, or a float of the type "
                                         "tensor<f32>";
    rate = b.convert(value, f32);
  }
  writer.moveTo(builder, rate);
  return rate;
}

FailureOr<Value> dgc::buildLearningRate(LearningRateOp op, OpBuilder &builder) {
  ScheduleAttr schedule = op.getSchedule();
  Location location = op.getLoc();
  ScopedDiagnosticHandler handler(op.getContext(), [&](Diagnostic &diagnostic) {
    diagnostic.attachNote(location) << "in this learning rate";
    return failure(); // it is reported as others are
  });
  const bool isBuiltin = isa<StringAttr>(schedule.getDefinition());
  auto build = [&](ScheduleDefOp definition, bool isBuiltin, Value step, DictionaryAttr fields) {
    return rateOf(definition, isBuiltin, schedule.getBase(), step, fields, location, builder);
  };
  ScheduleDefOp definition = findSchedule(schedule.getDefinition(), op);
  if (schedule.getWarmUp() == 0)
    return build(definition, isBuiltin, op.getStep(), schedule.getFields());

  NamedAttribute steps(builder.getStringAttr("steps"), builder.getI64IntegerAttr(schedule.getWarmUp()));
  auto warmUp = builtinsOf(op.getContext()).lookupSymbol<ScheduleDefOp>("warm_up");
  FailureOr<Value> rising = build(warmUp, /*isBuiltin=*/true, op.getStep(), builder.getDictionaryAttr(steps));
  CompositeBuilder b(builder, location);
  Value least = b.splat(static_cast<double>(schedule.getWarmUp()), op.getStep());
  // The step counted from the end of the warm-up.
  Value since = b.maximum(b.subtract(op.getStep(), least), b.splat(0, op.getStep()));
  FailureOr<Value> then = build(definition, isBuiltin, since, schedule.getFields());
  if (failed(rising) || failed(then))
    return failure();
  return b.select(b.compare(ComparisonDirection::LT, op.getStep(), least), *rising, *then);
}
