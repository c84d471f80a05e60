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
using namespace dgc;

namespace {
struct ExpandAttention : dgc::impl::ExpandAttentionBase<ExpandAttention> {
  using ExpandAttentionBase::ExpandAttentionBase;

  void runOnOperation() override {
    SmallVector<DecomposableOpInterface> ops;
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>()) {
      bool hasNvidia = library == LibraryKind::Nvidia &&
                       !isOnHost(getOperation(), func->getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr));
      func.walk([&](DecomposableOpInterface op) {
        if (isa<FusedAttentionOp, FusedAttentionGradOp>(*op) && !(hasNvidia && gpuHasAttention(op)))
          ops.push_back(op);
      });
    }
    for (DecomposableOpInterface op : ops) {
      SmallVector<Operation *> built;
      if (failed(decomposeInPlace(op, built)))
        return signalPassFailure();
      ++numExpanded;
    }
  }
};
} // namespace
