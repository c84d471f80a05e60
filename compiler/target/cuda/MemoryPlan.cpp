//===- MemoryPlan.cpp - grids of a kernel, and memory between them ----------===//

#include "compiler/target/cuda/MemoryPlan.h"
#include "compiler/target/cuda/Online.h"
#include "compiler/target/cuda/Tiles.h"

using namespace mlir;

namespace dgc {

/// What rows may take of the 48 KiB that a block has without asking; the rest is for joining running values.
static constexpr int64_t kMaxSharedBytes = 32 << 10, kMaxGridBytes = 46 << 10;
/// What is cheaper to compute again than to write and read: in simple instructions, and arrays that are read for it.
static constexpr uint64_t kQuick = 128;
static constexpr unsigned kFewArrays = 3;

MemoryPlan::MemoryPlan(const KernelGraph &graph, Schedule given) : schedule(std::move(given)) {
  for (Segment &segment : schedule.segments) {
    geometries.push_back(chooseThreadGeometry(graph, segment));
    // What is in registers is read once anyway.
    if (!geometries.back().resident)
      joinOnline(graph, segment);
  }
  sharedBytes.assign(schedule.segments.size(), 0);
  for (unsigned root = 0; root < graph.roots.size(); ++root)
    place(graph, root);
  group(graph);
}

void MemoryPlan::place(const KernelGraph &graph, unsigned number) {
  auto ret = cast<func::ReturnOp>(graph.func.getBody().front().getTerminator());
  unsigned segment = schedule.segmentOf[number], rowDims = schedule.segments[segment].rowDims;
  bool isLocal = true;
  for (unsigned user = 0; user < graph.roots.size(); ++user)
    isLocal &= !graph.reads(user, number) || schedule.segmentOf[user] == segment;
  const ThreadGeometry &geometry = geometries[segment];
  for (Value value : graph.roots[number].values) {
    int64_t width = llvm::divideCeil(elementOf(value).getIntOrFloatBitWidth(), 8);
    // Where the threads of a column meet, one value after the other.
    if (geometry.columns && graph.roots[number].reduction)
      sharedBytes[segment] = std::max(sharedBytes[segment], geometry.columnsPerBlock() * geometry.groupSize * width);
    if (geometry.parts > 1 && graph.roots[number].reduction) {
      partials[value] = workspaceBytes;
      workspaceBytes += llvm::alignTo(std::max<int64_t>(sizeOf(shapeOf(value)), 1) * width * geometry.parts, 256);
    }
    if (llvm::is_contained(ret.getOperands(), value))
      continue;
    if (geometry.resident && isLocal)
      continue; // in registers
    int64_t row = std::max<int64_t>(sizeOf(shapeOf(value).drop_front(rowDims)), 1) * width * geometry.groupsPerBlock();
    row = llvm::alignTo(row, 16);
    if (rowDims > 0 && isLocal && geometry.groupSize > 1 && sharedBytes[segment] + row <= kMaxSharedBytes) {
      sharedBytes[segment] += row;
      locations[value] = {true, segment, rowDims, 0};
      continue;
    }
    locations[value] = {false, segment, 0, workspaceBytes};
    workspaceBytes += llvm::alignTo(std::max<int64_t>(sizeOf(shapeOf(value)), 1) * width, 256);
  }
}

/// Parts in the order of their segments, each in the first grid of its size that comes after all that it needs.
void MemoryPlan::group(const KernelGraph &graph) {
  auto dependsOn = [&](unsigned segment, unsigned other) {
    for (unsigned user : schedule.segments[segment].roots)
      for (unsigned used : schedule.segments[other].roots)
        if (graph.reads(user, used) || llvm::is_contained(graph.roots[user].after, used))
          return true;
    return false;
  };
  SmallVector<size_t> behind(schedule.segments.size(), 0); // the first grid that may use a segment
  auto add = [&](Part part, size_t first) {
    // The rows of all segments of a grid are in the memory of each block; tiles share theirs.
    auto fits = [&](ArrayRef<Part> grid) {
      int64_t rows = sharedBytes[part.segment], tiles = tileBytes(geometryOf(part));
      for (Part other : grid) {
        rows += sharedBytes[other.segment];
        tiles = std::max(tiles, tileBytes(geometryOf(other)));
      }
      return geometryOf(grid.front()).block == geometryOf(part).block && rows + tiles <= kMaxGridBytes;
    };
    while (first < grids.size() && !fits(grids[first]))
      ++first;
    if (first == grids.size())
      grids.emplace_back();
    grids[first].push_back(part);
    behind[part.segment] = first + 1;
  };
  for (unsigned segment = 0; segment < schedule.segments.size(); ++segment) {
    size_t first = 0;
    for (unsigned other = 0; other < segment; ++other)
      if (dependsOn(segment, other))
        first = std::max(first, behind[other]);
    behind[segment] = first;
    if (geometries[segment].points == 0)
      continue;
    add({segment, false}, first);
    if (geometries[segment].parts > 1)
      add({segment, true}, behind[segment]);
  }
}

SmallVector<Value> MemoryPlan::quickValues(const KernelGraph &graph) const {
  auto ret = cast<func::ReturnOp>(graph.func.getBody().front().getTerminator());
  SmallVector<Value> values;
  for (const auto &[value, location] : locations) {
    unsigned number = graph.rootOf.lookup(value);
    const Root &root = graph.roots[number];
    if (location.inShared || root.reduction || llvm::is_contained(ret.getOperands(), value) || root.flops > kQuick)
      continue;
    int64_t elements = sizeOf(root.space);
    unsigned large = llvm::count_if(root.accesses,
                                    [&](const Access &access) { return sizeOf(shapeOf(access.base)) * 2 > elements; });
    bool isReadOnce = true;
    for (unsigned user = 0; user < graph.roots.size(); ++user)
      isReadOnce &= !graph.reads(user, number) || sizeOf(graph.roots[user].space) <= 2 * elements;
    if (large <= kFewArrays && isReadOnce)
      values.push_back(value);
  }
  return values;
}

} // namespace dgc
