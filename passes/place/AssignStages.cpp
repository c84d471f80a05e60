// dgc-assign-stages: gives every op of the forward pass its stage.

#include "passes/place/Passes.h"
#include "passes/place/Stages.h"

#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/MemoryBuffer.h"

namespace dgc {
#define GEN_PASS_DEF_ASSIGNSTAGESPASS
#include "passes/place/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace mlir::dist;
using namespace ::dgc;

/// The stage that a device is, for `stages` groups of devices; `given` is one that is said beside it. Nothing when the
/// device does not say. Fails by `refuse` when there is no such device.
static FailureOr<std::optional<int64_t>> stageOfDevice(DeviceAttr device, std::optional<int64_t> given, int64_t stages,
                                                       llvm::function_ref<InFlightDiagnostic()> emitError) {
  auto refuse = [&] { return emitError() << "cannot be on the device " << device.getName() << ": "; };
  StringRef job = device.getPart("job"), task = device.getPart("task"), cpu = device.getPart("cpu");
  if (!device.getPart("gpu").empty())
    return refuse() << "the workers have no gpu; place it on a cpu, as in \"/job:worker/task:0/cpu:0\"";
  if (!cpu.empty() && cpu != "0")
    return refuse() << "a worker has one cpu device, cpu:0";
  if (!job.empty() && job != "worker")
    return refuse() << "there is no job '" << job << "'; all workers are tasks of the job 'worker'";
  int64_t number;
  if (task.empty() || task.getAsInteger(10, number))
    return given;
  int64_t groups = std::max<int64_t>(stages, 1);
  if (number >= groups)
    return refuse() << "there are " << groups << " groups of devices, task:0 and so on; give the mesh an axis stage of "
                    << "size " << number + 1 << " or more, as in --mesh stage=" << number + 1;
  if (given && *given != number)
    return refuse() << "it has 'dist.stage' " << *given << " as well";
  return std::optional(number);
}

/// Turns the device of an op into its stage.
static LogicalResult lowerDevice(Operation *op, int64_t stages) {
  auto device = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
  if (!device)
    return success();
  auto stage = stageOfDevice(device, stageOf(op), stages, [&] { return op->emitOpError(); });
  if (failed(stage))
    return failure();
  if (*stage)
    setStage(op, **stage);
  op->removeDiscardableAttr(kDeviceAttr);
  return success();
}

/// Says that a variable is on a stage.
static void setArgumentStage(func::FuncOp function, unsigned index, int64_t stage) {
  function.setArgAttr(index, kStageAttr, Builder(function.getContext()).getI64IntegerAttr(stage));
}

/// Turns the devices of the variables of a function into their stages.
static LogicalResult lowerArgumentDevices(func::FuncOp function, int64_t stages) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto device = function.getArgAttrOfType<DeviceAttr>(i, kDeviceAttr);
    if (!device)
      continue;
    auto emitError = [&] { return function.emitError() << "argument " << i << " "; };
    auto stage = stageOfDevice(device, argumentStage(function, i), stages, emitError);
    if (failed(stage))
      return failure();
    if (*stage)
      setArgumentStage(function, i, **stage);
    function.removeArgAttr(i, StringAttr::get(function.getContext(), kDeviceAttr));
  }
  return success();
}

/// Ops that read a variable with a stage, and say nothing, are on that stage.
static void placeReaders(func::FuncOp function, const llvm::DenseSet<Operation *> &backward) {
  for (BlockArgument argument : function.getArguments())
    if (std::optional<int64_t> stage = argumentStage(function, argument.getArgNumber()))
      for (Operation *user : argument.getUsers())
        if (!stageOf(user) && !backward.contains(user) && !user->hasTrait<OpTrait::IsTerminator>())
          setStage(user, *stage);
}

namespace {
/// A line of a placement file.
struct PlacementRule {
  llvm::GlobPattern pattern;
  DeviceAttr device;
  std::string text, place;
  bool used = false;
};
} // namespace

/// Reads lines `PATTERN DEVICE`; what follows `#` is a comment.
static FailureOr<std::vector<PlacementRule>> readRules(ModuleOp module, StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return module.emitError() << "cannot read the placement file '" << path << "': " << file.getError().message();
  std::vector<PlacementRule> rules;
  SmallVector<StringRef> lines;
  (*file)->getBuffer().split(lines, '\n');
  for (auto [i, line] : llvm::enumerate(lines)) {
    SmallVector<StringRef> words;
    line.split('#').first.split(words, ' ', -1, /*KeepEmpty=*/false);
    llvm::erase_if(words, [](StringRef word) { return word.trim().empty(); });
    if (words.empty())
      continue;
    std::string place = (path + ":" + Twine(i + 1)).str();
    auto emitError = [&] { return module.emitError() << place << ": "; };
    if (words.size() != 2)
      return emitError() << "expected a pattern for names of variables and a device, as in w1* /job:worker/task:1";
    // A pattern refers to its text, which outlives the file as an attribute.
    StringRef text = StringAttr::get(module.getContext(), words[0].trim()).getValue();
    auto pattern = llvm::GlobPattern::create(text);
    if (!pattern)
      return emitError() << "'" << text << "' is no pattern: " << llvm::toString(pattern.takeError());
    auto device =
        DeviceAttr::getChecked(emitError, module.getContext(), StringAttr::get(module.getContext(), words[1].trim()));
    if (!device)
      return failure();
    rules.push_back({std::move(*pattern), device, text.str(), place});
  }
  return rules;
}

/// Gives the variables that a placement file names their stages.
static LogicalResult applyPlacement(ModuleOp module, StringRef path, int64_t stages) {
  if (path.empty())
    return success();
  auto rules = readRules(module, path);
  if (failed(rules))
    return failure();
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      FlatSymbolRefAttr state = argumentState(function, i);
      for (PlacementRule &rule : *rules) {
        if (!state || !rule.pattern.match(state.getValue()))
          continue;
        rule.used = true;
        auto emitError = [&] { return module.emitError() << rule.place << ": variable '" << state.getValue() << "' "; };
        auto stage = stageOfDevice(rule.device, argumentStage(function, i), stages, emitError);
        if (failed(stage))
          return failure();
        if (*stage)
          setArgumentStage(function, i, **stage);
      }
    }
  for (const PlacementRule &rule : *rules)
    if (!rule.used)
      return module.emitError() << rule.place << ": no variable is called '" << rule.text << "'";
  return success();
}

/// The ops that follow from a gradient.
static llvm::DenseSet<Operation *> backwardOps(func::FuncOp function) {
  llvm::DenseSet<Operation *> ops;
  for (Operation &op : function.getBody().front())
    if (isa<mlir::dgc::GradientOp>(op) || llvm::any_of(op.getOperands(), [&](Value operand) {
          return operand.getDefiningOp() && ops.contains(operand.getDefiningOp());
        }))
      ops.insert(&op);
  return ops;
}

/// Gives the forward ops of a function that say nothing the stage that follows from their operands, or users.
static void spread(func::FuncOp function, const llvm::DenseSet<Operation *> &backward) {
  Ubiquitous anywhere(function);
  Block &body = function.getBody().front();
  auto isOpen = [&](Operation &op) { return !stageOf(&op) && !anywhere.contains(&op) && !backward.contains(&op); };
  for (Operation &op : body.without_terminator()) {
    std::optional<int64_t> stage;
    for (Value operand : op.getOperands())
      if (Operation *def = operand.getDefiningOp(); def && stageOf(def))
        stage = std::max(stage.value_or(0), *stageOf(def));
    if (isOpen(op) && stage)
      setStage(&op, *stage);
  }
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (!isOpen(op))
      continue;
    std::optional<int64_t> stage;
    for (Operation *user : op.getUsers())
      if (stageOf(user) && !backward.contains(user))
        stage = std::min(stage.value_or(*stageOf(user)), *stageOf(user));
    setStage(&op, stage.value_or(0));
  }
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

/// The forward ops that follow from a variable: the ones to be placed. What follows from data alone is near its users.
static SmallVector<Operation *> opsToPlace(func::FuncOp function, const llvm::DenseSet<Operation *> &backward) {
  Ubiquitous anywhere(function);
  llvm::DenseSet<Value> reached;
  for (BlockArgument argument : function.getArguments())
    if (argumentState(function, argument.getArgNumber()))
      reached.insert(argument);
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front().without_terminator())
    if (!backward.contains(&op) && !anywhere.contains(&op) &&
        llvm::any_of(op.getOperands(), [&](Value operand) { return reached.contains(operand); })) {
      ops.push_back(&op);
      reached.insert_range(op.getResults());
    }
  return ops;
}

namespace {
struct AssignStages : ::dgc::impl::AssignStagesPassBase<AssignStages> {
  using AssignStagesPassBase::AssignStagesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    said = false;
    if (stages == 0)
      for (auto mesh : module.getOps<MeshOp>())
        stages = std::max<int64_t>(stages, mesh.getMesh().getAxisSize(kStageAxis));
    if (failed(readPlaces(module)))
      return signalPassFailure();
    if (stages <= 1)
      return;
    SmallVector<func::FuncOp> functions;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        functions.push_back(function);
    llvm::SmallDenseSet<int64_t> used;
    for (func::FuncOp function : functions) {
      llvm::DenseSet<Operation *> backward = backwardOps(function);
      placeReaders(function, backward);
      if (!said && failed(choose(function, functions, backward)))
        return signalPassFailure();
      if (!said) // it has no variables: every device computes it
        continue;
      spread(function, backward);
      if (failed(collectStages(function, stages, repeat, used)))
        return signalPassFailure();
    }
    if (said && failed(checkUsed(used)))
      return signalPassFailure();
  }

private:
  /// Makes stages of devices, wherever they are; without several groups nothing has a stage.
  LogicalResult readPlaces(ModuleOp module) {
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(lowerArgumentDevices(function, stages)))
        return failure();
    if (failed(applyPlacement(module, placement, stages)))
      return failure();
    WalkResult result = module.walk([&](Operation *op) -> WalkResult {
      if (failed(lowerDevice(op, stages)))
        return WalkResult::interrupt();
      if (stages <= 1)
        op->removeDiscardableAttr(kStageAttr);
      said |= stageOf(op).has_value();
      return WalkResult::advance();
    });
    for (auto function : module.getOps<func::FuncOp>())
      for (unsigned i = 0; i < function.getNumArguments(); ++i) {
        if (stages <= 1)
          function.removeArgAttr(i, StringAttr::get(&getContext(), kStageAttr));
        said |= argumentStage(function, i).has_value();
      }
    return failure(result.wasInterrupted());
  }

  /// Lets the solver choose for the first function; the others follow its variables.
  LogicalResult choose(func::FuncOp function, ArrayRef<func::FuncOp> functions,
                       const llvm::DenseSet<Operation *> &backward) {
    SmallVector<Operation *> ops = opsToPlace(function, backward);
    if (ops.empty())
      return success();
    said = true;
    if (solver != "chain" && solver != "greedy" && solver != "exact")
      return function.emitError() << "there is no solver '" << solver.getValue() << "'; one of chain, greedy, exact is";
    StageCosts costs;
    if (capacity > 0)
      costs.capacity = capacity;
    if (failed(solveStages(function, ops, stages * (repeat ? 2 : 1), solver, costs)))
      return failure();
    llvm::DenseMap<Attribute, int64_t> owners;
    for (Operation *op : ops)
      for (Value operand : op->getOperands())
        if (auto argument = dyn_cast<BlockArgument>(operand))
          if (FlatSymbolRefAttr state = argumentState(function, argument.getArgNumber()))
            owners.try_emplace(state, *stageOf(op));
    for (func::FuncOp each : functions)
      for (unsigned i = 0; i < each.getNumArguments(); ++i)
        if (auto owner = owners.find(argumentState(each, i)); argumentState(each, i) && owner != owners.end())
          setArgumentStage(each, i, owner->second);
    return success();
  }

  LogicalResult checkUsed(const llvm::SmallDenseSet<int64_t> &used) {
    int64_t last = stages - 1;
    for (int64_t stage : used)
      last = std::max(last, stage);
    last += stages - 1 - last % stages; // each group has as many
    for (int64_t stage = 0; stage <= last; ++stage)
      if (!used.contains(stage))
        return getOperation().emitError()
               << "nothing is on stage " << stage << " of " << last + 1
               << ": mark where it begins with {dist.stage = " << stage << "}, or use a mesh with fewer stages";
    return success();
  }

  bool said = false; // something says where it is
};
} // namespace
