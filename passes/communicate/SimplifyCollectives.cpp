// dgc-simplify-collectives: removes communication that moves nothing.

#include "passes/communicate/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dgc {
#define GEN_PASS_DEF_SIMPLIFYCOLLECTIVESPASS
#include "passes/communicate/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

namespace {
struct SimplifyCollectives : dgc::impl::SimplifyCollectivesPassBase<SimplifyCollectives> {
  void runOnOperation() override {
    SmallVector<CollectiveOpInterface> found;
    getOperation().walk([&](CollectiveOpInterface op) {
      if (movesNothing(op))
        found.push_back(op);
    });
    for (CollectiveOpInterface op : found) {
      for (auto [operand, result] : llvm::zip_equal(op->getOperands(), op->getResults())) {
        // A sum of one addend is whole.
        operand.setType(result.getType());
        if (Operation *producer = operand.getDefiningOp())
          recordEncodings(producer);
        result.replaceAllUsesWith(operand);
      }
      op->erase();
    }
    numRemoved += found.size();
  }
};
} // namespace
