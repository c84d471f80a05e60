// The operations of the bytecode over numbers of the fields.
#include "runtime/verify/ElementOps.h"

#include <limits>

using namespace dgc;
using namespace dgc::verify;
using reference::Opcode;
using reference::Type;

ElementOps::ElementOps(const InterpreterOptions &options)
    : options(options), vectors(hasVectors() && !options.portable) {}

ElementOps::~ElementOps() {
  options.counts.functions += functions;
  options.counts.exponentials += exponentials;
  options.counts.nearTies += nearTies;
}

absl::Status ElementOps::run(const Operation &op, int64_t n, Planes to, Planes a, Planes b, Planes c) {
  size = n;
  return reference::isFloat(op.type) ? toFloat(op, to, a, b, c) : toInteger(op, to, a, b, c);
}

/// Decided by the f64 values if these are not too close.
bool ElementOps::isLess(const Number &a, const Number &b) {
  nearTies += isNearTie(a, b);
  return !a.same(b) && a.f < b.f;
}

void ElementOps::compare(Opcode opcode, Planes to, Planes a, Planes b) {
  const Functions &f = options.functions;
  const bool isDecided = f.has(Law::Comparison);
  for (int64_t k = 0; k < size; ++k) {
    const Number x = a.number(k), y = b.number(k);
    const bool less = isLess(x, y);
    const bool holds = !isDecided                ? f.compare(opcode, x, y)
                       : opcode == Opcode::LessF ? less
                                                 : x.same(y) && !std::isnan(x.f);
    to.v[k].i = holds ? -1 : 0;
  }
}

/// Minimum and maximum.
void ElementOps::choose(Opcode opcode, Planes to, Planes a, Planes b) {
  for (int64_t k = 0; k < size; ++k) {
    const Number x = a.number(k), y = b.number(k);
    const bool less = isLess(x, y);
    if (std::isnan(x.f) || std::isnan(y.f))
      to.set(k, fromDouble(std::numeric_limits<double>::quiet_NaN()));
    else
      to.set(k, less == (opcode == Opcode::Minimum) ? x : y);
  }
}

/// Sums of which functions are told.
void ElementOps::sumWithLogarithms(bool isDifference, Planes to, Planes a, Planes b) {
  for (int64_t k = 0; k < size; ++k) {
    const Number x = a.number(k), y = b.number(k), result = isDifference ? subtract(x, y) : add(x, y);
    options.functions.noteSum(x, y, result, isDifference);
    to.set(k, result);
  }
}

/// A function of each element. Operands that repeat, as divisors do, are evaluated once.
void ElementOps::function(const Operation &op, Planes to, Planes a, Planes b) {
  const Opcode opcode = op.opcode;
  const Functions &f = options.functions;
  const bool isBinary = reference::opcodeTable[static_cast<size_t>(op.opcode)].signature.starts_with("TT");
  auto equal = [](const Number &x, const Number &y) { return x.same(y) && x.f == y.f; };
  Number x, y, result;
  for (int64_t k = 0; k < size; ++k) {
    const Number nextX = a.number(k), nextY = isBinary ? b.number(k) : Number{};
    if (opcode == Opcode::DivF) {
      if (k == 0 || !equal(nextY, y))
        result = f.reciprocal(nextY);
      Number quotient = multiply(nextX, result);
      quotient.f = nextX.f / nextY.f;
      to.set(k, settled(quotient));
    } else {
      if (k == 0 || !equal(nextX, x) || (isBinary && !equal(nextY, y)))
        result = f.call(opcode, nextX, nextY);
      to.set(k, result);
    }
    x = nextX, y = nextY;
  }
  functions += static_cast<uint64_t>(size);
  if (opcode == Opcode::Exp || opcode == Opcode::ExpM1)
    exponentials += static_cast<uint64_t>(size);
}

absl::Status ElementOps::bitcast(const Operation &op, Planes to, Planes a) const {
  const Type from = op.from;
  for (int64_t k = 0; reference::isFloat(from) && k < size; ++k)
    if (!isConstant(a.number(k)))
      return absl::UnimplementedError("takes the bits of a floating-point number that is no constant");
  reference::evaluate(Opcode::Bitcast, op.type, from, size, to.v, a.v, nullptr, nullptr);
  for (int64_t k = 0; reference::isFloat(op.type) && k < size; ++k)
    to.set(k, fromDouble(to.v[k].f));
  return absl::OkStatus();
}

absl::Status ElementOps::toInteger(const Operation &op, Planes to, Planes a, Planes b, Planes c) {
  const Opcode opcode = op.opcode;
  if (opcode == Opcode::Bitcast)
    return bitcast(op, to, a);
  if (opcode == Opcode::EqualF || opcode == Opcode::LessF) {
    compare(opcode, to, a, b);
    return absl::OkStatus();
  }
  if (opcode == Opcode::FloatToSigned || opcode == Opcode::FloatToUnsigned) {
    const Functions &f = options.functions;
    for (int64_t k = 0; k < size; ++k)
      to.v[k].f = f.has(Law::Rounding) ? decidingValue(a.number(k)) : f.truncate(a.number(k));
    a = to;
  }
  reference::evaluate(opcode, op.type, op.from, size, to.v, a.v, b.v, c.v);
  return absl::OkStatus();
}

static void fromIntegers(int64_t n, Opcode opcode, Type from, Planes to, Planes a, const Functions &f) {
  for (int64_t k = 0; k < n; ++k)
    to.set(k, opcode == Opcode::SignedToFloat ? f.ofInteger(a.v[k].i)
                                              : f.ofUnsigned(reference::unsignedOf(from, a.v[k].i)));
}

absl::Status ElementOps::toFloat(const Operation &op, Planes to, Planes a, Planes b, Planes c) {
  const Opcode opcode = op.opcode;
  if (opcode == Opcode::Bitcast)
    return bitcast(op, to, a);
  if ((opcode == Opcode::AddF || opcode == Opcode::SubF) && options.functions.hasLogarithms())
    sumWithLogarithms(opcode == Opcode::SubF, to, a, b);
  else if (opcode == Opcode::AddF)
    addPlanes(size, to, a, b, vectors);
  else if (opcode == Opcode::SubF)
    subtractPlanes(size, to, a, b, vectors);
  else if (opcode == Opcode::MulF)
    multiplyPlanes(size, to, a, b, vectors);
  else if (opcode == Opcode::NegF)
    negatePlanes(size, to, a);
  else if ((opcode == Opcode::Minimum || opcode == Opcode::Maximum) && options.functions.has(Law::Extremum))
    choose(opcode, to, a, b);
  else if (opcode == Opcode::SignedToFloat || opcode == Opcode::UnsignedToFloat)
    fromIntegers(size, opcode, op.from, to, a, options.functions);
  else if (opcode == Opcode::Select)
    for (int64_t k = 0; k < size; ++k)
      to.set(k, (a.v[k].i ? b : c).number(k));
  else
    function(op, to, a, b);
  return absl::OkStatus();
}
