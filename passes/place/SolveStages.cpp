// Stages for a model that says nothing of them: the forward pass as a placement problem.

#include "dialects/dgc/Decompose.h"
#include "dialects/dgc/TensorUtil.h"
#include "passes/place/Placement.h"
#include "passes/place/Stages.h"

#include "dialects/dgc/DGC.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace dgc;

/// What forward and backward pass of an op take, in forward passes.
static constexpr double kPasses = 3;

/// How much longer the slowest stage may take than in the most balanced cut where fewer bytes are sent.
static constexpr double kSlack = 0.1;

/// What is sent to a stage that reads the value: the value and, where it has one, its gradient.
static uint64_t transferredBytes(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return bytesOf(value) * (type && isa<FloatType>(type.getElementType()) ? 2 : 1);
}

/// Floating-point operations; those of a composite are those of what it means.
static double flopsOf(Operation *op) {
  if (auto cost = dyn_cast<CostOpInterface>(op))
    return static_cast<double>(cost.getCost().flops);
  auto composite = dyn_cast<DecomposableOpInterface>(op);
  if (!composite)
    return 0;
  SmallVector<Operation *> built;
  InsertedOps listener(built);
  OpBuilder builder(op, &listener);
  (void)composite.decompose(builder);
  double flops = 0;
  for (Operation *part : SmallVector<Operation *>(built))
    flops += flopsOf(part);
  for (Operation *part : llvm::reverse(built))
    part->erase();
  return flops;
}

namespace dgc {

namespace {
/// The problem of a function's forward ops. A variable that several of them read is an op of its own, with the first of
/// them: other stages get it from there.
class StageProblem {
public:
  StageProblem(func::FuncOp function, ArrayRef<Operation *> ops, int64_t stages, const StageCosts &costs)
      : function(function) {
    problem.devices.assign(stages, {costs.capacity, costs.flopsPerSecond});
    problem.defaultBandwidth = costs.bytesPerSecond;
    problem.slack = kSlack;
    for (Operation *op : ops)
      for (Value state : statesOf(op))
        readers[state].insert(op);
    for (Operation *op : ops)
      add(op);
  }

  const PlacementProblem &get() const { return problem; }
  int numberOf(Operation *op) const { return numbers.lookup(op); }
  bool hasColocations() const { return !colocations.empty(); }

private:
  SmallVector<Value> statesOf(Operation *op) const {
    llvm::SetVector<Value> states;
    for (Value operand : op->getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand);
          argument && argumentState(function, argument.getArgNumber()))
        states.insert(operand);
    return states.takeVector();
  }

  void add(Operation *op) {
    PlacementProblem::Op entry;
    entry.flops = kPasses * flopsOf(op);
    for (Value result : op->getResults()) {
      entry.resultBytes += transferredBytes(result);
      entry.bytes += bytesOf(result);
    }
    if (Attribute name = op->getDiscardableAttr(dist::kColocateAttr))
      entry.colocation = colocations.try_emplace(name, newColocation()).first->second;
    entry.anchor = !statesOf(op).empty();
    for (Value state : statesOf(op)) {
      auto [shared, isFirst] = sharedStates.try_emplace(state, -1);
      if (readers[state].size() > 1 && isFirst) {
        if (entry.colocation < 0)
          entry.colocation = newColocation();
        shared->second = static_cast<int>(problem.ops.size());
        PlacementProblem::Op variable;
        variable.bytes = 2 * bytesOf(state); // and its gradient
        variable.resultBytes = transferredBytes(state);
        variable.colocation = entry.colocation;
        problem.ops.push_back(variable);
      } else if (isFirst) {
        entry.bytes += 2 * bytesOf(state);
      }
      if (shared->second >= 0)
        entry.operands.push_back(shared->second);
    }
    for (Value operand : op->getOperands())
      if (auto it = numbers.find(operand.getDefiningOp()); operand.getDefiningOp() && it != numbers.end())
        entry.operands.push_back(it->second);
    numbers[op] = static_cast<int>(problem.ops.size());
    problem.ops.push_back(std::move(entry));
  }

  int newColocation() { return numColocations++; }

  func::FuncOp function;
  PlacementProblem problem;
  llvm::DenseMap<Operation *, int> numbers;
  llvm::DenseMap<Value, llvm::SmallPtrSet<Operation *, 2>> readers; // of states
  llvm::DenseMap<Value, int> sharedStates;                          // their numbers; -1: with the op that reads it
  llvm::DenseMap<Attribute, int> colocations;                       // that the model asks for
  int numColocations = 0;
};
} // namespace

LogicalResult solveStages(func::FuncOp function, ArrayRef<Operation *> ops, int64_t stages, StageSolver solver,
                          const StageCosts &costs) {
  const StageProblem built(function, ops, stages, costs);
  const PlacementProblem &problem = built.get();
  std::string wrong = problem.check();
  if (!wrong.empty())
    return function.emitError() << "stages cannot be chosen: " << wrong;
  constexpr size_t mostExact = 16;
  if (solver == StageSolver::Exact && ops.size() > mostExact)
    return function.emitError() << "the exact solver is for up to " << mostExact << " ops, and there are " << ops.size()
                                << "; use chain or greedy";
  Placement placement = solver == StageSolver::Exact    ? placeExact(problem)
                        : solver == StageSolver::Greedy ? placeGreedy(problem)
                                                        : placeChain(problem);
  if (!placement) {
    auto error = function.emitError() << "no placement on " << stages << " stages";
    if (costs.capacity != UINT64_MAX)
      error << " of " << costs.capacity << " bytes each";
    error << " was found; use " << (costs.capacity != UINT64_MAX ? "more" : "fewer") << " stages";
    if (built.hasColocations() && solver == StageSolver::Chain)
      error << ", or colocate less: each stage is a range of ops, so that all ops between two that are colocated are "
               "with "
               "them";
    return error;
  }
  wrong = placement.verify(problem);
  if (!wrong.empty())
    return function.emitError() << "the solver " << nameOf(solver) << " gave a placement that is wrong: " << wrong;
  for (Operation *op : ops)
    setStage(op, placement.devices[built.numberOf(op)]);
  return success();
}

} // namespace dgc
