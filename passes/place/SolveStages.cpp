// Stages for a model that says nothing of them: the forward pass as a placement problem.

#include "passes/place/Placement.h"
#include "passes/place/Stages.h"

#include "dialects/dgc/DGC.h"

using namespace mlir;
using namespace ::dgc;

/// What forward and backward pass of an op take, in forward passes.
static constexpr double kPasses = 3;

static uint64_t bytesOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8) : 0;
}

namespace {
struct BuiltOps : OpBuilder::Listener {
  SmallVector<Operation *> ops;
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override { ops.push_back(op); }
};
} // namespace

/// Floating-point operations; those of a composite are those of what it means.
static double flopsOf(Operation *op) {
  if (auto cost = dyn_cast<mlir::dgc::CostOpInterface>(op))
    return static_cast<double>(cost.getCost().flops);
  auto composite = dyn_cast<mlir::dgc::DecomposableOpInterface>(op);
  if (!composite)
    return 0;
  BuiltOps listener;
  OpBuilder builder(op, &listener);
  (void)composite.decompose(builder);
  double flops = 0;
  for (Operation *built : SmallVector<Operation *>(listener.ops))
    flops += flopsOf(built);
  for (Operation *built : llvm::reverse(listener.ops))
    built->erase();
  return flops;
}

namespace dgc {

LogicalResult solveStages(func::FuncOp function, ArrayRef<Operation *> ops, int64_t stages, StringRef solver,
                          const StageCosts &costs) {
  PlacementProblem problem;
  problem.devices.assign(stages, {costs.capacity, costs.flopsPerSecond});
  problem.defaultBandwidth = costs.bytesPerSecond;
  llvm::DenseMap<Operation *, int> numbers;
  llvm::DenseMap<Attribute, int> colocations;
  llvm::DenseSet<Value> counted; // states that an op before reads
  for (Operation *op : ops) {
    PlacementProblem::Op entry;
    entry.flops = kPasses * flopsOf(op);
    for (Value result : op->getResults())
      entry.resultBytes += bytesOf(result);
    entry.bytes = entry.resultBytes;
    if (Attribute name = op->getDiscardableAttr(dist::kColocateAttr))
      entry.colocation = colocations.try_emplace(name, static_cast<int>(colocations.size())).first->second;
    for (Value operand : op->getOperands()) {
      if (auto it = numbers.find(operand.getDefiningOp()); operand.getDefiningOp() && it != numbers.end())
        entry.operands.push_back(it->second);
      auto argument = dyn_cast<BlockArgument>(operand);
      if (argument && argumentState(function, argument.getArgNumber()) && counted.insert(operand).second)
        entry.bytes += 2 * bytesOf(operand); // and its gradient
    }
    numbers[op] = static_cast<int>(problem.ops.size());
    problem.ops.push_back(std::move(entry));
  }
  std::string wrong = problem.check();
  if (!wrong.empty())
    return function.emitError() << "stages cannot be chosen: " << wrong;
  constexpr size_t mostExact = 16;
  if (solver == "exact" && problem.ops.size() > mostExact)
    return function.emitError() << "the exact solver is for up to " << mostExact << " ops, and there are "
                                << problem.ops.size() << "; use chain or greedy";
  Placement placement = solver == "exact"    ? placeExact(problem)
                        : solver == "greedy" ? placeGreedy(problem)
                                             : placeChain(problem);
  if (!placement) {
    auto error = function.emitError() << "no placement on " << stages << " stages";
    if (costs.capacity != UINT64_MAX)
      error << " of " << costs.capacity << " bytes each";
    error << " was found; use " << (costs.capacity != UINT64_MAX ? "more" : "fewer") << " stages";
    if (!colocations.empty() && solver == "chain")
      error << ", or colocate less: each stage is a range of ops, so that all ops between two that are colocated are "
               "with "
               "them";
    return error;
  }
  wrong = placement.verify(problem);
  if (!wrong.empty())
    return function.emitError() << "the solver " << solver << " gave a placement that is wrong: " << wrong;
  for (auto [op, stage] : llvm::zip_equal(ops, placement.devices))
    setStage(op, stage);
  return success();
}

} // namespace dgc
