// dgc-expand-attention: products and a softmax in place of attention that the device has no call for.

#include "dialects/dgc/Decompose.h"
#include "dialects/dist/Hosts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/kernel/LibraryCalls.h"
#include "passes/kernel/Passes.h"

namespace dgc {
#define GEN_PASS_DEF_EXPANDATTENTION
#include "passes/kernel/Passes.h.inc"
} // namespace dgc

using namespace mlir;

namespace {
struct ExpandAttention : ::dgc::impl::ExpandAttentionBase<ExpandAttention> {
  using ExpandAttentionBase::ExpandAttentionBase;

  void runOnOperation() override {
    if (device != "cpu" && device != "cuda") {
      getOperation().emitError("unknown device '") << device << "'; known are cpu and cuda";
      return signalPassFailure();
    }
    SmallVector<mlir::dgc::DecomposableOpInterface> ops;
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>()) {
      bool isCuda =
          device == "cuda" && !::dgc::isOnHost(getOperation(), func->getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr));
      func.walk([&](mlir::dgc::DecomposableOpInterface op) {
        if (isa<mlir::dgc::FusedAttentionOp, mlir::dgc::FusedAttentionGradOp>(*op) &&
            !(isCuda && ::dgc::gpuHasAttention(op)))
          ops.push_back(op);
      });
    }
    for (mlir::dgc::DecomposableOpInterface op : ops) {
      SmallVector<Operation *> built;
      if (failed(::dgc::decomposeInPlace(op, built)))
        return signalPassFailure();
      ++numExpanded;
    }
  }
};
} // namespace
