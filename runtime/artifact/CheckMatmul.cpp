// Products: sizes, layouts, post-ops, what they give to gradients.
#include "runtime/artifact/ActionCheck.h"

#include <algorithm>
#include <vector>

using namespace dgc::rt;
namespace a = dgc::artifact;

absl::Status ActionCheck::postOps(const flatbuffers::Vector<flatbuffers::Offset<a::PostOp>> *ops, int64_t dst,
                                  uint64_t channels) const {
  const a::Buffer &out = *buffer(dst);
  for (uint32_t i = 0; i < sizeOf(ops); ++i) {
    const a::PostOp &op = *ops->Get(i);
    if (op.kind() < a::PostOpKind::MIN || op.kind() > a::PostOpKind::MAX)
      return bad(str("post-op ", i, " is of an unknown kind"));
    if (op.kind() == a::PostOpKind::ReluGrad || op.kind() == a::PostOpKind::GeluTanhGrad)
      DGC_RETURN_IF_ERROR(hasEpilogues("the gradient of an activation"));
    if (op.kind() != a::PostOpKind::Add && op.kind() != a::PostOpKind::Multiply)
      continue;
    DGC_RETURN_IF_ERROR(operand("the argument of a post-op", op.arg()));
    const a::Buffer &arg = *buffer(op.arg());
    if (arg.dtype() != out.dtype() || (count(arg) != count(out) && count(arg) != channels))
      return bad(str("the argument of post-op ", i,
                     " must be of the type of "
                     "the result and have ",
                     count(out), " or ", channels, " elements"));
    if (overlap(arg, out))
      return bad(str("the argument of post-op ", i, " overlaps the result; that is what Accumulate is for"));
  }
  return absl::OkStatus();
}

absl::Status ActionCheck::strides(std::string_view what, const flatbuffers::Vector<int64_t> *strides,
                                  const flatbuffers::Vector<int64_t> *batch, uint64_t rows, uint64_t columns) const {
  if (sizeOf(strides) != sizeOf(batch) + 2)
    return bad(
        str(what, " has ", sizeOf(strides), " strides for ", sizeOf(batch), " batch dimensions, rows and columns"));
  std::vector<std::pair<int64_t, uint64_t>> dims; // stride, size
  for (uint32_t i = 0; i < sizeOf(strides); ++i) {
    uint64_t size = i < sizeOf(batch) ? static_cast<uint64_t>(batch->Get(i)) : i == sizeOf(batch) ? rows : columns;
    dims.emplace_back(strides->Get(i), size);
  }
  // From the innermost dimension outwards each must step over the whole of those inside it, and their product is the
  // size of the buffer: so each element is met once.
  std::sort(dims.begin(), dims.end());
  uint64_t inside = 1;
  for (auto [stride, size] : dims) {
    if (size == 1)
      continue;
    if (stride < 1 || static_cast<uint64_t>(stride) != inside)
      return bad(str(what, " has strides that do not meet each of its elements once"));
    inside *= size; // the product of all sizes was checked
  }
  return absl::OkStatus();
}

absl::Status ActionCheck::layout(const a::Matmul &op) const {
  if (!op.batch_sizes() && !op.a_strides() && !op.b_strides() && !op.dst_strides())
    return absl::OkStatus();
  if (op.transpose_a() || op.transpose_b())
    return bad("strides and transposes are given together");
  uint64_t batch = 1;
  if (sizeOf(op.batch_sizes()) > 8)
    return bad("more than 8 batch dimensions");
  for (uint32_t i = 0; i < sizeOf(op.batch_sizes()); ++i) {
    int64_t size = op.batch_sizes()->Get(i);
    if (size < 1 || !product({batch, static_cast<uint64_t>(size)}, batch))
      return bad("the batch sizes must be at least 1 and their product must not overflow");
  }
  if (batch != op.batch())
    return bad("the batch is not the product of the batch sizes");
  DGC_RETURN_IF_ERROR(strides("a", op.a_strides(), op.batch_sizes(), op.m(), op.k()));
  DGC_RETURN_IF_ERROR(strides("b", op.b_strides(), op.batch_sizes(), op.k(), op.n()));
  DGC_RETURN_IF_ERROR(strides("dst", op.dst_strides(), op.batch_sizes(), op.m(), op.n()));
  if ((op.bias() != -1 || sizeOf(op.post_ops()) > 0) && op.n() > 1 &&
      op.dst_strides()->Get(sizeOf(op.dst_strides()) - 1) != 1)
    return bad("a bias and post-ops need n as the innermost dimension of dst");
  return absl::OkStatus();
}

absl::Status ActionCheck::gradientParts(const a::Matmul &op) const {
  const a::PostOp *last = sizeOf(op.post_ops()) ? op.post_ops()->Get(sizeOf(op.post_ops()) - 1) : nullptr;
  const a::PostOpKind kind = last ? last->kind() : a::PostOpKind::Add;
  const bool isGradient = kind == a::PostOpKind::ReluGrad || kind == a::PostOpKind::GeluTanhGrad;
  if (op.aux() == -1 && op.bias_gradient() == -1 && !isGradient)
    return absl::OkStatus();
  DGC_RETURN_IF_ERROR(hasEpilogues("what the gradient of an activation or of a bias needs"));
  if (op.batch() != 1 || op.dst_strides() || sizeOf(op.post_ops()) > 1)
    return bad("parts of gradients are for single products that are not strided, with one post-op");
  const a::DType dtype = buffer(op.dst())->dtype();
  if (dtype != a::DType::F16 && dtype != a::DType::BF16)
    return bad("parts of gradients are for products of f16 and bf16");
  if (isGradient && op.bias() != -1)
    return bad("the gradient of an activation does not go with a bias");
  const uint64_t elements = op.m() * op.n(); // checked before
  // A mask has a bit for each element; its rows are of a multiple of 128 bits.
  auto auxiliary = [&](std::string_view what, int64_t index, bool isMask) -> absl::Status {
    uint64_t bytes;
    if (!isMask)
      return operand(what, index, elements, dtype);
    if (!product({(op.n() - 1) / 128 + 1, 16, op.m()}, bytes))
      return bad("the sizes overflow");
    return operand(what, index, bytes, a::DType::U8);
  };
  std::vector<int64_t> written = {op.dst()}, read = {op.a(), op.b(), op.bias()};
  if (isGradient) {
    DGC_RETURN_IF_ERROR(auxiliary("the argument of a gradient", last->arg(), kind == a::PostOpKind::ReluGrad));
    read.push_back(last->arg());
  }
  if (op.aux() != -1) {
    if (kind != a::PostOpKind::Relu && kind != a::PostOpKind::GeluTanh)
      return bad("aux is for the post-ops Relu and GeluTanh");
    DGC_RETURN_IF_ERROR(auxiliary("aux", op.aux(), kind == a::PostOpKind::Relu));
    written.push_back(op.aux());
  }
  if (op.bias_gradient() != -1) {
    if (op.bias_gradient_of() > a::MatmulValue::MAX)
      return bad("the gradient of a bias is of an unknown matrix");
    if ((op.bias_gradient_of() == a::MatmulValue::Result) != isGradient || (last && !isGradient) || op.bias() != -1)
      return bad("the gradient of a bias is that of dst behind ReluGrad or GeluTanhGrad, or that of an operand of a "
                 "plain product");
    const uint64_t count = op.bias_gradient_of() == a::MatmulValue::A ? op.m() : op.n();
    DGC_RETURN_IF_ERROR(operand("the gradient of a bias", op.bias_gradient(), count, dtype));
    written.push_back(op.bias_gradient());
  }
  for (size_t i = 0; i < written.size(); ++i) {
    for (size_t j = 0; j < i; ++j)
      DGC_RETURN_IF_ERROR(apart("another result", written[i], written[j]));
    for (int64_t index : read)
      if (index != -1)
        DGC_RETURN_IF_ERROR(apart("what it is computed from", written[i], index));
  }
  return absl::OkStatus();
}

absl::Status ActionCheck::check(const a::Matmul &op) const {
  a::DType dtype = buffer(op.dst())->dtype();
  if (!isFloat(toDType(dtype)))
    return bad("matmul takes floating-point types only");
  uint64_t na, nb, nd;
  if (!product({op.batch(), op.m(), op.k()}, na) || !product({op.batch(), op.k(), op.n()}, nb) ||
      !product({op.batch(), op.m(), op.n()}, nd))
    return bad("the sizes overflow");
  if (op.batch() == 0 || op.m() == 0 || op.n() == 0 || op.k() == 0)
    return bad("batch, m, n and k must be at least 1");
  DGC_RETURN_IF_ERROR(operand("a", op.a(), na, dtype));
  DGC_RETURN_IF_ERROR(operand("b", op.b(), nb, dtype));
  DGC_RETURN_IF_ERROR(operand("dst", op.dst(), nd, dtype));
  DGC_RETURN_IF_ERROR(apart("a", op.dst(), op.a()));
  DGC_RETURN_IF_ERROR(apart("b", op.dst(), op.b()));
  DGC_RETURN_IF_ERROR(layout(op));
  if (op.bias() != -1) {
    DGC_RETURN_IF_ERROR(operand("bias", op.bias(), op.n(), dtype));
    DGC_RETURN_IF_ERROR(apart("bias", op.dst(), op.bias()));
  }
  DGC_RETURN_IF_ERROR(postOps(op.post_ops(), op.dst(), op.n()));
  return gradientParts(op);
}
