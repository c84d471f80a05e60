// dgc-verify-gradient: what the phase `gradient` promises.

#include "dialects/dgc/DGC.h"
#include "mlir/IR/Verifier.h"
#include "passes/gradient/Passes.h"
#include "passes/place/Stages.h"
#include "llvm/ADT/StringSet.h"

namespace dgc {
#define GEN_PASS_DEF_VERIFYGRADIENTPASS
#include "passes/gradient/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

/// Checks that every op and every state of a function has a stage, but for what each stage computes by itself.
static LogicalResult verifyStages(func::FuncOp function) {
  UniformValues uniform(function);
  for (Operation *op : opsOnStages(function))
    if (!stageOf(op) && !uniform.contains(op))
      return op->emitOpError("has no stage after the phase gradient, and other ops have one");
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (FlatSymbolRefAttr state = argumentState(function, i); state && !argumentStage(function, i))
      return function.emitOpError("takes the state ")
             << state << ", which has no stage after the phase gradient, and ops have one";
  return success();
}

namespace {
struct VerifyGradient : dgc::impl::VerifyGradientPassBase<VerifyGradient> {
  using VerifyGradientPassBase::VerifyGradientPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(mlir::verify(getOperation())))
      return signalPassFailure();
    llvm::StringSet<> kept;
    kept.insert_range(keep);
    WalkResult walked = getOperation()->walk([&](Operation *op) -> WalkResult {
      if (isa<GradientOp>(op))
        return op->emitOpError("remains after the phase gradient");
      if (isa<DecomposableOpInterface>(op) && !kept.contains(op->getName().getStringRef()))
        return op->emitOpError("is a composite op that the target does not keep, and remains after the phase gradient");
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return signalPassFailure();
    bool staged = false;
    getOperation()->walk([&](Operation *op) { staged |= stageOf(op).has_value(); });
    if (!staged)
      return;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(verifyStages(function)))
        return signalPassFailure();
  }
};
} // namespace
