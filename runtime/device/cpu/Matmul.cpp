// Matrix products: oneDNN, in f32 for floats of 16 bits that it does not take, and plain loops for f64.
#include "runtime/base/Status.h"
#include "runtime/device/cpu/GemmOrder.h"
#include "runtime/device/cpu/PairwiseSum.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/device/cpu/TiledProduct.h"

#include <algorithm>

using namespace dgc;
using namespace dgc::rt;

namespace {
class DnnlMatmul final : public PreparedOp {
public:
  absl::Status prepare(const OpContext &context, const artifact::Matmul &op, dnnl::memory::data_type type) {
    return guarded("matmul", [&] {
      const MatmulLayout layout(op);
      ProductSpec spec{{layout.a, type, context.buffers[op.a()].data},
                       {layout.b, type, context.buffers[op.b()].data},
                       {layout.dst, type, context.buffers[op.dst()].data}};
      spec.bias = op.bias() < 0 ? nullptr : context.buffers[static_cast<size_t>(op.bias())].data;
      spec.postOps = op.post_ops();
      size_t freeScratch = 0;
      product = TiledProduct(context, spec, freeScratch);
    });
  }
  absl::Status run(const dgc_step &) override { return product.run(); }

private:
  TiledProduct product;
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
      auto roundUp = [](size_t bytes) { return (bytes + 63) & ~size_t{63}; };
      auto bytesOf = [&](const Matrices &m) {
        return roundUp(static_cast<size_t>(m.allRows() * m.columns()) * sizeof(float));
      };
      atB = bytesOf(layout.a);
      atDst = atB + bytesOf(layout.b);
      size_t freeScratch = atDst + bytesOf(layout.dst);
      reserveScratch(context, freeScratch);
      product = TiledProduct(context,
                             {{layout.a.packed(), f32, nullptr, atA},
                              {layout.b.packed(), f32, nullptr, atB},
                              {layout.dst.packed(), f32, nullptr, atDst}},
                             freeScratch);
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
  TiledProduct product;
  size_t atA = 0, atB = 0, atDst = 0;
};
} // namespace

MatmulResult::MatmulResult(const OpContext &context, const artifact::Matmul &op)
    : dst(context.buffers[op.dst()]), layout(MatmulLayout(op).dst),
      postOps(context, op.post_ops(), static_cast<int64_t>(op.n())) {
  if (op.bias() >= 0)
    bias = context.buffers[static_cast<size_t>(op.bias())];
  isPlain = !bias.data && (!op.post_ops() || op.post_ops()->size() == 0) && layout.columnStride() == 1;
}

void MatmulResult::store(const float *product) const {
  int64_t columns = layout.columns();
  parallelFor(layout.allRows(), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      storeRow(product + row * columns, layout.rowAt(row));
  });
}

void MatmulResult::storeRow(const float *product, int64_t at) const {
  const int64_t columns = layout.columns();
  if (isPlain && dst.dtype == DType::F32) {
    std::copy_n(product, columns, static_cast<float *>(dst.data) + at);
    return;
  }
  if (isPlain && dst.dtype == DType::BF16) {
    std::transform(product, product + columns, static_cast<uint16_t *>(dst.data) + at, toBF16);
    return;
  }
  for (int64_t j = 0; j < columns; ++j, at += layout.columnStride()) {
    double value = static_cast<double>(product[j]);
    if (bias.data)
      value += loadElement(bias, j);
    double before = postOps.accumulates() ? loadElement(dst, at) : 0;
    storeElement(dst, at, postOps.apply(value, before, at));
  }
}

static PreparedOrStatus prepareDnnlMatmul(const OpContext &context, const artifact::Matmul &op,
                                          dnnl::memory::data_type type) {
  auto prepared = std::make_unique<DnnlMatmul>();
  DGC_RETURN_IF_ERROR(prepared->prepare(context, op, type));
  return prepared;
}

PreparedOrStatus dgc::rt::prepareMatmul(const OpContext &context, const artifact::Matmul &op) {
  DGC_RETURN_IF_ERROR(checkPostOps(op.post_ops()));
  const DType dtype = context.buffers[op.dst()].dtype;
  if (auto type = dnnlType(dtype)) {
    PreparedOrStatus prepared = hasLongSums(op, dtype, usesGemmForAvx2()) ? prepareLongMatmul(context, op, *type)
                                                                          : prepareDnnlMatmul(context, op, *type);
    if (prepared.ok() || !absl::IsUnimplemented(prepared.status()))
      return prepared;
  }
  if (dtype == DType::F16 || dtype == DType::BF16) {
    auto widened = std::make_unique<WidenedMatmul>(context, op);
    absl::Status status = widened->prepare(context);
    if (status.ok())
      return widened;
    if (!absl::IsUnimplemented(status))
      return status;
  }
  return std::make_unique<PlainMatmul>(context, op);
}
