// How a training function runs on micro-batches.

#include "passes/gradient/Microbatches.h"
#include "dialects/dgc/AttributeNames.h"
#include "passes/analysis/BatchDims.h"
#include "passes/analysis/Layout.h"
#include "passes/analysis/StrategyUtil.h"

using namespace mlir;

namespace dgc {

MicrobatchAnalysis::MicrobatchAnalysis(func::FuncOp function, int64_t count)
    : function(function), block(function.getBody().front()), count(count) {}

LogicalResult MicrobatchAnalysis::run() {
  if (failed(readBatch()))
    return failure();
  for (Operation &op : block)
    if (failed(analyze(&op)))
      return failure();
  for (auto &[op, execution] : executions)
    lastLevel = std::max(lastLevel, execution.level);
  delayWhatInputsGive();
  for (Operation &op : llvm::reverse(block.without_terminator()))
    if (MicrobatchExecution &execution = executions[&op]; !execution.perMicrobatch)
      execution.level = latestLevel(&op);
  return success();
}

/// Marks the arguments that are cut and finds the global batch.
LogicalResult MicrobatchAnalysis::readBatch() {
  for (BlockArgument argument : block.getArguments()) {
    auto dim = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), kBatchDimAttr);
    if (!dim)
      continue;
    auto type = cast<RankedTensorType>(argument.getType());
    int64_t size = type.getDimSize(dim.getInt());
    if (batch != 0 && size != batch)
      return function.emitError() << "the inputs have batches of " << batch << " and " << size
                                  << " examples; micro-batches need one";
    batch = size;
    layouts[argument] = {MicrobatchLayout::Cut, unsigned(dim.getInt())};
  }
  if (batch != 0 && batch < count)
    return function.emitError() << "the global batch of " << batch << " cannot be split into " << count
                                << " micro-batches: some would have no example; use at most " << batch;
  return success();
}

FactorDim factorDimOf(const TensorFactors &tensor, ArrayRef<Factor> factors, unsigned factor) {
  FactorDim factorDim;
  for (auto [dim, dimFactors] : llvm::enumerate(tensor.dims)) {
    bool major = true;
    for (unsigned each : dimFactors) {
      if (each == factor) {
        factorDim.present = true;
        if (major)
          factorDim.dim = dim;
      }
      major &= factors[each].size == 1;
    }
  }
  return factorDim;
}

std::optional<unsigned> MicrobatchAnalysis::batchFactor(const TensorFactors &tensor, ArrayRef<Factor> factors,
                                                        unsigned dim) const {
  for (unsigned factor : tensor.dims[dim])
    if (factors[factor].size != 1)
      return factors[factor].size == batch ? std::optional(factor) : std::nullopt;
  return std::nullopt;
}

static InFlightDiagnostic refuse(Operation *op) {
  return op->emitError() << "'" << op->getName() << "' needs the examples of the whole batch together, so the batch "
                         << "cannot be split into micro-batches: ";
}

LogicalResult MicrobatchAnalysis::analyze(Operation *op) {
  MicrobatchExecution &execution = executions[op];
  SmallVector<unsigned> cut, partial;
  for (OpOperand &operand : op->getOpOperands()) {
    MicrobatchLayout layout = getLayout(operand.get());
    if (layout.kind == MicrobatchLayout::Cut)
      cut.push_back(operand.getOperandNumber());
    else if (layout.kind == MicrobatchLayout::Partial)
      partial.push_back(operand.getOperandNumber());
  }
  if (op->getNumRegions() > 0 && !op->hasTrait<ControlFlow>() && failed(checkRegions(op)))
    return failure();
  if (isa<func::ReturnOp>(op)) {
    for (unsigned i : partial)
      summed.insert(op->getOperand(i));
    return success();
  }
  if (!cut.empty())
    return analyzeCut(op, execution, cut);
  if (partial.size() > 1 && mayStayPartial(op, partial)) {
    execution.perMicrobatch = true;
    execution.operandDims.assign(op->getNumOperands(), MicrobatchExecution::kWhole);
    for (unsigned i : partial)
      execution.operandDims[i] = MicrobatchExecution::kPartial;
    execution.level = levelOf(op, partial);
    for (Value result : op->getResults())
      layouts[result] = {MicrobatchLayout::Partial, 0, dist::Reduction::Sum, execution.level};
    return success();
  }
  execution.level = levelOf(op, {});
  for (unsigned i : partial)
    summed.insert(op->getOperand(i));
  for (Value result : op->getResults())
    layouts[result] = {MicrobatchLayout::Whole, 0, dist::Reduction::Sum, execution.level};
  return success();
}

/// What regions read from outside must be whole.
LogicalResult MicrobatchAnalysis::checkRegions(Operation *op) {
  WalkResult result = op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (operand.getParentBlock() == &block && getLayout(operand).kind != MicrobatchLayout::Whole)
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return refuse(op) << "it has a region that reads them";
  return success();
}

/// The level of an op: sums over the micro-batches wait for all of them, but for the operands in `asAddends`.
int MicrobatchAnalysis::levelOf(Operation *op, ArrayRef<unsigned> asAddends) const {
  int level = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    MicrobatchLayout layout = getLayout(operand.get());
    bool waits = layout.kind == MicrobatchLayout::Partial && !llvm::is_contained(asAddends, operand.getOperandNumber());
    level = std::max(level, layout.level + waits);
  }
  return level;
}

/// Sums of partial values are added up once, at the end; anything else is computed once, from the whole value. So is
/// what adds values of several stages: one sum goes from one to the other.
bool MicrobatchAnalysis::mayStayPartial(Operation *op, ArrayRef<unsigned> partial) const {
  auto stageOf = [&](unsigned i) {
    Operation *def = op->getOperand(i).getDefiningOp();
    return def ? def->getDiscardableAttr(dist::kStageAttr) : Attribute();
  };
  if (!llvm::all_equal(llvm::map_range(partial, stageOf)))
    return false;
  return isLinearIn(op, partial) && llvm::all_of(partial, [&](unsigned i) {
           Value value = op->getOperand(i);
           return getLayout(value).reduction == dist::Reduction::Sum && llvm::all_equal(value.getUsers());
         });
}

LogicalResult MicrobatchAnalysis::analyzeCut(Operation *op, MicrobatchExecution &execution, ArrayRef<unsigned> cut) {
  SmallVector<BatchDims> dims(op->getNumOperands());
  for (unsigned i : cut) {
    unsigned dim = getLayout(op->getOperand(i)).dim;
    dims[i].push_back({dim, cast<RankedTensorType>(op->getOperand(i).getType()).getDimSize(dim) / batch});
  }
  std::string reason;
  FailureOr<ExampleFlow> flow = examplesThrough(op, dims, batch, reason, /*isCut=*/true);
  if (failed(flow))
    return runOnAll(op, execution, reason);
  if (flow->factors.size() > 1)
    return runOnAll(op, execution, "it pairs examples with each other");
  const ShardingRule &rule = flow->rule;
  unsigned chosen = flow->factors.front().factor;
  const Factor &factor = rule.factors[chosen];
  std::optional<dist::Reduction> reduction;
  if (factor.kind == FactorKind::Reduction)
    reduction = partialKind(factor.reduction, cast<RankedTensorType>(op->getResult(0).getType()).getElementType());
  if (factor.kind == FactorKind::Reduction && !reduction)
    return runOnAll(op, execution, "what its parts give cannot be combined");

  execution.perMicrobatch = true;
  execution.level = levelOf(op, {});
  for (auto [i, tensor] : llvm::enumerate(rule.operands)) {
    FactorDim factorDim = factorDimOf(tensor, rule.factors, chosen);
    if (factorDim.present && !factorDim.dim)
      return runOnAll(op, execution,
                      "the batch is not the major part of a dimension of its operand " + std::to_string(i));
    execution.operandDims.push_back(factorDim.present ? int(*factorDim.dim) : MicrobatchExecution::kWhole);
    if (Value operand = op->getOperand(i); getLayout(operand).kind == MicrobatchLayout::Partial)
      summed.insert(operand);
  }
  for (auto [result, tensor] : llvm::zip_equal(op->getResults(), rule.results)) {
    FactorDim factorDim = factorDimOf(tensor, rule.factors, chosen);
    if (factorDim.present && !factorDim.dim)
      return runOnAll(op, execution, "the batch is not the major part of a dimension of its result");
    if (factorDim.present)
      layouts[result] = {MicrobatchLayout::Cut, *factorDim.dim, dist::Reduction::Sum, execution.level};
    else if (!reduction) // a result of a loop that does not depend on examples: each micro-batch has it
      layouts[result] = {MicrobatchLayout::Whole, 0, dist::Reduction::Sum, execution.level};
    else
      layouts[result] = {MicrobatchLayout::Partial, 0, *reduction, execution.level};
  }
  return success();
}

/// An op that needs the examples of the whole batch together runs once, when all micro-batches are there. In a pipeline it
/// would hold up all of them, and is refused.
LogicalResult MicrobatchAnalysis::runOnAll(Operation *op, MicrobatchExecution &execution, const Twine &reason) {
  if (function
          ->walk([](Operation *each) {
            return each->hasAttr(dist::kStageAttr) ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted())
    return refuse(op) << reason;
  execution = {};
  for (Value operand : op->getOperands()) {
    const MicrobatchLayout layout = getLayout(operand);
    const bool waits = layout.kind == MicrobatchLayout::Partial ||
                       (layout.kind == MicrobatchLayout::Cut && !isa<BlockArgument>(operand));
    execution.level = std::max(execution.level, layout.level + waits);
    if (layout.kind == MicrobatchLayout::Partial)
      summed.insert(operand);
  }
  for (Value result : op->getResults())
    layouts[result] = {MicrobatchLayout::Whole, 0, dist::Reduction::Sum, execution.level};
  return success();
}

/// What each micro-batch computes of inputs alone is computed when it is needed, and what follows from it right after,
/// so that no one holds it of all micro-batches where these wait for each other. A count of tokens that all of them
/// have together is there before the first forward pass.
void MicrobatchAnalysis::delayWhatInputsGive() {
  // The last level at which each op can run, as all that need it still can.
  DenseMap<Operation *, int> latest;
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    int last = lastLevel;
    for (OpOperand &use : op.getUses()) {
      Operation *user = block.findAncestorOpInBlock(*use.getOwner());
      last = std::min(last, (user == block.getTerminator() ? lastLevel : latest[user]) - waits(use));
    }
    latest[&op] = std::max(last, executions[&op].level);
  }
  for (Operation &op : block.without_terminator()) {
    MicrobatchExecution &execution = executions[&op];
    int ready = 0;
    bool readsInputs = execution.perMicrobatch;
    for (OpOperand &operand : op.getOpOperands()) {
      Operation *source = operand.get().getDefiningOp();
      if (!source)
        continue;
      ready = std::max(ready, executions[source].level + waits(operand));
      readsInputs &= getLayout(operand.get()).kind == MicrobatchLayout::Whole;
    }
    execution.level = readsInputs ? latest[&op] : ready;
  }
}

/// True where a sum over the micro-batches, or what each has of its examples, is needed as a whole: all of them have to be
/// done with it.
bool MicrobatchAnalysis::waits(OpOperand &use) const {
  auto it = executions.find(use.getOwner());
  if (getLayout(use.get()).kind == MicrobatchLayout::Cut)
    return it != executions.end() && !it->second.perMicrobatch && it->first != block.getTerminator() &&
           !isa<BlockArgument>(use.get());
  if (getLayout(use.get()).kind != MicrobatchLayout::Partial)
    return false;
  return it == executions.end() || !it->second.perMicrobatch ||
         it->second.operandDims[use.getOperandNumber()] != MicrobatchExecution::kPartial;
}

/// The level of the first op that needs what `op` computes once: no one keeps an earlier result.
int MicrobatchAnalysis::latestLevel(Operation *op) const {
  int last = lastLevel;
  for (Operation *user : op->getUsers())
    if (auto it = executions.find(block.findAncestorOpInBlock(*user));
        it != executions.end() && it->first != block.getTerminator())
      last = std::min(last, it->second.level);
  return last;
}

} // namespace dgc
