//===- CudaKernelPlanText.cpp - plans of kernels for GPUs, as text ----------===//

#include "compiler/target/cuda/CudaKernelPlan.h"
#include "compiler/target/cuda/Tiles.h"

using namespace mlir;

namespace dgc {

static void printPoints(llvm::raw_ostream &out, const ThreadGeometry &geometry) {
  out << geometry.points << (geometry.points == 1 ? " point" : " points");
  if (!geometry.outer.empty()) {
    out << ", ";
    printLoops(out, geometry.outer, geometry.trips);
  }
}

/// The threads of a segment and what they have, after its name.
static void printThreads(llvm::raw_ostream &out, const KernelGraph &graph, SegmentForm form,
                         const ThreadGeometry &geometry) {
  switch (form) {
  case SegmentForm::Points:
    out << "a thread for each of ";
    printPoints(out, geometry);
    if (geometry.vector > 1)
      out << ", " << geometry.vector << " at a time";
    return;
  case SegmentForm::Groups:
    out << "a group of " << geometry.groupSize << " threads for each of ";
    printPoints(out, geometry);
    if (geometry.resident)
      out << "; rows stay in registers, " << geometry.vector << " at a time";
    return;
  case SegmentForm::Columns:
    out << "a column of " << geometry.groupSize << " threads for each of ";
    printPoints(out, geometry);
    if (geometry.vector > 1)
      out << ", " << geometry.vector << " at a time";
    return;
  case SegmentForm::Tiles:
    out << "a block for each tile of " << kWarp * geometry.vector << " of ";
    printLoops(out, geometry.inner, geometry.innerTrips);
    out << "; for each of ";
    printPoints(out, geometry);
    for (const Access &access : geometry.staged) {
      out << "; in shared memory: ";
      printValue(out, graph, access.base);
    }
    return;
  case SegmentForm::Sparse:
    out << "a block for each of ";
    printPoints(out, geometry);
    out << "; a thread for each element of ";
    printLoops(out, geometry.inner, geometry.innerTrips);
    if (geometry.tiles > 1)
      out << " in " << geometry.tiles << " blocks";
  }
}

void CudaKernelPlan::printSegment(llvm::raw_ostream &out, unsigned number) const {
  const SegmentPlan &plan = segments[number];
  const ThreadGeometry &geometry = memory.geometries[number];
  out << "  segment " << number << ": ";
  printThreads(out, graph, plan.form, geometry);
  if (geometry.parts > 1)
    out << "; " << geometry.parts << " parts";
  out << "\n";
  auto line = [&](llvm::function_ref<void()> inside) {
    out << "    nest: ";
    inside();
    out << "\n";
  };
  for (const NestPlan &nest : plan.points)
    line([&] {
      printNest(out, graph, nest);
      if (!plan.bounds.empty())
        out << "; vectors with padding one by one";
    });
  if (plan.form == SegmentForm::Tiles)
    line([&] { printRoots(out, graph, memory.schedule.segments[number].nests.front().roots); });
  if (plan.form == SegmentForm::Sparse)
    line([&] {
      printRoots(out, graph, memory.schedule.segments[number].nests.front().roots);
      out << " searches ";
      printLoops(out, plan.sparse.added, plan.sparse.addedTrips);
      if (!plan.sparse.blocks.empty()) {
        out << " in blocks of ";
        printSizes(out, plan.sparse.blocks, ", ");
      }
    });
  for (const GroupNestPlan &nest : plan.nests) {
    line([&] { printGroupNest(out, graph, nest); });
    if (plan.meets && &nest != &plan.nests.back())
      out << "    barrier\n";
  }
}

void CudaKernelPlan::printGrids(llvm::raw_ostream &out) const {
  for (auto [number, grid] : llvm::enumerate(memory.grids)) {
    out << "  grid " << number << ": " << blocksOf(grid) << " blocks of " << memory.geometryOf(grid.front()).block
        << " threads: ";
    llvm::interleaveComma(grid, out, [&](MemoryPlan::Part part) {
      out << (part.finish ? "the parts of segment " : "segment ") << part.segment;
    });
    out << "\n";
  }
}

void CudaKernelPlan::printMemory(llvm::raw_ostream &out) const {
  for (const auto &[value, location] : memory.locations) {
    out << "  " << (location.inShared ? "shared memory: " : "workspace: ");
    printValue(out, graph, value);
    if (location.inShared)
      out << ", a row for each group of segment " << location.segment;
    else
      out << " at " << location.offset;
    out << "\n";
  }
  for (const auto &[value, offset] : memory.partials) {
    out << "  workspace: parts of ";
    printValue(out, graph, value);
    out << " at " << offset << "\n";
  }
}

void CudaKernelPlan::print(llvm::raw_ostream &out) const {
  out << "kernel @" << graph.func.getName() << ": indices of " << indexBits << " bits, workspace of "
      << memory.workspaceBytes << " bytes\n";
  for (unsigned number = 0; number < segments.size(); ++number)
    printSegment(out, number);
  printGrids(out);
  printMemory(out);
}

} // namespace dgc
