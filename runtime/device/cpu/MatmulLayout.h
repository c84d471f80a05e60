// The operands of matrix products as oneDNN describes them, and what is written behind a product that oneDNN gives in
// f32. Internal to runtime/device/cpu.
#pragma once

#include "runtime/device/cpu/Ops.h"

namespace dgc::rt {

/// A stack of matrices in memory: sizes and distances of batch.., rows, columns.
struct Matrices {
  dnnl::memory::dims sizes, strides;

  int64_t rows() const { return sizes[sizes.size() - 2]; }
  int64_t columns() const { return sizes.back(); }
  /// Rows of all matrices.
  int64_t allRows() const {
    int64_t count = 1;
    for (size_t dim = 0; dim + 1 < sizes.size(); ++dim)
      count *= sizes[dim];
    return count;
  }
  /// The same sizes, row by row without gaps.
  Matrices packed() const {
    Matrices result{sizes, sizes};
    int64_t stride = 1;
    for (size_t dim = sizes.size(); dim-- > 0; stride *= sizes[dim])
      result.strides[dim] = stride;
    return result;
  }
  /// Where row `row` of all rows of all matrices begins.
  int64_t rowAt(int64_t row) const {
    int64_t at = 0;
    for (size_t dim = sizes.size() - 1; dim-- > 0; row /= sizes[dim])
      at += row % sizes[dim] * strides[dim];
    return at;
  }
  int64_t matrixAt(int64_t matrix) const { return rowAt(matrix * rows()); }
  int64_t rowStride() const { return strides[strides.size() - 2]; }
  int64_t columnStride() const { return strides.back(); }
};

/// The operands of a product.
struct MatmulLayout {
  Matrices a, b, dst;

  explicit MatmulLayout(const artifact::Matmul &op) {
    int64_t m = static_cast<int64_t>(op.m()), n = static_cast<int64_t>(op.n()), k = static_cast<int64_t>(op.k());
    if (!op.dst_strides()) {
      int64_t batch = static_cast<int64_t>(op.batch());
      a = dense(batch, m, k, op.transpose_a());
      b = dense(batch, k, n, op.transpose_b());
      dst = dense(batch, m, n, false);
      return;
    }
    a = strided(op, op.a_strides(), m, k);
    b = strided(op, op.b_strides(), k, n);
    dst = strided(op, op.dst_strides(), m, n);
  }

private:
  static Matrices dense(int64_t batch, int64_t rows, int64_t columns, bool transposed) {
    int64_t rowStride = transposed ? 1 : columns, columnStride = transposed ? rows : 1;
    if (batch == 1)
      return {{rows, columns}, {rowStride, columnStride}};
    return {{batch, rows, columns}, {rows * columns, rowStride, columnStride}};
  }
  static Matrices strided(const artifact::Matmul &op, const flatbuffers::Vector<int64_t> *strides, int64_t rows,
                          int64_t columns) {
    Matrices matrices;
    for (uint32_t i = 0; op.batch_sizes() && i < op.batch_sizes()->size(); ++i)
      matrices.sizes.push_back(op.batch_sizes()->Get(i));
    matrices.sizes.push_back(rows);
    matrices.sizes.push_back(columns);
    matrices.strides.assign(strides->begin(), strides->end());
    return matrices;
  }
};

/// dst = product + bias, with the post-ops, for a product in f32 that is stored row by row.
class MatmulResult {
public:
  MatmulResult(const OpContext &context, const artifact::Matmul &op);
  void store(const float *product) const;

private:
  /// A row, to the elements of dst from `at` on.
  void storeRow(const float *product, int64_t at) const;

  Operand dst, bias;
  Matrices layout;
  PlainPostOps postOps;
  bool isPlain; ///< there is no bias and there are no post-ops, and rows have no gaps
};

/// True for products that oneDNN for AVX-512 splits along their sums when it has many threads: their order of additions
/// depends on the number of threads. `isTransposed`: rows of the left operand are not contiguous.
bool isSplitAlongSums(bool isTransposed, int64_t k, bool isForAvx2);

/// True where one call of oneDNN would add up too many terms in order, or in an order that depends on threads.
/// `isForAvx2`: products of f32 are by GEMM for AVX2.
bool hasLongSums(const artifact::Matmul &op, DType type, bool isForAvx2);

/// How the sums of a product are cut, and where they are added up in the scratch block.
struct LongSums {
  LongSums(const artifact::Matmul &op, DType type, bool isForAvx2);

  bool isSmall = false;      ///< a part takes about as long as waking threads for it: threads take a part each
  int64_t terms = 0;         ///< of a part: what one call adds up
  int64_t ofGroup = 1;       ///< parts that are added up at a time: in pairs if they are small, else in order
  int64_t parts, groups;     ///< how many there are
  bool isDirect;             ///< the result is the only slot
  size_t vectorBytes;        ///< of a sum for each result
  size_t firstPart, callsAt; ///< the parts of a group that are small, behind the slots; the memory of the calls
};

/// A product with long sums, as products of parts of them that are added up.
PreparedOrStatus prepareLongMatmul(const OpContext &context, const artifact::Matmul &op, dnnl::memory::data_type type);

} // namespace dgc::rt
