//===- MemoryPlan.h - grids of a kernel, and memory between them ------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_MEMORYPLAN_H
#define DGC_COMPILER_TARGET_CUDA_MEMORYPLAN_H

#include "compiler/target/cuda/ThreadGeometry.h"
#include "llvm/ADT/MapVector.h"

namespace dgc {

struct MemoryPlan {
  MemoryPlan(const KernelGraph &graph, Schedule schedule);

  /// The memory of a value that is stored and is no result: at an offset of the workspace or, one row for each group, in
  /// the memory of the blocks of one segment.
  struct StorageLocation {
    bool inShared = false;
    unsigned segment = 0; // inShared: the only segment that uses it
    unsigned rowDims = 0; // leading dimensions that have no memory: one row is kept
    int64_t offset = 0;
  };

  /// A range of blocks of a grid: a segment or, where several blocks share its reductions, the combination of their
  /// partial results.
  struct Part {
    unsigned segment;
    bool finish = false;
  };

  Schedule schedule;
  std::vector<ThreadGeometry> geometries; // of each segment
  /// The parts of each grid. Grids run one after the other.
  std::vector<llvm::SmallVector<Part>> grids;
  llvm::MapVector<mlir::Value, StorageLocation> locations;
  llvm::MapVector<mlir::Value, int64_t>
      partials; // where in the workspace the blocks that share a reduction leave theirs
  int64_t workspaceBytes = 0;

  /// The geometry of a part.
  ThreadGeometry geometryOf(Part part) const {
    return part.finish ? geometries[part.segment].finish() : geometries[part.segment];
  }
  /// Values that are in the workspace only because several need them, and are quick to compute from what is read.
  llvm::SmallVector<mlir::Value> quickValues(const KernelGraph &graph) const;

private:
  void place(const KernelGraph &graph, unsigned root);
  void group(const KernelGraph &graph);
  std::vector<int64_t> sharedBytes; // of each segment
};

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_MEMORYPLAN_H
