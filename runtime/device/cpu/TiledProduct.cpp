#include "runtime/device/cpu/TiledProduct.h"

#include "runtime/device/cpu/Parallel.h"

#include <algorithm>
#include <atomic>
#include <string_view>

using namespace dgc;
using namespace dgc::rt;

bool dgc::rt::isSplitAlongSums(bool isTransposed, int64_t k) { return isTransposed && k >= 2048; }

namespace {
/// A part of one dimension.
struct Range {
  int64_t begin = 0, size = 1;
};

/// A part of the result: some matrices, counted along one dimension of the batch, some rows and some columns.
struct Tile {
  Range batch, rows, columns;
};

/// At most `count` ranges of about the same size, which is a multiple of `granule` but for the last one.
std::vector<Range> partsOf(int64_t extent, int64_t count, int64_t granule) {
  const int64_t part = (extent + count - 1) / count, step = (part + granule - 1) / granule * granule;
  std::vector<Range> parts;
  for (int64_t begin = 0; begin < extent; begin += step)
    parts.push_back({begin, std::min(step, extent - begin)});
  return parts;
}

/// The dimension of the batch that is cut; -1: there is none.
int batchDimOf(const Matrices &matrices) {
  const auto &sizes = matrices.sizes;
  return sizes.size() == 2 ? -1 : static_cast<int>(std::max_element(sizes.begin(), sizes.end() - 2) - sizes.begin());
}

/// Multiplications of a tile, so that a call takes a small part of its time.
constexpr int64_t workOfTile = int64_t{1} << 21;
constexpr int64_t mostTiles = 16;

/// Columns are cut before rows: each tile of rows makes oneDNN pack the right operand again.
std::vector<Tile> tilesOf(const ProductSpec &spec) {
  const Matrices &dst = spec.dst.matrices;
  const int dim = batchDimOf(dst);
  const int64_t work = dst.allRows() * dst.columns() * spec.a.matrices.columns();
  int64_t count = std::clamp<int64_t>(work / workOfTile, work >= workOfTile / 2 ? 2 : 1, mostTiles);
  auto take = [&](int64_t most) {
    const int64_t parts = std::clamp<int64_t>(most, 1, count);
    count /= parts;
    return parts;
  };
  const int64_t matrices = dim < 0 ? 1 : dst.sizes[static_cast<size_t>(dim)];
  const auto batches = partsOf(matrices, take(matrices), 1);
  const auto columns = partsOf(dst.columns(), take(dst.columns() / 128), 16);
  const auto rows = partsOf(dst.rows(), take(dst.rows() / 64), 12);
  std::vector<Tile> tiles;
  for (const Range &batch : batches)
    for (const Range &row : rows)
      for (const Range &column : columns)
        tiles.push_back({batch, row, column});
  return tiles;
}

/// The part of an operand that a tile reads or writes.
struct OperandPart {
  dnnl::memory::desc desc;
  int64_t element; ///< where it begins
};
OperandPart partOf(const ProductOperand &operand, Range batch, Range rows, Range columns, int dim) {
  const Matrices &whole = operand.matrices;
  dnnl::memory::dims sizes = whole.sizes;
  const size_t rank = sizes.size();
  int64_t element = rows.begin * whole.rowStride() + columns.begin * whole.columnStride();
  if (dim >= 0) {
    sizes[static_cast<size_t>(dim)] = batch.size;
    element += batch.begin * whole.strides[static_cast<size_t>(dim)];
  }
  sizes[rank - 2] = rows.size;
  sizes[rank - 1] = columns.size;
  return {{sizes, operand.type, whole.strides}, element};
}

class TileMaker {
public:
  TileMaker(const OpContext &context, const ProductSpec &spec, size_t &freeScratch)
      : context(context), spec(spec), freeScratch(freeScratch), dim(batchDimOf(spec.dst.matrices)),
        k{0, spec.a.matrices.columns()} {}

  Tile whole() const {
    const Matrices &dst = spec.dst.matrices;
    return {{0, dim < 0 ? 1 : dst.sizes[static_cast<size_t>(dim)]}, {0, dst.rows()}, {0, dst.columns()}};
  }

  dnnl::matmul::primitive_desc describe(const Tile &tile) {
    a = partOf(spec.a, tile.batch, tile.rows, k, dim);
    b = partOf(spec.b, tile.batch, k, tile.columns, dim);
    dst = partOf(spec.dst, tile.batch, tile.rows, tile.columns, dim);
    const int64_t n = spec.dst.matrices.columns();
    bias = dnnl::memory::desc();
    if (spec.bias) {
      dnnl::memory::dims sizes(dst.desc.dims().size(), 1), strides(sizes.size(), n);
      sizes.back() = tile.columns.size;
      strides.back() = 1;
      bias = dnnl::memory::desc(sizes, spec.dst.type, strides);
    }
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    postOps = makePostOps(context, spec.postOps, dst.desc, static_cast<int>(spec.dst.matrices.sizes.size()) - 1, n,
                          {dst.element, tile.columns.begin});
    if (spec.accumulates)
      postOps.ops.append_sum(1.0f);
    attr.set_post_ops(postOps.ops);
    return {dnnl::matmul::desc(a.desc, b.desc, bias, dst.desc), attr, context.library.engine};
  }

  /// Of the tile that was described last.
  BoundPrimitive bind(const dnnl::matmul::primitive_desc &pd, const Tile &tile) {
    BoundPrimitive bound(context, dnnl::matmul(pd), dnnl::memory::desc());
    if (size_t bytes = pd.scratchpad_desc().get_size()) {
      bound.bindScratch(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), freeScratch);
      freeScratch += (bytes + 63) & ~size_t{63};
      context.scratch.reserve(freeScratch);
    }
    bindOperand(bound, DNNL_ARG_SRC, spec.a, a);
    bindOperand(bound, DNNL_ARG_WEIGHTS, spec.b, b);
    bindOperand(bound, DNNL_ARG_DST, spec.dst, dst);
    if (spec.bias) {
      const auto first = static_cast<size_t>(tile.columns.begin) * dnnl::memory::data_type_size(spec.dst.type);
      // oneDNN's interface has no pointers to constants.
      bound.bind(DNNL_ARG_BIAS, bias, const_cast<std::byte *>(static_cast<const std::byte *>(spec.bias)) + first);
    }
    bindPostOps(bound, postOps);
    return bound;
  }

private:
  static void bindOperand(BoundPrimitive &bound, int argument, const ProductOperand &operand, const OperandPart &part) {
    const size_t bytes = static_cast<size_t>(part.element) * dnnl::memory::data_type_size(operand.type);
    if (operand.data)
      bound.bind(argument, part.desc, static_cast<std::byte *>(operand.data) + bytes);
    else
      bound.bindScratch(argument, part.desc, operand.offset + bytes);
  }

  const OpContext &context;
  const ProductSpec &spec;
  size_t &freeScratch;
  int dim;
  Range k;
  OperandPart a, b, dst;
  dnnl::memory::desc bias;
  PostOps postOps;
};
} // namespace

/// oneDNN's products for AVX-512 give each sum to one thread, in blocks of terms that do not depend on the number of
/// threads, but for those that isSplitAlongSums() names. Its other products split sums among threads as it suits them.
static bool keepsSumsWhole(std::string_view implementation, const ProductSpec &spec) {
  return (implementation == "brg:avx512_core" || implementation == "brg:avx512_core_bf16") &&
         !isSplitAlongSums(spec.a.matrices.columnStride() != 1, spec.a.matrices.columns());
}

TiledProduct::TiledProduct(const OpContext &context, const ProductSpec &spec, size_t &freeScratch, bool isOnOneThread) {
  TileMaker maker(context, spec, freeScratch);
  if (auto pd = maker.describe(maker.whole()); isOnOneThread || keepsSumsWhole(pd.impl_info_str(), spec)) {
    tiles.push_back(maker.bind(pd, maker.whole()));
    return;
  }
  const OneThread each;
  for (const Tile &tile : tilesOf(spec)) {
    auto pd = maker.describe(tile);
    tiles.push_back(maker.bind(pd, tile));
  }
  isTiled = true;
}

absl::Status TiledProduct::run() {
  if (!isTiled)
    return tiles.front().run();
  std::atomic<bool> failed = false;
  parallelFor(static_cast<int64_t>(tiles.size()), [&](int64_t begin, int64_t end) {
    const OneThread each;
    for (int64_t i = begin; i < end; ++i)
      if (!tiles[static_cast<size_t>(i)].run().ok())
        failed = true;
  });
  return failed ? absl::InternalError("oneDNN failed in a part of a matrix product") : absl::OkStatus();
}
