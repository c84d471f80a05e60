// From one sharding of a value to another: which collectives, in which order.
//
// A plan is a shortest path. Nodes are the layouts of the value (`ValueLayout`),
// edges the collectives and slices that lead from one to another; the length is
// what the device that receives most receives, then the number of collectives.
// Only axes in which the two ends differ move; the others stay where they are.
//
// A dimension of size n that is cut in k parts has parts of size ceil(n / k):
// part i begins at i * ceil(n / k), the last ones may be shorter or empty and
// are padded. Where the parts of a longer list of axes do not nest in those of
// a shorter one (5 in 4 parts: 2 2 1 0, in 2: 3 2), no step leads from one to the
// other but by way of the whole dimension.

#ifndef DGC_PASSES_ANALYSIS_RESHARDPLAN_H
#define DGC_PASSES_ANALYSIS_RESHARDPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <vector>

namespace dgc {

/// Axes by their index in the mesh; in a dimension the major one first.
using Axes = llvm::SmallVector<int, 4>;

/// How a value is distributed: the axes that cut each dimension, and those along
/// which it is partial, ascending. Along all others it is replicated.
struct ValueLayout {
  llvm::SmallVector<Axes, 4> dims;
  Axes partial;
  bool operator==(const ValueLayout &other) const { return dims == other.dims && partial == other.partial; }
};

/// A value on a mesh: the sizes of the axes, and the global shape.
struct LayoutSpace {
  llvm::ArrayRef<int64_t> mesh, shape;

  /// The number of parts that axes make.
  int64_t parts(llvm::ArrayRef<int> axes) const;
  /// The size of a part of dimension `dim` that is cut by `axes`.
  int64_t partSize(unsigned dim, llvm::ArrayRef<int> axes) const;
  llvm::SmallVector<int64_t> localShape(const ValueLayout &layout) const;
  int64_t localElements(const ValueLayout &layout) const;
};

enum class ReshardKind { Slice, ReduceScatter, AllReduce, AllToAll, Permute, AllGather };

struct ReshardStep {
  ReshardKind kind;
  Axes axes;                               // of the group, the major one first
  int dim = -1;                            // that is cut (slice, scatter, all-to-all) or put together (gather)
  int concat = -1;                         // that an all-to-all puts together
  llvm::SmallVector<int64_t> targets = {}; // of a permute: who member m sends to
  ValueLayout after = {};
};

/// The steps, empty for equal ends. `to` is partial along axes only along which
/// `from` is. No two slices of one dimension follow each other.
std::vector<ReshardStep> planReshard(const LayoutSpace &space, const ValueLayout &from, const ValueLayout &to);

/// The elements that the device that receives most receives in a step which
/// finds the value laid out as `before`: (p-1)/p of its part in a reduce-scatter
/// or all-to-all over p devices, twice that in an all-reduce, p-1 parts in a
/// gather, a part in a permute, none in a slice. Parts are padded.
int64_t receivedElements(const LayoutSpace &space, const ValueLayout &before, const ReshardStep &step);

} // namespace dgc

#endif // DGC_PASSES_ANALYSIS_RESHARDPLAN_H
