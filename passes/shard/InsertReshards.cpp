// dgc-insert-reshards: makes explicit where a value needs another sharding.

#include "dialects/dgc/AttributeNames.h"
#include "passes/shard/Inserter.h"

#include "passes/shard/Passes.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-insert-reshards"

namespace dgc {
#define GEN_PASS_DEF_INSERTRESHARDSPASS
#include "passes/shard/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

/// The same layout without origins, to compare by.
static ShardingAttr withoutOrigins(ShardingAttr sharding) {
  MLIRContext *context = sharding.getContext();
  auto user = OriginAttr::get(context, OriginKind::User, StringAttr::get(context));
  auto strip = [&](ArrayRef<AxisRefAttr> axes) {
    return llvm::map_to_vector(axes, [&](AxisRefAttr axis) { return AxisRefAttr::get(context, axis.getName(), user); });
  };
  SmallVector<DimShardingAttr> dims;
  for (DimShardingAttr dim : sharding.getDims())
    dims.push_back(DimShardingAttr::get(context, strip(dim.getAxes()), false, 0));
  return ShardingAttr::get(context, sharding.getMesh(), dims, {}, sharding.getKind(), strip(sharding.getUnreduced()));
}

LogicalResult Inserter::run(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (failed(visit(&op)))
      return failure();
  return success();
}

LogicalResult Inserter::visit(Operation *op) {
  if (isa<ReshardOp>(op))
    return success();
  if (isa<func::ReturnOp>(op))
    return visitReturn(op);
  if (auto constraint = dyn_cast<ConstraintOp>(op)) {
    // Propagation may have added axes to open dimensions.
    ShardingAttr wanted = op->hasAttr(kShardingsAttr) ? shardingOf(op->getResult(0)) : constraint.getSharding();
    fit(op->getOpOperand(0), wanted.getClosed());
    declare(op, {wanted.getClosed()});
    return success();
  }
  if (auto manual = dyn_cast<ManualOp>(op))
    return visitManual(manual);
  if (auto regions = dyn_cast<RegionTiesOpInterface>(op))
    return visitRegions(regions);
  if (isa<ConditionOp, YieldOp>(op)) // is fitted with the op that it belongs to
    return success();
  std::optional<OpTensors> tensors = tensorsOf(op, mesh, [&](Value value) { return shardingOf(value); });
  if (!tensors)
    return visitWithoutRule(op);
  tensors->freeAxes = freelyPartial.lookup(op);
  if (!runOnPartial(op, *tensors))
    run(op, chooseExecution(*tensors, mesh), *tensors);
  for (auto [result, dims] : llvm::zip_equal(op->getResults(), tensors->results))
    settle(result, dims);
  return success();
}

void Inserter::settle(OpResult value, const DimAxes &declared) {
  AxisList partial = mesh.axesOf(shardingOf(value).getUnreduced());
  bool clash = llvm::any_of(declared, [&](const AxisList &axes) {
    return llvm::any_of(axes, [&](const AxisUse &use) { return llvm::is_contained(partial, use); });
  });
  if (!clash || llvm::all_equal(value.getUsers()))
    return;
  OpOperand *first = nullptr;
  for (OpOperand &use : value.getUses())
    if (!first || use.getOwner()->isBeforeInBlock(first->getOwner()))
      first = &use;
  OpBuilder builder(first->getOwner());
  auto reshard = ReshardOp::create(builder, first->getOwner()->getLoc(), value, mesh.shardingOf(declared),
                                   builder.getStringAttr(causeOf(*first)));
  value.replaceAllUsesExcept(reshard, reshard);
  ++counts.reshards;
}

bool Inserter::runOnPartial(Operation *op, OpTensors tensors) {
  SmallVector<unsigned> operands;
  for (OpOperand &operand : op->getOpOperands())
    if (!shardingOf(operand.get()).getUnreduced().empty())
      operands.push_back(operand.getOperandNumber());
  if (operands.size() < 2 || !isLinearIn(op, operands))
    return false;
  AxisList partial = mesh.axesOf(shardingOf(op->getOperand(operands.front())).getUnreduced());
  for (DimAxes &dims : tensors.results)
    for (AxisList &axes : dims)
      axes.truncate(std::distance(
          axes.begin(), llvm::find_if(axes, [&](const AxisUse &use) { return llvm::is_contained(partial, use); })));
  Execution execution = chooseExecution(tensors, mesh);
  if (carriedOperands(op, execution, tensors).size() != operands.size())
    return false;
  run(op, execution, tensors);
  return true;
}

void Inserter::run(Operation *op, const Execution &execution, const OpTensors &tensors) {
  AxisList partial = execution.partial;
  Reduction kind = execution.kind;
  counts.partial += !partial.empty();
  for (AxisUse &use : partial)
    use.origin = originOf(op);
  SmallVector<unsigned> carried = carriedOperands(op, execution, tensors);
  for (auto [i, dims] : llvm::enumerate(execution.operands)) {
    if (!llvm::is_contained(carried, i)) {
      fit(op->getOpOperand(i), mesh.shardingOf(dims),
          whyWhole(op->getOperand(i), tensors.rule.operands[i], tensors.rule, dims));
      continue;
    }
    for (AxisUse use : mesh.axesOf(shardingOf(op->getOperand(i)).getUnreduced()))
      if (!llvm::is_contained(partial, use))
        partial.push_back(use);
  }
  SmallVector<Attribute> results;
  for (const DimAxes &dims : execution.results)
    results.push_back(mesh.shardingOf(dims, kind, partial));
  declare(op, results);
}

std::string Inserter::whyWhole(Value operand, const TensorFactors &factors, const ShardingRule &rule,
                               const DimAxes &wanted) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto [dim, axes] : llvm::enumerate(mesh.dimsOf(shardingOf(operand)))) {
    if (axes.size() <= wanted[dim].size())
      continue;
    ArrayRef<unsigned> list = factors.dims[dim];
    auto needsWhole = [&](unsigned f) { return rule.factors[f].kind == FactorKind::NeedReplication; };
    if (!list.empty() && llvm::all_of(list, needsWhole)) {
      os << ", which needs dimension " << dim << " whole";
    } else if (list.size() > 1) {
      os << ", which sees dimension " << dim << " as ";
      llvm::interleave(list, os, [&](unsigned f) { os << rule.factors[f].size; }, " x ");
      os << ": " << mesh.parts(axes) << " parts of it are cut in between";
    }
  }
  return text;
}

/// What a micro-batch adds to a sum, in the type of the sum: which is one for all micro-batches.
static bool isAddendOfMicrobatch(Operation *op) {
  return op->hasAttr(kMicrobatchAttr) && op->hasOneUse() && isa<AddOp>(*op->user_begin()) &&
         (*op->user_begin())->hasAttr(kMicrobatchAttr);
}

SmallVector<unsigned> Inserter::carriedOperands(Operation *op, const Execution &execution, const OpTensors &tensors) {
  SmallVector<unsigned> partial;
  for (OpOperand &operand : op->getOpOperands())
    if (!shardingOf(operand.get()).getUnreduced().empty())
      partial.push_back(operand.getOperandNumber());
  if (partial.empty())
    return {};
  auto refuse = [&](StringRef reason) -> SmallVector<unsigned> {
    LDBG() << describe(op) << " needs whole operands: " << reason;
    return {};
  };
  if (!isLinearIn(op, partial))
    return refuse("it is not linear in what is partial");
  ShardingAttr first = shardingOf(op->getOperand(partial[0]));
  for (auto [factor, axes] : llvm::zip_equal(tensors.rule.factors, execution.factors))
    if (factor.moves && !axes.empty())
      return refuse("elements of it move between the parts");
  if (!execution.partial.empty() && execution.kind != Reduction::Sum)
    return refuse("it reduces in another way");
  uint64_t used = 0;
  for (const AxisList &axes : execution.factors)
    for (AxisUse use : axes)
      used |= uint64_t(1) << use.axis;
  int64_t bytesIn = 0, bytesOut = 0;
  for (unsigned i : partial) {
    Value value = op->getOperand(i);
    ShardingAttr sharding = shardingOf(value);
    if (sharding.getKind() != Reduction::Sum ||
        mesh.axesOf(sharding.getUnreduced()) != mesh.axesOf(first.getUnreduced()))
      return refuse("the operands are not partial in the same way, by sum");
    if (!llvm::all_equal(value.getUsers()))
      return refuse("an operand has other users");
    if (mesh.dimsOf(sharding) != execution.operands[i])
      return refuse("an operand has to be cut in another way as well");
    for (AxisUse use : mesh.axesOf(sharding.getUnreduced()))
      if (used & (uint64_t(1) << use.axis))
        return refuse("it is cut by the axis along which an operand is partial");
    bytesIn += localBytes(tensors.operandTypes[i], execution.operands[i]);
  }
  for (auto [type, dims] : llvm::zip_equal(tensors.resultTypes, execution.results))
    bytesOut += localBytes(type, dims);
  if (bytesOut > bytesIn && !isAddendOfMicrobatch(op))
    return refuse("its result is larger");
  if (bytesOut == bytesIn && op->getNumOperands() > partial.size() && !waitingPays(op))
    return refuse("neither a smaller value nor a sum of partial ones comes of it");
  return partial;
}

bool Inserter::waitingPays(Operation *op) {
  Operation *first = op;
  while (op->getNumResults() == 1 && op->getResult(0).hasOneUse()) {
    OpOperand &use = *op->getResult(0).use_begin();
    Operation *user = use.getOwner();
    auto rule = dyn_cast<ShardingRuleOpInterface>(user);
    if (!rule || user->getNumResults() != 1)
      return false;
    if (rule.isLinearIn(-1) && user->getNumOperands() > 1)
      return llvm::any_of(user->getOperands(), [&](Value other) {
        if (other == use.get())
          return false;
        Operation *producer = other.getDefiningOp();
        bool decided = !producer || producer->isBeforeInBlock(first);
        return !decided || !shardingOf(other).getUnreduced().empty();
      });
    if (!rule.isLinearIn(-1) && !rule.isLinearIn(use.getOperandNumber()))
      return false;
    if (bytesOf(cast<RankedTensorType>(user->getResult(0).getType())) <
        bytesOf(cast<RankedTensorType>(use.get().getType())))
      return true;
    op = user;
  }
  return false;
}

int64_t Inserter::localBytes(RankedTensorType type, const DimAxes &dims) {
  int64_t bytes = bytesOf(type);
  for (const AxisList &axes : dims)
    bytes /= mesh.parts(axes);
  return bytes;
}

LogicalResult Inserter::visitReturn(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    auto sharding = function.getResultAttrOfType<ShardingAttr>(operand.getOperandNumber(), kShardingAttr);
    if (!sharding)
      sharding = ShardingAttr::getWhole(mesh.name, cast<RankedTensorType>(operand.get().getType()).getRank());
    fit(operand, sharding.getClosed());
  }
  return success();
}

LogicalResult Inserter::visitManual(ManualOp op) {
  for (auto [operand, sharding] : llvm::zip_equal(op->getOpOperands(), op.getInShardings()))
    fit(operand, cast<ShardingAttr>(sharding).getClosed());
  declare(op, llvm::map_to_vector(op.getOutShardings(), [](Attribute sharding) -> Attribute {
            return cast<ShardingAttr>(sharding).getClosed();
          }));
  return success();
}

LogicalResult Inserter::visitWithoutRule(Operation *op) {
  for (Value operand : op->getOperands()) {
    if (!isa<RankedTensorType>(operand.getType()))
      continue;
    ShardingAttr sharding = shardingOf(operand);
    if (!sharding.isWhole())
      return op->emitOpError() << "has no sharding rule, and an operand is spread as " << sharding.describe()
                               << "; decompose the op first, or constrain the operand to be whole";
  }
  return success();
}

void Inserter::declare(Operation *op, ArrayRef<Attribute> shardings) {
  op->removeAttr(kShardingsAttr);
  if (!llvm::all_of(shardings, [](Attribute sharding) { return cast<ShardingAttr>(sharding).isWhole(); }))
    op->setAttr(kShardingsAttr, ArrayAttr::get(op->getContext(), shardings));
}

Value Inserter::nearest(Value value, ShardingAttr wanted) {
  auto it = forms.find(value);
  if (it == forms.end())
    return value;
  Value best = value;
  int64_t least = elementsMoved(value, wanted);
  for (Value form : it->second)
    if (int64_t elements = elementsMoved(form, wanted); elements < least) {
      best = form;
      least = elements;
    }
  return best;
}

int64_t Inserter::elementsMoved(Value value, ShardingAttr wanted) {
  return elementsReceived(cast<RankedTensorType>(value.getType()).getShape(), shardingOf(value), wanted, mesh);
}

std::string Inserter::causeOf(OpOperand &operand) {
  Operation *op = operand.getOwner();
  if (!isa<func::ReturnOp>(op))
    return describe(op);
  unsigned i = operand.getOperandNumber();
  std::string text = "result " + std::to_string(i) + " of @" + function.getSymName().str();
  if (auto state = function.getResultAttrOfType<FlatSymbolRefAttr>(i, kStateAttr))
    text += " (@" + state.getValue().str() + ")";
  else if (auto output = function.getResultAttrOfType<StringAttr>(i, kOutputAttr))
    text += " (" + output.str() + ")";
  return text;
}

void Inserter::fit(OpOperand &operand, ShardingAttr wanted, StringRef why) {
  Value value = operand.get();
  if (shardingOf(value).hasSameLayout(wanted))
    return;
  Value &fitted = reshards[{value, withoutOrigins(wanted)}];
  if (DenseElementsAttr elements; !fitted && matchPattern(value, m_Constant(&elements)) && elements.isSplat()) {
    // One number is on every device as it is.
    fitted = OpBuilder(value.getDefiningOp()).clone(*value.getDefiningOp())->getResult(0);
    declare(fitted.getDefiningOp(), {wanted});
  }
  if (!fitted) {
    Operation *op = operand.getOwner();
    OpBuilder builder(op);
    fitted = ReshardOp::create(builder, op->getLoc(), nearest(value, wanted), wanted,
                               builder.getStringAttr(causeOf(operand) + why));
    forms[value].push_back(fitted);
    ++counts.reshards;
  }
  operand.set(fitted);
}

namespace dgc {
FailureOr<ReshardCounts> insertReshards(func::FuncOp function, const MeshRef &mesh) {
  if (function.isExternal())
    return ReshardCounts();
  const DenseMap<Operation *, uint64_t> none;
  Inserter inserter(function, mesh, none);
  if (failed(inserter.run(function.getBody().front())))
    return failure();
  return inserter.counts;
}
} // namespace dgc

namespace {
struct InsertReshards : dgc::impl::InsertReshardsPassBase<InsertReshards> {
  void runOnOperation() override {
    FailureOr<MeshRef> mesh = findMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    if (!*mesh)
      return markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      FailureOr<ReshardCounts> counts = insertReshards(function, *mesh);
      if (failed(counts))
        return signalPassFailure();
      numReshards += counts->reshards;
      numPartial += counts->partial;
    }
  }
};
} // namespace
