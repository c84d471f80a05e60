//===- ThreadGeometry.h - the distribution of a segment over threads -----------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_THREADGEOMETRY_H
#define DGC_COMPILER_TARGET_CUDA_THREADGEOMETRY_H

#include "compiler/codegen/Combiner.h"
#include "compiler/codegen/KernelSchedule.h"

namespace dgc {

constexpr int64_t kWarp = 32, kBlock = 256;

/// Thread groups take the points of the outer loops; the threads of a group share the inner loops.
struct ThreadGeometry {
  llvm::SmallVector<unsigned> outer; // dimensions, outermost first; all are parallel
  llvm::SmallVector<int64_t> trips;
  int64_t points = 1; // of the outer loops
  /// The number of threads of a group. 1: each thread takes points of its own. Else a warp or a whole block, adjacent along memory
  /// (`columns` false), or threads that are `adjacent` apart, as many groups lie side by side, each with `vector` points
  /// of the last outer loop (`columns` true).
  int64_t groupSize = 1;
  bool columns = false;
  int64_t adjacent = kWarp;
  /// Blocks for points of `outer`, whose threads search together for the present addends (Sparse.h) and take one
  /// point of `inner` each; `tiles` blocks for the points of `inner`.
  bool sparse = false;
  /// Blocks for tiles of two loops, `inner`: that along which `staged` arrays lie, which go through the block's
  /// memory, and that along which the result lies. A tile has 32 times `vector` points on each side (Tiles.h).
  bool tiled = false;
  llvm::SmallVector<Access, 0> staged;
  llvm::SmallVector<unsigned> inner;
  llvm::SmallVector<int64_t> innerTrips;
  int64_t tiles = 1;
  int64_t vector = 1; // points of the innermost loop, or of adjacent columns, that a thread takes at a time
  /// Rows of several nests: a thread takes the same points in each and keeps what it knows of them in registers, so
  /// that memory is read once. `vector` points at a time, all of them without a loop. Short rows are of one thread each.
  bool resident = false;
  /// Reductions with few results: this number of blocks take a part of the addends each, and a second grid combines
  /// their partial results.
  int64_t parts = 1;
  int64_t block = kBlock, grid = 1;

  /// The grid that combines the parts: a thread for each point, or a block where there are many parts.
  ThreadGeometry finish() const;
  int64_t groupsPerBlock() const { return columns ? adjacent : block / groupSize; }
  /// Of columns, those that a block has.
  int64_t columnsPerBlock() const { return adjacent * vector; }
  /// Where each thread takes points of its own, or columns: `vector` of the last outer loop, and fewer at the end of it.
  int64_t items() const;
};

ThreadGeometry chooseThreadGeometry(const KernelGraph &graph, const Segment &segment);

/// Returns true if the threads of a group can keep the rows of a segment in registers. Then the nests with loops all have those of the first of
/// them.
bool isResident(const KernelGraph &graph, const Segment &segment);

/// Returns the nest without `loops`.
LoopNest without(const LoopNest &nest, llvm::ArrayRef<unsigned> loops);

/// Returns the loops of a nest that are parallel for all of its roots.
llvm::SmallVector<unsigned> commonParallel(const KernelGraph &graph, const LoopNest &nest);

/// Returns true if a group can share the loops of a nest, each thread with running values of its own that are combined
/// at the end. Then all loops are reductions for all roots that reduce.
bool cooperates(const KernelGraph &graph, const LoopNest &nest);

/// The alignment of an access in bytes, where a loop takes `vector` points along `dim` at a time
/// and this is the point `step` of them. `width`: bytes of an element.
int64_t alignmentOf(mlir::AffineExpr linear, unsigned dim, int64_t vector, int64_t step, int64_t width);

/// How many consecutive points along `dim` one access of 16 bytes takes, where the nest walks memory along it. It
/// divides the trips, or all that the nest walks begins at a multiple of it and those at the end are to be taken one by
/// one.
int64_t vectorOf(const KernelGraph &graph, const LoopNest &nest, unsigned dim, int64_t trips);

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_THREADGEOMETRY_H
