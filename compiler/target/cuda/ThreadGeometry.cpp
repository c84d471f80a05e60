//===- ThreadGeometry.cpp - how threads share a segment of a kernel ---------------===//

#include "compiler/target/cuda/ThreadGeometry.h"
#include "compiler/target/cuda/Online.h"
#include "compiler/target/cuda/Sparse.h"
#include "compiler/target/cuda/Tiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dgc {

/// Fewer points than this inside the outer loops are not worth a group.
static constexpr int64_t kMinGroupWork = 32;
/// Addends of a row, and rows of a column, that a block takes at least where several share them.
static constexpr int64_t kPartWork = 8192, kPartRows = 128;
/// From so many columns on a thread for each keeps a GPU busy.
static constexpr int64_t kManyColumns = 1 << 16;
/// Of threads that take several columns: running values that one has at most, and columns of a block at least.
static constexpr int64_t kMostRunning = 16, kLeastColumns = 16;

/// Points of a row that a thread keeps, at most.
static constexpr int64_t kMostKept = 32;
/// Blocks that keep every multiprocessor of a large GPU busy.
static constexpr int64_t kManyBlocks = 1056, kFewBlocks = kManyBlocks / 16;

static int64_t tripsOf(const LoopNest &nest, ArrayRef<unsigned> loops) {
  int64_t trips = 1;
  for (unsigned dim : loops)
    trips *= nest.trips[dim];
  return trips;
}

LoopNest without(const LoopNest &nest, ArrayRef<unsigned> loops) {
  LoopNest result = nest;
  llvm::erase_if(result.loops, [&](unsigned dim) { return llvm::is_contained(loops, dim); });
  return result;
}

SmallVector<unsigned> commonParallel(const KernelGraph &graph, const LoopNest &nest) {
  SmallVector<unsigned> common;
  for (unsigned dim : nest.loops)
    if (llvm::all_of(nest.roots, [&](unsigned root) { return graph.roots[root].parallel.test(dim); }))
      common.push_back(dim);
  return common;
}

bool cooperates(const KernelGraph &graph, const LoopNest &nest) {
  return llvm::all_of(nest.roots, [&](unsigned number) {
    const Root &root = graph.roots[number];
    if (!root.reduction)
      return true;
    for (unsigned value = 0; value < root.values.size(); ++value)
      if (!combinerOf(root.reduction, value))
        return false;
    return llvm::none_of(nest.loops, [&](unsigned dim) { return root.parallel.test(dim); });
  });
}

int64_t alignmentOf(AffineExpr linear, unsigned dim, int64_t vector, int64_t step, int64_t width) {
  AffineExpr index = getAffineDimExpr(dim, linear.getContext());
  AffineExpr first = simplify(linear.replace(index, index * vector + step));
  auto constant = dyn_cast<AffineConstantExpr>(first);
  int64_t divisor = constant && constant.getValue() == 0 ? 16 : first.getLargestKnownDivisor();
  return (divisor & -divisor) * width;
}

int64_t vectorOf(const KernelGraph &graph, const LoopNest &nest, unsigned dim, int64_t trips) {
  llvm::SmallMapVector<int64_t, int64_t, 4> sizes; // bytes of an element, and of all arrays of such
  bool contiguous = false;
  SmallVector<std::pair<AffineExpr, int64_t>> walked; // accesses along the loop, with the bytes of an element
  bool allContiguous = true;
  auto look = [&](Value value, AffineExpr linear) {
    llvm::BitVector entangled(nest.space.size());
    SmallVector<int64_t> strides = stridesOf(linear, nest.space.size(), entangled);
    if (strides[dim] == 0 && !entangled.test(dim))
      return;
    contiguous |= strides[dim] == 1;
    allContiguous &= strides[dim] == 1 && !entangled.test(dim);
    int64_t width = llvm::divideCeil(elementOf(value).getIntOrFloatBitWidth(), 8);
    walked.push_back({linear, width});
    sizes[width] += width * sizeOf(shapeOf(value));
  };
  for (unsigned number : nest.roots) {
    const Root &root = graph.roots[number];
    for (const Access &access : root.accesses)
      look(access.base, access.linear);
    if (!root.reduction)
      look(root.values.front(), linearize(shapeOf(root.values.front()), root.indices.front(), graph.func.getContext()));
  }
  if (!contiguous)
    return 1;
  // For those of which most memory is.
  auto most = llvm::max_element(sizes, [](auto &a, auto &b) { return a.second < b.second; });
  int64_t vector = std::min<int64_t>(16 / most->first, 8);
  if (allContiguous && vector <= trips && llvm::all_of(walked, [&](auto &access) {
        auto [linear, width] = access;
        return alignmentOf(linear, dim, vector, /*step=*/0, width) >= std::min<int64_t>(vector * width, 16);
      }))
    return vector;
  while (vector > 1 && trips % vector != 0)
    vector /= 2;
  return std::max<int64_t>(vector, 1);
}

/// The loops of the nests of a segment inside its rows.
static std::vector<LoopNest> insideRows(const Segment &segment) {
  SmallVector<unsigned> rows = llvm::to_vector(llvm::seq<unsigned>(0, segment.rowDims));
  std::vector<LoopNest> nests;
  for (const LoopNest &nest : segment.nests)
    nests.push_back(without(nest, rows));
  return nests;
}

/// Do the roots of a segment read of each other only the point that they are at, and only where this is `known`?
static bool readsOwnPoints(const KernelGraph &graph, const Segment &segment,
                           llvm::function_ref<bool(unsigned user, unsigned used)> known) {
  for (unsigned user : segment.roots)
    for (const Access &access : graph.roots[user].accesses) {
      auto it = graph.rootOf.find(access.base);
      if (it == graph.rootOf.end() || !llvm::is_contained(segment.roots, it->second))
        continue;
      const Root &used = graph.roots[it->second];
      unsigned number = llvm::find(used.values, access.base) - used.values.begin();
      if (access.index.empty() || access.index != used.indices[number] || !known(user, it->second))
        return false;
    }
  return true;
}

bool isResident(const KernelGraph &graph, const Segment &segment) {
  std::vector<LoopNest> nests = insideRows(segment);
  auto walked = llvm::find_if(nests, [](const LoopNest &nest) { return !nest.loops.empty(); });
  if (segment.rowDims == 0 || walked == nests.end())
    return false;
  llvm::BitVector looped(graph.roots.size());
  for (const LoopNest &nest : nests) {
    if (nest.loops.empty()) {
      // Every thread computes the value, so none may overwrite what others still read.
      for (unsigned root : nest.roots)
        if (graph.roots[root].reduction || llvm::any_of(graph.inplace, [](int64_t argument) { return argument >= 0; }))
          return false;
      continue;
    }
    if (!cooperates(graph, nest) || nest.loops != walked->loops || nest.trips != walked->trips)
      return false;
    for (unsigned root : nest.roots)
      looped.set(root);
  }
  // What is read of each other is known to the thread that reads it.
  return readsOwnPoints(graph, segment, [&](unsigned user, unsigned used) {
    return graph.roots[used].reduction || !looped.test(used) || looped.test(user);
  });
}

/// Can a thread compute a row alone, and keep in registers what one nest computes and another reads? Then no nest has
/// several elements inside the row.
static bool isOfOneThread(const KernelGraph &graph, const Segment &segment) {
  for (const LoopNest &nest : insideRows(segment))
    for (unsigned user : nest.roots) {
      const Root &root = graph.roots[user];
      if (llvm::any_of(nest.loops, [&](unsigned dim) { return !root.reduction || root.parallel.test(dim); }))
        return false;
    }
  return readsOwnPoints(graph, segment, [](unsigned, unsigned) { return true; });
}

/// How many elements of a row a thread has to keep for each of its points: arrays that are read by several nests, and
/// values that are computed in one and used in another.
static int64_t keptArrays(const Segment &segment, const KernelGraph &graph) {
  llvm::MapVector<Value, llvm::SmallPtrSet<const LoopNest *, 4>> users;
  for (const LoopNest &nest : segment.nests)
    for (unsigned root : nest.roots)
      for (const Access &access : graph.roots[root].accesses) {
        llvm::BitVector entangled(nest.space.size());
        SmallVector<int64_t> strides = stridesOf(access.linear, nest.space.size(), entangled);
        bool varies = entangled.any();
        for (unsigned dim = segment.rowDims; dim < nest.space.size(); ++dim)
          varies |= strides[dim] != 0;
        auto it = graph.rootOf.find(access.base);
        bool isComputed = it != graph.rootOf.end() && llvm::is_contained(segment.roots, it->second);
        if (varies)
          users[access.base].insert(&nest);
        if (varies && isComputed)
          users[access.base].insert(nullptr);
      }
  return llvm::count_if(users, [](auto &entry) { return entry.second.size() > 1; });
}

static int64_t groupSizeFor(int64_t work) { return work <= 1024 ? kWarp : work <= 16384 ? kBlock : 2 * kBlock; }

/// Rows of several nests: a group for each.
static void chooseRows(const KernelGraph &graph, const Segment &segment, ThreadGeometry &geometry) {
  int64_t work = 1;
  for (const LoopNest &nest : segment.nests)
    work = std::max(work, tripsOf(nest, nest.loops));
  for (unsigned dim = 0; dim < segment.rowDims; ++dim) {
    geometry.outer.push_back(dim);
    geometry.trips.push_back(segment.rowShape[dim]);
  }
  if (work < kMinGroupWork && isOfOneThread(graph, segment)) {
    geometry.resident = true;
    return;
  }
  geometry.groupSize = groupSizeFor(work);
  if (!isResident(graph, segment))
    return;
  int64_t vector = 16, kept = std::max<int64_t>(keptArrays(segment, graph), 1), last = 1;
  for (const LoopNest &nest : insideRows(segment)) {
    if (nest.loops.empty())
      continue;
    last = nest.trips[nest.loops.back()];
    vector = std::min(vector, vectorOf(graph, nest, nest.loops.back(), last));
  }
  int64_t vectors = work / last * (last / vector), rest = work / last * (last % vector);
  // A block of 1024 threads has 64 registers for each; smaller ones may have more, and then there are fewer of them.
  for (auto [group, most] :
       {std::pair<int64_t, int64_t>{kWarp, 96}, {kBlock, 64}, {2 * kBlock, 64}, {4 * kBlock, 32}}) {
    int64_t points = llvm::divideCeil(vectors, group) * vector + llvm::divideCeil(rest, group);
    if (points > kMostKept || points * kept > most)
      continue;
    geometry.resident = true;
    geometry.groupSize = group;
    geometry.vector = vector;
    return;
  }
}

/// A sum of few addends, such as a scatter-add: a block looks for them, and its threads add them to an element each.
static bool chooseSparse(const KernelGraph &graph, const LoopNest &nest, ThreadGeometry &geometry) {
  if (nest.roots.size() != 1)
    return false;
  std::optional<SparseSum> sum = sparseSumOf(graph, nest.roots.front());
  if (!sum)
    return false;
  int64_t elements = 1, addends = 1;
  ThreadGeometry chosen;
  for (unsigned dim : nest.loops) {
    if (!graph.roots[nest.roots.front()].parallel.test(dim)) {
      addends *= nest.trips[dim];
    } else if (sum->chooses.test(dim)) {
      chosen.outer.push_back(dim);
      chosen.trips.push_back(nest.trips[dim]);
    } else {
      chosen.inner.push_back(dim);
      chosen.innerTrips.push_back(nest.trips[dim]);
      elements *= nest.trips[dim];
    }
  }
  if (addends < 2 * kWarp || elements < kWarp / 2)
    return false;
  chosen.sparse = true;
  chosen.groupSize = std::clamp<int64_t>(llvm::alignTo(elements, kWarp), 2 * kWarp, 1024);
  chosen.tiles = llvm::divideCeil(elements, chosen.groupSize);
  geometry = chosen;
  return true;
}

/// Lets each thread take as many adjacent columns as one access of 16 bytes has, where that divides them.
static void widenColumns(const KernelGraph &graph, const LoopNest &nest, ThreadGeometry &geometry) {
  int64_t trips = geometry.trips.back(), outside = tripsOf(nest, geometry.outer), running = 0;
  for (unsigned number : nest.roots) {
    running += graph.roots[number].reduction ? graph.roots[number].values.size() : 0;
    if (onlineSumOf(graph, number))
      return;
  }
  int64_t vector = vectorOf(graph, nest, geometry.outer.back(), trips), adjacent = kWarp;
  int64_t parts = std::max<int64_t>(tripsOf(nest, nest.loops) / outside / kPartRows, 1);
  while (vector > 1 && (trips % vector != 0 || vector * running > kMostRunning ||
                        llvm::divideCeil(outside, kWarp * vector) * parts < kFewBlocks))
    vector /= 2;
  // Where something is stored on the way, all threads have columns.
  const bool stores = llvm::any_of(nest.roots, [&](unsigned root) { return !graph.roots[root].reduction; });
  while (outside / vector < adjacent || (stores && outside / vector % adjacent != 0))
    adjacent /= 2;
  if (vector == 1 || adjacent * vector < kLeastColumns)
    return;
  geometry.vector = vector;
  geometry.adjacent = adjacent;
  geometry.groupSize = kBlock / adjacent;
}

/// The only nest of a segment.
static void chooseForNest(const KernelGraph &graph, const LoopNest &nest, ThreadGeometry &geometry) {
  if (chooseSparse(graph, nest, geometry))
    return;
  geometry.outer = commonParallel(graph, nest);
  for (unsigned dim : geometry.outer)
    geometry.trips.push_back(nest.trips[dim]);
  LoopNest inner = without(nest, geometry.outer);
  int64_t work = tripsOf(inner, inner.loops), outside = tripsOf(nest, geometry.outer);
  if (inner.loops.empty()) {
    bool reduces = llvm::any_of(nest.roots, [&](unsigned root) { return bool(graph.roots[root].reduction); });
    if (!reduces && chooseTiles(graph, nest, geometry))
      return;
    if (!reduces && !geometry.outer.empty())
      geometry.vector = vectorOf(graph, nest, geometry.outer.back(), geometry.trips.back());
    return;
  }
  if (work < kMinGroupWork || !cooperates(graph, inner))
    return;
  if (nest.loops.back() == inner.loops.back()) {
    geometry.groupSize = groupSizeFor(work);
    if (outside * 4 < kManyBlocks && work >= kPartWork * 4) {
      geometry.groupSize = kBlock;
      geometry.parts = std::min(llvm::divideCeil(work, kPartWork), llvm::divideCeil(kManyBlocks, outside));
    }
  } else if (outside < kManyColumns) {
    geometry.columns = true;
    geometry.groupSize = work >= 1024 ? 32 : 8;
    widenColumns(graph, nest, geometry);
    int64_t blocks = llvm::divideCeil(outside, geometry.columnsPerBlock());
    if (blocks * 4 < kManyBlocks && work >= kPartRows * 4) {
      geometry.groupSize = kBlock / geometry.adjacent;
      geometry.parts = std::min(llvm::divideCeil(work, kPartRows), llvm::divideCeil(kManyBlocks, blocks));
    }
  }
}

int64_t ThreadGeometry::items() const {
  return vector == 1 || points == 0 ? points : points / trips.back() * llvm::divideCeil(trips.back(), vector);
}

ThreadGeometry ThreadGeometry::finish() const {
  ThreadGeometry result;
  result.outer = outer;
  result.trips = trips;
  result.points = points;
  result.parts = parts;
  result.groupSize = parts > 2 * kWarp ? kBlock : 1;
  result.grid = llvm::divideCeil(points, result.groupsPerBlock());
  return result;
}

ThreadGeometry chooseThreadGeometry(const KernelGraph &graph, const Segment &segment) {
  ThreadGeometry geometry;
  if (segment.rowDims > 0)
    chooseRows(graph, segment, geometry);
  else
    chooseForNest(graph, segment.nests.front(), geometry);
  for (int64_t trips : geometry.trips)
    geometry.points *= trips;
  geometry.block = geometry.columns  ? geometry.adjacent * geometry.groupSize
                   : geometry.sparse ? geometry.groupSize
                                     : std::max(kBlock, geometry.groupSize);
  int64_t points = geometry.groupSize > 1 && !geometry.columns ? geometry.points : geometry.items();
  geometry.grid = llvm::divideCeil(points, geometry.groupsPerBlock()) * geometry.tiles * geometry.parts;
  return geometry;
}

} // namespace dgc
