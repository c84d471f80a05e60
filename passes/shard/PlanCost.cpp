// What a module with shardings communicates and computes in each entry point.

#include "passes/shard/PlanCost.h"

#include "passes/shard/Execution.h"
#include "passes/shard/InsertReshards.h"

#include "dialects/dgc/DGC.h"
#include "dialects/dgc/LoopRuns.h"

using namespace mlir;
using namespace dgc::dist;

namespace dgc {

/// The sum, or the largest number where it is larger.
static int64_t addClamped(int64_t x, int64_t y) {
  int64_t sum = 0;
  return llvm::AddOverflow(x, y, sum) ? std::numeric_limits<int64_t>::max() : sum;
}

/// The same of the product, of numbers that are not negative.
static int64_t multiplyClamped(int64_t x, int64_t y) {
  int64_t product = 0;
  return llvm::MulOverflow(x, y, product) ? std::numeric_limits<int64_t>::max() : product;
}

/// The bytes that a reshard makes a device receive; the largest number for one that cannot be.
static int64_t bytesOfReshard(ReshardOp op, const MeshRef &mesh) {
  auto type = cast<RankedTensorType>(op.getType());
  int64_t elements =
      elementsReceived(type.getShape(), declaredSharding(op->getOperand(0), mesh), op.getSharding(), mesh);
  return multiplyClamped(elements, int64_t(llvm::divideCeil(type.getElementTypeBitWidth(), 8)));
}

/// The operations of a device: those of the op, divided by the axes that cut any of its values.
static int64_t localFlops(Operation *op, const MeshRef &mesh) {
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost)
    return 0;
  uint64_t cut = 0;
  auto add = [&](ValueRange values) {
    for (Value value : values)
      if (isa<RankedTensorType>(value.getType()))
        for (const AxisList &axes : mesh.dimsOf(declaredSharding(value, mesh)))
          for (AxisUse use : axes)
            cut |= uint64_t(1) << use.axis;
  };
  add(op->getOperands());
  add(op->getResults());
  int64_t flops = cost.getCost().flops;
  for (size_t axis = 0; axis < mesh.mesh.getAxes().size(); ++axis)
    if (cut >> axis & 1)
      flops /= mesh.sizeOf(axis);
  return flops;
}

static PlanCost costOf(func::FuncOp function, const MeshRef &mesh) {
  PlanCost cost;
  if (function.isExternal())
    return cost;
  function.walk([&](Operation *op) {
    const int64_t times = runsOf(op).times;
    if (auto reshard = dyn_cast<ReshardOp>(op))
      cost.bytes = addClamped(cost.bytes, multiplyClamped(bytesOfReshard(reshard, mesh), times));
    else if (!isa<RegionTiesOpInterface>(op)) // the ops in it are
      cost.flops = addClamped(cost.flops, multiplyClamped(localFlops(op, mesh), times));
  });
  return cost;
}

FailureOr<ModuleCost> estimateCost(ModuleOp module, const MeshRef &mesh) {
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone());
  ScopedDiagnosticHandler silent(module.getContext(), [](Diagnostic &) { return success(); });
  ModuleCost cost;
  for (auto function : copy->getOps<func::FuncOp>()) {
    if (failed(insertReshards(function, mesh)))
      return failure();
    PlanCost each = costOf(function, mesh);
    if (each.bytes > cost.largest.bytes || (each.bytes == cost.largest.bytes && each.flops > cost.largest.flops))
      cost.largest = each;
    cost.total.bytes = addClamped(cost.total.bytes, each.bytes);
    cost.total.flops += each.flops;
  }
  return cost;
}

} // namespace dgc
