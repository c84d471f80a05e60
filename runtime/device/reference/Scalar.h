// What the operations of the bytecode compute, one element at a time.
#pragma once

#include "runtime/device/reference/Bytecode.h"

#include <bit>
#include <cmath>

namespace dgc::reference {

/// A value of an instruction. Integers are sign-extended from their width (a true i1 is -1); floating-point numbers are
/// those of their type, exactly.
union Value {
  int64_t i;
  double f;
};

/// `x` modulo 2 to the width of the type.
inline int64_t wrapped(Type type, uint64_t x) {
  const unsigned unused = 64 - widthOf(type);
  return static_cast<int64_t>(x << unused) >> unused;
}

/// The bits of a value of the type, as an unsigned number.
inline uint64_t unsignedOf(Type type, int64_t x) {
  const unsigned unused = 64 - widthOf(type);
  return static_cast<uint64_t>(x) << unused >> unused;
}

/// `x` as f32 with the last bit set where that is not exact: a second rounding, to fewer bits, is then right.
float roundedToOdd(double x);

/// The nearest number of a floating-point type; of two equally near ones, the even one.
double rounded(Type type, double x);

/// One element in memory.
Value loadElement(Type type, const std::byte *from);
void storeElement(Type type, std::byte *to, Value value);

/// `n` elements, each `stride` bytes behind the one before.
void loadElements(Type type, const std::byte *from, int64_t stride, int64_t n, Value *to);

/// An operation on operands that are no source (Constant, Load, LoadAt, Index, Current), for `n` elements: to[i] from
/// a[i], b[i], c[i], as far as the operation has them. `type` is that of the result, `from` that of the first operand.
void evaluate(Opcode opcode, Type type, Type from, int64_t n, Value *to, const Value *a, const Value *b,
              const Value *c);

} // namespace dgc::reference
