// Sums and products of many elements, with the vector instructions of the processor where it has them.
#pragma once

#include "runtime/device/reference/Scalar.h"
#include "runtime/verify/Field.h"

namespace dgc::verify {

/// Elements one after the other. Integers are in `v` only.
struct Planes {
  uint64_t *p = nullptr, *q = nullptr;
  reference::Value *v = nullptr;

  Number number(int64_t at) const { return {p[at], q[at], v[at].f}; }
  void set(int64_t at, const Number &x) const { p[at] = x.p, q[at] = x.q, v[at].f = x.f; }
};

/// Whether the processor has AVX-512 with products of 52 bits.
bool hasVectors();

/// to = a + b, a - b, a b, -a for `n` elements. `to` may be `a` or `b`.
void addPlanes(int64_t n, Planes to, Planes a, Planes b, bool vectors);
void subtractPlanes(int64_t n, Planes to, Planes a, Planes b, bool vectors);
void multiplyPlanes(int64_t n, Planes to, Planes a, Planes b, bool vectors);
void negatePlanes(int64_t n, Planes to, Planes a);

} // namespace dgc::verify
