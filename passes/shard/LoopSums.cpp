// Sums that loops carry from round to round.

#include "passes/shard/LoopSums.h"

#include "dialects/dgc/SumTerms.h"

using namespace mlir;
using namespace dgc::dist;

namespace dgc {
namespace {
class Finder {
public:
  Finder(const MeshRef &mesh, LoopSums &found) : mesh(mesh), found(found) {}

  /// The axes along which the carried value may be partial; none: it may not.
  AxisList axesOf(const RegionTies::Carried &carried) {
    if (!isZeros(carried.first))
      return {};
    SmallVector<Value> terms;
    if (auto last = carried.next.getDefiningOp<AddOp>())
      terms = termsOf(last);
    else if (auto update = carried.next.getDefiningOp<DynamicUpdateSliceOp>())
      terms = {update.getOperand(), update.getUpdate()};
    else
      return {};
    const auto *own = llvm::find_if(terms, [&](Value term) { return llvm::is_contained(carried.inside, term); });
    if (own == terms.end() || !own->hasOneUse() ||
        llvm::any_of(carried.inside, [&](Value value) { return value != *own && !value.use_empty(); }))
      return {};
    terms.erase(own);
    SmallVector<AxisUse> cut; // a value is not partial along what cuts it
    for (const AxisList &dim : mesh.dimsOf(declaredSharding(carried.result, mesh)))
      llvm::append_range(cut, dim);
    std::optional<AxisList> axes; // along which all terms may be partial
    for (Value term : terms) {
      AxisList each = axesOfTerm(term);
      if (axes)
        llvm::erase_if(*axes, [&](AxisUse use) { return !llvm::is_contained(each, use); });
      else
        axes = std::move(each);
    }
    if (axes)
      llvm::erase_if(*axes, [&](AxisUse use) { return llvm::is_contained(cut, use); });
    return axes.value_or(AxisList());
  }

private:
  /// The axes that cut what is added up by the op that `value`, but for linear functions, is the result of.
  AxisList axesOfTerm(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !value.hasOneUse())
      return {};
    if (auto loop = dyn_cast<RegionTiesOpInterface>(op)) {
      for (const RegionTies::Carried &inner : loop.getRegionTies().carried)
        if (inner.result == value)
          return axesOf(inner);
      return {};
    }
    auto interface = dyn_cast<ShardingRuleOpInterface>(op);
    if (!interface)
      return {};
    AxisList axes;
    ShardingRule rule = interface.getShardingRule();
    for (auto [operand, shape] : llvm::zip_equal(op->getOperands(), rule.operands))
      (void)factorsFromDims(shape, rule.factors, mesh.dimsOf(declaredSharding(operand, mesh)), mesh,
                            [&](unsigned factor, ArrayRef<AxisUse> cut) {
                              const Factor &each = rule.factors[factor];
                              if (each.kind != FactorKind::Reduction || each.reduction != ReductionKind::Sum)
                                return;
                              for (AxisUse use : cut)
                                if (!llvm::is_contained(axes, use))
                                  axes.push_back(use);
                            });
    if (!axes.empty()) {
      for (AxisUse use : axes)
        found.terms[op] |= uint64_t(1) << use.axis;
      return axes;
    }
    for (OpOperand &operand : op->getOpOperands())
      if (isLinearIn(op, operand.getOperandNumber()))
        if (AxisList before = axesOfTerm(operand.get()); !before.empty())
          return before;
    return {};
  }

  const MeshRef &mesh;
  LoopSums &found;
};
} // namespace

LoopSums findLoopSums(RegionTiesOpInterface loop, const MeshRef &mesh, const llvm::SmallDenseSet<unsigned> &combined) {
  LoopSums found;
  Finder finder(mesh, found);
  for (auto [i, carried] : llvm::enumerate(loop.getRegionTies().carried))
    if (!combined.contains(i))
      if (AxisList axes = finder.axesOf(carried); !axes.empty())
        found.sums.push_back({unsigned(i), std::move(axes)});
  return found;
}

} // namespace dgc
