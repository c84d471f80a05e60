// dgc-limit-communication: refuses communication that the user does not want.

#include "passes/communicate/Passes.h"
#include "passes/communicate/Payload.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

namespace dgc {
#define GEN_PASS_DEF_LIMITCOMMUNICATIONPASS
#include "passes/communicate/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

LogicalResult dgc::checkCollectiveNames(ModuleOp module, ArrayRef<std::string> names) {
  SmallVector<StringRef> collectives;
  for (RegisteredOperationName op : module.getContext()->getRegisteredOperations())
    if (op.hasInterface<CollectiveOpInterface>())
      collectives.push_back(op.stripDialect());
  llvm::sort(collectives);
  for (const std::string &name : names)
    if (!llvm::is_contained(collectives, StringRef(name)))
      return module.emitError() << "there is no collective '" << name << "' to forbid; one of "
                                << llvm::join(collectives, ", ") << " is";
  return success();
}

/// "axis model (of 2 devices)": the axes of a collective.
static std::string describeAxes(CollectiveOpInterface op) {
  MeshAttr mesh = lookupMesh(op, op.getMeshAttr());
  std::string text = op.getAxes().size() == 1 ? "axis " : "axes ";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(op.getAxes().getAsRange<StringAttr>(), os, [&](StringAttr axis) { os << axis.getValue(); });
  os << " (of " << getGroupSize(mesh, op.getAxes()) << " devices)";
  return text;
}

namespace {
struct LimitCommunication : dgc::impl::LimitCommunicationPassBase<LimitCommunication> {
  using LimitCommunicationPassBase::LimitCommunicationPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    SmallVector<std::string> forbidden(forbid.begin(), forbid.end());
    if (failed(checkCollectiveNames(getOperation(), forbidden)))
      return signalPassFailure();
    bool ok = true;
    getOperation().walk([&](CollectiveOpInterface op) { ok &= succeeded(check(op)); });
    if (!ok)
      signalPassFailure();
  }

  LogicalResult check(CollectiveOpInterface op) {
    StringRef kind = op->getName().stripDialect();
    if (llvm::is_contained(forbid, kind.str()))
      return refuse(op) << "is forbidden: over " << describeAxes(op) << ", of " << payloadOf(op) << " bytes on each"
                        << causeOf(op) << "; spread the two ends alike, or forbid less (--forbid)";
    int64_t bytes = replicatedBytes(op);
    if (maxReplicatedBytes < 0 || bytes <= maxReplicatedBytes)
      return success();
    return refuse(op) << "leaves the same " << bytes << " bytes on every device of " << describeAxes(op) << ", and "
                      << int64_t(maxReplicatedBytes) << " are allowed" << causeOf(op)
                      << "; keep the value cut, or allow more (--max-replicated-bytes)";
  }

  /// The bytes of the largest value that is the same on all devices of the group afterwards, and was not before: one
  /// that was cut, that was a sum of addends which devices had, or that one device had.
  static int64_t replicatedBytes(CollectiveOpInterface op) {
    int64_t most = 0;
    for (auto [operand, result] : llvm::zip_equal(op->getOperands(), op->getResults())) {
      bool isSum =
          isa<AllReduceOp>(op) && isa_and_nonnull<PartialAttr>(cast<RankedTensorType>(operand.getType()).getEncoding());
      if (isSum || isa<AllGatherOp, BroadcastOp>(op))
        most = std::max(most, bytesOf(result.getType()));
    }
    return most;
  }

  static InFlightDiagnostic refuse(Operation *op) { return op->emitOpError(); }

  /// The first cause, and how many there are besides.
  static std::string causeOf(CollectiveOpInterface op) {
    ArrayAttr causes = op.getOriginsAttr();
    if (!causes || causes.empty())
      return "";
    std::string text = "; cause: " + cast<StringAttr>(causes[0]).str();
    if (causes.size() > 1)
      text += " (and " + std::to_string(causes.size() - 1) + " more)";
    return text;
  }
};
} // namespace
