// Which group of devices computes an op.

#include "passes/place/Stages.h"
#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using namespace dgc::dist;

namespace dgc {

static std::optional<int64_t> numberOf(Attribute attribute) {
  auto number = dyn_cast_or_null<IntegerAttr>(attribute);
  return number ? std::optional(number.getInt()) : std::nullopt;
}

std::optional<int64_t> stageOf(Operation *op) { return numberOf(op->getDiscardableAttr(kStageAttr)); }

void setStage(Operation *op, int64_t stage) {
  op->setDiscardableAttr(kStageAttr, Builder(op->getContext()).getI64IntegerAttr(stage));
}

std::optional<int64_t> argumentStage(func::FuncOp function, unsigned index) {
  return numberOf(function.getArgAttr(index, kStageAttr));
}

void setArgumentStage(func::FuncOp function, unsigned index, int64_t stage) {
  function.setArgAttr(index, kStageAttr, Builder(function.getContext()).getI64IntegerAttr(stage));
}

std::optional<int64_t> resultStage(func::FuncOp function, unsigned index) {
  return numberOf(function.getResultAttr(index, kStageAttr));
}

bool isAcrossStages(Operation *op) { return isa<WhileOp>(op) && op->hasAttr(kMicrobatchLoopAttr) && !stageOf(op); }

SmallVector<Value, 2> sourcesOf(Value value) {
  Operation *op = value.getDefiningOp();
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument)
    op = argument.getOwner()->getParentOp();
  if (!op || !isAcrossStages(op))
    return {};
  auto loop = cast<WhileOp>(op);
  const unsigned i = argument ? argument.getArgNumber() : cast<OpResult>(value).getResultNumber();
  SmallVector<Value, 2> sources;
  if (argument)
    sources.push_back(loop->getOperand(i));
  if (i < loop.getCarried().size())
    sources.push_back(loop.getBody().front().getTerminator()->getOperand(i));
  return sources;
}

void forEachUser(Value value, llvm::function_ref<void(Operation *)> see) {
  SmallVector<Value> work{value};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    for (OpOperand &use : next.getUses()) {
      Operation *user = use.getOwner(), *parent = user->getParentOp();
      const unsigned i = use.getOperandNumber();
      if (isAcrossStages(user))
        work.push_back(cast<WhileOp>(user).getBody().getArgument(i));
      else if (isa<YieldOp>(user) && isAcrossStages(parent))
        work.append({parent->getResult(i), cast<WhileOp>(parent).getBody().getArgument(i)});
      else
        see(user);
    }
  }
}

SmallVector<Operation *> opsOnStages(func::FuncOp function) {
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (!isAcrossStages(&op)) {
      ops.push_back(&op);
      continue;
    }
    for (Operation &inside : cast<WhileOp>(op).getBody().front().without_terminator())
      ops.push_back(&inside);
  }
  return ops;
}

UniformValues::UniformValues(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kRoleAttr);
    if (role && (role == "valid_count" || role == "step" || role == "seed"))
      values.insert(argument);
  }
  visit(function.getBody().front());
}

void UniformValues::visit(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (isAcrossStages(&op)) {
      visitLoop(cast<WhileOp>(op));
      continue;
    }
    bool isSource = op.getNumOperands() == 0;
    if (op.getNumRegions() == 0 && isMemoryEffectFree(&op) && !isa<CollectiveOpInterface>(op) &&
        (isSource || !stageOf(&op)) && llvm::all_of(op.getOperands(), [&](Value v) { return contains(v); })) {
      ops.insert(&op);
      values.insert_range(op.getResults());
    }
  }
}

/// What is carried is uniform where the first value is, and the next one is if that is.
void UniformValues::visitLoop(WhileOp loop) {
  Block &body = loop.getBody().front();
  for (auto [argument, operand] : llvm::zip_equal(body.getArguments(), loop->getOperands()))
    if (contains(operand))
      values.insert(argument);
  for (bool changed = true; changed;) {
    for (Operation &op : body.without_terminator()) {
      ops.erase(&op);
      for (Value result : op.getResults())
        values.erase(result);
    }
    visit(body);
    changed = false;
    for (auto [argument, next] :
         llvm::zip(body.getArguments(), body.getTerminator()->getOperands())) // those that are carried
      if (contains(argument) && !contains(next)) {
        values.erase(argument);
        changed = true;
      }
  }
  for (auto [i, result] : llvm::enumerate(loop.getResults()))
    if (contains(body.getArgument(i)))
      values.insert(result);
}

bool isDataInput(func::FuncOp function, unsigned index) {
  auto role = function.getArgAttrOfType<StringAttr>(index, kRoleAttr);
  return !argumentState(function, index) && (!role || role == "data");
}

FlatSymbolRefAttr argumentState(func::FuncOp function, unsigned index) {
  return function.getArgAttrOfType<FlatSymbolRefAttr>(index, kStateAttr);
}

FlatSymbolRefAttr resultState(func::FuncOp function, unsigned index) {
  return function.getResultAttrOfType<FlatSymbolRefAttr>(index, kStateAttr);
}

llvm::DenseSet<Operation *> forwardOps(func::FuncOp function) {
  llvm::DenseSet<Operation *> forward;
  llvm::DenseSet<Value> seen;
  SmallVector<Value> work;
  for (auto [i, value] : llvm::enumerate(function.getBody().front().getTerminator()->getOperands()))
    if (!resultState(function, i))
      work.push_back(value);
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    llvm::append_range(work, sourcesOf(value));
    Operation *op = value.getDefiningOp();
    if (op && !isAcrossStages(op) && forward.insert(op).second)
      llvm::append_range(work, op->getOperands());
  }
  return forward;
}

/// Whether a value is an argument, or a variable whose rows are arguments.
static bool isArgument(Value value) {
  auto rows = value.getDefiningOp<ConcatenateOp>();
  return isa<BlockArgument>(value) || (rows && llvm::all_of(rows.getInputs(), llvm::IsaPred<BlockArgument>));
}

/// Whether an op is the derivative with respect to an argument. Others are a part of what an imported step computes, such as
/// the derivative of its loss with respect to logits, and are placed as forward ops.
static bool trains(Operation &op) {
  auto gradient = dyn_cast<GradientOp>(op);
  return gradient && llvm::any_of(gradient.getWrt(), isArgument);
}

llvm::DenseSet<Operation *> backwardOps(func::FuncOp function) {
  llvm::DenseSet<Operation *> ops;
  for (Operation &op : function.getBody().front())
    if (trains(op) || llvm::any_of(op.getOperands(), [&](Value operand) {
          return operand.getDefiningOp() && ops.contains(operand.getDefiningOp());
        }))
      ops.insert(&op);
  return ops;
}

SmallVector<Operation *> opsToPlace(func::FuncOp function, const llvm::DenseSet<Operation *> &backward) {
  UniformValues uniform(function);
  llvm::DenseSet<Value> reached;
  for (BlockArgument argument : function.getArguments())
    if (argumentState(function, argument.getArgNumber()))
      reached.insert(argument);
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front().without_terminator())
    if (!backward.contains(&op) && !uniform.contains(&op) &&
        llvm::any_of(op.getOperands(), [&](Value operand) { return reached.contains(operand); })) {
      ops.push_back(&op);
      reached.insert_range(op.getResults());
    }
  return ops;
}

std::vector<int64_t> stageCuts(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    std::vector<int64_t> cuts;
    for (Operation *op : opsToPlace(function, backwardOps(function))) {
      const std::optional<int64_t> stage = stageOf(op);
      const int64_t last = static_cast<int64_t>(cuts.size()) - 1;
      if (!stage || (*stage != last && *stage != last + 1))
        return {};
      cuts.resize(*stage + 1);
      ++cuts.back();
    }
    if (!cuts.empty())
      return cuts;
  }
  return {};
}

LogicalResult cutStages(func::FuncOp function, ArrayRef<Operation *> ops, int64_t stages, ArrayRef<int64_t> cuts) {
  const int64_t count = ops.size();
  if (static_cast<int64_t>(cuts.size()) != stages || llvm::any_of(cuts, [](int64_t cut) { return cut < 1; }) ||
      std::accumulate(cuts.begin(), cuts.end(), int64_t{0}) != count)
    return function.emitError() << "the cuts must give each of " << stages << " stages at least one op, and all "
                                << count << " of them together";
  for (auto [stage, cut] : llvm::enumerate(cuts)) {
    for (Operation *op : ops.take_front(cut))
      setStage(op, stage);
    ops = ops.drop_front(cut);
  }
  return success();
}

} // namespace dgc
