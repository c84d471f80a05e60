//===- ClusterGraph.cpp - the ops of a block, grouped -----------------------===//

#include "passes/kernel/ClusterGraph.h"
#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "dialects/dist/Dist.h"
#include "dialects/exec/Exec.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"
#include "passes/analysis/Checks.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"
#include <queue>

using namespace mlir;

namespace dgc {

static constexpr int64_t kMaxConstant = 64;

bool isSmallConstant(Operation *op) {
  DenseElementsAttr value;
  return op->getNumOperands() == 0 && op->getNumResults() == 1 && matchPattern(op, m_Constant(&value)) &&
         (value.isSplat() || value.getNumElements() <= kMaxConstant);
}

static bool isLargeConstant(Operation *op) { return op->hasTrait<OpTrait::ConstantLike>() && !isSmallConstant(op); }

static bool isFusible(Operation *op) {
  return isa<ElementwiseOpInterface, LinalgLowerableOpInterface>(op) && op->getNumRegions() == 0;
}

Reduces reduces(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!reduce)
    return Reduces::No;
  int64_t rank = shapeOf(reduce.getOperand()).size(), kept = rank - reduce.getDims().size();
  return kept > 0 && (reduce.getDims().empty() || reduce.getDims().front() == kept) ? Reduces::Rows : Reduces::Other;
}

/// Whether each element of the result is made of other elements of the operands than those at its own place.
static bool readsElsewhere(Operation *op) {
  return !isa<ElementwiseOpInterface, ReshapeOp, BroadcastInDimOp>(op) && reduces(op) == Reduces::No;
}

/// At how many places users read the results of the op.
static uint64_t placesOf(Operation *op) {
  uint64_t elsewhere = 0, inPlace = 0;
  for (Operation *user : llvm::SmallSetVector<Operation *, 4>(op->user_begin(), op->user_end()))
    readsElsewhere(user) ? ++elsewhere : inPlace = 1;
  return std::max<uint64_t>(1, elsewhere + inPlace);
}

ClusterGraph::ClusterGraph(Block &block, SizeDecisions &decide) : block(block), decide(decide) {
  for (Operation &op : block.without_terminator()) {
    if (isSmallConstant(&op))
      continue;
    unsigned id = ops.size();
    idOf[&op] = id;
    ops.push_back(&op);
    leader.push_back(id);
    Cluster cluster;
    cluster.ops.push_back(id);
    cluster.slot = op.getDiscardableAttr(dist::kSlotAttr);
    cluster.isCheck = isCheck(&op);
    cluster.fusible = isFusible(&op) && !isLargeConstant(&op);
    cluster.heavy = op.hasTrait<StandaloneKernel>();
    cluster.places = placesOf(&op);
    if (auto microbatch = op.getAttrOfType<IntegerAttr>(kMicrobatchAttr))
      cluster.microbatch = microbatch.getInt();
    if (auto recompute = op.getAttrOfType<IntegerAttr>(kRecomputeAttr))
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
  successors.resize(ops.size());
  for (auto [id, op] : llvm::enumerate(ops)) {
    for (Operation *user : op->getUsers())
      if (auto it = idOf.find(user); it != idOf.end() && !llvm::is_contained(successors[id], it->second))
        successors[id].push_back(it->second);
    order.push_back(id);
    place.push_back(id);
  }
  // Communication and what else may have an effect keep their order.
  int64_t previous = -1;
  for (auto [id, op] : llvm::enumerate(ops)) {
    if (isa_and_present<DGCDialect, exec::ExecDialect>(op->getDialect()) ||
        isa<ElementwiseOpInterface, LinalgLowerableOpInterface>(op))
      continue;
    if (previous >= 0)
      successors[previous].push_back(id);
    previous = id;
  }
}

void ClusterGraph::forEachSuccessor(unsigned cluster, llvm::function_ref<void(unsigned)> visit) const {
  for (unsigned id : clusters[cluster].ops)
    for (unsigned next : successors[id])
      if (unsigned other = find(next); other != cluster)
        visit(other);
}

SmallVector<unsigned> ClusterGraph::inTopologicalOrder() const {
  SmallVector<unsigned> result;
  llvm::copy_if(order, std::back_inserter(result), [](unsigned cluster) { return cluster != kVacant; });
  return result;
}

bool ClusterGraph::pathAround(unsigned from, unsigned to) const {
  llvm::BitVector seen(ops.size());
  SmallVector<unsigned> work;
  bool found = false;
  auto visit = [&](unsigned next) {
    if (place[next] < place[to] && !seen.test(next)) {
      seen.set(next);
      work.push_back(next);
    }
  };
  forEachSuccessor(from, visit);
  while (!work.empty() && !found)
    forEachSuccessor(work.pop_back_val(), [&](unsigned next) {
      found |= next == to;
      visit(next);
    });
  return found;
}

/// Gives the cluster that two become a place: in front of what the first one reaches, and after the rest of what is
/// between them.
void ClusterGraph::reorder(unsigned a, unsigned b, unsigned merged) {
  unsigned first = place[a] < place[b] ? a : b, last = first == a ? b : a;
  llvm::BitVector reached(ops.size());
  SmallVector<unsigned> work{first};
  while (!work.empty())
    forEachSuccessor(work.pop_back_val(), [&](unsigned next) {
      if (place[next] < place[last] && !reached.test(next)) {
        reached.set(next);
        work.push_back(next);
      }
    });
  SmallVector<unsigned> before, behind;
  for (unsigned at = place[first] + 1; at < place[last]; ++at)
    if (order[at] != kVacant)
      (reached.test(order[at]) ? behind : before).push_back(order[at]);
  unsigned at = place[first];
  auto put = [&](unsigned cluster) {
    order[at] = cluster;
    place[cluster] = at++;
  };
  unsigned end = place[last] + 1;
  llvm::for_each(before, put);
  put(merged);
  llvm::for_each(behind, put);
  std::fill(order.begin() + at, order.begin() + end, kVacant);
}

void ClusterGraph::merge(unsigned a, unsigned b) {
  reorder(a, b, a);
  Cluster &to = clusters[a], &from = clusters[b];
  leader[b] = a;
  to.ops.append(from.ops);
  llvm::sort(to.ops);
  if (decide(from.size() > to.size() || (from.size() == to.size() && from.domain.size() > to.domain.size())))
    to.domain = from.domain;
  if (!to.hasRows)
    to.rows = from.rows;
  to.work += from.work;
  to.places = llvm::SaturatingMultiply(to.places, from.places);
  to.microbatch = std::max(to.microbatch, from.microbatch);
  to.recompute = std::max(to.recompute, from.recompute);
  to.hasRows |= from.hasRows;
  to.hasOther |= from.hasOther;
  to.onlyReductions = to.hasOther && !to.hasRows && hasOnlyReducedResults(a);
}

bool ClusterGraph::hasOnlyReducedResults(unsigned cluster) const {
  for (unsigned id : clusters[cluster].ops)
    for (Value result : ops[id]->getResults())
      if (isUsedOutside(result, cluster) && decide(elements(result) > kTiny))
        return false;
  return true;
}

bool ClusterGraph::isUsedOutside(Value value, unsigned cluster) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto it = idOf.find(user);
    return it == idOf.end() || find(it->second) != cluster;
  });
}

bool ClusterGraph::allUsersIn(unsigned producer, unsigned consumer) const {
  for (unsigned id : clusters[producer].ops)
    for (Operation *user : ops[id]->getUsers()) {
      auto it = idOf.find(user);
      unsigned owner = it == idOf.end() ? ~0u : find(it->second);
      if (owner != producer && owner != consumer)
        return false;
    }
  return true;
}

bool ClusterGraph::isTooLong(unsigned producer, unsigned consumer) const {
  const uint64_t places = llvm::SaturatingMultiply(clusters[producer].places, clusters[consumer].places);
  if (places == 1)
    return false;
  SmallVector<unsigned> ids(clusters[producer].ops);
  ids.append(clusters[consumer].ops);
  if (llvm::SaturatingMultiply<uint64_t>(places, ids.size()) <= kMostExpandedOps)
    return false;
  llvm::sort(ids, std::greater());
  llvm::DenseMap<unsigned, uint64_t> evaluations; // of an element, for one of a result; users have higher numbers
  uint64_t total = 0;
  for (unsigned id : ids) {
    uint64_t elsewhere = 0, inPlace = 0;
    bool isStored = reduces(ops[id]) != Reduces::No;
    for (Operation *user : llvm::SmallSetVector<Operation *, 4>(ops[id]->user_begin(), ops[id]->user_end())) {
      auto it = idOf.find(user);
      if (it == idOf.end() || !evaluations.contains(it->second))
        isStored = true;
      else if (const uint64_t times = evaluations.lookup(it->second); readsElsewhere(user))
        elsewhere += times;
      else
        inPlace = std::max(inPlace, times);
    }
    const uint64_t times = isStored ? 1 : std::max<uint64_t>(1, elsewhere + inPlace);
    evaluations[id] = times;
    total += times;
    if (total > kMostExpandedOps && total > ids.size())
      return true;
  }
  return false;
}

bool ClusterGraph::dependsDirectly(unsigned from, unsigned to) const {
  bool found = false;
  forEachSuccessor(from, [&](unsigned next) { found |= next == to; });
  return found;
}

void ClusterGraph::release(unsigned id, unsigned cluster) {
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

SmallVector<KernelCandidate> ClusterGraph::inOrder() const {
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
      ready.emplace(clusters[id].ops.back(), id);
  SmallVector<KernelCandidate> candidates;
  while (!ready.empty()) {
    unsigned id = ready.top().second;
    ready.pop();
    KernelCandidate candidate;
    for (unsigned op : clusters[id].ops)
      candidate.ops.push_back(ops[op]);
    candidate.isKernel = clusters[id].fusible && !(candidate.ops.size() == 1 && isa<ReshapeOp>(candidate.ops.front()));
    candidates.push_back(std::move(candidate));
    for (unsigned to : next[id])
      if (--waiting[to] == 0)
        ready.emplace(clusters[to].ops.back(), to);
  }
  return candidates;
}

} // namespace dgc
