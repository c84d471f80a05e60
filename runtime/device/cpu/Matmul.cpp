// Matrix products: oneDNN, and plain loops for the types that it does not take.
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

/// dst = a * b (+ bias) with the post-ops, one element at a time. Accumulates in
/// f64 for f64 and in f32 for 16-bit floats.
class PlainMatmul final : public PreparedOp {
public:
  PlainMatmul(const OpContext &context, const artifact::Matmul &op)
      : a(context.buffers[op.a()]), b(context.buffers[op.b()]), dst(context.buffers[op.dst()]),
        postOps(context, op.post_ops(), static_cast<int64_t>(op.n())), batch(static_cast<int64_t>(op.batch())),
        m(static_cast<int64_t>(op.m())), n(static_cast<int64_t>(op.n())), k(static_cast<int64_t>(op.k())),
        transposeA(op.transpose_a()), transposeB(op.transpose_b()) {
    if (op.bias() >= 0)
      bias = context.buffers[static_cast<size_t>(op.bias())];
  }
  absl::Status run(const dgc_step &) override {
    parallelFor(batch * m, [&](int64_t begin, int64_t end) { rows(begin, end); });
    return absl::OkStatus();
  }

private:
  void rows(int64_t begin, int64_t end) const {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t j = 0; j < n; ++j) {
        double value = dst.dtype == DType::F64 ? dot<double>(row, j) : dot<float>(row, j);
        int64_t at = row * n + j;
        if (bias.data)
          value += loadElement(bias, j);
        double before = postOps.accumulates() ? loadElement(dst, at) : 0;
        storeElement(dst, at, postOps.apply(value, before, at));
      }
  }
  template <typename T> T dot(int64_t row, int64_t j) const {
    int64_t block = row / m, i = row % m;
    T sum = 0;
    for (int64_t l = 0; l < k; ++l)
      sum += static_cast<T>(loadElement(a, block * m * k + (transposeA ? l * m + i : i * k + l))) *
             static_cast<T>(loadElement(b, block * k * n + (transposeB ? j * k + l : l * n + j)));
    return sum;
  }

  Operand a, b, dst, bias;
  PlainPostOps postOps;
  int64_t batch, m, n, k;
  bool transposeA, transposeB;
};
} // namespace

/// A [batch, rows, columns] matrix, stored transposed or not.
static dnnl::memory::desc matrix(dnnl::memory::data_type type, int64_t batch, int64_t rows, int64_t columns,
                                 bool transposed) {
  int64_t rowStride = transposed ? 1 : columns;
  int64_t columnStride = transposed ? rows : 1;
  if (batch == 1)
    return {{rows, columns}, type, {rowStride, columnStride}};
  return {{batch, rows, columns}, type, {rows * columns, rowStride, columnStride}};
}

static PreparedOrStatus dnnlMatmul(const OpContext &context, const artifact::Matmul &op, dnnl::memory::data_type type) {
  int64_t batch = static_cast<int64_t>(op.batch());
  int64_t m = static_cast<int64_t>(op.m()), n = static_cast<int64_t>(op.n());
  int64_t k = static_cast<int64_t>(op.k());
  BoundPrimitive bound;
  absl::Status s = guarded("matmul", [&] {
    auto a = matrix(type, batch, m, k, op.transpose_a());
    auto b = matrix(type, batch, k, n, op.transpose_b());
    auto dst = matrix(type, batch, m, n, false);
    dnnl::memory::desc bias;
    if (op.bias() >= 0)
      bias = batch == 1 ? dnnl::memory::desc({1, n}, type, {n, 1}) : dnnl::memory::desc({1, 1, n}, type, {n, n, 1});
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    PostOps postOps = makePostOps(context, op.post_ops(), dst, batch == 1 ? 1 : 2, n);
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
  return std::make_unique<PlainMatmul>(context, op);
}
