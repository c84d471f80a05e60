// dgc-verify-partition: what is partial is combined, once.

#include "passes/analysis/Layout.h"
#include "passes/partition/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/TypeSwitch.h"

namespace dgc {
#define GEN_PASS_DEF_VERIFYPARTITIONPASS
#include "passes/partition/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

static PartialAttr partialOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<PartialAttr>(tensor.getEncoding()) : PartialAttr();
}

/// Checks that what a loop or branch takes and gives is partial as it is in the regions; zeros are addends of any kind.
static LogicalResult verifyTies(RegionTiesOpInterface op) {
  const RegionTies ties = op.getRegionTies();
  auto check = [&](Value outside, Value inside) -> LogicalResult {
    if (partialOf(outside.getType()) == partialOf(inside.getType()))
      return success();
    return op->emitOpError() << "has " << inside.getType() << " in a region for " << outside.getType();
  };
  for (const RegionTies::Same &each : ties.same)
    if (failed(check(each.outside, each.inside)))
      return failure();
  for (const RegionTies::Sliced &each : ties.sliced)
    if (failed(check(each.whole, each.slice)))
      return failure();
  for (const RegionTies::Carried &each : ties.carried) {
    for (Value inside : each.inside)
      if (failed(check(each.result, inside)))
        return failure();
    if (failed(check(each.result, each.next)) || (!isZeros(each.first) && failed(check(each.result, each.first))))
      return failure();
  }
  return success();
}

/// Checks that `op` may have the partial operands that it has.
static LogicalResult verifyPartialOperands(Operation *op) {
  SmallVector<unsigned> partial;
  for (OpOperand &operand : op->getOpOperands())
    if (partialOf(operand.get().getType()))
      partial.push_back(operand.getOperandNumber());
  // Transfers leave a value as partial as it is: the types of both ends are compared by dgc-verify-communicate.
  if (partial.empty() || isa<CollectiveOpInterface, TransferOpInterface, dist::SliceOp, DynamicSliceOp>(op))
    return success(); // Their own verifiers look at the kind and the axes.
  auto refuse = [&](StringRef reason) {
    return op->emitOpError() << "operand " << partial[0] << " is partial, and the op " << reason;
  };
  if (isa<RegionTiesOpInterface>(op))
    return success(); // verifyTies
  if (isa_and_nonnull<RegionTiesOpInterface>(op->getParentOp()) && op->hasTrait<OpTrait::IsTerminator>())
    return success(); // as part of the op that it is in
  PartialAttr first = partialOf(op->getOperand(partial[0]).getType());
  // A part of a value, and zeros around it, are the same in whichever way it is reduced.
  bool anyKind = isa<dgc::PadOp, dgc::SliceOp>(op);
  if ((first.getKind() != Reduction::Sum && !anyKind) || !isLinearIn(op, partial))
    return refuse("is not linear in it");
  for (unsigned i : partial)
    if (partialOf(op->getOperand(i).getType()) != first)
      return refuse("has operands that are partial in other ways");
  for (Type type : op->getResultTypes()) {
    PartialAttr result = partialOf(type);
    bool keeps =
        result && result.getKind() == first.getKind() && result.getMesh() == first.getMesh() &&
        llvm::all_of(first.getAxes(), [&](StringAttr axis) { return llvm::is_contained(result.getAxes(), axis); });
    if (!keeps)
      return refuse("has a result that is not");
  }
  return success();
}

/// The axes along which all devices have the same value because of the collective that gives it.
static ArrayAttr combinedAxes(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto reduce = dyn_cast_or_null<AllReduceOp>(op))
    return reduce.getAxes();
  if (auto gather = dyn_cast_or_null<AllGatherOp>(op))
    return gather.getAxes();
  return {};
}

/// Refuses to add up along an axis what has been combined along it, which would count it once for each device.
static LogicalResult verifyCombinedOnce(Operation *op) {
  auto [kind, axes] =
      TypeSwitch<Operation *, std::pair<Reduction, ArrayAttr>>(op)
          .Case<AllReduceOp, ReduceScatterOp>([](auto each) { return std::pair(each.getKind(), each.getAxes()); })
          .Default([](auto) { return std::pair(Reduction::Max, ArrayAttr()); });
  if (!axes || kind == Reduction::Max || kind == Reduction::Min)
    return success();
  for (Value operand : op->getOperands())
    if (ArrayAttr before = combinedAxes(operand))
      for (Attribute axis : axes)
        if (llvm::is_contained(before, axis)) {
          InFlightDiagnostic error = op->emitOpError() << "combines along " << axis << " what has been combined along "
                                                       << "it: every device has the whole value";
          error.attachNote(operand.getLoc()) << "here";
          return error;
        }
  return success();
}

/// Checks that the type of argument `index` is that of one device's part of the value that its attributes describe.
static LogicalResult verifyLocalShape(func::FuncOp function, unsigned index) {
  auto global = function.getArgAttrOfType<TypeAttr>(index, kGlobalTypeAttr);
  auto sharding = function.getArgAttrOfType<ShardingAttr>(index, kShardingAttr);
  auto local = dyn_cast<RankedTensorType>(function.getArgumentTypes()[index]);
  auto whole = global ? dyn_cast<RankedTensorType>(global.getValue()) : RankedTensorType();
  if (!whole || !sharding || !local)
    return success();
  MeshAttr mesh = lookupMesh(function, sharding.getMesh());
  if (!mesh)
    return function.emitOpError("argument ")
           << index << " is sharded over " << sharding.getMesh() << ", which is no mesh";
  SmallVector<int64_t> part = sharding.getLocalShape(whole.getShape(), mesh);
  if (ArrayRef(part) != local.getShape())
    return function.emitOpError("argument ")
           << index << " is " << local << ", which is not what a device has of " << whole << " as " << sharding;
  return success();
}

namespace {
struct VerifyPartition : dgc::impl::VerifyPartitionPassBase<VerifyPartition> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(mlir::verify(getOperation())))
      return signalPassFailure();
    if (getOperation().getOps<MeshOp>().empty())
      return;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(verify(function)))
        return signalPassFailure();
  }

  LogicalResult verify(func::FuncOp function) {
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      if (partialOf(type))
        return function.emitOpError() << "argument " << i << " is partial";
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      if (partialOf(type))
        return function.emitOpError() << "result " << i << " is partial";
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (failed(verifyLocalShape(function, i)))
        return failure();
    WalkResult result = function.walk([](Operation *op) -> WalkResult {
      if (op->hasAttr(kShardingsAttr) || op->hasAttr(kArgumentShardingsAttr))
        return op->emitOpError("still has the shardings of a global value after the partitioner");
      if (isa<ReshardOp, ConstraintOp, ManualOp>(op))
        return op->emitOpError("is left after the partitioner");
      if (auto regions = dyn_cast<RegionTiesOpInterface>(op); regions && failed(verifyTies(regions)))
        return failure();
      return success(succeeded(verifyPartialOperands(op)) && succeeded(verifyCombinedOnce(op)));
    });
    return failure(result.wasInterrupted());
  }
};
} // namespace
