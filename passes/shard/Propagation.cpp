// Propagation of shardings over factors, to a fixed point.

#include "passes/shard/Propagation.h"

using namespace mlir;
using namespace dgc::dist;

namespace dgc {

unsigned Propagation::addTensor(RankedTensorType type) {
  Tensor tensor;
  tensor.bytes = bytesOf(type);
  tensor.dims.resize(type.getRank());
  tensor.open.assign(type.getRank(), true);
  tensor.round.assign(type.getRank(), 0);
  tensors.push_back(std::move(tensor));
  return tensors.size() - 1;
}

void Propagation::annotate(unsigned index, ShardingAttr sharding) {
  Tensor &tensor = tensors[index];
  tensor.dims = mesh.dimsOf(sharding);
  tensor.used = 0;
  for (auto [i, dim] : llvm::enumerate(sharding.getDims())) {
    tensor.open[i] = dim.getOpen();
    tensor.round[i] = dim.getRound();
    for (AxisUse use : tensor.dims[i])
      tensor.used |= uint64_t(1) << use.axis;
  }
  for (ArrayRef<AxisRefAttr> axes : {sharding.getReplicated(), sharding.getUnreduced()})
    for (AxisUse use : mesh.axesOf(axes))
      tensor.used |= uint64_t(1) << use.axis;
}

void Propagation::delay(unsigned tensor, uint64_t axes) {
  tensors[tensor].delayed |= axes;
  anyDelayed |= axes != 0;
}

void Propagation::relate(ShardingRule rule, ArrayRef<unsigned> related) {
  Relation relation;
  relation.factors = std::move(rule.factors);
  relation.shapes = std::move(rule.operands);
  llvm::append_range(relation.shapes, rule.results);
  relation.tensors.assign(related.begin(), related.end());
  relation.passesThrough =
      llvm::all_of(relation.factors, [](const Factor &f) { return f.kind == FactorKind::PassThrough; });
  llvm::SmallDenseSet<unsigned> seen;
  for (unsigned tensor : related)
    if (seen.insert(tensor).second)
      tensors[tensor].relations.push_back(relations.size());
  relations.push_back(std::move(relation));
}

void Propagation::tie(ArrayRef<unsigned> tied) {
  ShardingRule rule;
  TensorFactors shape;
  for (unsigned dim = 0; dim < tensors[tied[0]].dims.size(); ++dim) {
    rule.factors.push_back({/*size=*/1});
    shape.dims.push_back({dim});
  }
  rule.operands.assign(tied.size(), shape);
  relate(std::move(rule), tied);
}

void Propagation::touch(unsigned tensor) {
  for (unsigned index : tensors[tensor].relations) {
    Relation &relation = relations[index];
    if (!std::exchange(relation.dirty, true))
      dirty[relation.passesThrough ? 0 : 1].push_back(index);
  }
}

/// The axes that all tensors with a factor may agree on: position by position
/// the best of those that continue what is chosen so far. An axis counts with
/// the bytes of all tensors that have it there.
AxisList Propagation::agree(const Relation &relation, unsigned factor, ArrayRef<SmallVector<AxisList>> known,
                            SmallVectorImpl<Rank> &ranks) {
  AxisList chosen;
  while (true) {
    SmallVector<std::pair<Rank, AxisUse>, 2> candidates;
    for (auto [lists, tensor] : llvm::zip_equal(known, relation.tensors)) {
      const AxisList &list = lists[factor];
      if (list.size() <= chosen.size() || !startsWith(list, chosen))
        continue;
      AxisUse next = list[chosen.size()];
      if (llvm::is_contained(chosen, next))
        continue;
      Rank rank{int(next.origin.getKind()), -tensors[tensor].bytes, next.axis};
      auto *same = llvm::find_if(candidates, [&](auto &candidate) { return candidate.second == next; });
      if (same == candidates.end()) {
        candidates.push_back({rank, next});
        continue;
      }
      auto strength = [](AxisUse use) { return std::pair(int(use.origin.getKind()), use.origin.getName().getValue()); };
      if (strength(next) < strength(same->second))
        same->second = next;
      same->first.origin = std::min(same->first.origin, rank.origin);
      same->first.negativeBytes += rank.negativeBytes;
    }
    if (candidates.empty())
      return chosen;
    auto best = *llvm::min_element(candidates, [](auto &a, auto &b) { return a.first < b.first; });
    if (candidates.size() > 1)
      for (auto &[rank, use] : candidates)
        contested |= uint64_t(1) << use.axis;
    ranks.push_back(best.first);
    chosen.push_back(best.second);
  }
}

/// True when `tensor` proposes `use` of one of its dimensions to others at this stage.
bool Propagation::maySay(const Tensor &tensor, unsigned dim, AxisUse use, Stage stage) const {
  bool late = tensor.delayed >> use.axis & 1;
  return std::pair(tensor.round[dim], late) <= std::pair(stage.round, stage.delayed) &&
         int(use.origin.getKind()) <= stage.origin;
}

void Propagation::propose(const Relation &relation, Stage stage, SmallVectorImpl<Proposal> &proposals) {
  size_t numFactors = relation.factors.size();
  // What each tensor knows of each factor and may say at this stage.
  SmallVector<SmallVector<AxisList>> known;
  for (auto [shape, index] : llvm::zip_equal(relation.shapes, relation.tensors)) {
    const Tensor &tensor = tensors[index];
    DimAxes dims = tensor.dims;
    for (unsigned dim = 0; dim < dims.size(); ++dim) {
      AxisList &axes = dims[dim];
      auto isSaid = [&](AxisUse use) { return maySay(tensor, dim, use, stage); };
      axes.truncate(std::distance(axes.begin(), llvm::find_if_not(axes, isSaid)));
    }
    SmallVector<AxisList> &lists = known.emplace_back(numFactors);
    (void)factorsFromDims(shape, relation.factors, dims, mesh, [&](unsigned factor, ArrayRef<AxisUse> axes) {
      lists[factor].assign(axes.begin(), axes.end());
    });
  }

  SmallVector<AxisList> agreed(numFactors);
  SmallVector<SmallVector<Rank>> ranks(numFactors);
  for (unsigned factor = 0; factor < numFactors; ++factor) {
    FactorKind kind = relation.factors[factor].kind;
    if (kind != FactorKind::NeedReplication)
      agreed[factor] = agree(relation, factor, known, ranks[factor]);
  }

  for (auto [shape, index] : llvm::zip_equal(relation.shapes, relation.tensors)) {
    const Tensor &tensor = tensors[index];
    DimAxes dims = dimsFromFactors(shape, relation.factors, agreed, mesh);
    for (unsigned dim = 0; dim < dims.size(); ++dim) {
      const AxisList &current = tensor.dims[dim];
      if (!tensor.open[dim] || dims[dim].size() <= current.size() || !startsWith(dims[dim], current))
        continue;
      SmallVector<Rank> dimRanks;
      for (unsigned factor : shape.dims[dim])
        llvm::append_range(dimRanks, ranks[factor]);
      AxisList added(ArrayRef<AxisUse>(dims[dim]).drop_front(current.size()));
      proposals.push_back({index, dim, current.size(), added, dimRanks[current.size()]});
    }
  }
}

void Propagation::decide(SmallVectorImpl<Proposal> &proposals) {
  auto before = [](const Proposal &a, const Proposal &b) {
    if (a.tensor != b.tensor)
      return a.tensor < b.tensor;
    if (a.rank != b.rank)
      return a.rank < b.rank;
    if (a.dim != b.dim)
      return a.dim < b.dim;
    if (a.axes.size() != b.axes.size())
      return a.axes.size() > b.axes.size();
    for (auto [x, y] : llvm::zip_equal(a.axes, b.axes)) {
      if (x.axis != y.axis)
        return x.axis < y.axis;
      int order = x.origin.getName().getValue().compare(y.origin.getName().getValue());
      if (order != 0)
        return order < 0;
    }
    return false;
  };
  llvm::sort(proposals, before);
  for (const Proposal &proposal : proposals) {
    Tensor &tensor = tensors[proposal.tensor];
    AxisList &dim = tensor.dims[proposal.dim];
    if (dim.size() != proposal.position) { // Decided in this round already.
      if (!(dim[proposal.position] == proposal.axes[0]))
        contested |= uint64_t(1) << dim[proposal.position].axis | uint64_t(1) << proposal.axes[0].axis;
      continue;
    }
    for (AxisUse use : proposal.axes) {
      uint64_t bit = uint64_t(1) << use.axis;
      if (tensor.used & bit) {
        contested |= bit;
        break;
      }
      tensor.used |= bit;
      dim.push_back(use);
    }
    if (dim.size() != proposal.position)
      touch(proposal.tensor);
  }
}

void Propagation::fixedPoint(Stage stage) {
  while (!dirty[0].empty() || !dirty[1].empty()) {
    SmallVector<unsigned> round = std::exchange(dirty[dirty[0].empty() ? 1 : 0], {});
    SmallVector<Proposal> proposals;
    for (unsigned index : round) {
      relations[index].dirty = false;
      propose(relations[index], stage, proposals);
    }
    decide(proposals);
  }
}

void Propagation::run() {
  int64_t lastRound = 0;
  for (const Tensor &tensor : tensors)
    for (int64_t round : tensor.round)
      lastRound = std::max(lastRound, round);
  for (int64_t round = 0; round <= lastRound; ++round)
    for (int delayed = 0; delayed <= int(anyDelayed); ++delayed)
      for (OriginKind origin : {OriginKind::User, OriginKind::Strategy, OriginKind::Op}) {
        for (unsigned tensor = 0; tensor < tensors.size(); ++tensor)
          touch(tensor);
        fixedPoint({round, bool(delayed), int(origin)});
      }
}

} // namespace dgc
