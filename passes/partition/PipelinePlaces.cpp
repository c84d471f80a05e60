// Which slot of a pipeline each op of a loop over micro-batches belongs to.

#include "passes/partition/PipelinePlaces.h"
#include "passes/partition/PipelineLoop.h"
#include "passes/place/Stages.h"

using namespace mlir;
using namespace dgc;
using SlotKind = PipelineSlot::Kind;

PipelinePlaces::PipelinePlaces(func::FuncOp function, WhileOp loop, const SteadyState &state)
    : body(loop.getBody().front()), numCarried(loop.getCarried().size()), forward(forwardOps(function)) {
  for (const SteadyState::Slot &slot : state.slots)
    hasInputPass |= slot.kind == SlotKind::BackwardInput;
  findWeightGradients();
  for (Operation &op : body.without_terminator()) {
    if (followsFromInputs(&op))
      recomputed.insert(&op);
    else if (std::optional<int64_t> stage = stageOf(&op))
      ops[placeOf(&op, static_cast<int>(*stage))].push_back(&op);
  }
}

std::optional<PipelinePlace> PipelinePlaces::placeOf(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op || recomputed.contains(op) || !stageOf(op))
    return std::nullopt;
  return placeOf(op, static_cast<int>(*stageOf(op)));
}

SmallVector<Value> PipelinePlaces::neededBy(Operation *op) const {
  SmallVector<Value> needed, work(op->getOperands());
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (placeOf(value))
      needed.push_back(value);
    else if (Operation *def = value.getDefiningOp())
      llvm::append_range(work, def->getOperands());
  }
  return needed;
}

PipelinePlace PipelinePlaces::placeOf(Operation *op, int stage) const {
  if (forward.contains(op))
    return {SlotKind::Forward, stage};
  if (!hasInputPass)
    return {SlotKind::Backward, stage};
  return {late.contains(op) ? SlotKind::BackwardWeight : SlotKind::BackwardInput, stage};
}

/// Backward ops after which nothing of the stage and micro-batch is contracted or sent.
void PipelinePlaces::findWeightGradients() {
  llvm::DenseSet<Operation *> needed;
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (forward.contains(&op))
      continue;
    for (Operation *user : op.getUsers())
      if (user != body.getTerminator() &&
          (needed.contains(user) || isContraction(user) || stageOf(user) != stageOf(&op)))
        needed.insert(&op);
    if (!needed.contains(&op))
      late.insert(&op);
  }
}

/// What depends on the number of the micro-batch and on what is the same for all, and is not much work: no gather (which has
/// a factor of reduction, too) and no contraction.
bool PipelinePlaces::followsFromInputs(Operation *op) const {
  if (!stageOf(op))
    return true; // uniform
  return isMemoryEffectFree(op) && op->getNumRegions() == 0 && !isa<dist::CollectiveOpInterface>(op) &&
         !isContraction(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
           if (auto argument = dyn_cast<BlockArgument>(operand))
             return argument.getArgNumber() == 0 || argument.getArgNumber() >= numCarried;
           return recomputed.contains(operand.getDefiningOp());
         });
}
