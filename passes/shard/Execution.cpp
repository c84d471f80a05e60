// How an op runs on cut tensors.

#include "passes/shard/Execution.h"

using namespace mlir;
using namespace dgc::dist;

namespace dgc {

int64_t elementsReceived(ArrayRef<int64_t> shape, ShardingAttr from, ShardingAttr to, const MeshRef &mesh) {
  ValueLayout layout = mesh.layoutOf(from), target = mesh.layoutOf(to);
  if (!llvm::all_of(target.partial, [&](int axis) { return llvm::is_contained(layout.partial, axis); }))
    return std::numeric_limits<int64_t>::max();
  SmallVector<int64_t> sizes = mesh.sizes();
  LayoutSpace space{sizes, shape};
  int64_t elements = 0;
  for (const ReshardStep &step : planReshard(space, layout, target)) {
    elements += receivedElements(space, layout, step);
    layout = step.after;
  }
  return elements;
}

namespace {
/// One tensor of an op.
struct Party {
  const TensorFactors *shape;
  int64_t bytes;
  bool isResult;
  SmallVector<AxisList> factors; // what it is cut by, per factor
  SmallVector<bool> has;         // which factors it has
};

class Chooser {
public:
  Chooser(const OpTensors &op, const MeshRef &mesh) : op(op), mesh(mesh) {
    addParties(op.rule.operands, op.operandTypes, op.operands, /*isResult=*/false);
    addParties(op.rule.results, op.resultTypes, op.results, /*isResult=*/true);
  }

  Execution run() {
    size_t numFactors = op.rule.factors.size();
    chosen.resize(numFactors);
    for (unsigned factor = 0; factor < numFactors; ++factor)
      if (mayCut(factor))
        chosen[factor] = choose(factor);
    settleClashes();
    dropUnrepresentable();

    Execution execution;
    for (const TensorFactors &shape : op.rule.operands)
      execution.operands.push_back(dimsFromFactors(shape, op.rule.factors, chosen, mesh));
    for (const TensorFactors &shape : op.rule.results)
      execution.results.push_back(dimsFromFactors(shape, op.rule.factors, chosen, mesh));
    for (unsigned factor = 0; factor < numFactors; ++factor)
      if (op.rule.factors[factor].kind == FactorKind::Reduction && !chosen[factor].empty()) {
        llvm::append_range(execution.partial, chosen[factor]);
        execution.kind = *kindOf(factor);
      }
    execution.factors = std::move(chosen);
    return execution;
  }

private:
  void addParties(ArrayRef<TensorFactors> shapes, ArrayRef<RankedTensorType> types, ArrayRef<DimAxes> dims,
                  bool isResult) {
    for (auto [shape, type, axes] : llvm::zip_equal(shapes, types, dims)) {
      Party party{&shape, bytesOf(type), isResult, {}, {}};
      party.factors.resize(op.rule.factors.size());
      party.has.resize(op.rule.factors.size(), false);
      for (ArrayRef<unsigned> dimFactors : shape.dims)
        for (unsigned factor : dimFactors)
          party.has[factor] = true;
      (void)factorsFromDims(shape, op.rule.factors, axes, mesh, [&](unsigned factor, ArrayRef<AxisUse> axes) {
        party.factors[factor].assign(axes.begin(), axes.end());
      });
      parties.push_back(std::move(party));
    }
  }

  std::optional<Reduction> kindOf(unsigned factor) const {
    return partialKind(op.rule.factors[factor].reduction, op.resultTypes[0].getElementType());
  }

  bool mayCut(unsigned factor) const {
    switch (op.rule.factors[factor].kind) {
    case FactorKind::PassThrough:
    case FactorKind::Permutation:
      return true;
    case FactorKind::Reduction:
      return kindOf(factor).has_value();
    case FactorKind::NeedReplication:
      return false;
    }
    return false;
  }

  AxisList choose(unsigned factor) const {
    SmallVector<AxisList> candidates;
    for (const Party &party : parties)
      if (party.has[factor] && !llvm::is_contained(candidates, party.factors[factor]))
        candidates.push_back(party.factors[factor]);
    if (candidates.empty())
      return {};
    auto before = [&](const AxisList &a, const AxisList &b) {
      int64_t costA = cost(factor, a), costB = cost(factor, b);
      if (costA != costB)
        return costA < costB;
      if (a.size() != b.size())
        return a.size() > b.size();
      return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                          [](AxisUse x, AxisUse y) { return x.axis < y.axis; });
    };
    return *llvm::min_element(candidates, before);
  }

  /// The bytes that move when `factor` is cut by `axes`.
  int64_t cost(unsigned factor, const AxisList &axes) const {
    int64_t bytes = 0;
    for (const Party &party : parties) {
      const AxisList &has = party.factors[factor];
      bool free = party.isResult ? startsWith(has, axes) : startsWith(axes, has);
      if (party.has[factor] && !free)
        bytes += party.bytes;
      if (party.isResult && op.rule.factors[factor].kind == FactorKind::Reduction && !isFree(axes))
        bytes += party.bytes;
    }
    return bytes;
  }

  /// Whether it does not matter that results are partial along the axes.
  bool isFree(const AxisList &axes) const {
    return llvm::all_of(axes, [&](AxisUse use) { return op.freeAxes >> use.axis & 1; });
  }

  /// Leaves each axis to one factor.
  void settleClashes() {
    SmallVector<std::pair<int64_t, unsigned>> order; // negative weight, factor
    for (unsigned factor = 0; factor < chosen.size(); ++factor) {
      int64_t weight = 0;
      for (const Party &party : parties)
        if (party.has[factor] && party.factors[factor] == chosen[factor])
          weight += party.bytes;
      order.push_back({-weight, factor});
    }
    llvm::sort(order);
    uint64_t used = 0;
    for (auto [weight, factor] : order)
      for (size_t i = 0; i < chosen[factor].size(); ++i) {
        uint64_t bit = uint64_t(1) << chosen[factor][i].axis;
        if (used & bit)
          chosen[factor].truncate(i);
        else
          used |= bit;
      }
  }

  /// Gives up factors that a tensor cannot be cut by.
  void dropUnrepresentable() {
    bool changed = true;
    while (std::exchange(changed, false))
      for (const Party &party : parties) {
        std::optional<unsigned> lost;
        dimsFromFactors(*party.shape, op.rule.factors, chosen, mesh, &lost);
        if (lost) {
          chosen[*lost].clear();
          changed = true;
        }
      }
  }

  const OpTensors &op;
  const MeshRef &mesh;
  SmallVector<Party> parties;
  SmallVector<AxisList> chosen;
};
} // namespace

Execution chooseExecution(const OpTensors &op, const MeshRef &mesh) { return Chooser(op, mesh).run(); }

std::optional<OpTensors> tensorsOf(Operation *op, const MeshRef &mesh,
                                   llvm::function_ref<ShardingAttr(Value)> operandSharding) {
  auto interface = dyn_cast<ShardingRuleOpInterface>(op);
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  if (!interface || op->getNumResults() == 0 || !llvm::all_of(op->getOperandTypes(), isTensor) ||
      !llvm::all_of(op->getResultTypes(), isTensor))
    return std::nullopt;
  OpTensors tensors{interface.getShardingRule(), {}, {}, {}, {}};
  for (Value operand : op->getOperands()) {
    tensors.operandTypes.push_back(cast<RankedTensorType>(operand.getType()));
    tensors.operands.push_back(mesh.dimsOf(operandSharding(operand)));
  }
  for (Value result : op->getResults()) {
    tensors.resultTypes.push_back(cast<RankedTensorType>(result.getType()));
    tensors.results.push_back(mesh.dimsOf(declaredSharding(result, mesh)));
  }
  return tensors;
}

} // namespace dgc
