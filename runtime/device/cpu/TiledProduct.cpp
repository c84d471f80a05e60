#include "runtime/device/cpu/TiledProduct.h"

#include "runtime/base/Status.h"
#include "runtime/device/cpu/GemmOrder.h"
#include "runtime/device/cpu/Parallel.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <string_view>

using namespace dgc;
using namespace dgc::rt;

namespace {
/// A part of the result: some matrices, counted along one dimension of the batch, some rows and some columns.
struct Tile {
  IndexRange batch, rows, columns;
};

/// At most `count` ranges of about the same size, which is a multiple of `granule` but for the last one.
std::vector<IndexRange> partsOf(int64_t extent, int64_t count, int64_t granule) {
  const int64_t part = (extent + count - 1) / count, step = (part + granule - 1) / granule * granule;
  std::vector<IndexRange> parts;
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
  for (const IndexRange &batch : batches)
    for (const IndexRange &row : rows)
      for (const IndexRange &column : columns)
        tiles.push_back({batch, row, column});
  return tiles;
}

/// Multiplications that are worth another thread, about as oneDNN counts: it is woken in a third of their time.
constexpr int64_t workOfThread = 48 * 1024;

/// A tile for each of `threads` threads, at most, of a product by kernels of GEMM that do not copy. Any such tiles add
/// up in the same order.
std::vector<std::vector<Tile>> tilesForThreads(const GemmSizes &sizes, int64_t threads) {
  auto sizeOf = [](const GemmPart &part) { return part.back().begin + part.back().size - part.front().begin; };
  auto largest = [&](const std::vector<GemmPart> &parts) {
    int64_t size = 0;
    for (const GemmPart &part : parts)
      size = std::max(size, sizeOf(part));
    return size;
  };
  const int64_t most = std::clamp<int64_t>(sizes.m * sizes.n * sizes.k / workOfThread, 1, threads);
  std::vector<GemmPart> rows, columns;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int64_t count = 1; count <= most; ++count) {
    auto r = cutRows(sizes, count), c = cutColumns(sizes, most / count);
    // The time of the largest tile, with that of reading operands, which takes as long as some rows and columns.
    const int64_t cost = (largest(r) + 16) * (largest(c) + 16);
    if (cost < least) {
      rows = std::move(r);
      columns = std::move(c);
      least = cost;
    }
  }
  std::vector<std::vector<Tile>> tiles;
  for (const GemmPart &rowsOfTile : rows)
    for (const GemmPart &columnsOfTile : columns) {
      tiles.emplace_back();
      for (const IndexRange &row : rowsOfTile)
        for (const IndexRange &column : columnsOfTile)
          tiles.back().push_back({{}, row, column});
    }
  return tiles;
}

/// The part of an operand that a tile reads or writes.
struct OperandPart {
  dnnl::memory::desc desc;
  int64_t element; ///< where it begins
};
OperandPart partOf(const ProductOperand &operand, IndexRange batch, IndexRange rows, IndexRange columns, int dim) {
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
      reserveScratch(context, freeScratch);
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
  IndexRange k;
  OperandPart a, b, dst;
  dnnl::memory::desc bias;
  PostOps postOps;
};
} // namespace

/// oneDNN's products for AVX-512 give each sum to one thread, in blocks of terms that do not depend on the number of
/// threads, but for those that isSplitAlongSums() names.
static bool keepsSumsWhole(std::string_view implementation, const ProductSpec &spec) {
  return (implementation == "brg:avx512_core" || implementation == "brg:avx512_core_bf16") &&
         !isSplitAlongSums(spec.a.matrices.columnStride() != 1, spec.a.matrices.columns(), usesGemmForAvx2());
}

namespace {
/// How a product is computed: by the calls for each tile, or, where there are none, by one call with some threads.
struct Calls {
  std::vector<std::vector<Tile>> tiles;
  int64_t mostThreads = std::numeric_limits<int>::max();
};
} // namespace

/// Calls that add up in one order for any number of threads. GEMM for AVX2 makes other products of a batch with each
/// number of threads. With its kernels that do not copy, and with GEMV, a tile on one thread adds up as the whole does:
/// on one thread there is one call, which takes up to 10 % less time than the tiles that threads have.
static Calls callsOf(std::string_view implementation, const ProductSpec &spec) {
  const Matrices &a = spec.a.matrices, &b = spec.b.matrices, &dst = spec.dst.matrices;
  if (keepsSumsWhole(implementation, spec))
    return {};
  const bool isGemmForAvx2 = implementation == "gemm:jit" && dst.sizes.size() == 2 && usesGemmForAvx2();
  const bool isVector = std::min(dst.rows(), dst.columns()) == 1;
  if (!isGemmForAvx2 || (isVector && threads() > 1)) {
    Calls calls;
    for (const Tile &tile : tilesOf(spec))
      calls.tiles.push_back({tile});
    return calls;
  }
  if (isVector)
    return {};
  const GemmSizes sizes{dst.rows(), dst.columns(), a.columns(), a.columnStride() != 1, b.columnStride() != 1};
  if (const int64_t most = threadsThatCopy(sizes))
    return {{}, most};
  return {tilesForThreads(sizes, threads())};
}

TiledProduct::TiledProduct(const OpContext &context, const ProductSpec &spec, size_t &freeScratch, bool isOnOneThread) {
  TileMaker maker(context, spec, freeScratch);
  const auto whole = maker.describe(maker.whole());
  const Calls calls = isOnOneThread ? Calls{} : callsOf(whole.impl_info_str(), spec);
  mostThreads = calls.mostThreads;
  isTiled = !calls.tiles.empty();
  if (!isTiled) {
    tiles.emplace_back().push_back(maker.bind(whole, maker.whole()));
    return;
  }
  const OneThread each;
  for (const std::vector<Tile> &part : calls.tiles) {
    tiles.emplace_back();
    for (const Tile &tile : part) {
      const auto pd = maker.describe(tile);
      tiles.back().push_back(maker.bind(pd, tile));
    }
  }
}

static absl::Status runAll(std::vector<BoundPrimitive> &calls) {
  for (BoundPrimitive &call : calls)
    DGC_RETURN_IF_ERROR(call.run());
  return absl::OkStatus();
}

absl::Status TiledProduct::run() {
  if (!isTiled) {
    const ThreadLimit limit(static_cast<int>(std::min<int64_t>(mostThreads, threads())));
    return runAll(tiles.front());
  }
  std::atomic<bool> failed = false;
  parallelFor(static_cast<int64_t>(tiles.size()), [&](int64_t begin, int64_t end) {
    const OneThread each;
    for (int64_t i = begin; i < end; ++i)
      if (!runAll(tiles[static_cast<size_t>(i)]).ok())
        failed = true;
  });
  return failed ? absl::InternalError("oneDNN failed in a part of a matrix product") : absl::OkStatus();
}
