// dgc-assign-stages: gives every op of the forward pass its stage.

#include "passes/place/Passes.h"
#include "passes/place/Stages.h"

#include "llvm/ADT/MapVector.h"

namespace dgc {
#define GEN_PASS_DEF_ASSIGNSTAGESPASS
#include "passes/place/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

/// The stage of an operand: of the op that computes it, or of the variable that it is.
static std::optional<int64_t> stageOfOperand(func::FuncOp function, Value operand) {
  if (Operation *def = operand.getDefiningOp())
    return stageOf(def);
  return argumentStage(function, cast<BlockArgument>(operand).getArgNumber());
}

static bool isState(func::FuncOp function, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argumentState(function, argument.getArgNumber());
}

/// Gives the forward ops of a function that say nothing the stage that follows from their operands, or users. One that
/// reads a variable is on stage `first`, if there is such, where its operands have none. Adds them to `placed`.
static void spread(func::FuncOp function, const llvm::DenseSet<Operation *> &backward, std::optional<int64_t> first,
                   SmallVectorImpl<Operation *> &placed) {
  UniformValues uniform(function);
  Block &body = function.getBody().front();
  auto isOpen = [&](Operation &op) { return !stageOf(&op) && !uniform.contains(&op) && !backward.contains(&op); };
  for (Operation &op : body.without_terminator()) {
    std::optional<int64_t> stage;
    for (Value operand : op.getOperands())
      if (std::optional<int64_t> other = stageOfOperand(function, operand))
        stage = std::max(stage.value_or(0), *other);
    if (!stage && llvm::any_of(op.getOperands(), [&](Value operand) { return isState(function, operand); }))
      stage = first;
    if (isOpen(op) && stage) {
      setStage(&op, *stage);
      placed.push_back(&op);
    }
  }
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (!isOpen(op))
      continue;
    std::optional<int64_t> stage;
    for (Operation *user : op.getUsers())
      if (stageOf(user) && !backward.contains(user))
        stage = std::min(stage.value_or(*stageOf(user)), *stageOf(user));
    setStage(&op, stage.value_or(0));
    placed.push_back(&op);
  }
}

/// The lowest stage that something of a function says that it is on.
static std::optional<int64_t> lowestStage(func::FuncOp function) {
  std::optional<int64_t> lowest;
  auto note = [&](std::optional<int64_t> stage) {
    if (stage)
      lowest = std::min(lowest.value_or(*stage), *stage);
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    note(argumentStage(function, i));
  function.walk([&](Operation *op) { note(stageOf(op)); });
  return lowest;
}

/// Notes the stages that a function uses; one that there are no devices for is an error.
static LogicalResult collectStages(func::FuncOp function, int64_t stages, bool repeat,
                                   llvm::SmallDenseSet<int64_t> &used) {
  for (Operation &op : function.getBody().front()) {
    std::optional<int64_t> stage = stageOf(&op);
    if (!stage)
      continue;
    used.insert(*stage);
    if (*stage >= stages && !repeat)
      return op.emitOpError() << "is on stage " << *stage << ", but the mesh has " << stages
                              << " positions along its axis \"stage\"; use --mesh stage=" << *stage + 1
                              << ", or put the op on one of the stages 0 to " << stages - 1;
  }
  return success();
}

namespace {
/// What says `dist.colocate`, by name.
class Colocations {
public:
  explicit Colocations(ModuleOp module) {
    for (auto function : module.getOps<func::FuncOp>()) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (auto name = function.getArgAttrOfType<StringAttr>(i, kColocateAttr))
          members[name].push_back({nullptr, function, i});
      function.walk([&](Operation *op) {
        if (auto name = op->getAttrOfType<StringAttr>(kColocateAttr); name && op != function)
          members[name].push_back({op, function, 0});
      });
    }
  }

  bool empty() const { return members.empty(); }

  /// The stage of those of a name that have one.
  std::optional<int64_t> stageOf(StringAttr name) const {
    if (auto it = members.find(name); it != members.end())
      for (const Member &member : it->second)
        if (std::optional<int64_t> stage = member.stage())
          return stage;
    return std::nullopt;
  }

  /// Gives all of a name the stage that one of them has; two different ones are an error.
  LogicalResult settle() const {
    for (auto &[name, all] : members) {
      const Member *first = nullptr;
      for (const Member &member : all) {
        if (!member.stage())
          continue;
        if (first && first->stage() != member.stage()) {
          InFlightDiagnostic error = emitError(member.location())
                                     << "is on stage " << *member.stage() << ", and dist.colocate = " << name
                                     << " puts it where something on stage " << *first->stage()
                                     << " is; give both one stage, or take one out of the colocation";
          error.attachNote(first->location()) << "on stage " << *first->stage();
          return error;
        }
        first = first ? first : &member;
      }
      if (first)
        for (const Member &member : all)
          member.setStage(*first->stage());
    }
    return success();
  }

  /// Raises all of a name to the highest stage among them. True when something changed.
  bool raise() const {
    bool changed = false;
    for (auto &[name, all] : members) {
      std::optional<int64_t> highest;
      for (const Member &member : all)
        if (std::optional<int64_t> stage = member.stage())
          highest = std::max(highest.value_or(*stage), *stage);
      for (const Member &member : all)
        if (highest && member.stage() != highest) {
          member.setStage(*highest);
          changed = true;
        }
    }
    return changed;
  }

private:
  /// An op, or an argument of a function.
  struct Member {
    Operation *op;
    func::FuncOp function;
    unsigned argument;
    std::optional<int64_t> stage() const { return op ? dgc::stageOf(op) : argumentStage(function, argument); }
    void setStage(int64_t stage) const { op ? dgc::setStage(op, stage) : setArgumentStage(function, argument, stage); }
    Location location() const { return op ? op->getLoc() : func::FuncOp(function).getArgument(argument).getLoc(); }
  };

  llvm::MapVector<StringAttr, std::vector<Member>> members;
};

struct AssignStages : dgc::impl::AssignStagesPassBase<AssignStages> {
  using AssignStagesPassBase::AssignStagesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    said = false;
    if (stages == 0)
      for (auto mesh : module.getOps<MeshOp>())
        stages = std::max<int64_t>(stages, mesh.getMesh().getAxisSize(kStageAxis));
    if (failed(readDevices(module, placement, {stages, servers, nameOf<DeviceKind>(servers ? serverKind : kind)})))
      return signalPassFailure();
    if (stages > 1 && failed(assign(module)))
      return signalPassFailure();
    clean(module);
  }

private:
  LogicalResult assign(ModuleOp module) {
    SmallVector<func::FuncOp> functions;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        functions.push_back(function);
    if (servers > 0)
      return separate(functions);
    Colocations colocations(module);
    if (failed(colocations.settle()))
      return failure();
    findPlaces(module);
    llvm::DenseMap<Operation *, llvm::DenseSet<Operation *>> backward; // by function
    for (func::FuncOp function : functions) {
      backward[function] = backwardOps(function);
      if (!said &&
          (failed(choose(function, functions, backward[function], colocations)) || failed(colocations.settle())))
        return failure();
    }
    if (!said) // there are no variables: every device computes it
      return success();
    // Where nothing is said to be on stage 0, it has what comes before the stages that are marked.
    std::optional<int64_t> first, lowest;
    for (func::FuncOp function : functions)
      if (std::optional<int64_t> stage = lowestStage(function))
        lowest = std::min(lowest.value_or(*stage), *stage);
    if (lowest && *lowest > 0)
      first = 0;
    SmallVector<Operation *> placed;
    do { // again as long as what is colocated comes to be on different stages
      for (Operation *op : placed)
        op->removeDiscardableAttr(kStageAttr);
      placed.clear();
      for (func::FuncOp function : functions)
        if (lowestStage(function))
          spread(function, backward[function], first, placed);
    } while (raised(colocations, placed));
    llvm::SmallDenseSet<int64_t> used;
    for (func::FuncOp function : functions)
      if (failed(collectStages(function, stages, repeat, used)))
        return failure();
    return checkUsed(used);
  }

  /// Raises what is colocated, which then stays where it is.
  static bool raised(const Colocations &colocations, SmallVectorImpl<Operation *> &placed) {
    bool changed = colocations.raise();
    llvm::erase_if(placed, [](Operation *op) { return op->hasAttr(kColocateAttr); });
    return changed;
  }

  void findPlaces(ModuleOp module) {
    for (auto function : module.getOps<func::FuncOp>())
      said |= lowestStage(function).has_value();
  }

  /// Takes away what has been read; without several groups nothing has a stage.
  void clean(ModuleOp module) {
    SmallVector<StringRef> names{kColocateAttr};
    if (stages <= 1)
      names.push_back(kStageAttr);
    for (StringRef name : names) {
      auto key = StringAttr::get(&getContext(), name);
      module.walk([&](Operation *op) { op->removeDiscardableAttr(key); });
      for (auto function : module.getOps<func::FuncOp>()) {
        for (unsigned i = 0; i < function.getNumArguments(); ++i)
          function.removeArgAttr(i, key);
        for (unsigned i = 0; i < function.getNumResults(); ++i)
          function.removeResultAttr(i, key);
      }
    }
  }

  /// Lets the solver choose for the first function; the others follow its variables.
  LogicalResult choose(func::FuncOp function, ArrayRef<func::FuncOp> functions,
                       const llvm::DenseSet<Operation *> &backward, const Colocations &colocations) {
    SmallVector<Operation *> ops = opsToPlace(function, backward);
    if (ops.empty())
      return success();
    said = true;
    const int64_t wanted = stages * (repeat ? 2 : 1), count = ops.size();
    if (count < wanted) {
      auto error = function.emitError() << "the model has " << count
                                        << " operations that depend on its variables, too few "
                                        << "for " << wanted << " stages";
      if (repeat)
        error << ", two for each of " << stages.getValue() << " groups of workers";
      int64_t most = count / (repeat ? 2 : 1);
      return error << (most > 1 ? "; use a smaller mesh, as in --mesh stage=" + std::to_string(most)
                                : std::string("; leave the axis stage out of the mesh"));
    }
    StageCosts costs;
    if (capacity > 0)
      costs.capacity = capacity;
    if (failed(cuts.empty() ? solveStages(function, ops, wanted, solver, costs)
                            : cutStages(function, ops, wanted, SmallVector<int64_t>(cuts.begin(), cuts.end()))))
      return failure();
    llvm::DenseMap<Attribute, int64_t> owners;
    for (Operation *op : ops)
      for (Value operand : op->getOperands())
        if (auto argument = dyn_cast<BlockArgument>(operand))
          if (FlatSymbolRefAttr state = argumentState(function, argument.getArgNumber()))
            owners.try_emplace(state, *stageOf(op));
    for (func::FuncOp each : functions)
      for (unsigned i = 0; i < each.getNumArguments(); ++i)
        if (auto owner = owners.find(argumentState(each, i)); argumentState(each, i) && owner != owners.end()) {
          auto name = each.getArgAttrOfType<StringAttr>(i, kColocateAttr);
          std::optional<int64_t> common = name ? colocations.stageOf(name) : std::nullopt;
          setArgumentStage(each, i, common.value_or(owner->second));
        }
    return success();
  }

  /// Variables on the servers, forward ops on the workers.
  LogicalResult separate(ArrayRef<func::FuncOp> functions) {
    if (failed(placeOnServers(getOperation(), stages - servers, servers)))
      return failure();
    for (func::FuncOp function : functions) {
      llvm::DenseSet<Operation *> backward = backwardOps(function);
      UniformValues uniform(function);
      for (Operation &op : function.getBody().front().without_terminator())
        if (!backward.contains(&op) && !uniform.contains(&op))
          setStage(&op, 0);
    }
    return success();
  }

  LogicalResult checkUsed(const llvm::SmallDenseSet<int64_t> &used) {
    int64_t last = stages - 1;
    for (int64_t stage : used)
      last = std::max(last, stage);
    last += stages - 1 - last % stages; // each group has as many
    for (int64_t stage = 0; stage <= last; ++stage)
      if (!used.contains(stage)) {
        auto error = getOperation().emitError()
                     << "nothing is on stage " << stage << " of " << last + 1 << ": the model has operations on ";
        SmallVector<int64_t> has(used.begin(), used.end());
        llvm::sort(has);
        error << (has.size() == 1 ? "stage " : "the stages ");
        llvm::interleaveComma(has, error);
        error << "; mark where stage " << stage << " begins with {dist.stage = " << stage << "}, or ";
        if (repeat)
          return error << "number the stages from 0 on, as many as a multiple of " << stages.getValue();
        if (has.size() > 1)
          return error << "number the stages from 0 on and use --mesh stage=" << has.size();
        return error << "leave the axis stage out of the mesh";
      }
    return success();
  }

  bool said = false; // something says where it is
};
} // namespace
