// What the strategies share.

#include "passes/analysis/StrategyUtil.h"
#include "dialects/dgc/AttributeNames.h"

using namespace mlir;
using namespace dgc::dist;

namespace dgc {

FailureOr<MeshOp> findMeshWithAxis(ModuleOp module, StringRef axis, StringRef strategy, StringRef purpose) {
  auto meshes = llvm::to_vector(module.getOps<MeshOp>());
  if (meshes.empty())
    return MeshOp();
  auto mesh = llvm::find_if(meshes, [&](MeshOp each) { return each.getMesh().getAxisIndex(axis) >= 0; });
  if (mesh != meshes.end())
    return *mesh;
  return meshes[0].emitError() << "the mesh has no axis \"" << axis << "\", which the strategy " << strategy << ' '
                               << purpose << "; name one, as in --mesh " << axis << "=2";
}

AxisRefAttr axisBy(MLIRContext *context, StringRef axis, StringRef strategy) {
  auto origin = OriginAttr::get(context, OriginKind::Strategy, StringAttr::get(context, strategy));
  return AxisRefAttr::get(context, StringAttr::get(context, axis), origin);
}

ShardingAttr cutAlong(MeshOp mesh, AxisRefAttr axis, int64_t rank, std::optional<int64_t> dim) {
  MLIRContext *context = mesh.getContext();
  auto open = DimShardingAttr::get(context, {}, /*open=*/true, 0);
  SmallVector<DimShardingAttr> dims(rank, open);
  auto symbol = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  if (!dim)
    return ShardingAttr::get(context, symbol, dims, axis, Reduction::Sum, {});
  dims[*dim] = DimShardingAttr::get(context, axis, /*open=*/false, 0);
  return ShardingAttr::get(context, symbol, dims, {}, Reduction::Sum, {});
}

static StateOp stateOf(func::FuncOp function, DictionaryAttr attributes) {
  auto symbol = attributes ? attributes.getAs<FlatSymbolRefAttr>(kStateAttr) : FlatSymbolRefAttr();
  return symbol ? SymbolTable::lookupNearestSymbolFrom<StateOp>(function, symbol) : StateOp();
}

StateOp stateOfArgument(func::FuncOp function, unsigned index) {
  return stateOf(function, function.getArgAttrDict(index));
}

StateOp stateOfResult(func::FuncOp function, unsigned index) {
  return stateOf(function, function.getResultAttrDict(index));
}

bool isMadeOfScalars(Operation *op) {
  return llvm::all_of(op->getOperandTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == 0;
  });
}

DenseSet<Operation *> findForwardOps(func::FuncOp function) {
  DenseSet<Operation *> forward;
  SmallVector<Value> worklist;
  for (auto [i, value] : llvm::enumerate(function.getBody().front().getTerminator()->getOperands()))
    if (StateOp state = stateOfResult(function, i); !state || state.getRole() == StateRole::Statistic)
      worklist.push_back(value);
  while (!worklist.empty())
    if (Operation *op = worklist.pop_back_val().getDefiningOp(); op && forward.insert(op).second)
      llvm::append_range(worklist, op->getOperands());
  return forward;
}

/// The micro-batch and the pipeline stage that an op belongs to.
static std::pair<Attribute, Attribute> passOf(Operation *op) {
  return {op->getAttr(kMicrobatchAttr), op->getDiscardableAttr(kStageAttr)};
}

/// Sums of gradients are gradients: a variable that is used several times has one of each use. Only what is computed in
/// one micro-batch and on one pipeline stage is added up first.
static void addUpContributions(VariableUpdate &update) {
  auto isSum = [&](Operation *op) {
    auto rule = dyn_cast<ShardingRuleOpInterface>(op);
    if (!rule || op->getNumOperands() < 2 || !rule.isLinearIn(-1))
      return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return update.gradients.contains(operand) && operand.getDefiningOp() &&
             passOf(operand.getDefiningOp()) == passOf(op->getOperand(0).getDefiningOp());
    });
  };
  for (auto sum = update.ops.end(); (sum = llvm::find_if(update.ops, isSum)) != update.ops.end();) {
    Operation *op = *sum;
    update.ops.remove(op);
    update.gradients.insert(op->getResult(0));
    for (Value operand : op->getOperands())
      if (llvm::none_of(operand.getUsers(), [&](Operation *user) { return update.ops.contains(user); }))
        update.gradients.remove(operand);
  }
}

VariableUpdate findUpdate(func::FuncOp function, unsigned result, llvm::function_ref<bool(Operation *)> stop) {
  VariableUpdate update{result, {}, {}};
  Value value = function.getBody().front().getTerminator()->getOperand(result);
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  SmallVector<Value> worklist{value};
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op || isMadeOfScalars(op))
      continue;
    if (cast<RankedTensorType>(next.getType()).getShape() != shape || !isa<ElementwiseOpInterface>(op) || stop(op)) {
      update.gradients.insert(next);
      continue;
    }
    if (update.ops.insert(op))
      llvm::append_range(worklist, op->getOperands());
  }
  addUpContributions(update);
  return update;
}

} // namespace dgc
