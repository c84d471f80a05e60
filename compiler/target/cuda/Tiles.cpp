//===- Tiles.cpp - elementwise segments that transpose -----------------------===//

#include "compiler/target/cuda/Tiles.h"

using namespace mlir;

namespace dgc {

/// Fewer points than this are in the caches whatever their order; shorter sides leave most of a tile empty.
static constexpr int64_t kTileWork = 1 << 14, kTileSide = kWarp / 2;
/// From so many points on there are enough tiles of twice the side, whose rows of 16 bits are 128 bytes long.
static constexpr int64_t kWideWork = 1 << 18;
/// The shared memory that tiles may take, such that a multiprocessor still has room for all of its threads.
static constexpr int64_t kMostTileBytes = 20 << 10;
/// What the points of a thread may cost, which are computed one after the other without a loop.
static constexpr uint64_t kMostTileBody = 2048;

static int64_t widthOf(Value array) { return llvm::divideCeil(elementOf(array).getIntOrFloatBitWidth(), 8); }

int64_t tileBytes(const ThreadGeometry &geometry, Value array) {
  return llvm::alignTo(kWarp * geometry.vector * tilePitch(geometry) * widthOf(array), 16);
}

int64_t tileBytes(const ThreadGeometry &geometry) {
  int64_t bytes = 0;
  for (const Access &access : geometry.staged)
    bytes += tileBytes(geometry, access.base);
  return bytes;
}

/// Is an access outside of its array at some point of the loops, where a condition keeps it from being made? It cannot
/// be made before what it is needed for.
static bool mayLeave(const LoopNest &nest, const Access &access, ArrayRef<int64_t> strides) {
  SmallVector<AffineExpr> origin(nest.space.size(), getAffineConstantExpr(0, access.linear.getContext()));
  auto at = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(access.linear.replaceDims(origin), 0, 0));
  if (!at)
    return true;
  int64_t least = at.getValue(), most = at.getValue();
  for (unsigned dim : nest.loops)
    (strides[dim] < 0 ? least : most) += strides[dim] * (nest.trips[dim] - 1);
  return least < 0 || most >= sizeOf(shapeOf(access.base));
}

/// The loop along which an access is contiguous that is not contiguous along loop `to`; nothing if tiles do not help.
static std::optional<unsigned> liesAlong(const LoopNest &nest, const Access &access, unsigned to) {
  bool chosenAtRunTime = false;
  access.linear.walk([&](AffineExpr expr) { chosenAtRunTime |= isa<AffineSymbolExpr>(expr); });
  llvm::BitVector entangled(nest.space.size());
  SmallVector<int64_t> strides = stridesOf(access.linear, nest.space.size(), entangled);
  if (chosenAtRunTime || entangled.any() || std::abs(strides[to]) <= 1 || mayLeave(nest, access, strides))
    return std::nullopt;
  for (unsigned dim : nest.loops)
    if (dim != to && strides[dim] == 1 && nest.trips[dim] >= kTileSide)
      return dim;
  return std::nullopt;
}

/// The loop along which the stored values are contiguous. It is the same for all roots, as each has the shape of the space.
static std::optional<unsigned> storedAlong(const KernelGraph &graph, const LoopNest &nest) {
  const Root &root = graph.roots[nest.roots.front()];
  AffineExpr linear = linearize(shapeOf(root.values.front()), root.indices.front(), graph.func.getContext());
  llvm::BitVector entangled(nest.space.size());
  SmallVector<int64_t> strides = stridesOf(linear, nest.space.size(), entangled);
  for (unsigned dim : nest.loops)
    if (strides[dim] == 1 && nest.trips[dim] >= kTileSide)
      return dim;
  return std::nullopt;
}

namespace {
/// The accesses of a nest that are contiguous along another loop than the result, and what tiles of them depend on.
struct Transposed {
  llvm::MapVector<unsigned, SmallVector<Access>> along; // by that loop
  llvm::DenseMap<unsigned, int64_t> bytes;              // of an element of all arrays of the loop
  int64_t narrowest = 8;                                // bytes of an element, of the results
  uint64_t cost = 1;                                    // of a point
};
} // namespace

static Transposed transposedIn(const KernelGraph &graph, const LoopNest &nest, unsigned to) {
  Transposed found;
  llvm::DenseSet<std::pair<Value, AffineExpr>> seen;
  for (unsigned number : nest.roots) {
    const Root &root = graph.roots[number];
    found.cost += root.flops;
    found.narrowest = std::min(found.narrowest, widthOf(root.values.front()));
    for (const Access &access : root.accesses)
      if (std::optional<unsigned> along = liesAlong(nest, access, to);
          along && seen.insert({access.base, access.linear}).second) {
        found.along[*along].push_back(access);
        found.bytes[*along] += widthOf(access.base);
      }
  }
  return found;
}

/// Takes into tiles of so many points at a time what fits into shared memory; returns whether all does.
static bool stage(ThreadGeometry &geometry, ArrayRef<Access> accesses, int64_t vector) {
  geometry.vector = vector;
  geometry.staged.clear();
  llvm::copy_if(accesses, std::back_inserter(geometry.staged), [&](const Access &access) {
    return tileBytes(geometry) + tileBytes(geometry, access.base) <= kMostTileBytes;
  });
  return geometry.staged.size() == accesses.size();
}

bool chooseTiles(const KernelGraph &graph, const LoopNest &nest, ThreadGeometry &geometry) {
  int64_t points = 1;
  for (unsigned dim : nest.loops)
    points *= nest.trips[dim];
  std::optional<unsigned> to = storedAlong(graph, nest);
  if (!to || points < kTileWork)
    return false;
  Transposed found = transposedIn(graph, nest, *to);
  if (found.along.empty())
    return false;
  // That of most memory is the other side of a tile.
  auto less = [&](auto &a, auto &b) { return found.bytes[a.first] < found.bytes[b.first]; };
  const auto &[from, accesses] = *llvm::max_element(found.along, less);
  int64_t narrowest = found.narrowest;
  for (const Access &access : accesses)
    narrowest = std::min(narrowest, widthOf(access.base));

  ThreadGeometry chosen;
  chosen.tiled = true;
  chosen.groupSize = kBlock;
  for (unsigned dim : nest.loops)
    if (dim != from && dim != *to) {
      chosen.outer.push_back(dim);
      chosen.trips.push_back(nest.trips[dim]);
    }
  chosen.inner = {from, *to};
  chosen.innerTrips = {nest.trips[from], nest.trips[*to]};
  bool isWide = narrowest <= 2 && points >= kWideWork && found.cost * 16 <= kMostTileBody &&
                llvm::all_of(chosen.innerTrips, [](int64_t trips) { return trips % 2 == 0; });
  if (!isWide || !stage(chosen, accesses, 2))
    stage(chosen, accesses, 1);
  for (int64_t trips : chosen.innerTrips)
    chosen.tiles *= llvm::divideCeil(trips, kWarp * chosen.vector);
  geometry = chosen;
  return true;
}

} // namespace dgc
