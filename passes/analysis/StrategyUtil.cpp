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

StringRef nameInModel(Operation *op) {
  auto location = op->getLoc()->findInstanceOf<NameLoc>();
  return location ? location.getName().getValue() : StringRef();
}

bool isMadeOfScalars(Operation *op) {
  return llvm::all_of(op->getOperandTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == 0;
  });
}

/// The ops that values depend on.
static DenseSet<Operation *> dependences(SmallVector<Value> worklist) {
  DenseSet<Operation *> ops;
  while (!worklist.empty())
    if (Operation *op = worklist.pop_back_val().getDefiningOp(); op && ops.insert(op).second)
      llvm::append_range(worklist, op->getOperands());
  return ops;
}

/// What is reported or assigned.
static SmallVector<Value> forwardResults(func::FuncOp function) {
  SmallVector<Value> values;
  for (auto [i, value] : llvm::enumerate(function.getBody().front().getTerminator()->getOperands()))
    if (StateOp state = stateOfResult(function, i);
        !state || state.getRole() == StateRole::Statistic || state.getRole() == StateRole::Total)
      values.push_back(value);
  return values;
}

DenseSet<Operation *> findForwardOps(func::FuncOp function) { return dependences(forwardResults(function)); }

DenseSet<Operation *> findForwardOps(RegionTiesOpInterface loop, const DenseSet<Operation *> &forward) {
  SmallVector<Value> given;
  auto add = [&](Value result, Value inside) {
    if (llvm::any_of(result.getUsers(), [&](Operation *user) { return forward.contains(user); }))
      given.push_back(inside);
  };
  const RegionTies ties = loop.getRegionTies();
  for (const RegionTies::Carried &each : ties.carried)
    add(each.result, each.next);
  for (const RegionTies::Sliced &each : ties.sliced)
    if (each.operand < 0)
      add(each.whole, each.slice);
  return dependences(given);
}

DenseSet<Operation *> findOpsOf(func::FuncOp function, ValueRange gradients) {
  SmallVector<Value> values = forwardResults(function);
  llvm::append_range(values, gradients);
  return dependences(values);
}

DenseSet<Operation *> findOptimizerOps(func::FuncOp function) {
  DenseSet<Operation *> ops;
  SmallVector<Value> worklist;
  for (BlockArgument argument : function.getArguments())
    if (StateOp state = stateOfArgument(function, argument.getArgNumber()); state && state.getRole() == StateRole::Slot)
      worklist.push_back(argument);
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val().getUsers())
      if (ops.insert(user).second)
        llvm::append_range(worklist, user->getResults());
  return ops;
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

/// The operands of an op that are more than a scalar, or many of one.
static auto tensorOperands(Operation *op) {
  return llvm::make_filter_range(op->getOperands(), [](Value value) {
    return cast<RankedTensorType>(value.getType()).getRank() > 0 &&
           !(value.getDefiningOp() && isMadeOfScalars(value.getDefiningOp()));
  });
}

/// Whether an op makes elements of several tensors, as a product does.
static bool isProduct(Operation *op) {
  return !isa<ElementwiseOpInterface>(op) && llvm::range_size(tensorOperands(op)) > 1;
}

SmallVector<Value> VariableUpdate::factors() const {
  llvm::SetVector<Value> values;
  for (Operation *op : products)
    for (Value operand : tensorOperands(op))
      if (!operand.getDefiningOp() || !products.contains(operand.getDefiningOp()))
        values.insert(operand);
  return values.takeVector();
}

/// Adds the ops that are made of factors alone, such as a transpose, to the products that take them.
static void addFormsOfFactors(VariableUpdate &update, llvm::function_ref<bool(Operation *)> isInside) {
  auto isForm = [&](Operation *op, ArrayRef<Value> factors) {
    auto isFactor = [&](Value value) { return llvm::is_contained(factors, value); };
    auto isTaken = [&](Operation *user) { return update.products.contains(user); };
    return isInside(op) && !tensorOperands(op).empty() && llvm::all_of(tensorOperands(op), isFactor) &&
           llvm::all_of(op->getUsers(), isTaken);
  };
  for (size_t before = 0; before != update.products.size();) {
    before = update.products.size();
    SmallVector<Value> factors = update.factors();
    for (Value factor : factors)
      if (isForm(factor.getDefiningOp(), factors))
        update.products.insert(factor.getDefiningOp());
  }
}

/// Takes products, and the ops between them, from those of the update.
static void separateProducts(VariableUpdate &update, const llvm::SetVector<Operation *> &inner) {
  DenseSet<Operation *> fed, feeding; // by products, and them
  SmallVector<Operation *> before, after;
  for (Operation *op : inner)
    if (isProduct(op)) {
      before.push_back(op);
      after.push_back(op);
    }
  auto isInside = [&](Operation *op) { return op && (inner.contains(op) || update.ops.contains(op)); };
  while (!after.empty())
    for (Operation *user : after.pop_back_val()->getUsers())
      if (isInside(user) && fed.insert(user).second)
        after.push_back(user);
  while (!before.empty())
    for (Value operand : before.pop_back_val()->getOperands())
      if (Operation *op = operand.getDefiningOp(); isInside(op) && feeding.insert(op).second)
        before.push_back(op);
  for (const llvm::SetVector<Operation *> *part : {&inner, &std::as_const(update.ops)})
    for (Operation *op : *part)
      if (isProduct(op) || (fed.contains(op) && feeding.contains(op)))
        update.products.insert(op);
  addFormsOfFactors(update, isInside);
  update.ops.remove_if([&](Operation *op) { return update.products.contains(op); });
}

VariableUpdate findUpdate(func::FuncOp function, unsigned result, const DenseSet<Operation *> &optimizerOps,
                          llvm::function_ref<bool(Operation *)> stop) {
  VariableUpdate update{result, {}, {}, {}};
  Value value = function.getBody().front().getTerminator()->getOperand(result);
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  llvm::SetVector<Operation *> inner;
  SmallVector<Value> worklist{value};
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op || isMadeOfScalars(op))
      continue;
    const bool hasShape = cast<RankedTensorType>(next.getType()).getShape() == shape;
    if (hasShape && isa<ElementwiseOpInterface>(op) && !stop(op)) {
      if (update.ops.insert(op))
        llvm::append_range(worklist, op->getOperands());
    } else if (optimizerOps.contains(op) && !stop(op)) {
      if (inner.insert(op))
        llvm::append_range(worklist, op->getOperands());
    } else if (hasShape) {
      update.gradients.insert(next);
    }
  }
  separateProducts(update, inner);
  addUpContributions(update);
  return update;
}

} // namespace dgc
