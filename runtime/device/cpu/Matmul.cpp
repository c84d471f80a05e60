// Matrix products: oneDNN, in f32 for floats of 16 bits that it does not take, and plain loops for f64.
#include "runtime/base/Status.h"
#include "runtime/device/cpu/MatmulLayout.h"
#include "runtime/device/cpu/PairwiseSum.h"
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
    PairwiseSum<T> sum;
    for (int64_t l = 0; l < k; ++l)
      sum.add(static_cast<T>(loadElement(a, row + l * layout.a.columnStride())) *
              static_cast<T>(loadElement(b, column + l * layout.b.rowStride())));
    return sum.total();
  }

  Operand a, b, dst, bias;
  MatmulLayout layout;
  PlainPostOps postOps;
  int64_t batch, m, n, k;
};

/// A product of f16 or bf16 as one of f32: operands and result are converted in the scratch block.
class WidenedMatmul final : public PreparedOp {
public:
  WidenedMatmul(const OpContext &context, const artifact::Matmul &op)
      : scratch(context.scratch), a(context.buffers[op.a()]), b(context.buffers[op.b()]), layout(op),
        result(context, op) {}
  absl::Status prepare(const OpContext &context) {
    constexpr auto f32 = dnnl::memory::data_type::f32;
    return guarded("matmul", [&] {
      auto packed = [](const Matrices &m) { return dnnl::memory::desc(m.sizes, f32, m.packed().strides); };
      dnnl::memory::desc left = packed(layout.a), right = packed(layout.b), raw = packed(layout.dst);
      dnnl::primitive_attr attr;
      attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
      dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(left, right, raw), attr, context.library.engine);
      auto roundUp = [](size_t bytes) { return (bytes + 63) & ~size_t{63}; };
      atA = roundUp(pd.scratchpad_desc().get_size());
      atB = atA + roundUp(left.get_size());
      atDst = atB + roundUp(right.get_size());
      context.scratch.reserve(atDst + raw.get_size());
      product = BoundPrimitive(context, dnnl::matmul(pd), pd.scratchpad_desc());
      product.bindScratch(DNNL_ARG_SRC, left, atA);
      product.bindScratch(DNNL_ARG_WEIGHTS, right, atB);
      product.bindScratch(DNNL_ARG_DST, raw, atDst);
    });
  }
  absl::Status run(const dgc_step &) override {
    widen(a, layout.a, at(atA));
    widen(b, layout.b, at(atB));
    absl::Status status = product.run();
    if (status.ok())
      result.store(at(atDst));
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
  const Scratch &scratch;
  Operand a, b;
  MatmulLayout layout;
  MatmulResult result;
  BoundPrimitive product;
  size_t atA = 0, atB = 0, atDst = 0;
};
} // namespace

static PreparedOrStatus dnnlMatmul(const OpContext &context, const artifact::Matmul &op, dnnl::memory::data_type type) {
  int64_t n = static_cast<int64_t>(op.n());
  MatmulLayout layout(op);
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

MatmulResult::MatmulResult(const OpContext &context, const artifact::Matmul &op)
    : dst(context.buffers[op.dst()]), layout(MatmulLayout(op).dst),
      postOps(context, op.post_ops(), static_cast<int64_t>(op.n())) {
  if (op.bias() >= 0)
    bias = context.buffers[static_cast<size_t>(op.bias())];
}

void MatmulResult::store(const float *product) const {
  int64_t columns = layout.columns();
  parallelFor(layout.allRows(), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t j = 0, at = layout.rowAt(row); j < columns; ++j, at += layout.columnStride()) {
        double value = static_cast<double>(product[row * columns + j]);
        if (bias.data)
          value += loadElement(bias, j);
        double before = postOps.accumulates() ? loadElement(dst, at) : 0;
        storeElement(dst, at, postOps.apply(value, before, at));
      }
  });
}

PreparedOrStatus dgc::rt::prepareMatmul(const OpContext &context, const artifact::Matmul &op) {
  if (hasLongSums(op, context.buffers[op.dst()].dtype))
    return prepareLongMatmul(context, op);
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
