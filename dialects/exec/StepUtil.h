//===- StepUtil.h - what the checks of steps share --------------------------===//

#ifndef DGC_DIALECTS_EXEC_STEPUTIL_H
#define DGC_DIALECTS_EXEC_STEPUTIL_H

#include "dialects/MLIR.h"
#include "dialects/exec/Exec.h"

namespace dgc::exec {

/// A step is on tensors (results, no outputs) or on buffers (outputs, no results), never a mixture.
LogicalResult verifyLevel(Operation *op, ValueRange reads, ValueRange outs);

/// The types that a step gives, whichever level it is on.
SmallVector<ShapedType> givenTypes(Operation *op, ValueRange outs);

/// Post ops name existing arguments, which have the shape of the result or one element per channel.
LogicalResult verifyPostOps(Operation *op, std::optional<ArrayAttr> postOps, ValueRange args, ShapedType dst);

inline ShapedType shaped(Value value) { return cast<ShapedType>(value.getType()); }

} // namespace dgc::exec

#endif // DGC_DIALECTS_EXEC_STEPUTIL_H
