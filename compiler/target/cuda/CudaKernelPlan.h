//===- CudaKernelPlan.h - what is decided of a kernel for GPUs --------------===//
//
// Which grids there are, which threads compute which points of each segment, and what is kept where. The code is
// written from it alone.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_CUDAKERNELPLAN_H
#define DGC_COMPILER_TARGET_CUDA_CUDAKERNELPLAN_H

#include "compiler/target/cuda/GroupPlan.h"
#include "compiler/target/cuda/MemoryPlan.h"
#include "compiler/target/cuda/Sparse.h"

namespace dgc {

/// The loops over the addends of a sum of few addends.
struct SparsePlan {
  SparseSum sum;
  llvm::SmallVector<unsigned> added;
  llvm::SmallVector<int64_t> addedTrips;
  int64_t addends = 1;
  llvm::SmallVector<int64_t> blocks; // of the chunks of a block's threads
};

/// How the threads of a segment's geometry write it.
enum class SegmentForm { Points, Groups, Columns, Tiles, Sparse };

struct SegmentPlan {
  SegmentForm form = SegmentForm::Points;
  /// Points: the loops of a thread inside its points, one nest after the other, and what is known of indices where it
  /// takes a whole vector.
  std::vector<NestPlan> points;
  llvm::SmallVector<Bound> bounds;
  /// Groups and columns. Whether the threads of a group wait for each other between two nests.
  std::vector<GroupNestPlan> nests;
  bool meets = true;
  SparsePlan sparse;
};

class CudaKernelPlan {
public:
  /// Fails, with a diagnostic, on an op that code cannot be generated for.
  static mlir::FailureOr<CudaKernelPlan> make(mlir::func::FuncOp func);

  void print(llvm::raw_ostream &out) const;

  /// The blocks of a grid, and the bytes of shared memory that the tiles of its segments share.
  int64_t blocksOf(llvm::ArrayRef<MemoryPlan::Part> grid) const;
  int64_t tileBytesOf(llvm::ArrayRef<MemoryPlan::Part> grid) const;

  KernelGraph graph;
  MemoryPlan memory; // with the schedule, the geometry of each segment and the grids
  std::vector<SegmentPlan> segments;
  unsigned indexBits; // the width of indices and positions, 32 or 64

private:
  CudaKernelPlan(KernelGraph graph, MemoryPlan memory);
  void printSegment(llvm::raw_ostream &out, unsigned number) const;
  void printGrids(llvm::raw_ostream &out) const;
  void printMemory(llvm::raw_ostream &out) const;
};

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_CUDAKERNELPLAN_H
