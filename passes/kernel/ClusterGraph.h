//===- ClusterGraph.h - the ops of a block, grouped --------------------------===//
//
// Clusters of ops, and what depends on what between them. Which ones become one is decided in Clusters.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_PASSES_KERNEL_CLUSTERGRAPH_H
#define DGC_PASSES_KERNEL_CLUSTERGRAPH_H

#include "dialects/dgc/TensorUtil.h"
#include "passes/analysis/SizeDecisions.h"
#include "passes/kernel/Clusters.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"
#include <vector>

namespace dgc {

/// Kernels that compute no more elements than this together are fused whatever their form: one thread does them in some
/// microseconds, and splitting them is not worth a launch.
inline constexpr int64_t kSmallWork = 1 << 17;
/// Tensors of up to this many elements count as scalars.
inline constexpr int64_t kTiny = 64;
/// A kernel's code repeats an op for each place at which an element of a result needs it. Up to so many ops, repeated
/// ones included, it may do so.
inline constexpr uint64_t kMostExpandedOps = 512;

inline int64_t elements(mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type ? type.getNumElements() : 1;
}

/// How an op reduces. Rows: all dimensions after some leading ones.
enum class Reduces { No, Rows, Other };
Reduces reduces(mlir::Operation *op);

struct Cluster {
  llvm::SmallVector<unsigned> ops;   // indices, ascending
  llvm::SmallVector<int64_t> domain; // the largest shape in it
  llvm::SmallVector<int64_t> rows;   // shape of its row reductions' results
  int64_t work = 0;
  int64_t microbatch = -1; // that all ops are for; -1: none says
  int64_t recompute = -1;  // the number of what is computed again in the backward pass; -1: nothing is
  mlir::Attribute slot;    // of a pipeline's schedule; ops of different slots are not for one kernel
  uint64_t places = 1;     // the product, over the values, of the numbers of places at which users read them
  bool isCheck = false;    // of values that others compute (dgc-check-numerics)
  bool fusible = false, heavy = false, hasRows = false, hasOther = false, onlyReductions = false;

  int64_t size() const {
    int64_t product = 1;
    for (int64_t n : domain)
      product *= n;
    return product;
  }
};

/// The ops of a block by number, small constants and the terminator left out, each in a cluster that is known by the
/// number of one of its ops.
class ClusterGraph {
public:
  ClusterGraph(mlir::Block &block, SizeDecisions &decide);

  /// The cluster that an op is in.
  unsigned find(unsigned id) const {
    while (leader[id] != id)
      id = leader[id] = leader[leader[id]];
    return id;
  }

  /// The other clusters that depend on one, perhaps several times.
  void forEachSuccessor(unsigned cluster, llvm::function_ref<void(unsigned)> visit) const;
  /// All clusters, each after those it depends on.
  llvm::SmallVector<unsigned> inTopologicalOrder() const;
  /// Is there a way from `from` to `to` through another cluster?
  bool pathAround(unsigned from, unsigned to) const;
  /// Makes cluster `b` a part of cluster `a`. There is no path between them through another cluster.
  void merge(unsigned a, unsigned b);
  /// Everything that others use of the cluster is a scalar.
  bool hasOnlyReducedResults(unsigned cluster) const;
  bool isUsedOutside(mlir::Value value, unsigned cluster) const;
  /// Are all users of the producer in it or in the consumer?
  bool allUsersIn(unsigned producer, unsigned consumer) const;
  bool dependsDirectly(unsigned from, unsigned to) const;
  /// Would a kernel of both be too long? Its code has an op as often as there are places at which an element of a result
  /// needs it: slices of sums of slices double it each time.
  bool isTooLong(unsigned producer, unsigned consumer) const;
  /// Makes an op a cluster of its own.
  void release(unsigned id, unsigned cluster);
  /// Candidates so that each comes after those it depends on, otherwise in the order of their last ops.
  llvm::SmallVector<KernelCandidate> inOrder() const;

protected:
  mlir::Block &block;
  SizeDecisions &decide;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, unsigned> idOf;
  mutable llvm::SmallVector<unsigned> leader; // paths get shorter when they are looked up
  std::vector<Cluster> clusters;              // of the leaders

private:
  void reorder(unsigned a, unsigned b, unsigned merged);

  std::vector<llvm::SmallVector<unsigned, 2>> successors; // of each op: its users, and what must come after it
  /// Clusters in topological order, and the position of each there. A path between two clusters only goes through
  /// clusters between them in that order, so only these are searched. Holds until the first `release`.
  static constexpr unsigned kVacant = ~0u;
  llvm::SmallVector<unsigned> order, place;
};

} // namespace dgc

#endif // DGC_PASSES_KERNEL_CLUSTERGRAPH_H
