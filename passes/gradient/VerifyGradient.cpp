// dgc-verify-gradient: what the phase `gradient` promises.

#include "dialects/dgc/DGC.h"
#include "passes/gradient/Passes.h"
#include "llvm/ADT/StringSet.h"

namespace dgc {
#define GEN_PASS_DEF_VERIFYGRADIENTPASS
#include "passes/gradient/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

namespace {
struct VerifyGradient : dgc::impl::VerifyGradientPassBase<VerifyGradient> {
  using VerifyGradientPassBase::VerifyGradientPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    llvm::StringSet<> kept;
    kept.insert_range(keep);
    WalkResult walked = getOperation()->walk([&](Operation *op) -> WalkResult {
      if (isa<dgc::GradientOp>(op))
        return op->emitOpError("is left behind the phase gradient");
      if (isa<dgc::DecomposableOpInterface>(op) && !kept.contains(op->getName().getStringRef()))
        return op->emitOpError(
            "is a composite op that the target does not keep, and is left behind the phase gradient");
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
