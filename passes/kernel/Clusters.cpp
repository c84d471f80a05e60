//===- Clusters.cpp - greedy fusion of ops into kernels -------------------===//

#include "passes/kernel/Clusters.h"
#include "dialects/dgc/DGC.h"
#include "dialects/exec/Exec.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"
#include <queue>

#define DEBUG_TYPE "dgc-form-kernels"

using namespace mlir;

namespace dgc {

/// Kernels that compute no more elements than this together are fused whatever their form: one thread does them in some
/// microseconds, and splitting them is not worth a launch.
static constexpr int64_t kSmallWork = 1 << 17;
/// Tensors of up to this many elements count as scalars.
static constexpr int64_t kTiny = 64;
static constexpr int64_t kMaxConstant = 64;

static int64_t elements(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getNumElements() : 1;
}
static ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

bool isSmallConstant(Operation *op) {
  DenseElementsAttr value;
  return op->getNumOperands() == 0 && op->getNumResults() == 1 && matchPattern(op, m_Constant(&value)) &&
         (value.isSplat() || value.getNumElements() <= kMaxConstant);
}

static bool isLargeConstant(Operation *op) { return op->hasTrait<OpTrait::ConstantLike>() && !isSmallConstant(op); }

/// Has loops of its own that nothing else should be computed in.
static bool isHeavy(Operation *op) {
  return isa<mlir::dgc::DotGeneralOp, mlir::dgc::ConvolutionOp, mlir::dgc::ConvolutionInputGradOp,
             mlir::dgc::ConvolutionWeightGradOp, mlir::dgc::ReduceWindowOp, mlir::dgc::MaxPoolGradOp>(op);
}

static bool isFusible(Operation *op) {
  return isa<mlir::dgc::ElementwiseOpInterface, mlir::dgc::LinalgLowerableOpInterface>(op) && op->getNumRegions() == 0;
}

/// Is the value computed from places and constants alone, by one operation for each element? (A mask, say.)
static bool isOfPlaces(Operation *op) {
  auto cost = dyn_cast<mlir::dgc::CostOpInterface>(op);
  return isa<mlir::dgc::ElementwiseOpInterface>(op) && cost &&
         cost.getCost().flops <= uint64_t(elements(op->getResult(0))) &&
         llvm::all_of(op->getOperands(), [](Value operand) {
           Operation *def = operand.getDefiningOp();
           return def && (isa<mlir::dgc::IotaOp>(def) || isSmallConstant(def));
         });
}

/// Costs nothing to compute again for each user.
static bool isFree(Operation *op) { return isa<mlir::dgc::BroadcastInDimOp, mlir::dgc::IotaOp>(op) || isOfPlaces(op); }

namespace {

enum class Reduces { No, Rows, Other };

/// Rows: all dimensions behind some leading ones are reduced.
Reduces reduces(Operation *op) {
  auto reduce = dyn_cast<mlir::dgc::ReduceOp>(op);
  if (!reduce)
    return Reduces::No;
  int64_t rank = shapeOf(reduce.getOperand()).size(), kept = rank - reduce.getDims().size();
  return kept > 0 && (reduce.getDims().empty() || reduce.getDims().front() == kept) ? Reduces::Rows : Reduces::Other;
}

struct Cluster {
  SmallVector<unsigned> ops;   // indices, ascending
  SmallVector<int64_t> domain; // the largest shape in it
  SmallVector<int64_t> rows;   // shape of its row reductions' results
  int64_t work = 0;
  int64_t microbatch = -1; // that all ops are for; -1: none says
  int64_t recompute = -1;  // the number of what is computed again on the way back; -1: nothing is
  Attribute slot;          // of a pipeline's schedule; ops of different slots are not for one kernel
  bool fusible = false, heavy = false, hasRows = false, hasOther = false, onlyReductions = false;

  int64_t size() const {
    int64_t product = 1;
    for (int64_t n : domain)
      product *= n;
    return product;
  }
};

class Clusters {
public:
  explicit Clusters(Block &block) : block(block) {}

  SmallVector<Unit> run() {
    collect();
    fuseProducers();
    fuseProducers(); // what several users of which are one by now
    fuseSiblings();
    fuseUpdates();
    fuseProducers(); // scalars that all updates use
    sinkFreeOps();
    releaseReshapes();
    return inOrder();
  }

private:
  void collect() {
    for (Operation &op : block.without_terminator()) {
      if (isSmallConstant(&op))
        continue;
      unsigned id = ops.size();
      idOf[&op] = id;
      ops.push_back(&op);
      leader.push_back(id);
      Cluster cluster;
      cluster.ops.push_back(id);
      cluster.slot = op.getDiscardableAttr("dist.slot");
      cluster.fusible = isFusible(&op) && !isLargeConstant(&op);
      cluster.heavy = isHeavy(&op);
      if (auto microbatch = op.getAttrOfType<IntegerAttr>("dgc.microbatch"))
        cluster.microbatch = microbatch.getInt();
      if (auto recompute = op.getAttrOfType<IntegerAttr>("dgc.recompute"))
        cluster.recompute = recompute.getInt();
      Value widest = op.getNumResults() ? Value(op.getResult(0)) : Value();
      for (Value operand : op.getOperands())
        if (reduces(&op) != Reduces::No || !widest)
          widest = operand;
      if (widest && isa<RankedTensorType>(widest.getType()))
        cluster.domain.assign(shapeOf(widest).begin(), shapeOf(widest).end());
      cluster.work = cluster.heavy ? kSmallWork : cluster.size();
      if (reduces(&op) == Reduces::Rows) {
        cluster.hasRows = true;
        cluster.rows.assign(shapeOf(op.getResult(0)).begin(), shapeOf(op.getResult(0)).end());
      }
      cluster.hasOther = reduces(&op) == Reduces::Other;
      cluster.onlyReductions = cluster.hasOther;
      clusters.push_back(std::move(cluster));
    }
    // Communication and what else may have an effect keep their order.
    int64_t previous = -1;
    chained.resize(ops.size());
    for (auto [id, op] : llvm::enumerate(ops)) {
      if (isa_and_present<mlir::dgc::DGCDialect, mlir::exec::ExecDialect>(op->getDialect()))
        continue;
      if (previous >= 0)
        chained[previous].push_back(id);
      previous = id;
    }
  }

  unsigned find(unsigned id) const {
    while (leader[id] != id)
      id = leader[id];
    return id;
  }

  void forEachSuccessor(unsigned cluster, llvm::function_ref<void(unsigned)> visit) const {
    for (unsigned id : clusters[cluster].ops) {
      for (Operation *user : ops[id]->getUsers())
        if (auto it = idOf.find(user); it != idOf.end() && find(it->second) != cluster)
          visit(find(it->second));
      for (unsigned next : chained[id])
        if (find(next) != cluster)
          visit(find(next));
    }
  }

  /// Is there a way from `from` to `to` through another cluster?
  bool pathAround(unsigned from, unsigned to) const {
    llvm::BitVector seen(ops.size());
    SmallVector<unsigned> work;
    forEachSuccessor(from, [&](unsigned next) {
      if (next != to && !seen.test(next)) {
        seen.set(next);
        work.push_back(next);
      }
    });
    while (!work.empty()) {
      unsigned cluster = work.pop_back_val();
      bool found = false;
      forEachSuccessor(cluster, [&](unsigned next) {
        found |= next == to;
        if (!seen.test(next)) {
          seen.set(next);
          work.push_back(next);
        }
      });
      if (found)
        return true;
    }
    return false;
  }

  void merge(unsigned a, unsigned b) {
    Cluster &to = clusters[a], &from = clusters[b];
    leader[b] = a;
    to.ops.append(from.ops);
    llvm::sort(to.ops);
    if (from.size() > to.size() || (from.size() == to.size() && from.domain.size() > to.domain.size()))
      to.domain = from.domain;
    if (!to.hasRows)
      to.rows = from.rows;
    to.work += from.work;
    to.microbatch = std::max(to.microbatch, from.microbatch);
    to.recompute = std::max(to.recompute, from.recompute);
    to.hasRows |= from.hasRows;
    to.hasOther |= from.hasOther;
    to.onlyReductions = to.hasOther && !to.hasRows && hasOnlyReducedResults(a);
  }

  /// Everything that others use of the cluster is a scalar.
  bool hasOnlyReducedResults(unsigned cluster) const {
    for (unsigned id : clusters[cluster].ops)
      for (Value result : ops[id]->getResults())
        if (elements(result) > kTiny && isUsedOutside(result, cluster))
          return false;
    return true;
  }

  bool isUsedOutside(Value value, unsigned cluster) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      auto it = idOf.find(user);
      return it == idOf.end() || find(it->second) != cluster;
    });
  }

  bool allUsersIn(unsigned producer, unsigned consumer) const {
    for (unsigned id : clusters[producer].ops)
      for (Operation *user : ops[id]->getUsers()) {
        auto it = idOf.find(user);
        unsigned home = it == idOf.end() ? ~0u : find(it->second);
        if (home != producer && home != consumer)
          return false;
      }
    return true;
  }

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
        if (p.hasOther && isBehindReduction(id, producer) && !(c.size() <= kTiny && p.onlyReductions))
          return false;
      }
    if (p.size() == c.size() || p.hasRows || p.hasOther)
      return true;
    // A smaller operand is computed again for every row or element that it is used for.
    if (p.size() < c.size())
      return allUsersIn(producer, consumer) && !isExpensive(p);
    return true;
  }

  bool isExpensive(const Cluster &cluster) const {
    uint64_t flops = 0;
    for (unsigned id : cluster.ops)
      if (auto cost = dyn_cast<mlir::dgc::CostOpInterface>(ops[id]))
        flops += cost.getCost().flops;
    return cluster.size() > kTiny && flops > uint64_t(8 * cluster.size());
  }

  bool fusible(unsigned a, unsigned b) const {
    return clusters[a].slot == clusters[b].slot && clusters[a].fusible && clusters[b].fusible && !clusters[a].heavy &&
           !clusters[b].heavy && !areOfDifferentMicrobatches(clusters[a], clusters[b]) &&
           mayShareLifetime(clusters[a], clusters[b]);
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
    bool small = clusters[producer].work + clusters[consumer].work <= kSmallWork;
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
      if (elements(value) <= kTiny)
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

  bool dependsDirectly(unsigned from, unsigned to) const {
    bool found = false;
    forEachSuccessor(from, [&](unsigned next) { found |= next == to; });
    return found;
  }

  /// The elementwise clusters that nothing depends on, the updates of the variables, become one kernel.
  void fuseUpdates() {
    int64_t first = -1;
    for (unsigned id = 0; id < ops.size(); ++id) {
      unsigned cluster = find(id);
      const Cluster &info = clusters[cluster];
      if (cluster != id || !info.fusible || info.heavy || info.hasRows || info.hasOther)
        continue;
      bool isLast = true;
      forEachSuccessor(cluster, [&](unsigned) { isLast = false; });
      if (!isLast)
        continue;
      if (first < 0)
        first = cluster;
      else if (!areOfDifferentMicrobatches(clusters[first], info))
        merge(first, cluster);
    }
  }

  /// What costs nothing and is used in another kernel alone is computed there: less is stored.
  void sinkFreeOps() {
    for (unsigned id = ops.size(); id-- > 0;) {
      unsigned cluster = find(id);
      if (!isFree(ops[id]) || clusters[cluster].ops.size() == 1)
        continue;
      llvm::SmallSetVector<unsigned, 2> homes;
      for (Operation *user : ops[id]->getUsers())
        if (auto it = idOf.find(user); it != idOf.end())
          homes.insert(find(it->second));
        else
          homes.insert(~0u);
      if (homes.size() != 1 || homes.front() == ~0u || homes.front() == cluster)
        continue;
      Cluster &home = clusters[homes.front()];
      bool isKernel = home.fusible && !(home.ops.size() == 1 && isa<mlir::dgc::ReshapeOp>(ops[home.ops.front()]));
      if (!isKernel)
        continue;
      release(id, cluster);
      leader[id] = homes.front();
      home.ops.push_back(id);
      llvm::sort(home.ops);
    }
  }

  /// A reshape at the edge of a kernel is free outside of it.
  void releaseReshapes() {
    for (bool changed = true; changed;) {
      changed = false;
      for (unsigned id = 0; id < ops.size(); ++id) {
        unsigned cluster = find(id);
        if (!isa<mlir::dgc::ReshapeOp>(ops[id]) || clusters[cluster].ops.size() == 1)
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

  void release(unsigned id, unsigned cluster) {
    SmallVector<unsigned> rest;
    for (unsigned other : clusters[cluster].ops)
      if (other != id)
        rest.push_back(other);
    Cluster info = clusters[cluster];
    info.ops = rest;
    for (unsigned other : rest)
      leader[other] = rest.front();
    leader[id] = id;
    clusters[rest.front()] = info;
    Cluster alone;
    alone.ops.push_back(id);
    alone.fusible = true;
    clusters[id] = alone;
  }

  /// Units so that each comes after those it depends on, otherwise in the order of their last ops.
  SmallVector<Unit> inOrder() const {
    SmallVector<unsigned> waiting(ops.size(), 0);
    using Entry = std::pair<unsigned, unsigned>; // last op, cluster
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    SmallVector<llvm::SmallSetVector<unsigned, 4>> next(ops.size());
    for (unsigned id = 0; id < ops.size(); ++id)
      if (find(id) == id)
        forEachSuccessor(id, [&](unsigned to) {
          if (next[id].insert(to))
            ++waiting[to];
        });
    for (unsigned id = 0; id < ops.size(); ++id)
      if (find(id) == id && waiting[id] == 0)
        ready.push({clusters[id].ops.back(), id});
    SmallVector<Unit> units;
    while (!ready.empty()) {
      unsigned id = ready.top().second;
      ready.pop();
      Unit unit;
      for (unsigned op : clusters[id].ops)
        unit.ops.push_back(ops[op]);
      unit.isKernel = clusters[id].fusible && !(unit.ops.size() == 1 && isa<mlir::dgc::ReshapeOp>(unit.ops.front()));
      units.push_back(std::move(unit));
      for (unsigned to : next[id])
        if (--waiting[to] == 0)
          ready.push({clusters[to].ops.back(), to});
    }
    return units;
  }

  Block &block;
  SmallVector<Operation *> ops;
  DenseMap<Operation *, unsigned> idOf;
  SmallVector<unsigned> leader;
  std::vector<Cluster> clusters; // of the leaders
  SmallVector<SmallVector<unsigned, 1>> chained;
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

SmallVector<Unit> clusterBlock(Block &block) {
  copyFreeOps(block);
  return Clusters(block).run();
}

} // namespace dgc
