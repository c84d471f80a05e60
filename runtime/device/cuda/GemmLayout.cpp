// The memory layout of the operands of a product.
#include "runtime/device/cuda/GemmLayout.h"
#include "runtime/base/Status.h"
#include "runtime/device/cuda/CudaDevice.h"

#include <algorithm>
#include <optional>

namespace dgc::rt::cuda {
namespace {

/// Sizes and distances of the batch dimensions of all three operands.
struct Batch {
  uint64_t size = 1;
  Gemm::Part strides;
};

/// One matrix with these distances between elements of a column and of a row.
absl::Status describe(uint64_t rows, uint64_t columns, int64_t rowStride, int64_t columnStride, Matrices &matrices) {
  // The distance along a dimension of one element does not matter; it may be any number.
  if (columnStride == 1 || columns == 1) {
    matrices.rowStride = std::max<uint64_t>(rows == 1 ? 0 : static_cast<uint64_t>(rowStride), columns);
    return absl::OkStatus();
  }
  if (rowStride == 1 || rows == 1) {
    matrices.transposed = true;
    matrices.rowStride = std::max<uint64_t>(static_cast<uint64_t>(columnStride), rows);
    return absl::OkStatus();
  }
  return absl::UnimplementedError("a product of matrices of which neither rows nor columns are contiguous; compile "
                                  "the model again for GPUs");
}

void describeDense(const artifact::Matmul &op, Gemm &gemm) {
  gemm.batch = op.batch();
  gemm.a = {0, op.transpose_a(), op.transpose_a() ? gemm.m : gemm.k, gemm.m * gemm.k};
  gemm.b = {0, op.transpose_b(), op.transpose_b() ? gemm.k : gemm.n, gemm.k * gemm.n};
  gemm.dst = {0, false, gemm.n, gemm.m * gemm.n};
}

} // namespace

absl::Status describeMatrices(const artifact::Matmul &op, Gemm &gemm) {
  gemm.m = op.m();
  gemm.n = op.n();
  gemm.k = op.k();
  if (!op.dst_strides()) {
    describeDense(op, gemm);
    return absl::OkStatus();
  }
  const auto &a = *op.a_strides(), &b = *op.b_strides(), &dst = *op.dst_strides();
  uint32_t rank = dst.size();
  DGC_RETURN_IF_ERROR(describe(gemm.m, gemm.k, a[rank - 2], a[rank - 1], gemm.a));
  DGC_RETURN_IF_ERROR(describe(gemm.k, gemm.n, b[rank - 2], b[rank - 1], gemm.b));
  DGC_RETURN_IF_ERROR(describe(gemm.m, gemm.n, dst[rank - 2], dst[rank - 1], gemm.dst));
  if (gemm.dst.transposed)
    return absl::UnimplementedError("a product that is stored transposed; compile the model again for GPUs");
  std::vector<Batch> dims;
  for (uint32_t i = 0; i + 2 < rank; ++i)
    dims.push_back({static_cast<uint64_t>(op.batch_sizes()->Get(i)),
                    {static_cast<uint64_t>(a[i]), static_cast<uint64_t>(b[i]), static_cast<uint64_t>(dst[i])}});
  // The library takes one batch dimension, the largest; the others are products of their own.
  auto largest = std::max_element(dims.begin(), dims.end(), [](auto &x, auto &y) { return x.size < y.size; });
  if (largest != dims.end()) {
    gemm.batch = largest->size;
    gemm.a.batchStride = largest->strides.a;
    gemm.b.batchStride = largest->strides.b;
    gemm.dst.batchStride = largest->strides.dst;
    dims.erase(largest);
  }
  for (const Batch &dim : dims) {
    std::vector<Gemm::Part> parts;
    for (const Gemm::Part &part : gemm.parts)
      for (uint64_t i = 0; i < dim.size; ++i)
        parts.push_back({part.a + i * dim.strides.a, part.b + i * dim.strides.b, part.dst + i * dim.strides.dst});
    gemm.parts = std::move(parts);
  }
  return absl::OkStatus();
}

absl::Status describeEpilogue(const artifact::Matmul &op, std::span<const Operand> buffers, Gemm &gemm) {
  auto address = [&](int32_t index) { return addressOf(buffers[static_cast<size_t>(index)].data); };
  gemm.hasBias = op.bias() >= 0;
  if (gemm.hasBias)
    gemm.bias = address(op.bias());
  const uint32_t count = op.post_ops() ? op.post_ops()->size() : 0;
  const artifact::PostOp *postOp = count ? op.post_ops()->Get(0) : nullptr;
  auto activation = [&]() -> std::optional<Activation> {
    if (!postOp)
      return Activation::None;
    switch (postOp->kind()) {
    case artifact::PostOpKind::Relu:
      return Activation::Relu;
    case artifact::PostOpKind::GeluTanh:
      return Activation::Gelu;
    case artifact::PostOpKind::ReluGrad:
      return Activation::ReluGradient;
    case artifact::PostOpKind::GeluTanhGrad:
      return Activation::GeluGradient;
    case artifact::PostOpKind::Add:
    case artifact::PostOpKind::Tanh:
    case artifact::PostOpKind::Sigmoid:
    case artifact::PostOpKind::GeluErf:
    case artifact::PostOpKind::Multiply:
    case artifact::PostOpKind::Accumulate:
      break;
    }
    return std::nullopt;
  }();
  if (!activation || count > 1)
    return absl::UnimplementedError(
        "a product with post-ops other than one relu or gelu, or gradient of these; compile "
        "the model again for GPUs");
  gemm.activation = *activation;
  const bool isGradient = gemm.activation == Activation::ReluGradient || gemm.activation == Activation::GeluGradient;
  const bool isRelu = gemm.activation == Activation::Relu || gemm.activation == Activation::ReluGradient;
  gemm.auxStride = isRelu ? (gemm.n + 127) / 128 * 128 : gemm.n;
  if (isGradient)
    gemm.aux = address(postOp->arg());
  else if (op.aux() >= 0)
    gemm.aux = address(op.aux());
  if (op.bias_gradient() >= 0) {
    gemm.sum = address(op.bias_gradient());
    gemm.sums = op.bias_gradient_of() == artifact::MatmulValue::A   ? Sums::A
                : op.bias_gradient_of() == artifact::MatmulValue::B ? Sums::B
                                                                    : Sums::Result;
  }
  return absl::OkStatus();
}

} // namespace dgc::rt::cuda
