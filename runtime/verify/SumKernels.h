// Sums of products of small blocks, exact in both fields.
#pragma once

#include "runtime/verify/Field.h"

namespace dgc::verify {

inline constexpr int kLanes = 8, kRows = 4;
/// The most terms of a sum: 2^11 products, each below 2^52 in its low part, do not exceed 64 bits.
inline constexpr int64_t kMostTerms = 2048;

/// A block of numbers: [terms][rows or lanes].
struct Block {
  const uint64_t *p, *q;
  const double *f;
};

/// [rows][lanes], elements of the fields.
struct BlockSums {
  uint64_t p[kRows * kLanes], q[kRows * kLanes];
  double f[kRows * kLanes];
};

/// sums[r][l] = sum of a[k][r] b[k][l] over k < terms <= kMostTerms.
void multiplyBlocks(int64_t terms, Block a, Block b, BlockSums &sums, bool vectors);

/// sums[0][l] = sum of a[k][l] b[k][l] over k < terms <= kMostTerms.
void multiplyLanes(int64_t terms, Block a, Block b, BlockSums &sums, bool vectors);

} // namespace dgc::verify
