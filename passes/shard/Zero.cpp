// dgc-strategy-zero: optimizer state, gradients and variables are cut over the axis `data`.

#include "dialects/dgc/AttributeNames.h"
#include "passes/analysis/Layout.h"
#include "passes/analysis/StrategyUtil.h"
#include "passes/shard/Passes.h"

#include <compare>
#include <set>

namespace dgc {
#define GEN_PASS_DEF_ZEROPASS
#include "passes/shard/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

static constexpr llvm::StringLiteral kAxis = "data";

namespace {

/// Annotates one module.
class Annotator {
public:
  Annotator(ModuleOp module, MeshOp mesh, int stage, bool pairwise)
      : module(module), mesh(mesh), stage(stage), pairwise(pairwise), name("zero" + std::to_string(stage)),
        axis(axisBy(module.getContext(), kAxis, name)) {}

  LogicalResult run() {
    for (auto function : module.getOps<func::FuncOp>())
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (StateOp state = stateOfArgument(function, i); state && !layouts.contains(state))
          layouts[state] = choose(state, function.getArgAttrOfType<ShardingAttr>(i, kShardingAttr));
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(annotate(function)))
        return failure();
    return success();
  }

private:
  /// How a state is spread without this strategy, and in parts; null for one that stays as it is.
  struct Layout {
    ShardingAttr whole, parts;
  };

  /// Cuts the dimension that leaves the fewest elements on a device, which is 1/N of them where one divides. Of equals
  /// the first that nothing else cuts: its parts are those of what was there, and a cut of the first dimension is one
  /// range of memory.
  Layout choose(StateOp state, ShardingAttr sharding) {
    RankedTensorType type = state.getTensorType();
    if (!sharding)
      sharding = ShardingAttr::getWhole(FlatSymbolRefAttr::get(mesh.getSymNameAttr()), type.getRank());
    const bool isParameter = state.getRole() == StateRole::Weight || state.getRole() == StateRole::Slot;
    if (type.getRank() == state.getNumStacked() || !isParameter || usesAxis(sharding))
      return {};
    auto elementsOf = [&](unsigned dim) {
      return ShapedType::getNumElements(withAxis(sharding, dim).getLocalShape(type.getShape(), mesh.getMesh()));
    };
    auto order = llvm::to_vector(llvm::seq<unsigned>(state.getNumStacked(), type.getRank()));
    llvm::stable_sort(order, [&](unsigned a, unsigned b) {
      ArrayRef<DimShardingAttr> dims = sharding.getDims();
      return std::pair(elementsOf(a), !dims[a].getAxes().empty()) <
             std::pair(elementsOf(b), !dims[b].getAxes().empty());
    });
    return {sharding, withAxis(sharding, order.front())};
  }

  static bool usesAxis(ShardingAttr sharding) {
    return llvm::any_of(sharding.getDims(), [](DimShardingAttr dim) {
      return llvm::any_of(dim.getAxes(), [](AxisRefAttr each) { return each.getName() == kAxis; });
    });
  }

  ShardingAttr withAxis(ShardingAttr sharding, unsigned dim) const {
    SmallVector<DimShardingAttr> dims(sharding.getDims());
    SmallVector<AxisRefAttr> axes(dims[dim].getAxes());
    axes.push_back(axis);
    dims[dim] = DimShardingAttr::get(axis.getContext(), axes, /*open=*/false, 0);
    return ShardingAttr::get(axis.getContext(), sharding.getMesh(), dims, {}, Reduction::Sum, {});
  }

  /// The layout of a state, if it is cut where it is kept.
  Layout storedLayout(StateOp state) const {
    bool cut = state && (state.getRole() == StateRole::Slot || (stage == 3 && state.getRole() == StateRole::Weight));
    return cut ? layouts.lookup(state) : Layout();
  }

  LogicalResult annotate(func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (ShardingAttr parts = storedLayout(stateOfArgument(function, i)).parts)
        function.setArgAttr(i, kShardingAttr, parts);
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (ShardingAttr parts = storedLayout(stateOfResult(function, i)).parts)
        function.setResultAttr(i, kShardingAttr, parts);
    if (function.isExternal())
      return success();
    DenseSet<Operation *> optimizerOps = findOptimizerOps(function);
    SmallVector<Value> gradients;
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (StateOp state = stateOfResult(function, i); state && state.getRole() == StateRole::Weight)
        if (Layout layout = layouts.lookup(state); layout.parts)
          annotateUpdate(function, i, layout, optimizerOps, gradients);
    if (pairwise && failed(checkSums(gradients)))
      return failure();
    if (stage == 3)
      gatherBeforeUse(function, findOpsOf(function, gradients));
    return success();
  }

  /// What parts of a gradient add up to would have an order of additions that depends on their number.
  LogicalResult checkSums(ArrayRef<Value> gradients) {
    SmallVector<Value> worklist(gradients);
    DenseSet<Operation *> seen;
    while (!worklist.empty())
      for (Operation *user : worklist.pop_back_val().getUsers()) {
        if (auto reduce = dyn_cast<ReduceOp>(user); reduce && reduce.getKind() == ReductionKind::Sum)
          return user->emitError()
                 << "adds up what is computed of gradients, of which each worker has a part: the sum would "
                 << "depend on the number of workers, which --deterministic=any-workers does not allow; "
                 << "use data-parallel without " << name << ", or an optimizer without such sums "
                 << "(clip_global_norm, lamb, adafactor)";
        if (seen.insert(user).second)
          llvm::append_range(worklist, user->getResults());
      }
    return success();
  }

  /// The new value of a weight is computed in parts, from its gradient on, and so is whatever else needs the gradient:
  /// its share of a norm is a partial sum. At stage 1, or `pairwise`, the gradient becomes a part before it is first needed,
  /// so that those of micro-batches are added first; at later ones right where it is computed.
  void annotateUpdate(func::FuncOp function, unsigned result, Layout layout, const DenseSet<Operation *> &optimizerOps,
                      SmallVectorImpl<Value> &gradients) {
    VariableUpdate update = findUpdate(function, result, optimizerOps,
                                       [&](Operation *op) { return addsUpFirst() && op->hasAttr(kMicrobatchAttr); });
    llvm::append_range(gradients, update.gradients);
    gatherForProducts(update, stateOfResult(function, result), layout);
    auto spread = ArrayAttr::get(module.getContext(), {layout.parts});
    for (Operation *op : update.ops) {
      op->setAttr(kShardingsAttr, spread);
      for (Value operand : op->getOperands())
        if (Operation *source = operand.getDefiningOp(); source && isMadeOfScalars(source) && operand.hasOneUse())
          source->setAttr(kShardingsAttr, spread);
    }
    std::string because = "the gradient of " + stateOfResult(function, result).getSymName().str();
    for (Value gradient : update.gradients) {
      if (!addsUpFirst() && carryInParts(gradient, layout.parts))
        continue;
      // That of a micro-batch does not wait for that of the next.
      auto microbatch = gradient.getDefiningOp() ? gradient.getDefiningOp()->getAttrOfType<IntegerAttr>(kMicrobatchAttr)
                                                 : IntegerAttr();
      std::string use = microbatch && !addsUpFirst() ? "micro-batch " + std::to_string(microbatch.getInt()) : "";
      reshard(gradient, layout.parts, because, use, /*early=*/stage > 1, [](OpOperand &) { return true; });
    }
  }

  /// A gradient that a loop carries is a part in all of its rounds: what each round adds or puts into it is scattered there.
  /// False for what no loop carries.
  static bool carryInParts(Value gradient, ShardingAttr parts) {
    auto loop = gradient.getDefiningOp<RegionTiesOpInterface>();
    if (!loop)
      return false;
    const RegionTies ties = loop.getRegionTies();
    const auto *carried =
        llvm::find_if(ties.carried, [&](const RegionTies::Carried &each) { return each.result == gradient; });
    Operation *next = carried == ties.carried.end() ? nullptr : carried->next.getDefiningOp();
    if (!next)
      return false;
    for (Value value : {gradient, carried->next}) {
      Operation *op = value.getDefiningOp();
      const auto number = cast<OpResult>(value).getResultNumber();
      auto declared = op->getAttrOfType<ArrayAttr>(kShardingsAttr);
      SmallVector<Attribute> shardings;
      for (OpResult each : op->getResults())
        shardings.push_back(
            declared ? declared[each.getResultNumber()]
                     : ShardingAttr::getWhole(parts.getMesh(), cast<RankedTensorType>(each.getType()).getRank()));
      shardings[number] = parts;
      op->setAttr(kShardingsAttr, ArrayAttr::get(op->getContext(), shardings));
    }
    return true;
  }

  /// Products of an update, as the iteration of Muon, and what is between them are computed whole, so that parts are
  /// gathered once. Of a product that nothing else of them needs only the part is computed.
  void gatherForProducts(const VariableUpdate &update, StateOp state, Layout layout) {
    const llvm::SetVector<Operation *> &products = update.products;
    auto isProduct = [&](Operation *op) { return products.contains(op); };
    auto wholeOf = [&](Value value) {
      ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
      return shape == state.getTensorType().getShape()
                 ? layout.whole
                 : ShardingAttr::getWhole(FlatSymbolRefAttr::get(mesh.getSymNameAttr()), shape.size());
    };
    for (Operation *op : products)
      if (llvm::any_of(op->getUsers(), isProduct))
        op->setAttr(kShardingsAttr, ArrayAttr::get(module.getContext(),
                                                   llvm::map_to_vector(op->getResults(), [&](Value value) -> Attribute {
                                                     return wholeOf(value);
                                                   })));
    for (Value value : update.factors())
      reshard(value, wholeOf(value), "the products of the update of " + state.getSymName(), /*use=*/"", /*early=*/false,
              [&](OpOperand &use) { return isProduct(use.getOwner()); });
  }

  /// Spreads a value in another way for some uses, right before the first of them or, `early`, where it is computed.
  /// What is done for one `use` is not shared with another.
  void reshard(Value value, ShardingAttr wanted, const Twine &because, StringRef use, bool early,
               llvm::function_ref<bool(OpOperand &)> isUse) {
    Operation *before = nullptr;
    for (OpOperand &use : value.getUses())
      if (isUse(use) && (!before || use.getOwner()->isBeforeInBlock(before)))
        before = use.getOwner();
    if (!before)
      return;
    OpBuilder builder(before);
    if (early && value.getDefiningOp())
      builder.setInsertionPointAfterValue(value);
    auto made = ReshardOp::create(builder, before->getLoc(), value, wanted, builder.getStringAttr(because));
    if (!use.empty())
      made->setAttr(kUseAttr, builder.getStringAttr(use));
    value.replaceUsesWithIf(made.getResult(), [&](OpOperand &use) { return use.getOwner() != made && isUse(use); });
  }

  /// What needs a gathered weight at the same time and place.
  struct Use {
    int64_t microbatch = -1, stage = -1; // -1: not split
    bool backward = false;
    auto operator<=>(const Use &) const = default;
    std::string describe() const {
      std::string text = backward ? "backwards" : "forwards";
      if (microbatch >= 0)
        text += ", micro-batch " + std::to_string(microbatch);
      return stage >= 0 ? text + ", stage " + std::to_string(stage) : text;
    }
  };

  /// Weights are gathered where they are used: once in the forward pass and once in the backward pass, so that no one
  /// keeps them in between; with micro-batches, for each of them; on each pipeline stage of what the stage has been
  /// sent. `ops` are those that losses and gradients depend on: updates take the parts.
  void gatherBeforeUse(func::FuncOp function, const DenseSet<Operation *> &ops) {
    DenseSet<Operation *> forward = findForwardOps(function);
    auto useOf = [&](Operation *user) {
      auto number = [&](StringRef name) {
        auto value = user->getAttrOfType<IntegerAttr>(name);
        return value ? value.getInt() : -1;
      };
      return Use{number(kMicrobatchAttr), number(kStageAttr), !forward.contains(user)};
    };
    auto isUse = [&](OpOperand &use) { return ops.contains(use.getOwner()) && !isa<ReshardOp>(use.getOwner()); };
    for (BlockArgument argument : function.getArguments()) {
      StateOp state = stateOfArgument(function, argument.getArgNumber());
      Layout layout = storedLayout(state);
      if (!layout.parts || state.getRole() != StateRole::Weight)
        continue;
      std::set<Use> uses;
      for (OpOperand &use : argument.getUses())
        if (isUse(use) && !gatherSlices(use, state, layout) && !gatherInRounds(use, state, layout, forward))
          uses.insert(useOf(use.getOwner()));
      for (const Use &each : uses)
        reshard(argument, layout.whole, state.getSymName() + ", " + each.describe(), each.describe(), /*early=*/false,
                [&](OpOperand &use) {
                  return isUse(use) && useOf(use.getOwner()) == each && !takesSlicesOf(use, state) &&
                         !use.getOwner()->hasAttr(kMicrobatchLoopAttr);
                });
    }
  }

  /// A loop over micro-batches has the parts, and gathers them in each round, forwards and backwards. False for other ops.
  bool gatherInRounds(OpOperand &use, StateOp state, Layout layout, const DenseSet<Operation *> &forward) {
    if (!use.getOwner()->hasAttr(kMicrobatchLoopAttr))
      return false;
    auto loop = cast<RegionTiesOpInterface>(use.getOwner());
    const DenseSet<Operation *> forwardInside = findForwardOps(loop, forward);
    declareParts(loop, use, layout);
    for (const RegionTies::Same &each : loop.getRegionTies().same) {
      if (each.operand != static_cast<int64_t>(use.getOperandNumber()))
        continue;
      SmallVector<OpOperand *> whole;
      for (OpOperand &inside : each.inside.getUses())
        if (!gatherSlices(inside, state, layout))
          whole.push_back(&inside);
      for (bool backward : {false, true}) {
        const Use when{-1, -1, backward};
        reshard(each.inside, layout.whole, state.getSymName() + ", " + when.describe(), when.describe(),
                /*early=*/false, [&](OpOperand &inside) {
                  return llvm::is_contained(whole, &inside) && !forwardInside.contains(inside.getOwner()) == backward;
                });
      }
    }
    return true;
  }

  /// Lets the regions of a loop have the parts of an operand that is the same in all rounds.
  void declareParts(RegionTiesOpInterface loop, OpOperand &operand, Layout layout) {
    const MeshRef ref{FlatSymbolRefAttr::get(mesh.getSymNameAttr()), mesh.getMesh()};
    SmallVector<ShardingAttr> arguments;
    for (Value argument : loop->getRegion(0).getArguments())
      arguments.push_back(declaredSharding(argument, ref));
    for (const RegionTies::Same &each : loop.getRegionTies().same)
      if (each.operand == static_cast<int64_t>(operand.getOperandNumber()))
        arguments[cast<BlockArgument>(each.inside).getArgNumber()] = layout.parts;
    declareArguments(loop, arguments);
  }

  /// What takes slices of a stacked weight in a loop that is given it: of one part of the dimension that is stacked. Nothing
  /// where the loop needs it in another way, too.
  static SmallVector<GatherOp> slicesOf(OpOperand &use) {
    SmallVector<GatherOp> slices;
    auto loop = dyn_cast<RegionTiesOpInterface>(use.getOwner());
    if (!loop)
      return slices;
    for (const RegionTies::Same &each : loop.getRegionTies().same) {
      if (each.operand != static_cast<int64_t>(use.getOperandNumber()))
        continue;
      for (OpOperand &inside : each.inside.getUses()) {
        auto gather = dyn_cast<GatherOp>(inside.getOwner());
        if (!gather || inside.getOperandNumber() != 0 || gather.getDimension() != 0 || gather.getOffset())
          return {};
        slices.push_back(gather);
      }
    }
    return slices;
  }

  static bool takesSlicesOf(OpOperand &use, StateOp state) {
    return state.getNumStacked() > 0 && !slicesOf(use).empty();
  }

  /// The layers of a stacked weight are gathered one by one, where a round of the loop over them needs it. False where they
  /// are not taken so.
  bool gatherSlices(OpOperand &use, StateOp state, Layout layout) {
    if (!takesSlicesOf(use, state))
      return false;
    declareParts(cast<RegionTiesOpInterface>(use.getOwner()), use, layout);
    for (GatherOp slice : slicesOf(use)) { // whose first dimension has the size 1
      slice->setAttr(kShardingsAttr, ArrayAttr::get(module.getContext(), {layout.parts}));
      reshard(slice.getResult(), layout.whole, "a layer of " + state.getSymName(), /*use=*/"", /*early=*/true,
              [](OpOperand &) { return true; });
    }
    return true;
  }

  bool addsUpFirst() const { return stage == 1 || pairwise; }

  ModuleOp module;
  MeshOp mesh;
  int stage;
  bool pairwise;
  std::string name;
  AxisRefAttr axis;
  DenseMap<Operation *, Layout> layouts; // of states
};

struct Zero : dgc::impl::ZeroPassBase<Zero> {
  using ZeroPassBase::ZeroPassBase;
  void runOnOperation() override {
    if (stage < 1 || stage > 3) {
      getOperation().emitError() << "there is no ZeRO stage " << int(stage)
                                 << ": 1 cuts the optimizer's state, 2 gradients "
                                 << "as well, 3 variables as well";
      return signalPassFailure();
    }
    FailureOr<MeshOp> mesh =
        findMeshWithAxis(getOperation(), kAxis, "zero" + std::to_string(stage), "cuts the optimizer's state by");
    if (failed(mesh))
      return signalPassFailure();
    if (!*mesh)
      return markAllAnalysesPreserved();
    if (failed(Annotator(getOperation(), *mesh, stage, pairwise).run()))
      signalPassFailure();
  }
};
} // namespace
