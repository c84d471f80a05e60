// Convolutions in parts: sums that are too long for one call of oneDNN, and calls that may have one thread only.
#include "runtime/base/Status.h"
#include "runtime/device/cpu/Convolution.h"
#include "runtime/device/cpu/ConvolutionChunks.h"
#include "runtime/device/cpu/PairwiseSum.h"
#include "runtime/device/cpu/Parallel.h"

#include <algorithm>
#include <atomic>
#include <utility>

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

} // namespace

std::optional<int64_t> dgc::rt::channelsOfLongPart(DType type, int64_t groups, int64_t channels, int64_t window) {
  if (type != DType::F32 || groups != 1 || channels * window <= 2 * termsOfPart || channels <= 1)
    return std::nullopt;
  return std::max<int64_t>(1, termsOfPart / window / 16 * 16);
}

namespace {
class LongConvolution final : public PreparedOp {
public:
  LongConvolution(const OpContext &context, const artifact::Convolution &op, dnnl::memory::data_type type)
      : scratch(context.scratch), whole(wholeConvolution(context, op, type)), kind(op.kind()),
        isForward(kind == artifact::ConvKind::Forward) {
    const auto &window = whole.shape.weights.dims();
    for (size_t d = 2; d < window.size(); ++d)
      positions *= window[d];
    channels = (isForward ? whole.shape.src : whole.shape.dst).dims()[1];
    channelsOfPart = channelsOfLongPart(context.buffers[op.dst()].dtype, whole.shape.groups, channels, positions);
  }

  bool isLong() const { return channelsOfPart.has_value(); }

  absl::Status prepare(const OpContext &context) {
    const dnnl::memory::desc &result = isForward ? whole.shape.dst : whole.shape.src;
    elements = static_cast<int64_t>(result.get_size() / sizeof(float));
    // What follows the sums needs them as they are.
    isDirect = !whole.bias && (!whole.postOps || whole.postOps->size() == 0);
    const int64_t count = (channels + *channelsOfPart - 1) / *channelsOfPart;
    whole.scratchBegin = static_cast<size_t>(PairwiseSlots::slots(count)) * slotBytes();
    DGC_RETURN_IF_ERROR(guarded("convolution", [&] { reserveScratch(context, whole.scratchBegin); }));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t first = i * *channelsOfPart;
      auto part = prepareCallOrParts(context, partOf(first, std::min(*channelsOfPart, channels - first), i), kind);
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
  std::optional<int64_t> channelsOfPart; ///< none: the sums are not long
  std::vector<std::unique_ptr<PreparedOp>> parts;
  std::vector<float> zeros;
  BoundPrimitive end;
};

/// Parts of a call, at most, that threads work on independently of each other.
constexpr int64_t mostParts = 16;
/// Parts of the rows of one image, at most. 8 parts of 14 rows of 256 channels cost 1 to 2 % of the time of one call,
/// 14 parts up to 4 %. Two threads have an odd number of rows to share, where one call shares channels: it takes 1.05
/// times as long for 27 rows (5x5, 64 to 192 channels), and 1.12 times for 7 rows (3x3, 512 channels).
constexpr int64_t mostPartsOfImage = 8;
/// Products that a part of a forward convolution has at least, about 0.1 ms of one core. More rows at a time cost less.
constexpr int64_t productsOfPart = 1 << 22;

/// What one part computes: `rows` rows of the result from `row` on, of `images` images.
struct Piece {
  int64_t image, images, row, rows;
};

class CallParts final : public PreparedOp {
public:
  CallParts(ConvolutionCall call, artifact::ConvKind kind)
      : whole(std::move(call)), kind(kind), bytes(dnnl::memory::data_type_size(whole.shape.type)),
        scratchEnd(whole.scratchBegin) {
    whole.isOnOneThread = true;
    pieces = cut();
    // Rows that read padding alone have no input that oneDNN takes.
    for (const Piece &piece : pieces)
      if (auto rows = whole.shape.inputRows(piece.row, piece.rows); isOfRows(piece) && rows.begin == rows.end) {
        pieces = imagesOf(mostParts);
        break;
      }
  }

  absl::Status prepare(const OpContext &context) {
    const bool packs = pieces.size() > 1 && kind != artifact::ConvKind::BackwardWeights;
    for (const Piece &piece : pieces) {
      ConvolutionCall call = callOf(piece);
      absl::StatusOr<PreparedConvolution> part = prepareOnOneThread(context, call);
      if (part.ok() && packs && parts.empty() && part->weights != whole.shape.weights) {
        DGC_RETURN_IF_ERROR(guarded("convolution", [&] { pack(context, part->weights); }));
        part = prepareOnOneThread(context, callOf(piece));
      }
      if (absl::IsUnimplemented(part.status()) && whole.packedWeights) {
        // Sizes for which oneDNN wants another layout: the part has its own copy.
        call = callOf(piece);
        call.packedWeights.reset();
        call.shape.weights = plainWeights;
        part = prepareOnOneThread(context, call);
      }
      if (!part.ok())
        return part.status();
      scratchEnd = part->scratchEnd;
      layout = part->weights;
      parts.push_back(std::move(part->op));
    }
    return absl::OkStatus();
  }

  absl::Status run(const dgc_step &step) override {
    if (whole.packedWeights)
      DGC_RETURN_IF_ERROR(packing.run());
    std::atomic<bool> failed = false;
    parallelFor(static_cast<int64_t>(parts.size()), [&](int64_t begin, int64_t end) {
      const OneThread each;
      for (int64_t i = begin; i < end; ++i)
        if (!parts[static_cast<size_t>(i)]->run(step).ok())
          failed = true;
    });
    return failed ? absl::InternalError("oneDNN failed in a part of a convolution") : absl::OkStatus();
  }

  size_t endOfScratch() const { return scratchEnd; }
  const dnnl::memory::desc &weightsLayout() const { return layout; }

private:
  using InputRows = ConvolutionShape::InputRows;

  bool isOfRows(const Piece &piece) const { return piece.rows < whole.shape.dst.dims()[2]; }

  std::vector<Piece> imagesOf(int64_t most) const {
    const int64_t images = whole.shape.dst.dims()[0], step = (images + most - 1) / most;
    std::vector<Piece> result;
    for (int64_t image = 0; image < images; image += step)
      result.push_back({image, std::min(step, images - image), 0, whole.shape.dst.dims()[2]});
    return result;
  }

  /// The pieces, by the shape alone.
  std::vector<Piece> cut() const {
    if (kind != artifact::ConvKind::Forward)
      return imagesOf(kind == artifact::ConvKind::BackwardWeights ? 1 : mostParts);
    const dnnl::memory::dims dims = whole.shape.dst.dims();
    int64_t products = 1;
    for (size_t d = 0; d < dims.size(); ++d)
      products *= d == 1 ? static_cast<int64_t>(whole.shape.weights.get_size() / bytes) : dims[d];
    const int64_t count = std::clamp<int64_t>(products / productsOfPart, 1, mostParts);
    if (count <= dims[0])
      return imagesOf(count);
    const int64_t partsOfImage = std::min({count / dims[0], mostPartsOfImage, dims[2]});
    std::vector<Piece> result;
    for (int64_t image = 0; image < dims[0]; ++image)
      for (int64_t part = 0; part < partsOfImage; ++part) {
        const int64_t row = dims[2] * part / partsOfImage;
        result.push_back({image, 1, row, dims[2] * (part + 1) / partsOfImage - row});
      }
    return result;
  }

  ConvolutionCall callOf(const Piece &piece) const {
    ConvolutionCall call = whole;
    call.scratchBegin = scratchEnd;
    InputRows input{0, whole.shape.src.dims()[2], 0, 0};
    if (isOfRows(piece)) {
      input = whole.shape.inputRows(piece.row, piece.rows);
      call.shape.low[0] = input.low;
      call.shape.high[0] = input.high;
    }
    const int64_t read = narrow(call.shape.src, piece, input.begin, input.end - input.begin);
    call.part.element = narrow(call.shape.dst, piece, piece.row, piece.rows);
    advance(call, call.src, read);
    advance(call, call.dst, call.part.element);
    return call;
  }

  /// Leaves some rows of a piece's images in `desc`; gives the element with which they begin.
  static int64_t narrow(dnnl::memory::desc &desc, const Piece &piece, int64_t row, int64_t rows) {
    const int64_t begin = piece.image * strideOf(desc, 0) + row * strideOf(desc, 2);
    desc = withExtent(withExtent(desc, 0, piece.images), 2, rows);
    if (piece.images == 1) { // without a gap after the one image, which oneDNN takes for another layout
      dnnl::memory::dims strides(desc.dims().size());
      for (size_t d = 1; d < strides.size(); ++d)
        strides[d] = strideOf(desc, d);
      strides[0] = rows * strides[2];
      desc = dnnl::memory::desc(desc.dims(), desc.data_type(), strides);
    }
    return begin;
  }

  /// What is null is written to the scratch block.
  void advance(ConvolutionCall &call, std::byte *&data, int64_t elements) const {
    const size_t by = static_cast<size_t>(elements) * bytes;
    if (data)
      data += by;
    else
      call.resultOffset += by;
  }

  absl::StatusOr<PreparedConvolution> prepareOnOneThread(const OpContext &context, const ConvolutionCall &call) const {
    const OneThread each;
    return prepareCall(context, call, kind);
  }

  /// Lays the weights out once for all parts.
  void pack(const OpContext &context, const dnnl::memory::desc &wanted) {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const auto &engine = context.library.engine;
    dnnl::reorder::primitive_desc pd(engine, whole.shape.weights, engine, wanted, attr);
    auto reserve = [&](size_t size) {
      const size_t offset = scratchEnd;
      scratchEnd += (size + 4095) & ~size_t{4095};
      reserveScratch(context, scratchEnd);
      return offset;
    };
    packing = BoundPrimitive(context, dnnl::reorder(pd), dnnl::memory::desc());
    packing.bind(DNNL_ARG_FROM, whole.shape.weights, whole.weights);
    whole.packedWeights = reserve(wanted.get_size());
    packing.bindScratch(DNNL_ARG_TO, wanted, *whole.packedWeights);
    if (pd.scratchpad_desc().get_size())
      packing.bindScratch(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), reserve(pd.scratchpad_desc().get_size()));
    plainWeights = std::exchange(whole.shape.weights, wanted);
  }

  ConvolutionCall whole;
  artifact::ConvKind kind;
  size_t bytes, scratchEnd;
  std::vector<Piece> pieces;
  BoundPrimitive packing;
  dnnl::memory::desc layout, plainWeights;
  std::vector<std::unique_ptr<PreparedOp>> parts;
};
} // namespace

absl::StatusOr<PreparedConvolution> dgc::rt::prepareParts(const OpContext &context, const ConvolutionCall &call,
                                                          artifact::ConvKind kind) {
  auto prepared = std::make_unique<CallParts>(call, kind);
  DGC_RETURN_IF_ERROR(prepared->prepare(context));
  const size_t end = prepared->endOfScratch();
  const dnnl::memory::desc layout = prepared->weightsLayout();
  return PreparedConvolution{std::move(prepared), end, layout};
}

PreparedOrStatus dgc::rt::prepareLongConvolution(const OpContext &context, const artifact::Convolution &op,
                                                 dnnl::memory::data_type type) {
  auto prepared = std::make_unique<LongConvolution>(context, op, type);
  if (!prepared->isLong())
    return absl::UnimplementedError("sums that are not long");
  DGC_RETURN_IF_ERROR(prepared->prepare(context));
  return prepared;
}
