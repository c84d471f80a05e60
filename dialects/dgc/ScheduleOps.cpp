// Schedules of learning rates, and the rate of a step.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/ScheduleDefinition.h"

using namespace mlir;
using namespace dgc;

#define GET_OP_CLASSES
#include "dialects/dgc/ScheduleOps.cpp.inc"

namespace dgc {
void registerScheduleOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/ScheduleOps.cpp.inc"
      >();
}
} // namespace dgc

//===----------------------------------------------------------------------===//
// ScheduleDefOp
//===----------------------------------------------------------------------===//

LogicalResult ScheduleDefOp::verify() { return checkParameters(*this, getParameters(), {}); }

LogicalResult ScheduleDefOp::verifyRegions() {
  Block &body = getBody().front();
  const size_t takes = firstParameter + getParameters().size();
  if (body.getNumArguments() != takes || !llvm::all_of(body.getArgumentTypes(), llvm::IsaPred<UntypedType>))
    return emitOpError() << "has " << body.getNumArguments() << " arguments inside: these are " << takes
                         << " values without types, two and one for each parameter";
  if (size_t gives = body.getTerminator()->getNumOperands(); gives != 1)
    return emitOpError() << "gives " << gives << " values: end it with 'dgc.return' of the learning rate";
  return checkBody(*this, "schedule");
}

LogicalResult ScheduleDefOp::verifySymbolUses(SymbolTableCollection &) {
  return checkCalls(*this, "a schedule", "a schedule is a function of the step");
}

//===----------------------------------------------------------------------===//
// LearningRateOp
//===----------------------------------------------------------------------===//

LogicalResult LearningRateOp::inferTypes(std::optional<Location>, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get({}, Float32Type::get(adaptor.getSchedule().getContext())));
  return success();
}

LogicalResult LearningRateOp::verifySymbolUses(SymbolTableCollection &) { return checkSchedule(*this, getSchedule()); }

FailureOr<SmallVector<Value>> LearningRateOp::decompose(OpBuilder &builder) {
  FailureOr<Value> rate = buildLearningRate(*this, builder);
  if (failed(rate))
    return failure();
  return SmallVector<Value>{*rate};
}
