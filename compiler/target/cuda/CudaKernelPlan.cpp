//===- CudaKernelPlan.cpp - what is decided of a kernel for GPUs ------------===//

#include "compiler/target/cuda/CudaKernelPlan.h"
#include "compiler/codegen/SumBlocks.h"
#include "compiler/target/cuda/Tiles.h"

using namespace mlir;

namespace dgc {

/// Where this share of the points is no padding, vectors without any are apart.
static constexpr double kMostlyInside = 0.75;

/// What the roots of a nest ask of indices. Nothing where none changes along the loop, where the first and the last
/// point of a vector say too little of those between, and where much is padding.
static SmallVector<Bound> boundsAlong(const KernelGraph &graph, const LoopNest &nest, unsigned dim, int64_t vector) {
  SmallVector<Bound> bounds;
  bool changes = false;
  double inside = 1; // the share of points in all bounds
  for (unsigned number : nest.roots)
    for (const Bound &bound : graph.roots[number].bounds) {
      llvm::BitVector entangled(nest.space.size());
      SmallVector<int64_t> strides = stridesOf(bound.index, nest.space.size(), entangled);
      bool isLinear = entangled.none();
      bound.index.walk([&](AffineExpr inner) { isLinear &= !isa<AffineSymbolExpr>(inner); });
      if (!isLinear)
        return {};
      int64_t reach = 1;
      for (auto [stride, size] : llvm::zip_equal(strides, nest.space))
        reach += std::abs(stride) * (size - 1);
      inside *= std::min(1.0, double(bound.size - (strides[dim] != 0 ? vector : 0)) / reach);
      changes |= strides[dim] != 0;
      bounds.push_back(bound);
    }
  return changes && inside >= kMostlyInside ? bounds : SmallVector<Bound>();
}

/// Are 32 bits enough for every index and number of a thread?
static unsigned indexBitsFor(const KernelGraph &graph, const MemoryPlan &memory) {
  int64_t most = memory.workspaceBytes;
  auto look = [&](Value value) { most = std::max(most, sizeOf(shapeOf(value))); };
  for (BlockArgument argument : graph.func.getArguments())
    look(argument);
  for (const Root &root : graph.roots) {
    most = std::max(most, sizeOf(root.space));
    for (Value value : root.values)
      look(value);
  }
  for (const ThreadGeometry &geometry : memory.geometries)
    most = std::max(most, (geometry.grid + 1) * geometry.block * geometry.vector);
  return most < (int64_t(1) << 31) - (1 << 16) ? 32 : 64;
}

static SparsePlan planSparse(const KernelGraph &graph, const ThreadGeometry &geometry, const LoopNest &nest) {
  SparsePlan plan;
  plan.sum = *sparseSumOf(graph, nest.roots.front());
  for (unsigned dim : nest.loops)
    if (!graph.roots[nest.roots.front()].parallel.test(dim)) {
      plan.added.push_back(dim);
      plan.addedTrips.push_back(nest.trips[dim]);
      plan.addends *= nest.trips[dim];
    }
  plan.blocks = cutIntoBlocks(llvm::divideCeil(plan.addends, geometry.block), kLongestChain);
  return plan;
}

static SegmentForm formOf(const ThreadGeometry &geometry) {
  if (geometry.sparse)
    return SegmentForm::Sparse;
  if (geometry.tiled)
    return SegmentForm::Tiles;
  if (geometry.groupSize == 1)
    return SegmentForm::Points;
  return geometry.columns ? SegmentForm::Columns : SegmentForm::Groups;
}

static SegmentPlan planSegment(const KernelGraph &graph, const Segment &segment, const ThreadGeometry &geometry) {
  SegmentPlan plan;
  plan.form = formOf(geometry);
  switch (plan.form) {
  case SegmentForm::Points:
    for (const LoopNest &nest : segment.nests)
      plan.points.push_back(planThreadNest(graph, without(nest, geometry.outer)));
    if (geometry.vector > 1)
      plan.bounds = boundsAlong(graph, plan.points.front().nest, geometry.outer.back(), geometry.vector);
    break;
  case SegmentForm::Sparse:
    plan.sparse = planSparse(graph, geometry, segment.nests.front());
    break;
  case SegmentForm::Tiles:
    break;
  case SegmentForm::Groups:
  case SegmentForm::Columns:
    // Threads that keep all they need wait for each other only where something is overwritten.
    plan.meets = !geometry.resident || llvm::any_of(graph.inplace, [](int64_t argument) { return argument >= 0; });
    for (const LoopNest &nest : segment.nests)
      plan.nests.push_back(planGroupNest(graph, geometry, without(nest, geometry.outer)));
    break;
  }
  return plan;
}

CudaKernelPlan::CudaKernelPlan(KernelGraph givenGraph, MemoryPlan givenMemory)
    : graph(std::move(givenGraph)), memory(std::move(givenMemory)), indexBits(indexBitsFor(graph, memory)) {
  for (auto [segment, geometry] : llvm::zip_equal(memory.schedule.segments, memory.geometries))
    segments.push_back(planSegment(graph, segment, geometry));
}

FailureOr<CudaKernelPlan> CudaKernelPlan::make(func::FuncOp func) {
  FailureOr<KernelGraph> graph = KernelGraph::build(func);
  if (failed(graph))
    return failure();
  MemoryPlan memory(*graph, scheduleKernel(*graph, /*apart=*/true));
  // Without some of the values that were to be kept others may have to be.
  llvm::DenseSet<Value> recomputed;
  for (SmallVector<Value> quick; !(quick = memory.quickValues(*graph)).empty();) {
    recomputed.insert(quick.begin(), quick.end());
    graph = KernelGraph::build(func, recomputed);
    if (failed(graph))
      return failure();
    memory = MemoryPlan(*graph, scheduleKernel(*graph, /*apart=*/true));
  }
  return CudaKernelPlan(*std::move(graph), std::move(memory));
}

int64_t CudaKernelPlan::blocksOf(ArrayRef<MemoryPlan::Part> grid) const {
  int64_t blocks = 0;
  for (MemoryPlan::Part part : grid)
    blocks += memory.geometryOf(part).grid;
  return blocks;
}

int64_t CudaKernelPlan::tileBytesOf(ArrayRef<MemoryPlan::Part> grid) const {
  int64_t most = 0;
  for (MemoryPlan::Part part : grid)
    most = std::max(most, tileBytes(memory.geometryOf(part)));
  return most;
}

} // namespace dgc
