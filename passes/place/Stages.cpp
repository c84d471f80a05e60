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

UniformValues::UniformValues(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kRoleAttr);
    if (role && (role == "valid_count" || role == "step" || role == "seed"))
      arguments.insert(argument);
  }
  for (Operation &op : function.getBody().front().without_terminator()) {
    bool isSource = op.getNumOperands() == 0;
    if (op.getNumRegions() == 0 && isMemoryEffectFree(&op) && !isa<CollectiveOpInterface>(op) &&
        (isSource || !stageOf(&op)) && llvm::all_of(op.getOperands(), [&](Value v) { return contains(v); }))
      ops.insert(&op);
  }
}

bool UniformValues::contains(Value value) const {
  Operation *op = value.getDefiningOp();
  return op ? ops.contains(op) : arguments.contains(value);
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

llvm::DenseSet<Operation *> backwardOps(func::FuncOp function) {
  llvm::DenseSet<Operation *> ops;
  for (Operation &op : function.getBody().front())
    if (isa<GradientOp>(op) || llvm::any_of(op.getOperands(), [&](Value operand) {
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
