// Matrix products: oneDNN, in f32 for floats of 16 bits that it does not take, and plain loops for f64.
#include "runtime/base/Status.h"
#include "runtime/device/cpu/Ops.h"
#include "runtime/device/cpu/Parallel.h"

using namespace dgc;
using namespace dgc::rt;

namespace {
class DnnlOp final : public PreparedOp {
public:
  explicit DnnlOp(BoundPrimitive primitive) : primitive(std::move(primitive)) {}
  absl::Status run(const dgc_step &) override { return primitive.run(); }

private:
  BoundPrimitive primitive;
};

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
struct Operands {
  Matrices a, b, dst;

  explicit Operands(const artifact::Matmul &op) {
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

/// dst = a * b (+ bias) with the post-ops, one element at a time. Accumulates in
/// f64 for f64 and in f32 for 16-bit floats.
class PlainMatmul final : public PreparedOp {
public:
  PlainMatmul(const OpContext &context, const artifact::Matmul &op)
      : a(context.buffers[op.a()]), b(context.buffers[op.b()]), dst(context.buffers[op.dst()]), layout(op),
        postOps(context, op.post_ops(), static_cast<int64_t>(op.n())), batch(static_cast<int64_t>(op.batch())),
        m(static_cast<int64_t>(op.m())), n(static_cast<int64_t>(op.n())), k(static_cast<int64_t>(op.k())) {
    if (op.bias() >= 0)
      bias = context.buffers[static_cast<size_t>(op.bias())];
  }
  absl::Status run(const dgc_step &) override {
    parallelFor(batch * m, [&](int64_t begin, int64_t end) { rows(begin, end); });
    return absl::OkStatus();
  }

private:
  void rows(int64_t begin, int64_t end) const {
    for (int64_t row = begin; row < end; ++row) {
      int64_t left = layout.a.rowAt(row), right = layout.b.matrixAt(row / m), to = layout.dst.rowAt(row);
      for (int64_t j = 0; j < n; ++j) {
        int64_t column = right + j * layout.b.columnStride();
        double value = dst.dtype == DType::F64 ? dot<double>(left, column) : dot<float>(left, column);
        int64_t at = to + j * layout.dst.columnStride();
        if (bias.data)
          value += loadElement(bias, j);
        double before = postOps.accumulates() ? loadElement(dst, at) : 0;
        storeElement(dst, at, postOps.apply(value, before, at));
      }
    }
  }
  template <typename T> T dot(int64_t row, int64_t column) const {
    T sum = 0;
    for (int64_t l = 0; l < k; ++l)
      sum += static_cast<T>(loadElement(a, row + l * layout.a.columnStride())) *
             static_cast<T>(loadElement(b, column + l * layout.b.rowStride()));
    return sum;
  }

  Operand a, b, dst, bias;
  Operands layout;
  PlainPostOps postOps;
  int64_t batch, m, n, k;
};

/// A product of f16 or bf16 as one of f32: operands and result are converted in the scratch block.
class WidenedMatmul final : public PreparedOp {
public:
  WidenedMatmul(const OpContext &context, const artifact::Matmul &op)
      : scratch(context.scratch), a(context.buffers[op.a()]), b(context.buffers[op.b()]),
        dst(context.buffers[op.dst()]), layout(op), postOps(context, op.post_ops(), static_cast<int64_t>(op.n())) {
    if (op.bias() >= 0)
      bias = context.buffers[static_cast<size_t>(op.bias())];
  }
  absl::Status prepare(const OpContext &context) {
    constexpr auto f32 = dnnl::memory::data_type::f32;
    return guarded("matmul", [&] {
      auto packed = [](const Matrices &m) { return dnnl::memory::desc(m.sizes, f32, m.packed().strides); };
      dnnl::memory::desc left = packed(layout.a), right = packed(layout.b), result = packed(layout.dst);
      dnnl::primitive_attr attr;
      attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
      dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(left, right, result), attr, context.library.engine);
      auto roundUp = [](size_t bytes) { return (bytes + 63) & ~size_t{63}; };
      atA = roundUp(pd.scratchpad_desc().get_size());
      atB = atA + roundUp(left.get_size());
      atDst = atB + roundUp(right.get_size());
      context.scratch.reserve(atDst + result.get_size());
      product = BoundPrimitive(context, dnnl::matmul(pd), pd.scratchpad_desc());
      product.bindScratch(DNNL_ARG_SRC, left, atA);
      product.bindScratch(DNNL_ARG_WEIGHTS, right, atB);
      product.bindScratch(DNNL_ARG_DST, result, atDst);
    });
  }
  absl::Status run(const dgc_step &) override {
    widen(a, layout.a, at(atA));
    widen(b, layout.b, at(atB));
    absl::Status status = product.run();
    if (status.ok())
      narrow(at(atDst));
    return status;
  }

private:
  float *at(size_t offset) const { return reinterpret_cast<float *>(scratch.data() + offset); }
  static void widen(const Operand &from, const Matrices &matrices, float *to) {
    int64_t columns = matrices.columns();
    parallelFor(matrices.allRows(), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        for (int64_t j = 0, at = matrices.rowAt(row); j < columns; ++j, at += matrices.columnStride())
          to[row * columns + j] = static_cast<float>(loadElement(from, at));
    });
  }
  void narrow(const float *from) const {
    int64_t columns = layout.dst.columns();
    parallelFor(layout.dst.allRows(), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        for (int64_t j = 0, at = layout.dst.rowAt(row); j < columns; ++j, at += layout.dst.columnStride()) {
          double value = static_cast<double>(from[row * columns + j]);
          if (bias.data)
            value += loadElement(bias, j);
          double before = postOps.accumulates() ? loadElement(dst, at) : 0;
          storeElement(dst, at, postOps.apply(value, before, at));
        }
    });
  }

  const Scratch &scratch;
  Operand a, b, dst, bias;
  Operands layout;
  PlainPostOps postOps;
  BoundPrimitive product;
  size_t atA = 0, atB = 0, atDst = 0;
};
} // namespace

static PreparedOrStatus dnnlMatmul(const OpContext &context, const artifact::Matmul &op, dnnl::memory::data_type type) {
  int64_t n = static_cast<int64_t>(op.n());
  Operands layout(op);
  size_t rank = layout.dst.sizes.size();
  BoundPrimitive bound;
  absl::Status s = guarded("matmul", [&] {
    dnnl::memory::desc a(layout.a.sizes, type, layout.a.strides), b(layout.b.sizes, type, layout.b.strides);
    dnnl::memory::desc dst(layout.dst.sizes, type, layout.dst.strides), bias;
    if (op.bias() >= 0) {
      dnnl::memory::dims sizes(rank, 1), strides(rank, n);
      sizes.back() = n;
      strides.back() = 1;
      bias = dnnl::memory::desc(sizes, type, strides);
    }
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    PostOps postOps = makePostOps(context, op.post_ops(), dst, static_cast<int>(rank) - 1, n);
    attr.set_post_ops(postOps.ops);
    dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(a, b, bias, dst), attr, context.library.engine);
    bound = BoundPrimitive(context, dnnl::matmul(pd), pd.scratchpad_desc());
    bound.bind(DNNL_ARG_SRC, a, context.buffers[op.a()].data);
    bound.bind(DNNL_ARG_WEIGHTS, b, context.buffers[op.b()].data);
    bound.bind(DNNL_ARG_DST, dst, context.buffers[op.dst()].data);
    if (op.bias() >= 0)
      bound.bind(DNNL_ARG_BIAS, bias, context.buffers[static_cast<size_t>(op.bias())].data);
    bindPostOps(bound, postOps);
  });
  if (!s.ok())
    return s;
  return std::make_unique<DnnlOp>(std::move(bound));
}

PreparedOrStatus dgc::rt::prepareMatmul(const OpContext &context, const artifact::Matmul &op) {
  if (auto type = dnnlType(context.buffers[op.dst()].dtype)) {
    PreparedOrStatus prepared = dnnlMatmul(context, op, *type);
    if (prepared.ok() || !absl::IsUnimplemented(prepared.status()))
      return prepared;
  }
  if (DType type = context.buffers[op.dst()].dtype; type == DType::F16 || type == DType::BF16) {
    auto widened = std::make_unique<WidenedMatmul>(context, op);
    DGC_RETURN_IF_ERROR(widened->prepare(context));
    return widened;
  }
  return std::make_unique<PlainMatmul>(context, op);
}
