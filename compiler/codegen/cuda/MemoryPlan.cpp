//===- MemoryPlan.cpp - grids of a kernel, and memory between them ----------===//

#include "compiler/codegen/cuda/MemoryPlan.h"

using namespace mlir;

namespace dgc {

/// What rows may take of the 48 KiB that a block has without asking; the rest is for joining running values.
static constexpr int64_t kMaxSharedBytes = 32 << 10;

MemoryPlan::MemoryPlan(const KernelGraph &graph, Schedule given) : schedule(std::move(given)) {
  for (const Segment &segment : schedule.segments)
    geometries.push_back(chooseGeometry(graph, segment));
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
  const Geometry &geometry = geometries[segment];
  for (Value value : graph.roots[number].values) {
    if (llvm::is_contained(ret.getOperands(), value))
      continue;
    int64_t width = llvm::divideCeil(elementOf(value).getIntOrFloatBitWidth(), 8);
    int64_t row = std::max<int64_t>(sizeOf(shapeOf(value).drop_front(rowDims)), 1) * width * geometry.teamsPerBlock();
    row = llvm::alignTo(row, 16);
    if (rowDims > 0 && isLocal && geometry.team > 1 && sharedBytes[segment] + row <= kMaxSharedBytes) {
      sharedBytes[segment] += row;
      homes[value] = {true, segment, rowDims, 0};
      continue;
    }
    homes[value] = {false, segment, 0, workspaceBytes};
    workspaceBytes += llvm::alignTo(std::max<int64_t>(sizeOf(shapeOf(value)), 1) * width, 256);
  }
}

/// Segments in their order. One joins the grid before it when no segment of that has to come before it.
void MemoryPlan::group(const KernelGraph &graph) {
  auto dependsOn = [&](unsigned segment, unsigned other) {
    for (unsigned user : schedule.segments[segment].roots)
      for (unsigned used : schedule.segments[other].roots)
        if (graph.reads(user, used) || llvm::is_contained(graph.roots[user].after, used))
          return true;
    return false;
  };
  for (unsigned segment = 0; segment < schedule.segments.size(); ++segment) {
    if (geometries[segment].points == 0)
      continue;
    bool joins = !grids.empty() && geometries[segment].block == geometries[grids.back().front()].block &&
                 llvm::none_of(grids.back(), [&](unsigned other) { return dependsOn(segment, other); });
    if (!joins)
      grids.emplace_back();
    grids.back().push_back(segment);
  }
}

} // namespace dgc
