// Devices by name, in the model and in a placement file, become stages.

#include "passes/place/Stages.h"

#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

/// The task of a device; nothing when it does not say.
static std::optional<int64_t> taskOf(DeviceAttr device) {
  int64_t number;
  return device.getPart("task").getAsInteger(10, number) ? std::nullopt : std::optional(number);
}

/// The stage that a device is; `given` is one that is given in addition. Nothing when the device does not say. Fails by
/// `refuse` when there is no such device.
static FailureOr<std::optional<int64_t>> stageOfDevice(DeviceAttr device, std::optional<int64_t> given,
                                                       const DeviceGroups &groups,
                                                       llvm::function_ref<InFlightDiagnostic()> emitError) {
  auto refuse = [&] { return emitError() << "cannot be on the device " << device.getName() << ": "; };
  StringRef job = device.getPart("job"), number = device.getPart(groups.kind);
  StringRef other = groups.kind == "gpu" ? "cpu" : "gpu";
  if (!device.getPart(other).empty() && groups.servers)
    return refuse() << "the servers of the plan are on " << groups.kind << "s; place it on one, as in "
                    << "\"/job:ps/task:0/" << groups.kind << ":0\", or compile with another --server-target";
  if (!device.getPart(other).empty())
    return refuse() << "the plan is for the " << groups.kind << "s of workers; place it on one, as in "
                    << "\"/job:worker/task:0/" << groups.kind << ":0\", or compile with another --target";
  if (!number.empty() && number != "0")
    return refuse() << "a " << (groups.servers ? "server" : "worker") << " has one " << groups.kind << " device, "
                    << groups.kind << ":0";
  std::optional<int64_t> task = taskOf(device);
  int64_t first = 0, count = std::max<int64_t>(groups.stages, 1);
  if (groups.servers) {
    first = groups.stages - groups.servers;
    count = groups.servers;
    if (job != "ps")
      return refuse() << "variables are on parameter servers, /job:ps/task:0 to /job:ps/task:" << count - 1
                      << ", and ops on all workers";
    if (task && *task >= count)
      return refuse() << "there are " << count << " parameter servers, /job:ps/task:0 and so on";
  } else if (!job.empty() && job != "worker") {
    return refuse() << "there is no job '" << job << "'; all workers are tasks of the job 'worker'";
  }
  if (!task)
    return given;
  if (*task >= count)
    return refuse() << "there are " << count << " groups of devices, task:0 and so on; give the mesh an axis stage of "
                    << "size " << *task + 1 << " or more, as in --mesh stage=" << *task + 1;
  if (given && *given != first + *task)
    return refuse() << "it has 'dist.stage' " << *given << " as well";
  return std::optional(first + *task);
}

/// Says that an op is on a device.
static LogicalResult placeOp(Operation *op, DeviceAttr device, const DeviceGroups &groups,
                             llvm::function_ref<InFlightDiagnostic()> emitError) {
  auto stage = stageOfDevice(device, stageOf(op), groups, emitError);
  if (failed(stage))
    return failure();
  if (groups.servers)
    return emitError() << "cannot be on the device " << device.getName()
                       << ": parameter servers hold variables; all workers compute the ops";
  if (*stage)
    setStage(op, **stage);
  return success();
}

/// Turns the device of an op into its stage.
static LogicalResult lowerDevice(Operation *op, const DeviceGroups &groups) {
  auto device = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
  if (!device)
    return success();
  op->removeDiscardableAttr(kDeviceAttr);
  if (isa<dgc::StateOp>(op)) // arguments say so, too
    return success();
  return placeOp(op, device, groups, [&] { return op->emitOpError(); });
}

/// Turns the devices of the variables of a function into their stages.
static LogicalResult lowerArgumentDevices(func::FuncOp function, const DeviceGroups &groups) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto device = function.getArgAttrOfType<DeviceAttr>(i, kDeviceAttr);
    if (!device)
      continue;
    auto emitError = [&] { return function.emitError() << "argument " << i << " "; };
    auto stage = stageOfDevice(device, argumentStage(function, i), groups, emitError);
    if (failed(stage))
      return failure();
    if (*stage)
      setArgumentStage(function, i, **stage);
    function.removeArgAttr(i, StringAttr::get(function.getContext(), kDeviceAttr));
  }
  return success();
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
      return emitError()
             << "expected a pattern for names of variables or ops and a device, as in w1* /job:worker/task:1";
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

/// Gives the variables and ops that a placement file names their stages.
static LogicalResult applyPlacement(ModuleOp module, StringRef path, const DeviceGroups &groups) {
  if (path.empty())
    return success();
  auto rules = readRules(module, path);
  if (failed(rules))
    return failure();
  for (PlacementRule &rule : *rules) {
    for (auto function : module.getOps<func::FuncOp>())
      for (unsigned i = 0; i < function.getNumArguments(); ++i) {
        FlatSymbolRefAttr state = argumentState(function, i);
        if (!state || !rule.pattern.match(state.getValue()))
          continue;
        rule.used = true;
        auto emitError = [&] { return module.emitError() << rule.place << ": variable '" << state.getValue() << "' "; };
        auto stage = stageOfDevice(rule.device, argumentStage(function, i), groups, emitError);
        if (failed(stage))
          return failure();
        if (*stage)
          setArgumentStage(function, i, **stage);
      }
    WalkResult result = module.walk([&](Operation *op) -> WalkResult {
      auto name = op->getLoc()->findInstanceOf<NameLoc>();
      if (!name || isa<func::FuncOp>(op) || !rule.pattern.match(name.getName().getValue()))
        return WalkResult::advance();
      rule.used = true;
      auto emitError = [&] { return op->emitError() << rule.place << ": '" << name.getName().getValue() << "' "; };
      return placeOp(op, rule.device, groups, emitError);
    });
    if (result.wasInterrupted())
      return failure();
    if (!rule.used)
      return module.emitError() << rule.place << ": no variable and no op is called '" << rule.text << "'";
  }
  return success();
}

namespace dgc {

LogicalResult readDevices(ModuleOp module, StringRef placement, const DeviceGroups &groups) {
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(lowerArgumentDevices(function, groups)))
      return failure();
  WalkResult result = module.walk([&](Operation *op) -> WalkResult { return lowerDevice(op, groups); });
  return failure(result.wasInterrupted() || failed(applyPlacement(module, placement, groups)));
}

} // namespace dgc
