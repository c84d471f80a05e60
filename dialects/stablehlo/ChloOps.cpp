// The ops of the dialect `chlo` that frameworks print.

#include "dialects/stablehlo/Verify.h"

using namespace mlir;
using namespace dgc::stablehlo;

#define GET_OP_CLASSES
#include "dialects/stablehlo/ChloOps.cpp.inc"

void dgc::chlo::ChloDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/stablehlo/ChloOps.cpp.inc"
      >();
  allowUnknownOperations();
}

LogicalResult dgc::chlo::TopKOp::verify() {
  auto type = tensorOf(getOperand());
  if (type.getRank() == 0 || getK() > static_cast<uint64_t>(type.getShape().back()))
    return emitOpError() << "cannot take the " << getK() << " largest elements of the last dimension of " << type;
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = static_cast<int64_t>(getK());
  if (tensorOf(getValues()).getElementType() != type.getElementType())
    return emitOpError("has another element type than its operand");
  return failure(failed(checkShape(*this, getValues(), shape)) || failed(checkShape(*this, getIndices(), shape)));
}
