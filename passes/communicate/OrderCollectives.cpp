// dgc-order-collectives: puts all communication of a function in one order.

#include "passes/communicate/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dgc {
#define GEN_PASS_DEF_ORDERCOLLECTIVESPASS
#include "passes/communicate/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

namespace {
struct OrderCollectives : dgc::impl::OrderCollectivesPassBase<OrderCollectives> {
  void runOnOperation() override {
    Builder builder(&getContext());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      int64_t next = 0;
      function.walk([&](Operation *op) {
        if (isa<CollectiveOpInterface, TransferOpInterface>(op))
          op->setAttr(kOrderAttr, builder.getI64IntegerAttr(next++));
      });
    }
  }
};
} // namespace
