// Pooling: our own loops, because the gradient of a maximum must go to the
// first maximum of its window.
#include "runtime/base/Status.h"
#include "runtime/device/cpu/Ops.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/device/cpu/PoolKernels.h"

using namespace dgc;
using namespace dgc::rt;

namespace {
class PoolOp final : public PreparedOp {
public:
  PoolOp(const Scratch &scratch, PoolKernel kernel, const PoolShape &shape, const PoolArgs &args, bool split)
      : scratch(scratch), kernel(kernel), shape(shape), args(args), split(split) {}
  absl::Status run(const dgc_step &) override {
    args.positions = reinterpret_cast<int32_t *>(scratch.data());
    if (!split)
      kernel(shape, args, 0, shape.batch);
    else
      parallelFor(shape.batch, [&](int64_t begin, int64_t end) { kernel(shape, args, begin, end); });
    return absl::OkStatus();
  }

private:
  const Scratch &scratch;
  PoolKernel kernel;
  PoolShape shape;
  PoolArgs args;
  bool split;
};
} // namespace

static PoolKernels bestKernels(DType type) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return avx512::poolKernels(type);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
    return avx2::poolKernels(type);
#endif
  return baseline::poolKernels(type);
}

PreparedOrStatus dgc::rt::preparePool(const OpContext &context, const artifact::Pool &op) {
  using artifact::PoolKind;
  auto operand = [&](int32_t index) -> const Operand * {
    return index < 0 ? nullptr : &context.buffers[static_cast<size_t>(index)];
  };
  bool forward = op.kind() == PoolKind::MaxForward || op.kind() == PoolKind::AvgForward;
  const Operand &in = *operand(forward ? op.src() : op.diff_src());
  const Operand &out = *operand(forward ? op.dst() : op.diff_dst());
  PoolShape shape;
  shape.batch = in.shape.front();
  shape.channels = in.shape.back();
  shape.countPad = op.count_include_pad();
  shape.tiles = true;
  size_t spatial = in.shape.size() - 2;
  for (size_t d = 0; d < spatial; ++d) {
    size_t to = 3 - spatial + d;
    uint32_t from = static_cast<uint32_t>(d);
    shape.in[to] = in.shape[d + 1];
    shape.out[to] = out.shape[d + 1];
    shape.window[to] = op.window()->Get(from);
    shape.stride[to] = op.strides()->Get(from);
    shape.low[to] = op.pad_low()->Get(from);
    shape.tiles &=
        shape.low[to] == 0 && shape.window[to] == shape.stride[to] && shape.in[to] == shape.out[to] * shape.stride[to];
  }
  PoolArgs args;
  args.src = op.src() < 0 ? nullptr : operand(op.src())->data;
  args.dst = op.dst() < 0 ? nullptr : operand(op.dst())->data;
  args.diffDst = op.diff_dst() < 0 ? nullptr : operand(op.diff_dst())->data;
  args.diffSrc = op.diff_src() < 0 ? nullptr : operand(op.diff_src())->data;
  if (const Operand *indices = operand(op.indices())) {
    args.indices = indices->data;
    args.indexBytes = indices->dtype == DType::U8 ? 1 : 4;
  }
  PoolKernels kernels = bestKernels(in.dtype);
  PoolKernel kernel = op.kind() == PoolKind::MaxForward    ? kernels.maxForward
                      : op.kind() == PoolKind::MaxBackward ? kernels.maxBackward
                      : op.kind() == PoolKind::AvgForward  ? kernels.avgForward
                                                           : kernels.avgBackward;
  if (!kernel)
    return absl::UnimplementedError(str("pooling of ", nameOf(in.dtype), " on CPUs"));
  // About a nanosecond for four elements; below 10 us threads do not help.
  bool split = threads() > 1 && shape.batch > 1 && in.numElements() > 40000;
  if (op.kind() == PoolKind::MaxBackward && !shape.tiles)
    context.scratch.reserve(static_cast<size_t>(out.numElements()) * sizeof(int32_t));
  return std::make_unique<PoolOp>(context.scratch, kernel, shape, args, split);
}
