// Ops that compute each element of their result from the elements of the operands at the same place.

#include "dialects/stablehlo/Assembly.h"
#include "dialects/stablehlo/Attributes.h"
#include "dialects/stablehlo/Verify.h"

using namespace mlir;
using namespace dgc::stablehlo;

#define GET_OP_CLASSES
#include "dialects/stablehlo/ElementwiseOps.cpp.inc"

void StableHLODialect::registerElementwiseOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/stablehlo/ElementwiseOps.cpp.inc"
      >();
}

LogicalResult ClampOp::verify() {
  for (Value bound : {getMin(), getMax()})
    if (tensorOf(bound).getRank() != 0 && bound.getType() != getOperand().getType())
      return emitOpError() << "needs bounds that are scalars or have the type of the operand, not " << bound.getType();
  return checkShape(*this, getResult(), tensorOf(getOperand()).getShape());
}

LogicalResult SelectOp::verify() {
  auto pred = tensorOf(getPred());
  if (pred.getRank() != 0 && pred.getShape() != tensorOf(getOnTrue()).getShape())
    return emitOpError() << "needs a predicate that is a scalar or has the shape of what it selects, not " << pred;
  return success();
}
