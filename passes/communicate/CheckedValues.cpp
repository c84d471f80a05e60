#include "passes/communicate/CheckedValues.h"

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/CompositeBuilder.h"
#include "dialects/dist/Dist.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

bool dgc::isFloatTensor(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType()) && type.hasStaticShape() && type.getNumElements() > 0;
}

bool dgc::computesNothing(Operation *op) {
  if (isa<SelectOp, TransferOpInterface, DoneOp>(op) || op->hasTrait<OpTrait::ConstantLike>() ||
      op->getNumRegions() != 0)
    return true;
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return !collective.describe().reduction;
  auto cost = dyn_cast<CostOpInterface>(op);
  return !cost || (cost.getCost().flops == 0 && !isa<ElementwiseOpInterface>(op));
}

//===----------------------------------------------------------------------===//
// What a function gives
//===----------------------------------------------------------------------===//

/// The elements of result `index` that are not padding, as a mask that is built at the beginning of the function; null where
/// none is.
static Value buildMask(func::FuncOp function, unsigned index) {
  auto global = function.getResultAttrOfType<TypeAttr>(index, kGlobalTypeAttr);
  auto sharding = function.getResultAttrOfType<ShardingAttr>(index, kShardingAttr);
  MeshAttr mesh = sharding ? lookupMesh(function, sharding.getMesh()) : MeshAttr();
  if (!global || !mesh)
    return {};
  ArrayRef<int64_t> whole = cast<RankedTensorType>(global.getValue()).getShape();
  ArrayRef<int64_t> local = cast<RankedTensorType>(function.getResultTypes()[index]).getShape();
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  CompositeBuilder b(builder, function.getLoc());
  Type i64 = builder.getI64Type();
  Value mask;
  for (auto [d, dim] : llvm::enumerate(sharding.getDims())) {
    int64_t parts = 1;
    SmallVector<Attribute> axes;
    for (AxisRefAttr axis : dim.getAxes()) {
      parts *= mesh.getAxisSize(axis.getName());
      axes.push_back(axis.getName());
    }
    if (parts * local[d] == whole[d])
      continue;
    Value part =
        AxisIndexOp::create(builder, function.getLoc(), sharding.getMesh().getValue(), builder.getArrayAttr(axes));
    Value start = b.multiply(part, double(local[d]));
    Value place = IotaOp::create(builder, function.getLoc(), RankedTensorType::get({local[d]}, i64), 0, start);
    Value inside = b.compare(ComparisonDirection::LT, place, b.splat(double(whole[d]), {local[d]}, i64));
    Value spread = b.broadcast(inside, local, {int64_t(d)});
    mask = mask ? AndOp::create(builder, function.getLoc(), mask, spread) : spread;
  }
  return mask;
}

namespace {
class ResultFinder {
public:
  explicit ResultFinder(func::FuncOp function) : function(function) {}

  ValuesToCheck run() {
    Operation *end = function.getBody().front().getTerminator();
    for (unsigned i = 0; i < end->getNumOperands(); ++i)
      if (StateOp state = stateOf(i); state && !isWeight(i))
        slots[end->getOperand(i)] = "the new value of \"" + state.getSymName().str() + '"';
    // What is a weight first: what its slots are computed from as well is its gradient.
    for (bool weights : {true, false})
      for (unsigned i = 0; i < end->getNumOperands(); ++i)
        if (isWeight(i) == weights)
          addResult(i, end->getOperand(i));
    function.walk([&](TransferOpInterface transfer) {
      if (!transfer.isSend())
        return;
      add(transfer->getOperand(0), "sent to another stage", {});
      addSources(transfer->getOperand(0), "a part of what is sent to another stage", {}, Of::Sent);
    });
    return std::move(found);
  }

private:
  StateOp stateOf(unsigned index) {
    auto name = function.getResultAttrOfType<FlatSymbolRefAttr>(index, kStateAttr);
    return name ? SymbolTable::lookupNearestSymbolFrom<StateOp>(function, name) : StateOp();
  }
  bool isWeight(unsigned index) {
    StateOp state = stateOf(index);
    return state && state.getRole() == StateRole::Weight;
  }

  void addResult(unsigned index, Value value) {
    StateOp state = stateOf(index);
    if (!isFloatTensor(value) || (state && state->hasAttr(kLossScaleAttr)))
      return;
    CountedElements counted;
    if (Value mask = buildMask(function, index))
      counted = {{{mask, true}}};
    auto name = function.getResultAttrOfType<StringAttr>(index, kOutputAttr);
    auto role = function.getResultAttrOfType<StringAttr>(index, kRoleAttr);
    const std::string quoted = '"' + (state ? state.getSymName() : name ? name.getValue() : StringRef()).str() + '"';
    const bool isLoss = role && role.getValue() == "loss";
    leader = Value();
    add(value, state ? "the new value of " + quoted : isLoss ? "the loss" : "the output " + quoted, counted);
    if (state && counted.empty())
      leader = value;
    addSources(value,
               state    ? "in the gradient of " + quoted
               : isLoss ? "a part of the loss"
                        : "a part of the output " + quoted,
               counted, state ? Of::State : Of::Output);
  }

  void add(Value value, const std::string &what, const CountedElements &counted) {
    // What merely moves elements is named by the op that computes them.
    while (auto reshape = value.getDefiningOp<ReshapeOp>())
      value = reshape.getOperand();
    Operation *op = value.getDefiningOp();
    if (!op || isa<RecvOp>(op) || op->hasTrait<OpTrait::ConstantLike>() || !isFloatTensor(value))
      return;
    if (!counted.empty() &&
        (shapeOf(counted[0][0].mask) != shapeOf(value) || op->getParentOp() != function.getOperation()))
      return; // it is not known where its padding is
    const bool isShown = leader && leader != value && shapeOf(leader) == shapeOf(value) &&
                         leader.getParentBlock() == value.getParentBlock();
    found.insert({value, {what, counted, isShown ? leader : Value()}});
  }

  enum class Of { State, Output, Sent };

  /// Goes back through what is moved, and what is computed element by element, to what is combined or, for variables, to
  /// what their new values are computed from.
  void addSources(Value of, const std::string &what, const CountedElements &counted, Of kind) {
    SmallVector<Value> work{of};
    llvm::DenseSet<Value> seen;
    while (!work.empty()) {
      Value value = work.pop_back_val();
      Operation *op = value.getDefiningOp();
      if (!op || !isFloatTensor(value) || !seen.insert(value).second)
        continue;
      auto result = cast<OpResult>(value).getResultNumber();
      auto collective = dyn_cast<CollectiveOpInterface>(op);
      if (collective && op->getNumOperands() == op->getNumResults()) {
        Operation *local = op->getOperand(result).getDefiningOp();
        if (local && isMove(local))
          work.push_back(op->getOperand(result));
        else
          add(op->getOperand(result), what, counted);
      } else if (auto done = dyn_cast<DoneOp>(op)) {
        work.push_back(done.getInputs()[result]);
      } else if (isMove(op)) {
        llvm::append_range(work, op->getOperands());
      } else if (isa<ElementwiseOpInterface>(op) && kind != Of::Sent) {
        if (auto slot = slots.find(value); slot != slots.end())
          add(value, slot->second, counted);
        for (Value operand : op->getOperands())
          if (kind == Of::Output || shapeOf(operand) == shapeOf(value))
            work.push_back(operand);
      } else if (value != of && (kind != Of::Output || isa<WhileOp>(op))) {
        add(value, what, counted);
      }
    }
  }

  static bool isMove(Operation *op) {
    return computesNothing(op) && op->getNumRegions() == 0 &&
           !isa<BroadcastInDimOp, SelectOp, CollectiveOpInterface, TransferOpInterface, DoneOp>(op);
  }

  func::FuncOp function;
  ValuesToCheck found;
  llvm::DenseMap<Value, std::string> slots; // new values of those, and what they are
  Value leader; // the new value of a variable, while values are added that it is computed from
};
} // namespace

ValuesToCheck dgc::findResults(func::FuncOp function) { return ResultFinder(function).run(); }

//===----------------------------------------------------------------------===//
// Values of all ops
//===----------------------------------------------------------------------===//

namespace {
/// The elements that something uses but to leave them out again.
class UsedElements {
public:
  /// A list of none: all of them, or more ways than are worth following.
  CountedElements of(Value value, int depth = 0) {
    CountedElements used;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (depth == kMostSteps || !isa<ElementwiseOpInterface>(user))
        return {};
      auto select = dyn_cast<SelectOp>(user);
      if (select && use.getOperandNumber() == 0)
        return {};
      for (auto &literals : ofResult(user->getResult(0), depth)) {
        if (select)
          literals.push_back({select->getOperand(0), use.getOperandNumber() == 1});
        if (literals.empty() || used.size() == kMostLists)
          return {};
        used.push_back(std::move(literals));
      }
    }
    return used;
  }

private:
  static constexpr int kMostSteps = 6;
  static constexpr size_t kMostLists = 4;

  /// With an empty list where all elements are used.
  CountedElements ofResult(Value value, int depth) {
    CountedElements used = of(value, depth + 1);
    return used.empty() ? CountedElements{{}} : used;
  }
};
} // namespace

ValuesToCheck dgc::findValuesOfAllOps(func::FuncOp function, llvm::function_ref<bool(Operation *)> isWanted) {
  ValuesToCheck found;
  UsedElements used;
  for (BlockArgument argument : function.getArguments()) {
    const unsigned index = argument.getArgNumber();
    auto state = function.getArgAttrOfType<FlatSymbolRefAttr>(index, kStateAttr);
    auto input = function.getArgAttrOfType<StringAttr>(index, kInputAttr);
    if (isFloatTensor(argument))
      found.insert({argument,
                    {state ? "the variable \"" + state.getValue().str() + '"'
                           : "the input \"" + (input ? input.getValue().str() : std::to_string(index)) + '"',
                     used.of(argument)}});
  }
  function.walk([&](Operation *op) {
    if (op != function && !computesNothing(op) && isWanted(op))
      for (OpResult result : op->getResults())
        if (isFloatTensor(result))
          found.insert({result, {"", used.of(result)}});
  });
  return found;
}
