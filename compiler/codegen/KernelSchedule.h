//===- KernelSchedule.h - loop nests of a kernel ---------------------------===//
//
// A kernel is a sequence of segments. A segment is one outer loop over rows (the leading dimensions that all its roots
// have in common), in which nests over the remaining dimensions follow each other: softmax is one segment over rows
// with three nests. Without common rows a segment has one nest. Roots of a nest share its loops.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_CODEGEN_KERNELSCHEDULE_H
#define DGC_COMPILER_CODEGEN_KERNELSCHEDULE_H

#include "compiler/codegen/KernelGraph.h"

namespace dgc {

/// The loops over the dimensions inside the rows of a segment. Its roots share them.
struct LoopNest {
  llvm::SmallVector<unsigned> roots;
  llvm::SmallVector<int64_t, 4> space;
  /// The loops inside the rows, outermost first.
  llvm::SmallVector<unsigned, 4> loops;
  /// Loops that were merged into the next one: their index stays 0 and the next one runs over the product.
  llvm::BitVector merged;
  llvm::SmallVector<int64_t, 4> trips; // per dimension of the space, after merging
};

struct Segment {
  unsigned rowDims = 0; // leading dimensions of every root that form the row
  llvm::SmallVector<int64_t, 4> rowShape;
  bool mergedRows = false; // the row index is used as it is (as the last row dimension)
  std::vector<LoopNest> nests;
  llvm::SmallVector<unsigned> roots;
  // How the work is split: `extent` parts; part i does rows [i*chunk, (i+1)*chunk), or those indices of the loop
  // `splitLoop` of the only nest.
  int64_t extent = 1, chunk = 1;
  int64_t splitLoop = -1;
};

struct Schedule {
  std::vector<Segment> segments;
  /// Segments that depend on each other run one after the other and are not split.
  bool sequential = false;
  int64_t extent = 1;
  uint64_t flops = 0, bytes = 0, costNs = 0;
  llvm::SmallVector<unsigned> segmentOf; // per root
};

/// `apart`: reductions over different loops of one space have loops of their own, as the threads of a GPU can share
/// only what is reduced alike, and several long sums of a row are in a segment of their own.
Schedule scheduleKernel(const KernelGraph &graph, bool apart = false);

/// Per dimension of a root's space how far an access moves in memory, in elements; nothing when the position is not a
/// linear function. Dimensions on which it does not depend in a linear way alone are set in `entangled`.
llvm::SmallVector<int64_t> stridesOf(mlir::AffineExpr linear, unsigned dims, llvm::BitVector &entangled);

} // namespace dgc

#endif // DGC_COMPILER_CODEGEN_KERNELSCHEDULE_H
