#include "runtime/verify/Planes.h"

#include <algorithm>
#include <bit>
#ifdef __x86_64__
#include <immintrin.h>
#endif

using namespace dgc;
using namespace dgc::verify;

#define DGC_INLINE inline __attribute__((always_inline))

/// Gives infinities and NaN their elements.
static DGC_INLINE void settle(int64_t n, Planes to) {
  constexpr uint64_t one = uint64_t{1} << 52; // of the exponent: added to one that is full, it reaches the sign
  uint64_t full = 0;
  for (int64_t k = 0; k < n; ++k)
    full |= (std::bit_cast<uint64_t>(to.v[k].f) & ~(uint64_t{1} << 63)) + one;
  if (full >> 63 == 0)
    return;
  for (int64_t k = 0; k < n; ++k)
    to.set(k, settled(to.number(k)));
}

// The loops are written so that compilers make vectors of them.
static DGC_INLINE void addLoops(int64_t n, Planes to, Planes a, Planes b) {
  for (int64_t k = 0; k < n; ++k) {
    const uint64_t sum = a.p[k] + b.p[k];
    to.p[k] = std::min(sum, sum - kP); // a difference below 0 is a large number
  }
  for (int64_t k = 0; k < n; ++k) {
    const uint64_t sum = a.q[k] + b.q[k];
    to.q[k] = std::min(sum, sum - kQ);
  }
  for (int64_t k = 0; k < n; ++k)
    to.v[k].f = a.v[k].f + b.v[k].f;
}

static DGC_INLINE void subtractLoops(int64_t n, Planes to, Planes a, Planes b) {
  for (int64_t k = 0; k < n; ++k) {
    const uint64_t difference = a.p[k] - b.p[k];
    to.p[k] = std::min(difference, difference + kP);
  }
  for (int64_t k = 0; k < n; ++k) {
    const uint64_t difference = a.q[k] - b.q[k];
    to.q[k] = std::min(difference, difference + kQ);
  }
  for (int64_t k = 0; k < n; ++k)
    to.v[k].f = a.v[k].f - b.v[k].f;
}

static void multiplyLoops(int64_t first, int64_t n, Planes to, Planes a, Planes b) {
  for (int64_t k = first; k < n; ++k) {
    to.p[k] = FieldP::multiply(a.p[k], b.p[k]);
    to.q[k] = FieldQ::multiply(a.q[k], b.q[k]);
    to.v[k].f = a.v[k].f * b.v[k].f;
  }
}

#ifdef __x86_64__
#define DGC_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512ifma")))

bool dgc::verify::hasVectors() { return __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512dq"); }

DGC_AVX512 static void addVectors(int64_t n, Planes to, Planes a, Planes b) { addLoops(n, to, a, b); }
DGC_AVX512 static void subtractVectors(int64_t n, Planes to, Planes a, Planes b) { subtractLoops(n, to, a, b); }

/// Eight products in the field of 2^bits - less: the product is low + 2^52 high, and 2^52 = 2^(52 - bits) less.
template <unsigned bits, uint64_t less> DGC_AVX512 static DGC_INLINE __m512i multiplied(__m512i a, __m512i b) {
  const __m512i zero = _mm512_setzero_si512(), mask = _mm512_set1_epi64((int64_t{1} << bits) - 1),
                prime = _mm512_set1_epi64((int64_t{1} << bits) - static_cast<int64_t>(less)),
                c = _mm512_set1_epi64(static_cast<int64_t>(less));
  const __m512i low = _mm512_madd52lo_epu64(zero, a, b), high = _mm512_madd52hi_epu64(zero, a, b);
  // high is below 2^50: above the bits there are 52 - bits from low.
  const __m512i upper = _mm512_add_epi64(_mm512_slli_epi64(high, 52 - bits), _mm512_srli_epi64(low, bits));
  const __m512i rest = _mm512_add_epi64(_mm512_and_si512(low, mask), _mm512_mullo_epi64(upper, c));
  const __m512i sum = _mm512_madd52lo_epu64(_mm512_and_si512(rest, mask), _mm512_srli_epi64(rest, bits), c);
  return _mm512_min_epu64(sum, _mm512_sub_epi64(sum, prime));
}

DGC_AVX512 static void multiplyVectors(int64_t n, Planes to, Planes a, Planes b) {
  int64_t k = 0;
  for (; k + 8 <= n; k += 8) {
    _mm512_storeu_si512(to.p + k,
                        multiplied<51, FieldP::less>(_mm512_loadu_si512(a.p + k), _mm512_loadu_si512(b.p + k)));
    _mm512_storeu_si512(to.q + k,
                        multiplied<50, FieldQ::less>(_mm512_loadu_si512(a.q + k), _mm512_loadu_si512(b.q + k)));
    const __m512d f = _mm512_mul_pd(_mm512_loadu_pd(&a.v[k].f), _mm512_loadu_pd(&b.v[k].f));
    _mm512_storeu_pd(&to.v[k].f, f);
  }
  multiplyLoops(k, n, to, a, b);
}
#else
bool dgc::verify::hasVectors() { return false; }
#endif

void dgc::verify::addPlanes(int64_t n, Planes to, Planes a, Planes b, bool vectors) {
#ifdef __x86_64__
  if (vectors) {
    addVectors(n, to, a, b);
    return settle(n, to);
  }
#endif
  addLoops(n, to, a, b);
  settle(n, to);
}

void dgc::verify::subtractPlanes(int64_t n, Planes to, Planes a, Planes b, bool vectors) {
#ifdef __x86_64__
  if (vectors) {
    subtractVectors(n, to, a, b);
    return settle(n, to);
  }
#endif
  subtractLoops(n, to, a, b);
  settle(n, to);
}

void dgc::verify::multiplyPlanes(int64_t n, Planes to, Planes a, Planes b, bool vectors) {
#ifdef __x86_64__
  if (vectors) {
    multiplyVectors(n, to, a, b);
    return settle(n, to);
  }
#endif
  multiplyLoops(0, n, to, a, b);
  settle(n, to);
}

void dgc::verify::negatePlanes(int64_t n, Planes to, Planes a) {
  for (int64_t k = 0; k < n; ++k)
    to.set(k, negate(a.number(k)));
}
