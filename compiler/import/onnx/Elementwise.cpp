// ONNX ops that work element by element.

#include "compiler/import/Formulas.h"
#include "compiler/import/onnx/Node.h"

#include <cmath>

using namespace mlir;

namespace dgc::import {
namespace {

using Direction = ComparisonDirection;

template <formula::Function given> LogicalResult function(Node &n) {
  return n.give(formula::apply(n.b, given, n.in(0)));
}
template <Value (TensorBuilder::*method)(Value)> LogicalResult unary(Node &n) { return n.give((n.b.*method)(n.in(0))); }
template <class Op> LogicalResult unaryOp(Node &n) { return n.give(Op::create(n.b.builder, n.b.location, n.in(0))); }

template <Value (TensorBuilder::*method)(Value, Value)> LogicalResult binary(Node &n) {
  FailureOr<SmallVector<Value>> x = n.broadcastInputs();
  return failed(x) ? failure() : n.give((n.b.*method)((*x)[0], (*x)[1]));
}
template <class Op> LogicalResult binaryOp(Node &n) {
  FailureOr<SmallVector<Value>> x = n.broadcastInputs();
  return failed(x) ? failure() : n.give(Op::create(n.b.builder, n.b.location, (*x)[0], (*x)[1]));
}
template <Direction direction> LogicalResult comparison(Node &n) {
  FailureOr<SmallVector<Value>> x = n.broadcastInputs();
  return failed(x) ? failure() : n.give(n.b.compare(direction, (*x)[0], (*x)[1]));
}
/// Any number of operands.
template <Value (TensorBuilder::*method)(Value, Value), bool isMean = false> LogicalResult variadic(Node &n) {
  FailureOr<SmallVector<Value>> x = n.broadcastInputs();
  if (failed(x))
    return failure();
  Value all = x->front();
  for (Value next : llvm::drop_begin(*x))
    all = (n.b.*method)(all, next);
  return n.give(isMean ? n.b.divide(all, n.splat(static_cast<double>(x->size()), all)) : all);
}

Value plus(Node &n, Value x, double y) { return n.b.add(x, n.splat(y, x)); }
Value clamp(Node &n, Value x, double low, double high) {
  return n.b.minimum(n.b.maximum(x, n.splat(low, x)), n.splat(high, x));
}
Value isAbove(Node &n, Value x, double y) { return n.b.compare(Direction::GT, x, n.splat(y, x)); }
Value softplus(Node &n, Value x) { return SoftplusOp::create(n.b.builder, n.b.location, x); }

LogicalResult cast(Node &n, Type to) {
  Value x = n.in(0);
  if (to.isInteger(1) && !elementOf(x).isInteger(1))
    return n.give(n.b.compare(Direction::NE, x, n.splat(0, x)));
  return n.give(n.b.convert(x, to));
}

LogicalResult power(Node &n) {
  FailureOr<SmallVector<Value>> x = n.broadcastInputs();
  if (failed(x))
    return failure();
  DenseElementsAttr exponent = n.constant(1);
  if (exponent && exponent.isSplat() && isa<FloatType>(exponent.getElementType()) &&
      exponent.getSplatValue<APFloat>().isExactlyValue(2))
    return n.give(n.b.multiply((*x)[0], (*x)[0]));
  Type element = elementOf(n.in(0));
  if (isa<FloatType>(element))
    return n.give(n.b.power((*x)[0], n.b.convert((*x)[1], element)));
  if (isa<FloatType>(elementOf((*x)[1])))
    return n.give(n.b.convert(n.b.power(n.b.convert((*x)[0], elementOf((*x)[1])), (*x)[1]), element));
  return n.give(n.b.power((*x)[0], n.b.convert((*x)[1], element)));
}

LogicalResult modulo(Node &n) {
  FailureOr<SmallVector<Value>> x = n.broadcastInputs();
  if (failed(x))
    return failure();
  Value a = (*x)[0], y = (*x)[1];
  Value remainder = RemainderOp::create(n.b.builder, n.b.location, a, y);
  if (n.integer("fmod", 0) != 0 || elementOf(a).isUnsignedInteger())
    return n.give(remainder); // of the sign of the dividend
  Value zero = n.splat(0, a);
  Value isOther =
      n.b.compare(Direction::NE, n.b.compare(Direction::LT, remainder, zero), n.b.compare(Direction::LT, y, zero));
  Value isSome = n.b.compare(Direction::NE, remainder, zero);
  Value moves = AndOp::create(n.b.builder, n.b.location, isOther, isSome);
  return n.give(n.b.select(moves, n.b.add(remainder, y), remainder));
}

/// Numbers of bits are those of an unsigned integer; as many as the type has, or more, leave nothing.
LogicalResult bitShift(Node &n) {
  FailureOr<SmallVector<Value>> x = n.broadcastInputs();
  if (failed(x))
    return failure();
  Value bits = (*x)[0], count = (*x)[1];
  if (!isa<IntegerType>(elementOf(bits)) || elementOf(bits) != elementOf(count))
    return n.refuse("its operands are no integers of one type");
  const bool isSigned = !elementOf(bits).isUnsignedInteger();
  const unsigned width = elementOf(bits).getIntOrFloatBitWidth();
  Value none = n.splat(0, bits), last = n.splat(width - 1, count);
  // Comparisons as signed numbers: a negative count is a large one.
  Value isInside = n.b.compare(Direction::LE, count, last);
  if (isSigned)
    isInside = AndOp::create(n.b.builder, n.b.location, isInside, n.b.compare(Direction::GE, count, n.splat(0, count)));
  Value safe = n.b.select(isInside, count, n.splat(0, count)), y;
  if (n.text("direction", "") == "LEFT") {
    y = ShiftLeftOp::create(n.b.builder, n.b.location, bits, safe);
  } else if (isSigned) {
    y = ShiftRightArithmeticOp::create(n.b.builder, n.b.location, bits, safe);
    none = ShiftRightArithmeticOp::create(n.b.builder, n.b.location, bits, last); // the sign
  } else {
    y = ShiftRightLogicalOp::create(n.b.builder, n.b.location, bits, safe);
  }
  return n.give(n.b.select(isInside, y, none));
}

/// Between integers of the same width: the bits of floats are not known.
LogicalResult bitCast(Node &n) {
  FailureOr<Type> to = n.elementType("to", 0);
  if (failed(to))
    return failure();
  Type from = elementOf(n.in(0));
  auto widthOf = [](Type type) { return type.isInteger(1) ? 8 : type.getIntOrFloatBitWidth(); };
  if (from == *to)
    return n.give(n.in(0));
  if (!isa<IntegerType>(from) || !isa<IntegerType>(*to) || to->isInteger(1) || widthOf(from) != widthOf(*to))
    return n.refuse("is supported between integers of the same width");
  return n.give(n.b.convert(n.in(0), *to));
}

LogicalResult where(Node &n) {
  FailureOr<SmallVector<Value>> x = n.broadcastInputs();
  return failed(x) ? failure() : n.give(n.b.select((*x)[0], (*x)[1], (*x)[2]));
}

LogicalResult clip(Node &n) {
  Value x = n.in(0);
  if (n.version() < 11) { // attributes
    x = n.hasAttribute("min") ? n.b.maximum(x, n.splat(n.number("min", 0), x)) : x;
    return n.give(n.hasAttribute("max") ? n.b.minimum(x, n.splat(n.number("max", 0), x)) : x);
  }
  if (n.has(1))
    x = n.b.maximum(x, n.broadcast(n.in(1), tensorOf(x).getShape()));
  if (n.has(2))
    x = n.b.minimum(x, n.broadcast(n.in(2), tensorOf(x).getShape()));
  return n.give(x);
}

LogicalResult gelu(Node &n) {
  UnitAttr approximate = n.text("approximate", "none") == "tanh" ? n.b.builder.getUnitAttr() : UnitAttr();
  return n.give(GeluOp::create(n.b.builder, n.b.location, n.in(0), approximate));
}

LogicalResult parametricRelu(Node &n) {
  Value x = n.in(0), slope = n.broadcast(n.in(1), tensorOf(x).getShape());
  return n.give(n.b.select(n.b.compare(Direction::LT, x, n.splat(0, x)), n.b.multiply(slope, x), x));
}

constexpr OnnxRule rules[] = {
    {"ai.onnx.ml.Binarizer",
     [](Node &n) { return n.give(n.b.convert(isAbove(n, n.in(0), n.number("threshold", 0)), elementOf(n.in(0)))); }},
    {"Abs", unary<&TensorBuilder::abs>},
    {"Acos", function<formula::acos>},
    {"Acosh", function<formula::acosh>},
    {"Add", binary<&TensorBuilder::add>},
    {"And", binaryOp<AndOp>},
    {"Asin", function<formula::asin>},
    {"Asinh", function<formula::asinh>},
    {"Atan", function<formula::atan>},
    {"Atanh", function<formula::atanh>},
    {"BitCast", bitCast},
    {"BitShift", bitShift},
    {"BitwiseAnd", binaryOp<AndOp>},
    {"BitwiseNot", unaryOp<NotOp>},
    {"BitwiseOr", binaryOp<OrOp>},
    {"BitwiseXor", binaryOp<XorOp>},
    {"Cast",
     [](Node &n) {
       FailureOr<Type> to = n.elementType("to", 0);
       return failed(to) ? failure() : cast(n, *to);
     }},
    {"CastLike", [](Node &n) { return cast(n, elementOf(n.in(1))); }},
    {"Ceil", unaryOp<CeilOp>},
    {"Celu",
     [](Node &n) {
       Value x = n.in(0), zero = n.splat(0, x);
       const double alpha = n.number("alpha", 1);
       Value e =
           ExponentialMinusOneOp::create(n.b.builder, n.b.location, n.b.multiply(n.b.minimum(x, zero), 1 / alpha));
       return n.give(n.b.add(n.b.maximum(x, zero), n.b.multiply(e, alpha)));
     }},
    {"Clip", clip},
    {"Cos", unary<&TensorBuilder::cosine>},
    {"Cosh", function<formula::cosh>},
    {"Div", binary<&TensorBuilder::divide>},
    {"Elu",
     [](Node &n) {
       return n.give(
           EluOp::create(n.b.builder, n.b.location, n.in(0), n.b.builder.getF64FloatAttr(n.number("alpha", 1))));
     }},
    {"Equal", comparison<Direction::EQ>},
    {"Erf", unaryOp<ErfOp>},
    {"Exp", unary<&TensorBuilder::exponential>},
    {"Floor", unary<&TensorBuilder::floor>},
    {"Gelu", gelu},
    {"Greater", comparison<Direction::GT>},
    {"GreaterOrEqual", comparison<Direction::GE>},
    {"HardSigmoid",
     [](Node &n) {
       Value x = n.in(0);
       return n.give(clamp(n, plus(n, n.b.multiply(x, n.number("alpha", 0.2)), n.number("beta", 0.5)), 0, 1));
     }},
    {"HardSwish",
     [](Node &n) {
       Value x = n.in(0);
       return n.give(n.b.multiply(x, clamp(n, plus(n, n.b.multiply(x, 1.0 / 6), 0.5), 0, 1)));
     }},
    {"Identity", [](Node &n) { return n.giveItems(n.item(0)); }, 1, /*takesLists=*/true},
    {"IsInf",
     [](Node &n) {
       Value x = n.in(0), up = n.splat(INFINITY, x), down = n.splat(-INFINITY, x);
       Value isUp = n.b.equal(x, n.integer("detect_positive", 1) != 0 ? up : down);
       Value isDown = n.b.equal(x, n.integer("detect_negative", 1) != 0 ? down : up);
       Value is = OrOp::create(n.b.builder, n.b.location, isUp, isDown);
       if (n.integer("detect_positive", 1) == 0 && n.integer("detect_negative", 1) == 0)
         is = AndOp::create(n.b.builder, n.b.location, n.b.equal(x, up), n.b.equal(x, down));
       return n.give(is);
     }},
    {"IsNaN", [](Node &n) { return n.give(n.b.compare(Direction::NE, n.in(0), n.in(0))); }},
    {"LeakyRelu",
     [](Node &n) {
       return n.give(LeakyReluOp::create(n.b.builder, n.b.location, n.in(0),
                                         n.b.builder.getF64FloatAttr(n.number("alpha", 0.01))));
     }},
    {"Less", comparison<Direction::LT>},
    {"LessOrEqual", comparison<Direction::LE>},
    {"Log", unary<&TensorBuilder::log>},
    {"Max", variadic<&TensorBuilder::maximum>},
    {"Mean", variadic<&TensorBuilder::add, true>},
    {"Min", variadic<&TensorBuilder::minimum>},
    {"Mish", [](Node &n) { return n.give(n.b.multiply(n.in(0), n.b.tanh(softplus(n, n.in(0))))); }},
    {"Mod", modulo},
    {"Mul", binary<&TensorBuilder::multiply>},
    {"Neg", unary<&TensorBuilder::negate>},
    {"Not", unaryOp<NotOp>, 1},
    {"Or", binaryOp<OrOp>},
    {"PRelu", parametricRelu},
    {"Pow", power},
    {"Reciprocal", [](Node &n) { return n.give(n.b.divide(n.splat(1, n.in(0)), n.in(0))); }},
    {"Relu",
     [](Node &n) {
       Value x = n.in(0);
       return isa<FloatType>(elementOf(x)) ? n.give(ReluOp::create(n.b.builder, n.b.location, x))
                                           : n.give(n.b.maximum(x, n.splat(0, x)));
     }},
    {"Round", unaryOp<RoundNearestEvenOp>},
    {"Selu",
     [](Node &n) {
       Value x = n.in(0), zero = n.splat(0, x);
       const double alpha = n.number("alpha", 1.67326319217681884765625),
                    gamma = n.number("gamma", 1.05070102214813232421875);
       Value e = ExponentialMinusOneOp::create(n.b.builder, n.b.location, n.b.minimum(x, zero));
       return n.give(n.b.multiply(n.b.select(isAbove(n, x, 0), x, n.b.multiply(e, alpha)), gamma));
     }},
    {"Shrink",
     [](Node &n) {
       Value x = n.in(0);
       const double lambda = n.number("lambd", 0.5), bias = n.number("bias", 0);
       Value low = n.b.compare(Direction::LT, x, n.splat(-lambda, x));
       Value high = isAbove(n, x, lambda);
       return n.give(n.b.select(low, plus(n, x, bias), n.b.select(high, plus(n, x, -bias), n.splat(0, x))));
     }},
    {"Sigmoid", [](Node &n) { return n.give(LogisticOp::create(n.b.builder, n.b.location, n.in(0))); }},
    {"Sign", unary<&TensorBuilder::sign>},
    {"Sin", unary<&TensorBuilder::sine>},
    {"Sinh", function<formula::sinh>},
    {"Softplus", [](Node &n) { return n.give(softplus(n, n.in(0))); }},
    {"Softsign", [](Node &n) { return n.give(n.b.divide(n.in(0), plus(n, n.b.abs(n.in(0)), 1))); }},
    {"Sqrt", unary<&TensorBuilder::sqrt>},
    {"Sub", binary<&TensorBuilder::subtract>},
    {"Sum", variadic<&TensorBuilder::add>},
    {"SwiGLU",
     [](Node &n) {
       if (n.type(0) != n.type(1))
         return n.refuse("its operands have different types");
       Value x = n.in(0), scaled = n.b.multiply(x, n.number("alpha", 1));
       return n.give(n.b.multiply(n.b.multiply(x, LogisticOp::create(n.b.builder, n.b.location, scaled)), n.in(1)));
     }},
    {"Swish",
     [](Node &n) {
       Value x = n.in(0), scaled = n.b.multiply(x, n.number("alpha", 1));
       return n.give(n.b.multiply(x, LogisticOp::create(n.b.builder, n.b.location, scaled)));
     }},
    {"Tan", unaryOp<TanOp>},
    {"Tanh", unary<&TensorBuilder::tanh>},
    {"ThresholdedRelu",
     [](Node &n) {
       Value x = n.in(0);
       return n.give(n.b.select(isAbove(n, x, n.number("alpha", 1)), x, n.splat(0, x)));
     }},
    {"Where", where},
    {"Xor", binaryOp<XorOp>},
};

} // namespace

ArrayRef<OnnxRule> onnxElementwiseRules() { return rules; }

} // namespace dgc::import
