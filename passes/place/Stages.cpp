// Which group of devices computes an op.

#include "passes/place/Stages.h"
#include "dialects/dgc/AttributeNames.h"

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

} // namespace dgc
