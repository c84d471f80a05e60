#include "runtime/verify/SumKernels.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

using namespace dgc;
using namespace dgc::verify;

/// A row of sums. `aStride` is 1 where each lane has an operand of its own, and 0 where they have one.
static void multiplyRow(int64_t terms, Block a, int aWidth, int aStride, Block b, BlockSums &sums, int row) {
  for (int lane = 0; lane < kLanes; ++lane) {
    unsigned __int128 p = 0, q = 0; // products are below 2^102
    double f = 0;
    for (int64_t k = 0; k < terms; ++k) {
      const int64_t ofA = k * aWidth + row + lane * aStride, ofB = k * kLanes + lane;
      p += static_cast<unsigned __int128>(a.p[ofA]) * b.p[ofB];
      q += static_cast<unsigned __int128>(a.q[ofA]) * b.q[ofB];
      f += a.f[ofA] * b.f[ofB];
    }
    const int at = row * kLanes + lane;
    sums.p[at] = FieldP::reduce(p);
    sums.q[at] = FieldQ::reduce(q);
    sums.f[at] = f;
  }
}

#ifdef __x86_64__
/// low + 2^52 high in a field of 2^bits - less.
template <typename Field> static uint64_t joined(uint64_t low, uint64_t high) {
  constexpr uint64_t shift = (uint64_t{1} << 52) % (Field::mask + 1 - Field::less);
  return Field::fold(Field::fold(low) + shift * Field::fold(high));
}

/// The low and high 52 bits of products have sums of their own. `rows` is kRows, or 1 where each lane has an operand of
/// its own.
template <int rows>
__attribute__((target("avx512f,avx512dq,avx512vl,avx512ifma"))) static void multiplyVectors(int64_t terms, Block a,
                                                                                            Block b, BlockSums &sums) {
  __m512i pLow[rows], pHigh[rows], qLow[rows], qHigh[rows];
  __m512d f[rows];
  for (int r = 0; r < rows; ++r) {
    pLow[r] = pHigh[r] = qLow[r] = qHigh[r] = _mm512_setzero_si512();
    f[r] = _mm512_setzero_pd();
  }
  for (int64_t k = 0; k < terms; ++k) {
    const __m512i bp = _mm512_loadu_si512(b.p + k * kLanes), bq = _mm512_loadu_si512(b.q + k * kLanes);
    const __m512d bf = _mm512_loadu_pd(b.f + k * kLanes);
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r) {
      const int64_t at = rows == 1 ? k * kLanes : k * rows + r;
      const __m512i ap = rows == 1 ? _mm512_loadu_si512(a.p + at) : _mm512_set1_epi64(static_cast<int64_t>(a.p[at]));
      const __m512i aq = rows == 1 ? _mm512_loadu_si512(a.q + at) : _mm512_set1_epi64(static_cast<int64_t>(a.q[at]));
      const __m512d af = rows == 1 ? _mm512_loadu_pd(a.f + at) : _mm512_set1_pd(a.f[at]);
      pLow[r] = _mm512_madd52lo_epu64(pLow[r], ap, bp);
      pHigh[r] = _mm512_madd52hi_epu64(pHigh[r], ap, bp);
      qLow[r] = _mm512_madd52lo_epu64(qLow[r], aq, bq);
      qHigh[r] = _mm512_madd52hi_epu64(qHigh[r], aq, bq);
      f[r] = _mm512_fmadd_pd(af, bf, f[r]);
    }
  }
  for (int r = 0; r < rows; ++r) {
    alignas(64) uint64_t parts[4][kLanes];
    _mm512_store_si512(parts[0], pLow[r]);
    _mm512_store_si512(parts[1], pHigh[r]);
    _mm512_store_si512(parts[2], qLow[r]);
    _mm512_store_si512(parts[3], qHigh[r]);
    for (int lane = 0; lane < kLanes; ++lane) {
      sums.p[r * kLanes + lane] = joined<FieldP>(parts[0][lane], parts[1][lane]);
      sums.q[r * kLanes + lane] = joined<FieldQ>(parts[2][lane], parts[3][lane]);
    }
    _mm512_storeu_pd(sums.f + r * kLanes, f[r]);
  }
}
#endif

void dgc::verify::multiplyBlocks(int64_t terms, Block a, Block b, BlockSums &sums, bool vectors) {
#ifdef __x86_64__
  if (vectors)
    return multiplyVectors<kRows>(terms, a, b, sums);
#endif
  for (int row = 0; row < kRows; ++row)
    multiplyRow(terms, a, kRows, 0, b, sums, row);
}

void dgc::verify::multiplyLanes(int64_t terms, Block a, Block b, BlockSums &sums, bool vectors) {
#ifdef __x86_64__
  if (vectors)
    return multiplyVectors<1>(terms, a, b, sums);
#endif
  multiplyRow(terms, a, kLanes, 1, b, sums, 0);
}
