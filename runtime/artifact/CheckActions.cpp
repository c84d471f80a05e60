// Semantic checks of the actions of a program: that the buffers of each have
// the sizes and types that the device code relies on.
#include "runtime/artifact/Check.h"
#include "runtime/artifact/Groups.h"

#include "runtime/base/Status.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

using namespace dgc::rt;
namespace a = dgc::artifact;

namespace {
absl::Status bad(std::string message) {
  return absl::InvalidArgumentError(message);
}

template <typename T> uint32_t sizeOf(const flatbuffers::Vector<T> *v) {
  return v ? v->size() : 0;
}

/// Multiplies counts of a description; false on overflow.
bool product(std::initializer_list<uint64_t> factors, uint64_t &result) {
  result = 1;
  for (uint64_t factor : factors)
    if (__builtin_mul_overflow(result, factor, &result))
      return false;
  return true;
}

class ActionCheck {
public:
  explicit ActionCheck(const ProgramContext &context) : context(context) {}

  absl::Status check(const a::KernelCall &call) const;
  absl::Status check(const a::Matmul &op) const;
  absl::Status check(const a::Convolution &op) const;
  absl::Status check(const a::Pool &op) const;
  absl::Status check(const a::Send &op) const;
  absl::Status check(const a::Receive &op) const;
  absl::Status check(const a::Copy &op) const;
  absl::Status check(const a::Fill &op) const;
  absl::Status check(const a::ScatterAdd &op) const;

private:
  /// A buffer that a step names; null when the index is out of range.
  const a::Buffer *buffer(int64_t index) const {
    const auto &buffers = *context.program.buffers();
    return index >= 0 && index < buffers.size()
               ? buffers.Get(static_cast<uint32_t>(index))
               : nullptr;
  }
  static uint64_t bytes(const a::Buffer &b) {
    return *checkedBytes(b.shape(), b.dtype());
  }
  static uint64_t count(const a::Buffer &b) {
    return *checkedBytes(b.shape(), a::DType::I8);
  }
  static bool overlap(const a::Buffer &x, const a::Buffer &y) {
    return x.space() == y.space() && x.offset() < y.offset() + bytes(y) &&
           y.offset() < x.offset() + bytes(x);
  }

  /// `index` names an existing buffer (of `elements` elements of `dtype`).
  absl::Status operand(std::string_view what, int64_t index) const;
  absl::Status operand(std::string_view what, int64_t index, uint64_t elements,
                       a::DType dtype) const;
  /// The same for a buffer that the step writes.
  absl::Status result(std::string_view what, int64_t index) const;
  /// `written` shares no byte with the buffer `read`.
  absl::Status apart(std::string_view what, int64_t written,
                     int64_t read) const;
  /// The elements of a strided operand are inside of it, each once.
  absl::Status strides(std::string_view what, const flatbuffers::Vector<int64_t> *strides,
                       const flatbuffers::Vector<int64_t> *batch, uint64_t rows, uint64_t columns) const;
  absl::Status layout(const a::Matmul &op) const;
  absl::Status
  postOps(const flatbuffers::Vector<flatbuffers::Offset<a::PostOp>> *ops,
          int64_t dst, uint64_t channels) const;

  const ProgramContext &context;
};
} // namespace

absl::Status ActionCheck::operand(std::string_view what, int64_t index) const {
  if (!buffer(index))
    return bad(str(what, " is buffer ", index, ", which does not exist"));
  return absl::OkStatus();
}

absl::Status ActionCheck::operand(std::string_view what, int64_t index,
                                  uint64_t elements, a::DType dtype) const {
  DGC_RETURN_IF_ERROR(operand(what, index));
  const a::Buffer &b = *buffer(index);
  if (b.dtype() != dtype || count(b) != elements)
    return bad(str(what, " must have ", elements, " elements of ",
                   a::EnumNameDType(dtype), ", buffer ", index, " has ",
                   count(b), " of ", a::EnumNameDType(b.dtype())));
  return absl::OkStatus();
}

absl::Status ActionCheck::result(std::string_view what, int64_t index) const {
  DGC_RETURN_IF_ERROR(operand(what, index));
  if (buffer(index)->space() == a::Space::Constant)
    return bad(str(what, " is in constant memory but is written"));
  return absl::OkStatus();
}

absl::Status ActionCheck::apart(std::string_view what, int64_t written,
                                int64_t read) const {
  if (overlap(*buffer(written), *buffer(read)))
    return bad(str("the result overlaps ", what, " in memory"));
  return absl::OkStatus();
}

absl::Status ActionCheck::postOps(
    const flatbuffers::Vector<flatbuffers::Offset<a::PostOp>> *ops, int64_t dst,
    uint64_t channels) const {
  const a::Buffer &out = *buffer(dst);
  for (uint32_t i = 0; i < sizeOf(ops); ++i) {
    const a::PostOp &op = *ops->Get(i);
    if (op.kind() < a::PostOpKind::MIN || op.kind() > a::PostOpKind::MAX)
      return bad(str("post-op ", i, " is of an unknown kind"));
    if (op.kind() != a::PostOpKind::Add && op.kind() != a::PostOpKind::Multiply)
      continue;
    DGC_RETURN_IF_ERROR(operand("the argument of a post-op", op.arg()));
    const a::Buffer &arg = *buffer(op.arg());
    if (arg.dtype() != out.dtype() ||
        (count(arg) != count(out) && count(arg) != channels))
      return bad(str("the argument of post-op ", i,
                     " must be of the type of "
                     "the result and have ",
                     count(out), " or ", channels, " elements"));
    if (overlap(arg, out))
      return bad(str("the argument of post-op ", i,
                     " overlaps the result; that is what Accumulate is for"));
  }
  return absl::OkStatus();
}

absl::Status ActionCheck::check(const a::KernelCall &call) const {
  if (call.kernel() >= sizeOf(context.plan.kernels()))
    return bad(str("kernel ", call.kernel(), " does not exist"));
  const a::Kernel &kernel = *context.plan.kernels()->Get(call.kernel());
  bool onHost = isOnGpu(context.plan, -1) && !isOnGpu(context.plan, context.program.group());
  if (kernel.on_host() != onHost)
    return bad(str("kernel '", kernel.symbol()->c_str(), "' is for workers ", onHost ? "with GPUs" : "on the host",
                   ", and these are not"));
  if (sizeOf(call.args()) != kernel.arg_count())
    return bad(str("kernel '", kernel.symbol()->c_str(), "' takes ",
                   kernel.arg_count(), " arguments, ", sizeOf(call.args()),
                   " given"));
  for (uint32_t i = 0; i < sizeOf(call.args()); ++i)
    DGC_RETURN_IF_ERROR(operand("an argument", call.args()->Get(i)));
  return absl::OkStatus();
}

absl::Status ActionCheck::strides(std::string_view what, const flatbuffers::Vector<int64_t> *strides,
                                  const flatbuffers::Vector<int64_t> *batch, uint64_t rows, uint64_t columns) const {
  if (sizeOf(strides) != sizeOf(batch) + 2)
    return bad(str(what, " has ", sizeOf(strides), " strides for ", sizeOf(batch), " batch dimensions, rows and columns"));
  std::vector<std::pair<int64_t, uint64_t>> dims; // stride, size
  for (uint32_t i = 0; i < sizeOf(strides); ++i) {
    uint64_t size = i < sizeOf(batch) ? static_cast<uint64_t>(batch->Get(i)) : i == sizeOf(batch) ? rows : columns;
    dims.push_back({strides->Get(i), size});
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

absl::Status ActionCheck::check(const a::Matmul &op) const {
  DGC_RETURN_IF_ERROR(result("dst", op.dst()));
  a::DType dtype = buffer(op.dst())->dtype();
  if (dtype < a::DType::F16)
    return bad("matmul takes floating-point types only");
  uint64_t na, nb, nd;
  if (!product({op.batch(), op.m(), op.k()}, na) ||
      !product({op.batch(), op.k(), op.n()}, nb) ||
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
  return postOps(op.post_ops(), op.dst(), op.n());
}

/// The windows of one spatial dimension: out = (in + pads - reach) / stride
/// + 1.
static absl::Status checkWindow(int64_t in, int64_t out, int64_t window,
                                int64_t stride, int64_t low, int64_t high,
                                int64_t dilation) {
  constexpr int64_t most = int64_t{1} << 31;
  if (in < 1 || in >= most || window < 1 || window >= most || stride < 1 ||
      stride >= most || dilation < 1 || dilation >= most)
    return bad("extents, windows, strides and dilations must be at least 1 "
               "and below 2^31");
  if (low < 0 || low >= most || high < 0 || high >= most)
    return bad("paddings must be at least 0 and below 2^31");
  int64_t reach = (window - 1) * dilation + 1; // below 2^62
  int64_t room = in + low + high - reach;
  int64_t expected = room < 0 ? 0 : room / stride + 1;
  if (expected < 1 || out != expected)
    return bad(
        str("an output extent is ", out, " where the window gives ", expected));
  return absl::OkStatus();
}

absl::Status ActionCheck::check(const a::Convolution &op) const {
  if (op.kind() < a::ConvKind::MIN || op.kind() > a::ConvKind::MAX)
    return bad("unknown kind of convolution");
  DGC_RETURN_IF_ERROR(operand("src", op.src()));
  DGC_RETURN_IF_ERROR(operand("weights", op.weights()));
  DGC_RETURN_IF_ERROR(operand("dst", op.dst()));
  const auto *src = buffer(op.src())->shape();
  const auto *weights = buffer(op.weights())->shape();
  const auto *dst = buffer(op.dst())->shape();
  uint32_t rank = sizeOf(src);
  if (rank < 3 || rank > 5 || sizeOf(weights) != rank || sizeOf(dst) != rank)
    return bad("src, weights and dst must all have rank 3, 4 or 5");
  uint32_t spatial = rank - 2;
  for (const auto *v :
       {op.strides(), op.pad_low(), op.pad_high(), op.dilation()})
    if (sizeOf(v) != spatial)
      return bad(str("strides, paddings and dilation must have ", spatial,
                     " entries"));
  a::DType dtype = buffer(op.src())->dtype();
  if (dtype < a::DType::F16 || buffer(op.weights())->dtype() != dtype ||
      buffer(op.dst())->dtype() != dtype)
    return bad("src, weights and dst must have one floating-point type");
  int64_t in = src->Get(rank - 1), out = dst->Get(rank - 1);
  int64_t groups = op.groups();
  // Where the weights have their outputs, their inputs and their windows.
  const bool outFirst = op.weights_out_first();
  const uint32_t outAt = outFirst ? 0 : rank - 1, inAt = outFirst ? rank - 1 : rank - 2, windowAt = outFirst ? 1 : 0;
  if (src->Get(0) < 1 || src->Get(0) != dst->Get(0))
    return bad("src and dst must have the same number of examples, at least 1");
  if (groups < 1 || in < 1 || out < 1 || in % groups || out % groups ||
      weights->Get(inAt) != in / groups || weights->Get(outAt) != out)
    return bad("the channels of src, weights and dst do not fit together");
  for (uint32_t i = 0; i < spatial; ++i)
    if (absl::Status s =
            checkWindow(src->Get(i + 1), dst->Get(i + 1), weights->Get(windowAt + i),
                        op.strides()->Get(i), op.pad_low()->Get(i),
                        op.pad_high()->Get(i), op.dilation()->Get(i));
        !s.ok())
      return annotate(s, str("spatial dimension ", i));
  bool forward = op.kind() == a::ConvKind::Forward;
  bool data = op.kind() == a::ConvKind::BackwardData;
  int64_t written = forward ? op.dst() : data ? op.src() : op.weights();
  DGC_RETURN_IF_ERROR(result("the result", written));
  for (int64_t operand :
       {int64_t{op.src()}, int64_t{op.weights()}, int64_t{op.dst()}})
    if (operand != written)
      DGC_RETURN_IF_ERROR(apart("an operand", written, operand));
  if (op.bias() != -1) {
    if (data)
      return bad("BackwardData takes no bias");
    DGC_RETURN_IF_ERROR(
        operand("bias", op.bias(), static_cast<uint64_t>(out), dtype));
    if (!forward)
      DGC_RETURN_IF_ERROR(result("bias", op.bias()));
    DGC_RETURN_IF_ERROR(apart("bias", written, op.bias()));
  }
  if (!forward && sizeOf(op.post_ops()))
    return bad("only Forward takes post-ops");
  return postOps(op.post_ops(), op.dst(), static_cast<uint64_t>(out));
}

absl::Status ActionCheck::check(const a::Pool &op) const {
  if (op.kind() < a::PoolKind::MIN || op.kind() > a::PoolKind::MAX)
    return bad("unknown kind of pooling");
  bool forward = op.kind() == a::PoolKind::MaxForward ||
                 op.kind() == a::PoolKind::AvgForward;
  bool max = op.kind() == a::PoolKind::MaxForward ||
             op.kind() == a::PoolKind::MaxBackward;
  int64_t in = forward ? op.src() : op.diff_src();
  int64_t out = forward ? op.dst() : op.diff_dst();
  DGC_RETURN_IF_ERROR(operand(forward ? "src" : "diff_src", in));
  DGC_RETURN_IF_ERROR(operand(forward ? "dst" : "diff_dst", out));
  int64_t written = forward ? out : in;
  DGC_RETURN_IF_ERROR(result("the result", written));
  DGC_RETURN_IF_ERROR(apart("an operand", written, forward ? in : out));
  const a::Buffer &i = *buffer(in), &o = *buffer(out);
  if (i.dtype() != o.dtype() || i.dtype() < a::DType::F16)
    return bad("the operands must have one floating-point type");
  uint32_t rank = sizeOf(i.shape());
  if (rank < 3 || rank > 5 || sizeOf(o.shape()) != rank)
    return bad("the operands must have rank 3, 4 or 5");
  uint32_t spatial = rank - 2;
  for (const auto *v : {op.window(), op.strides(), op.pad_low(), op.pad_high()})
    if (sizeOf(v) != spatial)
      return bad(
          str("window, strides and paddings must have ", spatial, " entries"));
  if (i.shape()->Get(0) < 1 || i.shape()->Get(0) != o.shape()->Get(0) ||
      i.shape()->Get(rank - 1) < 1 ||
      i.shape()->Get(rank - 1) != o.shape()->Get(rank - 1))
    return bad("batch and channels of the operands differ, or are 0");
  uint64_t window = 1;
  for (uint32_t d = 0; d < spatial; ++d) {
    int64_t low = op.pad_low()->Get(d), high = op.pad_high()->Get(d);
    int64_t extent = op.window()->Get(d);
    if (absl::Status s =
            checkWindow(i.shape()->Get(d + 1), o.shape()->Get(d + 1), extent,
                        op.strides()->Get(d), low, high, 1);
        !s.ok())
      return annotate(s, str("spatial dimension ", d));
    if (low >= extent || high >= extent)
      return bad("a padding is not smaller than its window");
    if (__builtin_mul_overflow(window, static_cast<uint64_t>(extent), &window))
      return bad("the window overflows");
  }
  if (op.indices() != -1) {
    DGC_RETURN_IF_ERROR(operand("indices", op.indices()));
    const a::Buffer &indices = *buffer(op.indices());
    if (!max || count(indices) != count(o) ||
        (indices.dtype() != a::DType::I32 && indices.dtype() != a::DType::U8) ||
        (indices.dtype() == a::DType::U8 && window > 256))
      return bad("indices belong to a maximum pool, one i32 (or u8 for windows "
                 "of up to 256) for each output");
    if (forward)
      DGC_RETURN_IF_ERROR(result("indices", op.indices()));
    DGC_RETURN_IF_ERROR(apart("indices", written, op.indices()));
  } else if (op.kind() == a::PoolKind::MaxBackward) {
    DGC_RETURN_IF_ERROR(operand("src", op.src(), count(i), i.dtype()));
    DGC_RETURN_IF_ERROR(apart("src", written, op.src()));
  }
  return absl::OkStatus();
}

static absl::Status checkPeer(const ProgramContext &context, int32_t group, uint32_t peer, uint32_t channel) {
  const a::Plan &plan = context.plan;
  if (group < -1 || group >= static_cast<int64_t>(sizeOf(plan.groups())))
    return bad(str("there is no group ", group));
  if (group >= 0 && group == context.program.group())
    return bad(str("group ", group, " is not another one"));
  if (group < 0 && peer >= plan.world_size())
    return bad(str("peer ", peer, " is not below the world size ", plan.world_size()));
  if (channel >= 256)
    return bad(str("channel ", channel, " is not below 256"));
  return absl::OkStatus();
}

absl::Status ActionCheck::check(const a::Send &op) const {
  DGC_RETURN_IF_ERROR(operand("the buffer", op.buffer()));
  if (buffer(op.buffer())->space() != a::Space::Shared)
    return bad("a buffer that is sent must be in shared memory");
  return checkPeer(context, op.group(), op.peer(), op.channel());
}

absl::Status ActionCheck::check(const a::Receive &op) const {
  DGC_RETURN_IF_ERROR(result("the buffer", op.buffer()));
  return checkPeer(context, op.group(), op.peer(), op.channel());
}

absl::Status ActionCheck::check(const a::Copy &op) const {
  DGC_RETURN_IF_ERROR(operand("src", op.src()));
  DGC_RETURN_IF_ERROR(result("dst", op.dst()));
  const a::Buffer &src = *buffer(op.src()), &dst = *buffer(op.dst());
  if (bytes(src) != bytes(dst))
    return bad(str("src has ", bytes(src), " bytes, dst ", bytes(dst)));
  if (src.space() == dst.space() && src.offset() == dst.offset())
    return absl::OkStatus();
  return apart("src", op.dst(), op.src());
}

absl::Status ActionCheck::check(const a::Fill &op) const {
  return result("dst", op.dst());
}

absl::Status ActionCheck::check(const a::ScatterAdd &op) const {
  DGC_RETURN_IF_ERROR(result("dst", op.dst()));
  a::DType dtype = buffer(op.dst())->dtype();
  if (dtype != a::DType::F32 && dtype != a::DType::F64)
    return bad("slices of f32 or f64 are added only");
  uint64_t whole, all;
  if (!product({op.outer(), op.size(), op.inner()}, whole) || !product({op.outer(), op.count(), op.inner()}, all))
    return bad("the sizes overflow");
  if (whole == 0 || all == 0)
    return bad("all sizes must be at least 1");
  DGC_RETURN_IF_ERROR(operand("dst", op.dst(), whole, dtype));
  DGC_RETURN_IF_ERROR(operand("updates", op.updates(), all, dtype));
  DGC_RETURN_IF_ERROR(operand("indices", op.indices()));
  a::DType index = buffer(op.indices())->dtype();
  if (index < a::DType::I8 || index > a::DType::U64)
    return bad("indices must be integers");
  DGC_RETURN_IF_ERROR(operand("indices", op.indices(), op.count(), index));
  DGC_RETURN_IF_ERROR(apart("updates", op.dst(), op.updates()));
  DGC_RETURN_IF_ERROR(apart("indices", op.dst(), op.indices()));
  if (op.offset() == -1)
    return absl::OkStatus();
  DGC_RETURN_IF_ERROR(operand("offset", op.offset(), 1, a::DType::I64));
  return apart("offset", op.dst(), op.offset());
}

absl::Status dgc::rt::checkAction(const ProgramContext &context,
                                  const a::Step &step) {
  ActionCheck check(context);
  switch (step.action_type()) {
  case a::Action::KernelCall:
    return annotate(check.check(*step.action_as_KernelCall()), "kernel call");
  case a::Action::Matmul:
    return annotate(check.check(*step.action_as_Matmul()), "matmul");
  case a::Action::Convolution:
    return annotate(check.check(*step.action_as_Convolution()), "convolution");
  case a::Action::Pool:
    return annotate(check.check(*step.action_as_Pool()), "pool");
  case a::Action::Send:
    return annotate(check.check(*step.action_as_Send()), "send");
  case a::Action::Receive:
    return annotate(check.check(*step.action_as_Receive()), "receive");
  case a::Action::Copy:
    return annotate(check.check(*step.action_as_Copy()), "copy");
  case a::Action::Fill:
    return annotate(check.check(*step.action_as_Fill()), "fill");
  case a::Action::ScatterAdd:
    return annotate(check.check(*step.action_as_ScatterAdd()), "scatter_add");
  case a::Action::Attention:
    return annotate(checkAttention(context, *step.action_as_Attention()), "attention");
  case a::Action::Collective:
    return absl::OkStatus(); // checkCommunication
  case a::Action::NONE:
    break;
  }
  return bad("unknown kind of action");
}
