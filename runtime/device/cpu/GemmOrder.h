// The order in which oneDNN's GEMM for AVX2 adds up, as of oneDNN 2.6. Internal to runtime/device/cpu.
//
// It has two kinds of kernels. One copies operands to blocks first: a sum has the same order wherever its result is in
// the call. The other reads operands where they are: it computes groups of 6 rows and 16 columns, and what is left at
// the ends in smaller groups, whose sums have another order; it splits sums among threads where a result has fewer
// blocks than there are threads. Both have blocks of terms that depend on the number of terms alone.
#pragma once

#include <cstdint>
#include <vector>

namespace dgc::rt {

/// True where products of f32 are by GEMM for AVX2: without AVX-512 there are none by batch-reduce GEMM.
bool usesGemmForAvx2();

/// The sizes of a product of two matrices, [m, k] times [k, n] in row-major order; m and n are 2 at least.
struct GemmSizes {
  int64_t m, n, k;
  bool transposesA, transposesB; ///< rows of the operand are not contiguous
};

/// The most threads with which a call uses kernels that copy, and so adds up in one order; 0: on one thread it uses
/// the others.
int64_t threadsThatCopy(const GemmSizes &sizes);

/// Some rows or columns of a result.
struct IndexRange {
  int64_t begin = 0, size = 1;
};
/// Rows or columns that one thread computes, with a call for each range.
using GemmPart = std::vector<IndexRange>;

/// Cuts the result of a product by kernels that do not copy in up to `count` parts of about the same size. Calls on one
/// thread each for all ranges compute all rows, or columns, in groups of the size that a call for the whole result on
/// one thread has: they add up as that does.
std::vector<GemmPart> cutRows(const GemmSizes &sizes, int64_t count);
std::vector<GemmPart> cutColumns(const GemmSizes &sizes, int64_t count);

} // namespace dgc::rt
