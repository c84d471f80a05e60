// dgc-verify-place: what the phase `place` promises.

#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "passes/place/Passes.h"
#include "passes/place/Stages.h"

namespace dgc {
#define GEN_PASS_DEF_VERIFYPLACEPASS
#include "passes/place/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

/// Checks that a state is on the same stage in all functions that take it.
static LogicalResult verifyStages(ModuleOp module) {
  llvm::DenseMap<Attribute, std::pair<int64_t, func::FuncOp>> stages; // of a state, and who says so first
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      FlatSymbolRefAttr state = argumentState(function, i);
      std::optional<int64_t> stage = argumentStage(function, i);
      if (!state || !stage)
        continue;
      auto [first, isNew] = stages.try_emplace(state, *stage, function);
      if (first->second.first != *stage)
        return function.emitOpError("has the state ")
               << state << " on stage " << *stage << ", and " << first->second.second.getSymName() << " on stage "
               << first->second.first;
    }
  return success();
}

namespace {
struct VerifyPlace : dgc::impl::VerifyPlacePassBase<VerifyPlace> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(mlir::verify(getOperation())))
      return signalPassFailure();
    WalkResult walked = getOperation().walk([](Operation *op) -> WalkResult {
      if (isa<MeshOp>(op))
        return WalkResult::advance();
      for (StringRef name : {StringRef(kDeviceAttr), StringRef(kColocateAttr)}) {
        if (op->hasAttr(name))
          return op->emitOpError("is still placed by name: '") << name << "' remains after the phase place";
        auto function = dyn_cast<func::FuncOp>(op);
        for (unsigned i = 0; function && i < function.getNumArguments(); ++i)
          if (function.getArgAttr(i, name))
            return op->emitOpError("argument ")
                   << i << " is still placed by name: '" << name << "' remains after the phase place";
      }
      return WalkResult::advance();
    });
    if (walked.wasInterrupted() || failed(verifyStages(getOperation())))
      signalPassFailure();
  }
};
} // namespace
