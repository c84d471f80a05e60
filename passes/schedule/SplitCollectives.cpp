// dgc-split-collectives: tells where a collective begins from where it has ended.

#include "dialects/dist/Dist.h"
#include "passes/schedule/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dgc {
#define GEN_PASS_DEF_SPLITCOLLECTIVESPASS
#include "passes/schedule/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

namespace {
struct SplitCollectives : dgc::impl::SplitCollectivesPassBase<SplitCollectives> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<CollectiveOpInterface> found;
      for (auto op : function.getOps<CollectiveOpInterface>()) // a round of a loop waits for what it communicates
        if (llvm::none_of(op->getUsers(), [](Operation *user) { return isa<DoneOp>(user); }))
          found.push_back(op);
      for (CollectiveOpInterface op : found) {
        OpBuilder builder(op->getContext());
        builder.setInsertionPointAfter(op);
        auto done = DoneOp::create(builder, op->getLoc(), op->getResults());
        for (auto [begun, ended] : llvm::zip_equal(op->getResults(), done.getResults()))
          begun.replaceAllUsesExcept(ended, done);
        ++numSplit;
      }
    }
  }
};
} // namespace
