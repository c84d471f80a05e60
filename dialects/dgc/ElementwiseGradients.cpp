// Vector-Jacobian products of the elementwise ops. `x`, `y` are the operands,
// `z` the result and `g` its gradient.

#include "dialects/dgc/OpSupport.h"
#include "dialects/dgc/TensorBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include <numbers>

using namespace mlir;
using namespace dgc;
using Direction = ComparisonDirection;
using Gradients = SmallVector<Value>;

#define DGC_GRADIENT(op)                                                                                               \
  Gradients op::buildGradients(OpBuilder &builder, ValueRange resultGradients, const llvm::BitVector &wanted)

//===----------------------------------------------------------------------===//
// One operand: the gradient is g times the derivative
//===----------------------------------------------------------------------===//

/// Piecewise constant: no gradient anywhere.
DGC_GRADIENT(SignOp) { return {Value()}; }

/// A constant for the gradient.
DGC_GRADIENT(StopGradientOp) { return {Value()}; }

#define DGC_UNARY_GRADIENT(op, formula)                                                                                \
  DGC_GRADIENT(op) {                                                                                                   \
    TensorBuilder b(builder, getLoc());                                                                                \
    Value g = resultGradients[0], x = getOperand(), z = getResult();                                                   \
    (void)x, (void)z;                                                                                                  \
    return {formula};                                                                                                  \
  }
DGC_UNARY_GRADIENT(AbsOp, b.multiply(g, b.sign(x)))
DGC_UNARY_GRADIENT(NegateOp, b.negate(g))
#undef DGC_UNARY_GRADIENT

DGC_GRADIENT(ConvertOp) {
  Type from = getElementTypeOrSelf(getOperand());
  if (!isa<FloatType>(from) || !isa<FloatType>(getElementType()))
    return {Value()};
  return {TensorBuilder(builder, getLoc()).convert(resultGradients[0], from)};
}

DGC_GRADIENT(ReducePrecisionOp) {
  return {ReducePrecisionOp::create(builder, getLoc(), resultGradients[0], getExponentBits(), getMantissaBits())};
}

//===----------------------------------------------------------------------===//
// Several operands
//===----------------------------------------------------------------------===//

DGC_GRADIENT(AddOp) { return {resultGradients[0], resultGradients[0]}; }

DGC_GRADIENT(SubtractOp) {
  TensorBuilder b(builder, getLoc());
  Value g = resultGradients[0];
  return {g, wanted[1] ? b.negate(g) : Value()};
}

DGC_GRADIENT(MultiplyOp) {
  TensorBuilder b(builder, getLoc());
  Value g = resultGradients[0];
  return {wanted[0] ? b.multiply(g, getRhs()) : Value(), wanted[1] ? b.multiply(g, getLhs()) : Value()};
}

DGC_GRADIENT(DivideOp) {
  TensorBuilder b(builder, getLoc());
  Value scaled = b.divide(resultGradients[0], getRhs());
  return {scaled, wanted[1] ? b.negate(b.multiply(scaled, getResult())) : Value()};
}

/// With z = atan2(y, x): dz/dy = x / (x^2 + y^2), dz/dx = -y / (x^2 + y^2).
DGC_GRADIENT(Atan2Op) {
  TensorBuilder b(builder, getLoc());
  Value y = getLhs(), x = getRhs();
  Value scaled = b.divide(resultGradients[0], b.add(b.multiply(x, x), b.multiply(y, y)));
  return {wanted[0] ? b.multiply(scaled, x) : Value(), wanted[1] ? b.negate(b.multiply(scaled, y)) : Value()};
}

/// The gradient of the greater (or lesser) of two; half for each of equal ones.
static Gradients extremumGradients(TensorBuilder b, Value g, Value x, Value y, Direction xWins, Direction yWins,
                                   const llvm::BitVector &wanted) {
  Value zero = b.splat(0, g), half = b.multiply(g, 0.5);
  Value shared = b.select(b.compare(Direction::EQ, x, y), half, zero);
  auto share = [&](Direction wins) { return b.select(b.compare(wins, x, y), g, shared); };
  return {wanted[0] ? share(xWins) : Value(), wanted[1] ? share(yWins) : Value()};
}

DGC_GRADIENT(MaximumOp) {
  return extremumGradients({builder, getLoc()}, resultGradients[0], getLhs(), getRhs(), Direction::GT, Direction::LT,
                           wanted);
}

DGC_GRADIENT(MinimumOp) {
  return extremumGradients({builder, getLoc()}, resultGradients[0], getLhs(), getRhs(), Direction::LT, Direction::GT,
                           wanted);
}

/// dz/dx = y x^(y-1), dz/dy = z ln x. Where a factor is zero so is the
/// derivative, however large the other one: y = 0, and x = 0 for dz/dy.
DGC_GRADIENT(PowerOp) {
  TensorBuilder b(builder, getLoc());
  Value g = resultGradients[0], x = getLhs(), y = getRhs();
  Value zero = b.splat(0, x), one = b.splat(1, x);
  Gradients gradients(2);
  if (wanted[0]) {
    Value isConstant = b.compare(Direction::EQ, y, zero);
    Value exponent = b.select(isConstant, one, b.subtract(y, one));
    gradients[0] = b.multiply(g, b.multiply(y, b.power(x, exponent)));
  }
  if (wanted[1]) {
    Value base = b.select(b.compare(Direction::EQ, x, zero), one, x);
    gradients[1] = b.multiply(g, b.multiply(getResult(), b.log(base)));
  }
  return gradients;
}

/// z = x - y trunc(x / y).
DGC_GRADIENT(RemainderOp) {
  TensorBuilder b(builder, getLoc());
  Value g = resultGradients[0];
  if (!wanted[1])
    return {g, Value()};
  Value quotient = b.divide(getLhs(), getRhs());
  Value truncated = b.multiply(b.sign(quotient), b.floor(b.abs(quotient)));
  return {g, b.negate(b.multiply(g, truncated))};
}

DGC_GRADIENT(SelectOp) {
  TensorBuilder b(builder, getLoc());
  Value g = resultGradients[0], zero = b.splat(0, g);
  return {Value(), wanted[1] ? b.select(getPred(), g, zero) : Value(),
          wanted[2] ? b.select(getPred(), zero, g) : Value()};
}

/// The operand has the gradient where it is within the limits, and a limit
/// where it is in force: max where min is larger.
DGC_GRADIENT(ClampOp) {
  TensorBuilder b(builder, getLoc());
  Value g = resultGradients[0], zero = b.splat(0, g);
  Value isLow = b.compare(Direction::LT, getOperand(), getMin());
  Value isHigh = b.compare(Direction::GT, b.select(isLow, getMin(), getOperand()), getMax());
  Gradients gradients(3);
  if (wanted[0])
    gradients[0] = b.select(isHigh, zero, b.select(isLow, g, zero));
  if (wanted[1])
    gradients[1] = b.select(isLow, zero, b.select(isHigh, zero, g));
  if (wanted[2])
    gradients[2] = b.select(isHigh, g, zero);
  return gradients;
}
