// dgc-assign-stages: gives every op of the forward pass its stage.

#include "passes/place/Passes.h"
#include "passes/place/Stages.h"

namespace dgc {
#define GEN_PASS_DEF_ASSIGNSTAGESPASS
#include "passes/place/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace mlir::dist;
using namespace ::dgc;

/// Turns the device of an op into its stage.
static LogicalResult lowerDevice(Operation *op, int64_t stages) {
  auto device = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
  if (!device)
    return success();
  auto refuse = [&] { return op->emitOpError() << "cannot be on the device " << device.getName() << ": "; };
  StringRef job = device.getPart("job"), task = device.getPart("task"), cpu = device.getPart("cpu");
  if (!device.getPart("gpu").empty())
    return refuse() << "the workers have no gpu; place it on a cpu, as in \"/job:worker/task:0/cpu:0\"";
  if (!cpu.empty() && cpu != "0")
    return refuse() << "a worker has one cpu device, cpu:0";
  if (!job.empty() && job != "worker")
    return refuse() << "there is no job '" << job << "'; all workers are tasks of the job 'worker'";
  int64_t number = 0;
  if (task.empty() || task.getAsInteger(10, number))
    number = stageOf(op).value_or(0);
  if (number >= std::max<int64_t>(stages, 1))
    return refuse() << "there are " << std::max<int64_t>(stages, 1)
                    << " groups of devices, task:0 and so on; give the mesh an axis stage of size " << number + 1
                    << " or more, as in --mesh stage=" << number + 1;
  if (std::optional<int64_t> stage = stageOf(op); stage && !task.empty() && *stage != number)
    return refuse() << "it has 'dist.stage' " << *stage << " as well";
  if (!task.empty())
    setStage(op, number);
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
static void spread(func::FuncOp function) {
  Ubiquitous anywhere(function);
  llvm::DenseSet<Operation *> backward = backwardOps(function);
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

namespace {
struct AssignStages : ::dgc::impl::AssignStagesPassBase<AssignStages> {
  using AssignStagesPassBase::AssignStagesPassBase;

  void runOnOperation() override {
    if (stages == 0)
      for (auto mesh : getOperation().getOps<MeshOp>())
        stages = std::max<int64_t>(stages, mesh.getMesh().getAxisSize(kStageAxis));
    bool found = false;
    WalkResult result = getOperation().walk([&](Operation *op) -> WalkResult {
      if (failed(lowerDevice(op, stages)))
        return WalkResult::interrupt();
      found |= stageOf(op).has_value();
      if (stages <= 1)
        op->removeDiscardableAttr(kStageAttr);
      op->removeDiscardableAttr(kDeviceAttr);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    if (stages <= 1 || !found)
      return;
    llvm::SmallDenseSet<int64_t> used;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      spread(function);
      if (failed(collectStages(function, stages, repeat, used)))
        return signalPassFailure();
    }
    for (int64_t stage = 0; stage < stages; ++stage)
      if (!used.contains(stage)) {
        getOperation().emitError() << "nothing is on stage " << stage << " of " << int64_t(stages)
                                   << ": mark where it begins with {dist.stage = " << stage
                                   << "}, or use a mesh with fewer stages";
        return signalPassFailure();
      }
  }
};
} // namespace
