// dgc-verify-kernel: what the phase `kernel` promises.

#include "dialects/dgc/DGC.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "passes/kernel/Passes.h"

namespace dgc {
#define GEN_PASS_DEF_VERIFYKERNELPASS
#include "passes/kernel/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

namespace {
struct VerifyKernel : dgc::impl::VerifyKernelPassBase<VerifyKernel> {
  using VerifyKernelPassBase::VerifyKernelPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(mlir::verify(getOperation())))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      WalkResult walked = function.walk([&](Operation *op) -> WalkResult {
        const bool computes =
            op->getName().getDialectNamespace() == "dgc" || isa<ElementwiseOpInterface, LinalgLowerableOpInterface>(op);
        if (op->hasTrait<ControlFlow>() && !controlFlow)
          return op->emitOpError(
              "is decided when the program runs, and devices of this target cannot do that yet: "
              "compile for CPUs (--target=cpu), let loops count from one constant to another, and choose "
              "with dgc.select");
        if (computes && !isa<ConstantOp, ReshapeOp, ConditionOp, YieldOp>(op) && !op->hasTrait<ControlFlow>())
          return op->emitOpError("computes outside of kernels and library calls, after the phase kernel");
        return WalkResult::advance();
      });
      if (walked.wasInterrupted())
        return signalPassFailure();
    }
  }
};
} // namespace
