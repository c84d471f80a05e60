// dgc-verify-place: what the phase `place` promises.

#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/place/Passes.h"

namespace dgc {
#define GEN_PASS_DEF_VERIFYPLACEPASS
#include "passes/place/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

namespace {
struct VerifyPlace : dgc::impl::VerifyPlacePassBase<VerifyPlace> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    WalkResult walked = getOperation().walk([](Operation *op) -> WalkResult {
      if (isa<MeshOp>(op))
        return WalkResult::advance();
      for (StringRef name : {StringRef(kDeviceAttr), StringRef(kColocateAttr)}) {
        if (op->hasAttr(name))
          return op->emitOpError("is still placed by name: '") << name << "' is left behind the phase place";
        auto function = dyn_cast<func::FuncOp>(op);
        for (unsigned i = 0; function && i < function.getNumArguments(); ++i)
          if (function.getArgAttr(i, name))
            return op->emitOpError("argument ")
                   << i << " is still placed by name: '" << name << "' is left behind the phase place";
      }
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
