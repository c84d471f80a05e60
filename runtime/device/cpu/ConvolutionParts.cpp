// Convolutions in parts: sums that are too long for one call of oneDNN, and calls that may have one thread only.
#include "runtime/base/Status.h"
#include "runtime/device/cpu/Convolution.h"
#include "runtime/device/cpu/PairwiseSum.h"
#include "runtime/device/cpu/Parallel.h"

#include <algorithm>
#include <atomic>

using namespace dgc;
using namespace dgc::rt;

/// `desc` with another extent of one dimension, at the same strides.
static dnnl::memory::desc withExtent(const dnnl::memory::desc &desc, size_t dim, int64_t extent) {
  dnnl::memory::dims dims = desc.dims();
  const auto &strides = desc.data.format_desc.blocking.strides;
  dims[dim] = extent;
  return {dims, desc.data_type(), dnnl::memory::dims(strides, strides + dims.size())};
}

static int64_t strideOf(const dnnl::memory::desc &desc, size_t dim) {
  return desc.data.format_desc.blocking.strides[dim];
}

namespace {
/// Terms that one call adds up: oneDNN adds up blocks of some hundred to some thousand in order, and their sums in
/// order. For random terms of one sign the error of these is below 2 units of the last place times the logarithm of
/// their number. Two parts cost about 3 % of the time of a call with twice as many terms, but more of that of a shorter
/// one.
constexpr int64_t termsOfPart = 8192;

class LongConvolution final : public PreparedOp {
public:
  LongConvolution(const OpContext &context, const artifact::Convolution &op, dnnl::memory::data_type type)
      : scratch(context.scratch), whole(wholeConvolution(context, op, type)), kind(op.kind()),
        isForward(kind == artifact::ConvKind::Forward) {
    const auto &window = whole.shape.weights.dims();
    for (size_t d = 2; d < window.size(); ++d)
      positions *= window[d];
    channels = (isForward ? whole.shape.src : whole.shape.dst).dims()[1];
  }

  bool isLong() const {
    return whole.shape.type == dnnl::memory::data_type::f32 && whole.shape.groups == 1 &&
           channels * positions > 2 * termsOfPart && channels > 1;
  }

  absl::Status prepare(const OpContext &context) {
    const dnnl::memory::desc &result = isForward ? whole.shape.dst : whole.shape.src;
    elements = static_cast<int64_t>(result.get_size() / sizeof(float));
    // What is behind the sums needs them as they are.
    isDirect = !whole.bias && (!whole.postOps || whole.postOps->size() == 0);
    const int64_t channelsOfPart = std::max<int64_t>(1, termsOfPart / positions / 16 * 16);
    const int64_t count = (channels + channelsOfPart - 1) / channelsOfPart;
    whole.scratchBegin = static_cast<size_t>(PairwiseSlots::slots(count)) * slotBytes();
    context.scratch.reserve(whole.scratchBegin);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t first = i * channelsOfPart;
      auto part = prepareCall(context, partOf(first, std::min(channelsOfPart, channels - first), i), kind);
      if (!part.ok())
        return part.status();
      parts.push_back(std::move(part->op));
    }
    return isDirect ? absl::OkStatus() : guarded("convolution", [&] { prepareEnd(context); });
  }

  absl::Status run(const dgc_step &step) override {
    const auto count = static_cast<int64_t>(parts.size());
    for (int64_t i = 0; i < count; ++i) {
      DGC_RETURN_IF_ERROR(parts[static_cast<size_t>(i)]->run(step));
      PairwiseSlots::merge(i, count, [&](int to, int from) {
        parallelFor(elements,
                    [&](int64_t begin, int64_t end) { addTo(slot(to) + begin, slot(from) + begin, end - begin); });
      });
    }
    return isDirect ? absl::OkStatus() : end.run();
  }

private:
  size_t slotBytes() const { return (static_cast<size_t>(elements) * sizeof(float) + 4095) & ~size_t{4095}; }
  float *slot(int index) const {
    if (isDirect && index == 0)
      return reinterpret_cast<float *>(isForward ? whole.dst : whole.src);
    return reinterpret_cast<float *>(scratch.data() + static_cast<size_t>(index) * slotBytes());
  }

  /// The call for some of the channels that are added up, into its slot.
  ConvolutionCall partOf(int64_t first, int64_t count, int64_t index) const {
    ConvolutionCall part = whole;
    const size_t channelOfWeights = isForward ? 1 : 0;
    const int64_t weight = first * strideOf(whole.shape.weights, channelOfWeights);
    part.shape.weights = withExtent(whole.shape.weights, channelOfWeights, count);
    part.weights += static_cast<size_t>(weight) * sizeof(float);
    part.shape.bias = dnnl::memory::desc();
    part.bias = nullptr;
    part.postOps = nullptr;
    dnnl::memory::desc &read = isForward ? part.shape.src : part.shape.dst;
    read = withExtent(read, 1, count);
    (isForward ? part.src : part.dst) += static_cast<size_t>(first) * sizeof(float);
    const int to = PairwiseSlots::slot(index);
    part.resultOffset = static_cast<size_t>(to) * slotBytes();
    if (to > 0 || !isDirect)
      (isForward ? part.dst : part.src) = nullptr;
    return part;
  }

  /// The sum in slot 0 plus the bias, with the post-ops.
  void prepareEnd(const OpContext &context) {
    const dnnl::memory::desc &dst = whole.shape.dst;
    const int64_t outputs = dst.dims()[1];
    dnnl::memory::dims dims(dst.dims().size(), 1), strides(dims.size(), outputs);
    dims[1] = outputs;
    strides[1] = 1;
    const dnnl::memory::desc bias(dims, whole.shape.type, strides);
    if (!whole.bias)
      zeros.resize(static_cast<size_t>(outputs));
    PostOps postOps = makePostOps(context, whole.postOps, dst, 1, outputs);
    dnnl::primitive_attr attr;
    attr.set_post_ops(postOps.ops);
    dnnl::binary::primitive_desc pd(dnnl::binary::desc(dnnl::algorithm::binary_add, dst, bias, dst), attr,
                                    context.library.engine);
    end = BoundPrimitive(context, dnnl::binary(pd), dnnl::memory::desc());
    end.bindScratch(DNNL_ARG_SRC_0, dst, 0);
    end.bind(DNNL_ARG_SRC_1, bias, whole.bias ? static_cast<void *>(whole.bias) : zeros.data());
    end.bind(DNNL_ARG_DST, dst, whole.dst);
    bindPostOps(end, postOps);
  }

  const Scratch &scratch;
  ConvolutionCall whole;
  artifact::ConvKind kind;
  bool isForward, isDirect = false; ///< direct: slot 0 is the result
  int64_t positions = 1, channels = 0, elements = 0;
  std::vector<std::unique_ptr<PreparedOp>> parts;
  std::vector<float> zeros;
  BoundPrimitive end;
};

/// Parts of the images, at most, that threads work on independently of each other.
constexpr int64_t mostImageParts = 16;

class ImageParts final : public PreparedOp {
public:
  absl::Status prepare(const OpContext &context, const artifact::Convolution &op, dnnl::memory::data_type type) {
    const OneThread each;
    const ConvolutionCall whole = wholeConvolution(context, op, type);
    const int64_t images = whole.shape.src.dims()[0],
                  mostParts = op.kind() == artifact::ConvKind::BackwardWeights ? 1 : mostImageParts;
    const int64_t step = (images + mostParts - 1) / mostParts;
    const size_t bytes = dnnl::memory::data_type_size(type);
    size_t scratchBegin = 0;
    for (int64_t image = 0; image < images; image += step) {
      ConvolutionCall call = whole;
      const int64_t count = std::min(step, images - image);
      call.shape.src = withExtent(whole.shape.src, 0, count);
      call.shape.dst = withExtent(whole.shape.dst, 0, count);
      call.src += static_cast<size_t>(image * strideOf(whole.shape.src, 0)) * bytes;
      call.part.element = image * strideOf(whole.shape.dst, 0);
      call.dst += static_cast<size_t>(call.part.element) * bytes;
      call.scratchBegin = scratchBegin;
      call.isOnOneThread = true;
      auto part = prepareCall(context, call, op.kind());
      if (!part.ok())
        return part.status();
      scratchBegin = part->scratchEnd;
      parts.push_back(std::move(part->op));
    }
    return absl::OkStatus();
  }

  absl::Status run(const dgc_step &step) override {
    std::atomic<bool> failed = false;
    parallelFor(static_cast<int64_t>(parts.size()), [&](int64_t begin, int64_t end) {
      const OneThread each;
      for (int64_t i = begin; i < end; ++i)
        if (!parts[static_cast<size_t>(i)]->run(step).ok())
          failed = true;
    });
    return failed ? absl::InternalError("oneDNN failed in a part of a convolution") : absl::OkStatus();
  }

private:
  std::vector<std::unique_ptr<PreparedOp>> parts;
};
} // namespace

PreparedOrStatus dgc::rt::prepareLongConvolution(const OpContext &context, const artifact::Convolution &op,
                                                 dnnl::memory::data_type type) {
  auto prepared = std::make_unique<LongConvolution>(context, op, type);
  if (!prepared->isLong())
    return absl::UnimplementedError("sums that are not long");
  DGC_RETURN_IF_ERROR(prepared->prepare(context));
  return prepared;
}

PreparedOrStatus dgc::rt::prepareImageParts(const OpContext &context, const artifact::Convolution &op,
                                            dnnl::memory::data_type type) {
  auto prepared = std::make_unique<ImageParts>();
  DGC_RETURN_IF_ERROR(prepared->prepare(context, op, type));
  return prepared;
}
