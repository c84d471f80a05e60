//===- ScheduleDefinition.h - schedules of learning rates by name *- C++ -*-===//
//
// A ScheduleAttr names its definition by a string, for one of the language, or by the symbol of a dgc.schedule_def of the
// module.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_DGC_SCHEDULEDEFINITION_H
#define DGC_DIALECTS_DGC_SCHEDULEDEFINITION_H

#include "dialects/MLIR.h"
#include "dialects/dgc/Definition.h"

namespace dgc {

/// The definition that a reference names, seen from `from`; null when there is none.
ScheduleDefOp findSchedule(Attribute reference, Operation *from);

/// The names of the schedules of the language, in the order in which they are listed to users.
SmallVector<StringRef> builtinSchedules(MLIRContext *context);

/// Fails with a diagnostic on `op` where the schedule has no definition, or fields that are none of its parameters or out of
/// their range.
LogicalResult checkSchedule(Operation *op, ScheduleAttr schedule);

/// Builds the learning rate of a step, an f32 scalar. Fails with a diagnostic in the definition where its types do not fit.
FailureOr<Value> buildLearningRate(LearningRateOp op, OpBuilder &builder);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_SCHEDULEDEFINITION_H
