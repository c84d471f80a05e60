// dgc-propagate-shardings: decides how every value is cut.

#include "passes/shard/ModulePropagation.h"
#include "passes/shard/Passes.h"
#include "passes/shard/PlanCost.h"

#include "llvm/Support/DebugLog.h"
#include "llvm/Support/InterleavedRange.h"

#include <set>

#define DEBUG_TYPE "dgc-propagate-shardings"

namespace dgc {
#define GEN_PASS_DEF_PROPAGATESHARDINGSPASS
#include "passes/shard/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

/// True for an op that costs about as much as moving its result and depends on
/// scalars alone: a constant, an iota, a broadcast scalar.
static bool isCheapSource(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() || !isPure(op) || !isa<ShardingRuleOpInterface>(op))
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || type.getRank() == 0)
    return false;
  auto cost = dyn_cast<CostOpInterface>(op);
  if (cost && cost.getCost().flops > 2 * uint64_t(type.getNumElements()))
    return false;
  bool positional = isa<PositionalOpInterface>(op);
  return llvm::all_of(op->getOperandTypes(), [&](Type operand) {
    auto tensor = dyn_cast<RankedTensorType>(operand);
    return !positional && tensor && tensor.getRank() == 0;
  });
}

/// Gives each use of a cheap source its own copy. Returns how many were made.
static unsigned splitCheapSources(func::FuncOp function) {
  unsigned copies = 0;
  SmallVector<Operation *> sources;
  function.walk([&](Operation *op) {
    if (isCheapSource(op) && !op->use_empty())
      sources.push_back(op);
  });
  for (Operation *op : sources) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    for (OpOperand &use : llvm::make_early_inc_range(llvm::drop_begin(op->getResult(0).getUses()))) {
      use.set(builder.clone(*op)->getResult(0));
      ++copies;
    }
  }
  return copies;
}

namespace {
/// Decides which groups of annotations have to wait where several compete for an axis. Each choice is propagated and
/// judged by the plan that comes of it.
class PrecedenceSearch {
public:
  PrecedenceSearch(ModuleOp module, const MeshRef &mesh, ModulePropagation &propagation)
      : module(module), mesh(mesh), propagation(propagation), best(propagation.getGroups().size(), 0) {}

  /// Leaves the module with the shardings of the best plan.
  void run() {
    uint64_t contested = propagation.apply(best);
    for (int axis = 0; axis < int(mesh.mesh.getAxes().size()); ++axis)
      if (contested >> axis & 1 && countGroups(axis) > 1)
        axes.push_back(axis);
    if (axes.empty())
      return;
    bestCost = estimateCost(module, mesh);
    if (succeeded(bestCost))
      firstCost = *bestCost;
    for (int axis : axes)
      tryKinds(axis);
    for (int axis : axes)
      tryGroups(axis);
    propagation.apply(best);
  }

private:
  static constexpr unsigned maxGroupTrials = 48;

  bool names(const AnnotationGroup &group, int axis) const { return group.axes >> axis & 1; }
  size_t countGroups(int axis) const {
    return llvm::count_if(propagation.getGroups(), [&](const AnnotationGroup &group) { return names(group, axis); });
  }

  /// Variables wait for values, or values for variables, and so on.
  void tryKinds(int axis) {
    for (unsigned waiting = 1; waiting < 7; ++waiting) {
      SmallVector<uint64_t> delays = best;
      for (auto [group, delay] : llvm::zip_equal(propagation.getGroups(), delays))
        if (names(group, axis)) {
          delay &= ~(uint64_t(1) << axis);
          delay |= uint64_t(waiting >> group.kind & 1) << axis;
        }
      tryDelays(delays);
    }
  }

  /// Single groups wait that did not, and the other way round.
  void tryGroups(int axis) {
    for (size_t i = 0; i < best.size() && numGroupTrials < maxGroupTrials; ++i)
      if (names(propagation.getGroups()[i], axis)) {
        SmallVector<uint64_t> delays = best;
        delays[i] ^= uint64_t(1) << axis;
        ++numGroupTrials;
        tryDelays(delays);
      }
  }

  void tryDelays(ArrayRef<uint64_t> delays) {
    if (!tried.insert(SmallVector<uint64_t>(delays)).second)
      return;
    propagation.apply(delays);
    FailureOr<ModuleCost> cost = estimateCost(module, mesh);
    LDBG() << "delays " << llvm::interleaved(delays) << " bytes " << (succeeded(cost) ? cost->largest.bytes : -1)
           << ", flops " << (succeeded(cost) ? cost->largest.flops : -1);
    if (failed(cost) || (succeeded(bestCost) && !isBetter(*cost)))
      return;
    best.assign(delays.begin(), delays.end());
    if (failed(bestCost))
      firstCost = *cost;
    bestCost = cost;
  }

  /// Fewer bytes in the entry point that receives most, then in all of them, and about the work of the first plan: no
  /// large op is computed several times to save communication.
  bool isBetter(const ModuleCost &cost) const {
    auto isAsMuch = [](int64_t flops, int64_t first) { return flops <= first + first / 20; };
    return isAsMuch(cost.largest.flops, firstCost.largest.flops) && isAsMuch(cost.total.flops, firstCost.total.flops) &&
           std::pair(cost.largest.bytes, cost.total.bytes) < std::pair(bestCost->largest.bytes, bestCost->total.bytes);
  }

  ModuleOp module;
  const MeshRef &mesh;
  ModulePropagation &propagation;
  SmallVector<int> axes; // contested, and named by several groups
  SmallVector<uint64_t> best;
  FailureOr<ModuleCost> bestCost = failure();
  ModuleCost firstCost;
  std::set<SmallVector<uint64_t>> tried;
  unsigned numGroupTrials = 0;
};

struct PropagateShardings : dgc::impl::PropagateShardingsPassBase<PropagateShardings> {
  void runOnOperation() override {
    FailureOr<MeshRef> mesh = findMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    if (!*mesh)
      return markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>())
      numSplit += splitCheapSources(function);
    ModulePropagation propagation(getOperation(), *mesh);
    if (failed(propagation.build()))
      return signalPassFailure();
    PrecedenceSearch(getOperation(), *mesh, propagation).run();
    numCut += propagation.numCut;
  }
};
} // namespace
