// Devices by name, in the model and in the rules of --placement, become stages.

#include "passes/place/Stages.h"

#include "llvm/Support/GlobPattern.h"

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
  if (isa<StateOp>(op)) // arguments say so, too
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

/// Gives the variables and ops that a rule names their stages.
static LogicalResult applyRule(ModuleOp module, const PlacementRules::Rule &rule, StringRef location,
                               const DeviceGroups &groups) {
  llvm::GlobPattern pattern = llvm::cantFail(llvm::GlobPattern::create(rule.pattern)); // as the rules have been checked
  MLIRContext *context = module.getContext();
  auto device = DeviceAttr::getChecked([&] { return module.emitError() << location << ": "; }, context,
                                       StringAttr::get(context, rule.device));
  if (!device)
    return failure();
  bool isUsed = false;
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      FlatSymbolRefAttr state = argumentState(function, i);
      if (!state || !pattern.match(state.getValue()))
        continue;
      isUsed = true;
      auto emitError = [&] { return module.emitError() << location << ": variable '" << state.getValue() << "' "; };
      auto stage = stageOfDevice(device, argumentStage(function, i), groups, emitError);
      if (failed(stage))
        return failure();
      if (*stage)
        setArgumentStage(function, i, **stage);
    }
  WalkResult result = module.walk([&](Operation *op) -> WalkResult {
    auto name = op->getLoc()->findInstanceOf<NameLoc>();
    if (!name || isa<func::FuncOp>(op) || !pattern.match(name.getName().getValue()))
      return WalkResult::advance();
    isUsed = true;
    auto emitError = [&] { return op->emitError() << location << ": '" << name.getName().getValue() << "' "; };
    return placeOp(op, device, groups, emitError);
  });
  if (result.wasInterrupted())
    return failure();
  if (!isUsed)
    return module.emitError() << location << ": no variable and no op is called '" << rule.pattern << "'";
  return success();
}

namespace dgc {

LogicalResult readDevices(ModuleOp module, const PlacementRules &placement, const DeviceGroups &groups) {
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(lowerArgumentDevices(function, groups)))
      return failure();
  WalkResult result = module.walk([&](Operation *op) -> WalkResult { return lowerDevice(op, groups); });
  if (result.wasInterrupted())
    return failure();
  for (const PlacementRules::Rule &rule : placement.rules)
    if (failed(applyRule(module, rule, placement.locationOf(rule), groups)))
      return failure();
  return success();
}

} // namespace dgc
