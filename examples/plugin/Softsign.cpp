// example.softsign: what an element is, and the gradient.

#include "Example.h"
#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/OpSupport.h"
#include "dialects/dgc/TensorBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace dgc; // the assembly of the op has functions of dgc

#include "ExampleDialect.cpp.inc"

#define GET_OP_CLASSES
#include "ExampleOps.cpp.inc"

namespace example {

void ExampleDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ExampleOps.cpp.inc"
      >();
}

Value SoftsignOp::buildScalar(OpBuilder &builder, Location location, ValueRange scalars) {
  Value x = scalars[0];
  Value one = arith::ConstantOp::create(builder, location, builder.getFloatAttr(x.getType(), 1));
  Value size = arith::AddFOp::create(builder, location, one, math::AbsFOp::create(builder, location, x));
  return arith::DivFOp::create(builder, location, x, size);
}

/// The derivative is 1 / (1 + |x|)^2.
SmallVector<Value> SoftsignOp::buildGradients(OpBuilder &builder, ValueRange gradients, const BitVector &) {
  TensorBuilder b(builder, getLoc());
  Value size = b.add(b.abs(getOperand()), b.splat(1, getOperand()));
  return {b.divide(gradients[0], b.multiply(size, size))};
}

} // namespace example
