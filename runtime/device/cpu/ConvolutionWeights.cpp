// The gradient of a convolution's weights. oneDNN adds up what all pixels of all images give one after the other, in an
// order that depends on the number of threads. Here it is given the pixels in chunks, and what it makes of them is
// added up in pairs.
#include "runtime/base/Status.h"
#include "runtime/device/cpu/Convolution.h"
#include "runtime/device/cpu/ConvolutionChunks.h"
#include "runtime/device/cpu/PairwiseSum.h"
#include "runtime/device/cpu/Parallel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>

using namespace dgc;
using namespace dgc::rt;

namespace {
/// Output channels that one call takes, unless there are groups.
constexpr int64_t channelsOfTile = 64;

/// Parts of a tile's sum, at most, that threads work on independently of each other.
constexpr int64_t maxSegments = 16;

/// Pixels of output that are added up in order. For any terms of one sign the error is then below 4 units of the last
/// place times the logarithm of their number.
constexpr int64_t pixelsOfChunk = 512;

} // namespace

/// Chunks are whole images where these have no more pixels than pixelsOfChunk, else some rows of one.
WeightChunks::WeightChunks(int64_t images, int64_t rows, int64_t pixelsOfRow, int64_t channels, int64_t groups)
    : images(images), rows(rows), imagesOfChunk(std::max<int64_t>(1, pixelsOfChunk / (rows * pixelsOfRow))),
      rowsOfChunk(rows), tileChannels(groups > 1 ? channels : std::min(channels, channelsOfTile)),
      tiles((channels + tileChannels - 1) / tileChannels) {
  if (rows * pixelsOfRow > pixelsOfChunk) {
    rowsOfChunk = std::max<int64_t>(1, pixelsOfChunk / pixelsOfRow);
    chunksOfImage = (rows + rowsOfChunk - 1) / rowsOfChunk;
  }
  count = (images + imagesOfChunk - 1) / imagesOfChunk * chunksOfImage;
  segments = std::min<int64_t>(count, std::max<int64_t>(1, maxSegments / tiles));
  slots = PairwiseSlots::slots((count + segments - 1) / segments);
}

WeightChunks::Chunk WeightChunks::chunk(int64_t index) const {
  const int64_t image = index / chunksOfImage * imagesOfChunk, row = index % chunksOfImage * rowsOfChunk;
  return {image, std::min(imagesOfChunk, images - image), row, std::min(rowsOfChunk, rows - row)};
}

namespace {
using Chunk = WeightChunks::Chunk;

/// The primitives of all chunks that have the same sizes and padding.
struct ChunkKind {
  dnnl::memory::desc src, gradient;             ///< as they are in memory
  dnnl::memory::desc packedSrc, packedGradient; ///< as oneDNN prefers them
  dnnl::memory::desc weights;                   ///< what it gives: f32
  dnnl::memory::desc scratchpad;
  dnnl::primitive reorderSrc, reorderGradient, convolution;
};

class WeightGradient final : public PreparedOp {
public:
  WeightGradient(const OpContext &context, const artifact::Convolution &op, dnnl::memory::data_type type)
      : engine(context.library.engine), scratch(context.scratch), shape(context, op, type),
        src(context.buffers[op.src()].data), gradient(context.buffers[op.dst()].data),
        weights(context.buffers[op.weights()].data), elementBytes(sizeOf(context.buffers[op.dst()].dtype)),
        laneCount(threads()),
        cut(shape.dst.dims()[0], shape.dst.dims()[2], product(shape.dst.dims(), 3), shape.dst.dims()[1], shape.groups) {
  }

  absl::Status prepare(const OpContext &context) {
    return guarded("convolution", [&] {
      const OneThread primitivesForOneThread;
      for (int64_t i = 0; i < cut.count; ++i)
        chunks.push_back(cut.chunk(i));
      for (const Chunk &chunk : chunks)
        if (InputRows rows = inputRowsOf(chunk); rows.begin == rows.end)
          throw dnnl::error(dnnl_unimplemented, "rows that read padding alone");
      for (int64_t tile = 0; tile < cut.tiles; ++tile)
        for (const Chunk &chunk : chunks)
          kindOfChunk.push_back(kindOf(tile, chunk));
      for (int64_t tile = 0; tile < cut.tiles; ++tile)
        stores.push_back(storeOf(tile));
      layOut(context);
    });
  }

  absl::Status run(const dgc_step &) override {
    if (!resolved)
      resolve();
    std::atomic<bool> failed = false;
    auto attempt = [&](auto &&f) {
      absl::Status s = guarded("convolution", f);
      if (!s.ok())
        failed = true;
    };
    // Tasks go to threads in turn: thread t has lane t.
    parallelFor(lanes, [&](int64_t begin, int64_t end) {
      for (int64_t lane = begin; lane < end; ++lane)
        for (int64_t task = lane; task < cut.tiles * cut.segments; task += lanes)
          attempt([&] { addSegment(lane, task / cut.segments, task % cut.segments); });
    });
    parallelFor(lanes, [&](int64_t begin, int64_t end) {
      for (int64_t lane = begin; lane < end; ++lane)
        for (int64_t tile = lane; tile < cut.tiles; tile += lanes)
          attempt([&] { storeTile(lane, tile); });
    });
    return failed ? absl::InternalError("oneDNN failed in the gradient of a convolution's weights") : absl::OkStatus();
  }

private:
  static int64_t product(const dnnl::memory::dims &dims, size_t from) {
    int64_t result = 1;
    for (size_t d = from; d < dims.size(); ++d)
      result *= dims[d];
    return result;
  }
  static size_t roundUp(size_t bytes) { return (bytes + 63) & ~size_t{63}; }

  int64_t channelsOf(int64_t tile) const {
    return std::min(cut.tileChannels, shape.dst.dims()[1] - tile * cut.tileChannels);
  }

  using InputRows = ConvolutionShape::InputRows;
  InputRows inputRowsOf(const Chunk &chunk) const { return shape.inputRows(chunk.row, chunk.rows); }

  /// The primitives for a chunk of a tile; made where there are none yet.
  size_t kindOf(int64_t tile, const Chunk &chunk) {
    const InputRows rows = inputRowsOf(chunk);
    const std::array<int64_t, 6> key{channelsOf(tile),      chunk.images, chunk.rows,
                                     rows.end - rows.begin, rows.low,     rows.high};
    auto [it, isNew] = kindIndex.try_emplace(key, kinds.size());
    if (isNew)
      kinds.push_back(makeKind(channelsOf(tile), chunk, rows));
    return it->second;
  }

  ChunkKind makeKind(int64_t channels, const Chunk &chunk, const InputRows &rows) const {
    constexpr auto f32 = dnnl::memory::data_type::f32;
    ChunkKind kind;
    auto part = [&](const dnnl::memory::desc &whole, int64_t channels, int64_t rows) {
      dnnl::memory::dims dims = whole.dims();
      dims[0] = chunk.images;
      dims[1] = channels;
      dims[2] = rows;
      const auto &strides = whole.data.format_desc.blocking.strides;
      return dnnl::memory::desc(dims, whole.data_type(), dnnl::memory::dims(strides, strides + dims.size()));
    };
    auto any = [](const dnnl::memory::desc &plain, dnnl::memory::data_type type) {
      return dnnl::memory::desc(plain.dims(), type, dnnl::memory::format_tag::any);
    };
    kind.src = part(shape.src, shape.src.dims()[1], rows.end - rows.begin);
    kind.gradient = part(shape.dst, channels, chunk.rows);
    dnnl::memory::dims weightDims = shape.weights.dims();
    weightDims[0] = shape.groups > 1 ? weightDims[0] : channels;
    // What is added up has one layout: the one that the first kind has chosen.
    dnnl::memory::desc weights(weightDims, f32, dnnl::memory::format_tag::any);
    for (const ChunkKind &other : kinds)
      if (other.weights.dims() == weightDims)
        weights = other.weights;
    dnnl::memory::dims low = shape.low, high = shape.high;
    low[0] = rows.low;
    high[0] = rows.high;
    const dnnl::memory::desc source = any(kind.src, shape.type), result = any(kind.gradient, shape.type);
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    constexpr auto direct = dnnl::algorithm::convolution_direct;
    dnnl::convolution_forward::primitive_desc hint({dnnl::prop_kind::forward_training, direct, source,
                                                    any(weights, shape.type), result, shape.strides, shape.dilation,
                                                    low, high},
                                                   engine);
    dnnl::convolution_backward_weights::primitive_desc pd(
        {direct, source, weights, result, shape.strides, shape.dilation, low, high}, attr, engine, hint);
    kind.packedSrc = pd.src_desc();
    kind.packedGradient = pd.diff_dst_desc();
    kind.weights = pd.diff_weights_desc();
    kind.scratchpad = pd.scratchpad_desc();
    kind.convolution = dnnl::convolution_backward_weights(pd);
    kind.reorderSrc = reorder(kind.src, kind.packedSrc);
    kind.reorderGradient = reorder(kind.gradient, kind.packedGradient);
    return kind;
  }

  /// A reorder; none where the two are the same.
  dnnl::primitive reorder(const dnnl::memory::desc &from, const dnnl::memory::desc &to) const {
    if (from == to)
      return {};
    return dnnl::reorder(dnnl::reorder::primitive_desc(engine, from, engine, to));
  }
  /// After the sum of a tile: the layout, and the type, that the plan has.
  struct Store {
    dnnl::primitive reorder;
    dnnl::memory from, to;
  };
  Store storeOf(int64_t tile) {
    const ChunkKind &kind = kinds[kindOf(tile, chunks.front())];
    const auto &format = shape.weights.data.format_desc.blocking;
    const dnnl::memory::dims dims = kind.weights.dims();
    const dnnl::memory::desc to(dims, shape.type, dnnl::memory::dims(format.strides, format.strides + dims.size()));
    const auto first = static_cast<size_t>(tile * cut.tileChannels * format.strides[0]);
    return {dnnl::reorder(dnnl::reorder::primitive_desc(engine, kind.weights, engine, to)),
            dnnl::memory(kind.weights, engine, DNNL_MEMORY_NONE),
            dnnl::memory(to, engine, static_cast<std::byte *>(weights) + first * elementBytes)};
  }

  /// What a thread works with for chunks of one kind. The addresses in scratch memory are set before the first run.
  struct Bound {
    dnnl::memory src, packedSrc, gradient, packedGradient, scratchpad;
    std::vector<dnnl::memory> weights; // one for each slot
  };

  /// Reserves the scratch memory: for each lane its scratchpad, packed operands and slots; then the sums of all
  /// segments.
  void layOut(const OpContext &context) {
    size_t scratchpad = 0, packedSrc = 0, packedGradient = 0;
    for (const ChunkKind &kind : kinds) {
      scratchpad = std::max(scratchpad, roundUp(kind.scratchpad.get_size()));
      packedSrc = std::max(packedSrc, roundUp(kind.packedSrc.get_size()));
      packedGradient = std::max(packedGradient, roundUp(kind.packedGradient.get_size()));
      slotBytes = std::max(slotBytes, roundUp(kind.weights.get_size()));
    }
    atPackedSrc = scratchpad;
    atPackedGradient = atPackedSrc + packedSrc;
    atSlots = atPackedGradient + packedGradient;
    laneBytes = atSlots + static_cast<size_t>(cut.slots) * slotBytes;
    lanes = std::min<int64_t>(laneCount, cut.tiles * cut.segments);
    atSums = static_cast<size_t>(lanes) * laneBytes;
    reserveScratch(context, atSums + static_cast<size_t>(cut.tiles * cut.segments) * slotBytes);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      streams.emplace_back(engine);
      for (const ChunkKind &kind : kinds)
        bound.push_back(bind(kind));
    }
  }

  Bound bind(const ChunkKind &kind) const {
    auto memory = [&](const dnnl::memory::desc &desc) { return dnnl::memory(desc, engine, DNNL_MEMORY_NONE); };
    Bound result{memory(kind.src), memory(kind.packedSrc), memory(kind.gradient), memory(kind.packedGradient),
                 memory(kind.scratchpad)};
    for (int slot = 0; slot < cut.slots; ++slot)
      result.weights.push_back(memory(kind.weights));
    return result;
  }

  std::byte *slotAt(int64_t lane, int slot) const {
    return scratch.data() + static_cast<size_t>(lane) * laneBytes + atSlots + static_cast<size_t>(slot) * slotBytes;
  }
  std::byte *sumAt(int64_t tile, int64_t segment) const {
    return scratch.data() + atSums + static_cast<size_t>(tile * cut.segments + segment) * slotBytes;
  }

  /// Sets the addresses in scratch memory, which are known at the first run.
  void resolve() {
    for (int64_t lane = 0; lane < lanes; ++lane) {
      std::byte *base = scratch.data() + static_cast<size_t>(lane) * laneBytes;
      for (size_t kind = 0; kind < kinds.size(); ++kind) {
        Bound &b = boundOf(lane, kind);
        b.scratchpad.set_data_handle(base);
        b.packedSrc.set_data_handle(base + atPackedSrc);
        b.packedGradient.set_data_handle(base + atPackedGradient);
        for (int slot = 0; slot < cut.slots; ++slot)
          b.weights[static_cast<size_t>(slot)].set_data_handle(slotAt(lane, slot));
      }
    }
    for (int64_t tile = 0; tile < cut.tiles; ++tile)
      stores[static_cast<size_t>(tile)].from.set_data_handle(sumAt(tile, 0));
    resolved = true;
  }
  Bound &boundOf(int64_t lane, size_t kind) { return bound[static_cast<size_t>(lane) * kinds.size() + kind]; }

  void execute(int64_t lane, const dnnl::primitive &primitive, std::initializer_list<dnnl_exec_arg_t> arguments) {
    dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive.get(), streams[static_cast<size_t>(lane)].get(),
                                                   static_cast<int>(arguments.size()), arguments.begin()),
                            "cannot execute a primitive");
  }
  void reorder(int64_t lane, const dnnl::primitive &primitive, const dnnl::memory &from, const dnnl::memory &to) {
    execute(lane, primitive, {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}});
  }

  /// Writes what one chunk adds to the gradient of a tile into a slot of the lane.
  void computeChunk(int64_t lane, int64_t tile, size_t chunkIndex, int slot) {
    const Chunk &chunk = chunks[chunkIndex];
    const size_t index = kindOfChunk[static_cast<size_t>(tile) * chunks.size() + chunkIndex];
    const ChunkKind &kind = kinds[index];
    Bound &b = boundOf(lane, index);
    auto at = [&](void *data, const dnnl::memory::desc &whole, int64_t channel, int64_t row) {
      const auto &strides = whole.data.format_desc.blocking.strides;
      const int64_t element = chunk.image * strides[0] + channel * strides[1] + row * strides[2];
      return static_cast<std::byte *>(data) + static_cast<size_t>(element) * elementBytes;
    };
    b.src.set_data_handle(at(src, shape.src, 0, inputRowsOf(chunk).begin));
    b.gradient.set_data_handle(at(gradient, shape.dst, tile * cut.tileChannels, chunk.row));
    if (kind.reorderSrc)
      reorder(lane, kind.reorderSrc, b.src, b.packedSrc);
    if (kind.reorderGradient)
      reorder(lane, kind.reorderGradient, b.gradient, b.packedGradient);
    const auto &source = kind.reorderSrc ? b.packedSrc : b.src;
    const auto &result = kind.reorderGradient ? b.packedGradient : b.gradient;
    execute(lane, kind.convolution,
            {{DNNL_ARG_SRC, source.get()},
             {DNNL_ARG_DIFF_DST, result.get()},
             {DNNL_ARG_DIFF_WEIGHTS, b.weights[static_cast<size_t>(slot)].get()},
             {DNNL_ARG_SCRATCHPAD, b.scratchpad.get()}});
  }

  void addSlot(std::byte *to, const std::byte *from) const {
    addTo(reinterpret_cast<float *>(to), reinterpret_cast<const float *>(from),
          static_cast<int64_t>(slotBytes / sizeof(float)));
  }

  /// Adds up what the chunks of a segment give.
  void addSegment(int64_t lane, int64_t tile, int64_t segment) {
    const auto all = static_cast<int64_t>(chunks.size());
    const int64_t begin = all * segment / cut.segments, count = all * (segment + 1) / cut.segments - begin;
    for (int64_t i = 0; i < count; ++i) {
      computeChunk(lane, tile, static_cast<size_t>(begin + i), PairwiseSlots::slot(i));
      PairwiseSlots::merge(i, count, [&](int to, int from) { addSlot(slotAt(lane, to), slotAt(lane, from)); });
    }
    std::memcpy(sumAt(tile, segment), slotAt(lane, 0), slotBytes);
  }

  void storeTile(int64_t lane, int64_t tile) {
    addUpInPairs(cut.segments, [&](int64_t to, int64_t from) { addSlot(sumAt(tile, to), sumAt(tile, from)); });
    const Store &store = stores[static_cast<size_t>(tile)];
    reorder(lane, store.reorder, store.from, store.to);
  }

  dnnl::engine engine;
  const Scratch &scratch;
  ConvolutionShape shape;
  void *src, *gradient, *weights;
  size_t elementBytes;
  int64_t laneCount, lanes = 0;
  WeightChunks cut;
  std::vector<Chunk> chunks;
  std::map<std::array<int64_t, 6>, size_t> kindIndex;
  std::vector<size_t> kindOfChunk; // of each tile and chunk
  std::vector<ChunkKind> kinds;
  std::vector<Store> stores;         // of each tile
  std::vector<dnnl::stream> streams; // of each lane
  std::vector<Bound> bound;          // of each lane and kind
  size_t atPackedSrc = 0, atPackedGradient = 0, atSlots = 0, atSums = 0;
  size_t slotBytes = 0, laneBytes = 0;
  bool resolved = false;
};
} // namespace

PreparedOrStatus dgc::rt::prepareWeightGradient(const OpContext &context, const artifact::Convolution &op,
                                                dnnl::memory::data_type type) {
  auto prepared = std::make_unique<WeightGradient>(context, op, type);
  DGC_RETURN_IF_ERROR(prepared->prepare(context));
  return prepared;
}
