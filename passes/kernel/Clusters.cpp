//===- Clusters.cpp - greedy fusion of ops into kernels -------------------===//

#include "passes/kernel/Clusters.h"
#include "dialects/dgc/DGC.h"
#include "mlir/IR/Builders.h"
#include "passes/kernel/ClusterGraph.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"
#include <map>

#define DEBUG_TYPE "dgc-form-kernels"

using namespace mlir;

namespace dgc {

/// Is the value computed from places and constants alone, by one operation for each element? (A mask, say.)
static bool isOfPlaces(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  return isa<ElementwiseOpInterface>(op) && cost && cost.getCost().flops <= uint64_t(elements(op->getResult(0))) &&
         llvm::all_of(op->getOperands(), [](Value operand) {
           Operation *def = operand.getDefiningOp();
           return def && (isa<IotaOp>(def) || isSmallConstant(def));
         });
}

/// Ops of a kernel of many small parts, each with loops of its own.
static constexpr size_t kJoinedOps = 128;

/// Costs nothing to compute again for each user.
static bool isFree(Operation *op) { return isa<BroadcastInDimOp, IotaOp>(op) || isOfPlaces(op); }

namespace {

class Fusion : ClusterGraph {
public:
  Fusion(Block &block, size_t maxUpdateOps, bool shareLaunches, SizeDecisions &decide)
      : ClusterGraph(block, decide), maxUpdateOps(maxUpdateOps), shareLaunches(shareLaunches) {}

  SmallVector<KernelCandidate> run() {
    fuseProducers();
    fuseProducers(); // what several users of which are one by now
    fuseSiblings();
    if (shareLaunches)
      fuseSumsOfRows();
    fuseUpdates();
    fuseProducers(); // scalars that all updates use
    if (shareLaunches) {
      joinConversions();
      joinTotals();
    }
    sinkFreeOps();
    releaseReshapes();
    return inOrder();
  }

private:
  /// Does the op need, within its cluster, a reduction over rows?
  bool isBehindReduction(unsigned id, unsigned cluster) const {
    llvm::BitVector seen(ops.size());
    SmallVector<unsigned> work{id};
    while (!work.empty()) {
      unsigned next = work.pop_back_val();
      if (reduces(ops[next]) == Reduces::Other)
        return true;
      for (Value operand : ops[next]->getOperands())
        if (Operation *def = operand.getDefiningOp())
          if (auto it = idOf.find(def); it != idOf.end() && find(it->second) == cluster && !seen.test(it->second)) {
            seen.set(it->second);
            work.push_back(it->second);
          }
    }
    return false;
  }

  bool usedByAThird(unsigned producer, unsigned consumer) const {
    bool found = false;
    forEachSuccessor(producer, [&](unsigned next) { found |= next != consumer; });
    return found;
  }

  /// Whether the loops of a producer and of a consumer of its values fit into each other.
  bool fit(unsigned producer, unsigned consumer) const {
    const Cluster &p = clusters[producer], &c = clusters[consumer];
    if (p.hasRows && c.hasRows && p.rows != c.rows)
      return false;
    if ((p.hasRows && c.hasOther) || (c.hasRows && p.hasOther))
      return false;
    for (unsigned id : p.ops)
      for (OpOperand &use : ops[id]->getUses()) {
        auto it = idOf.find(use.getOwner());
        if (it == idOf.end() || find(it->second) != consumer)
          continue;
        Reduces kind = reduces(ops[id]);
        ArrayRef<int64_t> shape = shapeOf(use.get());
        if (kind == Reduces::Rows && ArrayRef<int64_t>(c.domain).take_front(shape.size()) != shape)
          return false;
        // What all rows add to is complete only after all of them.
        if (p.hasOther && isBehindReduction(id, producer) && !(p.onlyReductions && decide(c.size() <= kTiny)))
          return false;
      }
    if (p.hasRows || p.hasOther || decide(p.size() == c.size()))
      return true;
    // A smaller operand is computed again for every row or element that it is used for.
    if (decide(p.size() < c.size()))
      return allUsersIn(producer, consumer) && !isExpensive(p);
    return true;
  }

  bool isExpensive(const Cluster &cluster) const {
    uint64_t flops = 0;
    for (unsigned id : cluster.ops)
      if (auto cost = dyn_cast<CostOpInterface>(ops[id]))
        flops += cost.getCost().flops;
    return decide(cluster.size() > kTiny && flops > uint64_t(8 * cluster.size()));
  }

  bool fusible(unsigned a, unsigned b) const {
    return clusters[a].slot == clusters[b].slot && clusters[a].isCheck == clusters[b].isCheck && clusters[a].fusible &&
           clusters[b].fusible && !clusters[a].heavy && !clusters[b].heavy &&
           !areOfDifferentMicrobatches(clusters[a], clusters[b]) && mayShareLifetime(clusters[a], clusters[b]);
  }

  /// What is computed again goes with what comes after it, not with what was there before: that is to be gone by then.
  static bool mayShareLifetime(const Cluster &a, const Cluster &b) {
    if (a.recompute == b.recompute)
      return true;
    if (a.recompute >= 0 && b.recompute >= 0)
      return false;
    const Cluster &again = a.recompute >= 0 ? a : b, &other = a.recompute >= 0 ? b : a;
    return other.ops.front() > again.ops.front();
  }

  /// One kernel for two micro-batches would keep the values of both at once.
  static bool areOfDifferentMicrobatches(const Cluster &a, const Cluster &b) {
    return a.microbatch >= 0 && b.microbatch >= 0 && a.microbatch != b.microbatch;
  }

  bool tryMerge(unsigned producer, unsigned consumer) {
    if (producer == consumer || !fusible(producer, consumer))
      return false;
    // In a kernel with other work, a scalar that several kernels need would make them wait for each other.
    if (clusters[producer].domain.empty() && !clusters[consumer].domain.empty() && usedByAThird(producer, consumer))
      return false;
    const bool small = decide(clusters[producer].work + clusters[consumer].work <= kSmallWork);
    if (!small && !fit(producer, consumer)) {
      LDBG() << "not fused, loops do not fit: " << *ops[clusters[producer].ops.back()] << " into "
             << *ops[clusters[consumer].ops.front()];
      return false;
    }
    if (pathAround(producer, consumer)) {
      LDBG() << "not fused, there is a way around: " << *ops[clusters[producer].ops.back()] << " into "
             << *ops[clusters[consumer].ops.front()];
      return false;
    }
    if (isTooLong(producer, consumer)) {
      LDBG() << "not fused, the code would be too long: " << *ops[clusters[producer].ops.back()] << " into "
             << *ops[clusters[consumer].ops.front()];
      return false;
    }
    merge(producer, consumer);
    return true;
  }

  void fuseProducers() {
    for (unsigned id = 0; id < ops.size(); ++id)
      for (Value operand : ops[id]->getOperands())
        if (Operation *def = operand.getDefiningOp())
          if (auto it = idOf.find(def); it != idOf.end())
            tryMerge(find(it->second), find(id));
  }

  /// Clusters that read the same large tensor in the same kind of loops, and do not depend on each other.
  void fuseSiblings() {
    auto fuseUsers = [&](Value value) {
      if (decide(elements(value) <= kTiny))
        return;
      llvm::SmallSetVector<unsigned, 4> users;
      for (Operation *user : value.getUsers())
        if (auto it = idOf.find(user); it != idOf.end())
          users.insert(it->second);
      SmallVector<unsigned> sorted(users.begin(), users.end());
      llvm::sort(sorted);
      for (unsigned i = 0; i + 1 < sorted.size(); ++i)
        for (unsigned j = i + 1; j < sorted.size(); ++j) {
          unsigned a = find(sorted[i]), b = find(sorted[j]);
          if (a == b || !fusible(a, b) || clusters[a].domain != clusters[b].domain ||
              clusters[a].hasRows != clusters[b].hasRows || clusters[a].rows != clusters[b].rows ||
              (clusters[a].hasRows && (clusters[a].hasOther || clusters[b].hasOther)))
            continue;
          if (!pathAround(a, b) && !pathAround(b, a) && !dependsDirectly(a, b) && !dependsDirectly(b, a))
            merge(a, b);
        }
    };
    for (Value argument : block.getArguments())
      fuseUsers(argument);
    for (Operation *op : ops)
      for (Value result : op->getResults())
        fuseUsers(result);
  }

  bool onlySumsRows(unsigned cluster) const {
    return clusters[cluster].fusible && !clusters[cluster].heavy && clusters[cluster].onlyReductions;
  }

  /// Sums over rows of a value, and of what another kernel computes of that value: gradients of the offset and of the
  /// scale of a normalization. The second is then quick to compute again from the first.
  void fuseSumsOfRows() {
    for (unsigned id = 0; id < ops.size(); ++id) {
      if (find(id) != id || !onlySumsRows(id))
        continue;
      llvm::SmallSetVector<unsigned, 4> others; // sums of what kernels that read the same give
      for (unsigned op : SmallVector<unsigned>(clusters[id].ops))
        for (Value operand : ops[op]->getOperands())
          for (Operation *user : operand.getUsers())
            if (auto it = idOf.find(user); it != idOf.end() && elements(operand) == clusters[id].size())
              if (unsigned reader = find(it->second); reader != id && clusters[reader].fusible)
                forEachSuccessor(reader, [&](unsigned next) {
                  if (next != id && onlySumsRows(next) && clusters[next].domain == clusters[id].domain)
                    others.insert(next);
                });
      for (unsigned other : others)
        if (find(other) == other && fusible(id, other) && !pathAround(id, other) && !pathAround(other, id) &&
            !dependsDirectly(id, other) && !dependsDirectly(other, id))
          merge(id, other);
    }
  }

  /// The elementwise clusters that nothing but checks depends on, the updates of the variables, become one kernel, or several
  /// where there are many of them: code that is too long takes long to compile, and kernels of the same code are one.
  void fuseUpdates() {
    int64_t first = -1;
    for (unsigned id = 0; id < ops.size(); ++id) {
      unsigned cluster = find(id);
      const Cluster &info = clusters[cluster];
      if (cluster != id || !info.fusible || info.heavy || info.hasRows || info.hasOther || info.isCheck)
        continue;
      bool isLast = true;
      forEachSuccessor(cluster, [&](unsigned next) { isLast &= clusters[next].isCheck; });
      if (!isLast)
        continue;
      if (first < 0 || clusters[first].ops.size() + info.ops.size() > maxUpdateOps)
        first = cluster;
      else if (!areOfDifferentMicrobatches(clusters[first], info))
        merge(first, cluster);
    }
  }

  /// Makes one cluster of those that follow each other in `list`, as long as it has not too many ops. No ways lead from
  /// one of the list to another.
  void join(ArrayRef<unsigned> list) {
    int64_t first = -1;
    for (unsigned cluster : list) {
      if (first >= 0 && fusible(first, cluster) &&
          clusters[first].ops.size() + clusters[cluster].ops.size() <= std::min(maxUpdateOps, kJoinedOps))
        merge(first, cluster);
      else
        first = cluster;
    }
  }

  /// What is made of arguments alone, element by element, and is no larger than these: the variables in 16 bits.
  void joinConversions() {
    SmallVector<unsigned> list;
    for (unsigned id = 0; id < ops.size(); ++id) {
      const Cluster &info = clusters[id];
      if (find(id) != id || !info.fusible || info.heavy || info.hasRows || info.hasOther)
        continue;
      int64_t read = 0, stored = 0;
      bool isOfArguments = llvm::all_of(info.ops, [&](unsigned op) {
        for (Value operand : ops[op]->getOperands()) {
          Operation *def = operand.getDefiningOp();
          if (!def)
            read += bytesOf(operand);
          else if (auto it = idOf.find(def); it == idOf.end() ? !isSmallConstant(def) : find(it->second) != id)
            return false;
        }
        for (Value result : ops[op]->getResults())
          stored += isUsedOutside(result, id) ? bytesOf(result) : 0;
        return isa<ElementwiseOpInterface>(ops[op]);
      });
      if (isOfArguments && decide(stored <= read))
        list.push_back(id);
    }
    join(list);
  }

  /// The numbers that whole tensors add up to: the parts of the norm of all gradients. Those that are as far from the
  /// end as each other cannot need each other.
  void joinTotals() {
    SmallVector<unsigned> height(ops.size(), 0);
    std::map<unsigned, SmallVector<unsigned>> totals;
    SmallVector<unsigned> sorted = inTopologicalOrder();
    for (unsigned cluster : llvm::reverse(sorted)) {
      forEachSuccessor(cluster, [&](unsigned next) { height[cluster] = std::max(height[cluster], height[next] + 1); });
      const Cluster &info = clusters[cluster];
      auto isWhole = [&](unsigned op) {
        return reduces(ops[op]) == Reduces::No || shapeOf(ops[op]->getResult(0)).empty();
      };
      if (info.fusible && !info.heavy && info.hasOther && llvm::all_of(info.ops, isWhole))
        totals[height[cluster]].push_back(cluster);
    }
    for (auto &[far, list] : totals) {
      llvm::sort(list);
      join(list);
    }
  }

  /// What costs nothing and is used in another kernel alone is computed there: less is stored.
  void sinkFreeOps() {
    for (unsigned id = ops.size(); id-- > 0;) {
      unsigned cluster = find(id);
      if (!isFree(ops[id]) || clusters[cluster].ops.size() == 1)
        continue;
      llvm::SmallSetVector<unsigned, 2> owners;
      for (Operation *user : ops[id]->getUsers())
        if (auto it = idOf.find(user); it != idOf.end())
          owners.insert(find(it->second));
        else
          owners.insert(~0u);
      if (owners.size() != 1 || owners.front() == ~0u || owners.front() == cluster)
        continue;
      Cluster &owner = clusters[owners.front()];
      bool isKernel = owner.fusible && !(owner.ops.size() == 1 && isa<ReshapeOp>(ops[owner.ops.front()]));
      if (!isKernel)
        continue;
      release(id, cluster);
      leader[id] = owners.front();
      owner.ops.push_back(id);
      llvm::sort(owner.ops);
    }
  }

  /// A reshape at the edge of a kernel is free outside of it.
  void releaseReshapes() {
    for (bool changed = true; changed;) {
      changed = false;
      for (unsigned id = 0; id < ops.size(); ++id) {
        unsigned cluster = find(id);
        if (!isa<ReshapeOp>(ops[id]) || clusters[cluster].ops.size() == 1)
          continue;
        Operation *def = ops[id]->getOperand(0).getDefiningOp();
        auto it = def ? idOf.find(def) : idOf.end();
        bool first = it == idOf.end() ? !(def && isSmallConstant(def)) : find(it->second) != cluster;
        bool last = llvm::none_of(ops[id]->getUsers(), [&](Operation *user) {
          auto user_ = idOf.find(user);
          return user_ != idOf.end() && find(user_->second) == cluster;
        });
        if (!first && !last)
          continue;
        release(id, cluster);
        changed = true;
      }
    }
  }

  size_t maxUpdateOps;
  bool shareLaunches;
};

} // namespace

/// Gives every user its own copy of what costs nothing, so that it never keeps kernels apart.
static void copyFreeOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!isFree(&op))
      continue;
    SmallVector<OpOperand *> uses = llvm::map_to_vector(op.getUses(), [](OpOperand &use) { return &use; });
    for (OpOperand *use : llvm::drop_begin(uses, uses.empty() ? 0 : 1)) {
      OpBuilder builder(&op);
      use->set(builder.clone(op)->getResult(0));
    }
  }
}

SmallVector<KernelCandidate> clusterBlock(Block &block, int64_t maxUpdateOps, bool shareLaunches,
                                          SizeDecisions &decide) {
  copyFreeOps(block);
  return Fusion(block, maxUpdateOps, shareLaunches, decide).run();
}

} // namespace dgc
