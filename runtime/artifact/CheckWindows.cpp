// Convolutions and pools.
#include "runtime/artifact/ActionCheck.h"

using namespace dgc::rt;
namespace a = dgc::artifact;

/// The windows of one spatial dimension: out = (in + pads - reach) / stride
/// + 1.
static absl::Status checkWindow(int64_t in, int64_t out, int64_t window, int64_t stride, int64_t low, int64_t high,
                                int64_t dilation) {
  constexpr int64_t most = int64_t{1} << 31;
  if (in < 1 || in >= most || window < 1 || window >= most || stride < 1 || stride >= most || dilation < 1 ||
      dilation >= most)
    return bad("extents, windows, strides and dilations must be at least 1 "
               "and below 2^31");
  if (low < 0 || low >= most || high < 0 || high >= most)
    return bad("paddings must be at least 0 and below 2^31");
  int64_t reach = (window - 1) * dilation + 1; // below 2^62
  int64_t room = in + low + high - reach;
  int64_t expected = room < 0 ? 0 : room / stride + 1;
  if (expected < 1 || out != expected)
    return bad(str("an output extent is ", out, " where the window gives ", expected));
  return absl::OkStatus();
}

absl::Status ActionCheck::check(const a::Convolution &op) const {
  if (op.kind() < a::ConvKind::MIN || op.kind() > a::ConvKind::MAX)
    return bad("unknown kind of convolution");
  const auto *src = buffer(op.src())->shape();
  const auto *weights = buffer(op.weights())->shape();
  const auto *dst = buffer(op.dst())->shape();
  uint32_t rank = sizeOf(src);
  if (rank < 3 || rank > 5 || sizeOf(weights) != rank || sizeOf(dst) != rank)
    return bad("src, weights and dst must all have rank 3, 4 or 5");
  uint32_t spatial = rank - 2;
  for (const auto *v : {op.strides(), op.pad_low(), op.pad_high(), op.dilation()})
    if (sizeOf(v) != spatial)
      return bad(str("strides, paddings and dilation must have ", spatial, " entries"));
  a::DType dtype = buffer(op.src())->dtype();
  if (!isFloat(toDType(dtype)) || buffer(op.weights())->dtype() != dtype || buffer(op.dst())->dtype() != dtype)
    return bad("src, weights and dst must have one floating-point type");
  int64_t in = src->Get(rank - 1), out = dst->Get(rank - 1);
  int64_t groups = op.groups();
  // Where the weights have their outputs, their inputs and their windows.
  const bool outFirst = op.weights_out_first();
  const uint32_t outAt = outFirst ? 0 : rank - 1, inAt = outFirst ? rank - 1 : rank - 2, windowAt = outFirst ? 1 : 0;
  if (src->Get(0) < 1 || src->Get(0) != dst->Get(0))
    return bad("src and dst must have the same number of examples, at least 1");
  if (groups < 1 || in < 1 || out < 1 || in % groups || out % groups || weights->Get(inAt) != in / groups ||
      weights->Get(outAt) != out)
    return bad("the channels of src, weights and dst do not fit together");
  for (uint32_t i = 0; i < spatial; ++i)
    if (absl::Status s = checkWindow(src->Get(i + 1), dst->Get(i + 1), weights->Get(windowAt + i), op.strides()->Get(i),
                                     op.pad_low()->Get(i), op.pad_high()->Get(i), op.dilation()->Get(i));
        !s.ok())
      return annotate(s, str("spatial dimension ", i));
  bool forward = op.kind() == a::ConvKind::Forward;
  bool data = op.kind() == a::ConvKind::BackwardData;
  int64_t written = forward ? op.dst() : data ? op.src() : op.weights();
  for (int64_t operand : {int64_t{op.src()}, int64_t{op.weights()}, int64_t{op.dst()}})
    if (operand != written)
      DGC_RETURN_IF_ERROR(apart("an operand", written, operand));
  if (op.bias() != -1) {
    if (!forward)
      return bad("only Forward takes a bias");
    DGC_RETURN_IF_ERROR(operand("bias", op.bias(), static_cast<uint64_t>(out), dtype));
    DGC_RETURN_IF_ERROR(apart("bias", written, op.bias()));
  }
  if (!forward && sizeOf(op.post_ops()))
    return bad("only Forward takes post-ops");
  return postOps(op.post_ops(), op.dst(), static_cast<uint64_t>(out));
}

absl::Status ActionCheck::check(const a::Pool &op) const {
  if (op.kind() < a::PoolKind::MIN || op.kind() > a::PoolKind::MAX)
    return bad("unknown kind of pooling");
  bool forward = op.kind() == a::PoolKind::MaxForward || op.kind() == a::PoolKind::AvgForward;
  bool max = op.kind() == a::PoolKind::MaxForward || op.kind() == a::PoolKind::MaxBackward;
  int64_t in = forward ? op.src() : op.diff_src();
  int64_t out = forward ? op.dst() : op.diff_dst();
  DGC_RETURN_IF_ERROR(operand(forward ? "src" : "diff_src", in));
  DGC_RETURN_IF_ERROR(operand(forward ? "dst" : "diff_dst", out));
  int64_t written = forward ? out : in;
  DGC_RETURN_IF_ERROR(apart("an operand", written, forward ? in : out));
  const a::Buffer &i = *buffer(in), &o = *buffer(out);
  if (i.dtype() != o.dtype() || !isFloat(toDType(i.dtype())))
    return bad("the operands must have one floating-point type");
  uint32_t rank = sizeOf(i.shape());
  if (rank < 3 || rank > 5 || sizeOf(o.shape()) != rank)
    return bad("the operands must have rank 3, 4 or 5");
  uint32_t spatial = rank - 2;
  for (const auto *v : {op.window(), op.strides(), op.pad_low(), op.pad_high()})
    if (sizeOf(v) != spatial)
      return bad(str("window, strides and paddings must have ", spatial, " entries"));
  if (i.shape()->Get(0) < 1 || i.shape()->Get(0) != o.shape()->Get(0) || i.shape()->Get(rank - 1) < 1 ||
      i.shape()->Get(rank - 1) != o.shape()->Get(rank - 1))
    return bad("batch and channels of the operands differ, or are 0");
  uint64_t window = 1;
  for (uint32_t d = 0; d < spatial; ++d) {
    int64_t low = op.pad_low()->Get(d), high = op.pad_high()->Get(d);
    int64_t extent = op.window()->Get(d);
    if (absl::Status s =
            checkWindow(i.shape()->Get(d + 1), o.shape()->Get(d + 1), extent, op.strides()->Get(d), low, high, 1);
        !s.ok())
      return annotate(s, str("spatial dimension ", d));
    if (low >= extent || high >= extent)
      return bad("a padding is not smaller than its window");
    if (__builtin_mul_overflow(window, static_cast<uint64_t>(extent), &window))
      return bad("the window overflows");
  }
  if (op.indices() != -1) {
    const a::Buffer &indices = *buffer(op.indices());
    if (!max || count(indices) != count(o) || (indices.dtype() != a::DType::I32 && indices.dtype() != a::DType::U8) ||
        (indices.dtype() == a::DType::U8 && window > 256))
      return bad("indices belong to a maximum pool, one i32 (or u8 for windows "
                 "of up to 256) for each output");
    DGC_RETURN_IF_ERROR(apart("indices", written, op.indices()));
  } else if (op.kind() == a::PoolKind::MaxBackward) {
    DGC_RETURN_IF_ERROR(operand("src", op.src(), count(i), i.dtype()));
    DGC_RETURN_IF_ERROR(apart("src", written, op.src()));
  }
  return absl::OkStatus();
}
