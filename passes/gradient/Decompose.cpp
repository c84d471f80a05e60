// Replaces composite ops by their decompositions.

#include "dialects/dgc/Decompose.h"
#include "dialects/dgc/Definition.h"
#include "passes/gradient/Passes.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace dgc;

namespace dgc {
#define GEN_PASS_DEF_DECOMPOSEPASS
#include "passes/gradient/Passes.h.inc"
} // namespace dgc

namespace {

struct DecomposePass : dgc::impl::DecomposePassBase<DecomposePass> {
  using DecomposePassBase::DecomposePassBase;

  void runOnOperation() override {
    llvm::StringSet<> kept;
    kept.insert_range(keep);
    SmallVector<Operation *> worklist;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isDefinition(op))
        return WalkResult::skip();
      if (isa<DecomposableOpInterface>(op))
        worklist.push_back(op);
      return WalkResult::advance();
    });
    for (size_t i = 0; i < worklist.size(); ++i) {
      auto op = dyn_cast<DecomposableOpInterface>(worklist[i]);
      if (!op || kept.contains(op->getName().getStringRef()))
        continue;
      if (op->getNumRegions() > 0) // what is inside goes with it; the decomposition has copies of it
        worklist.erase(std::remove_if(worklist.begin() + static_cast<ptrdiff_t>(i) + 1, worklist.end(),
                                      [&](Operation *each) { return op->isProperAncestor(each); }),
                       worklist.end());
      if (failed(decomposeInPlace(op, worklist)))
        return signalPassFailure();
      ++numDecomposed;
    }
    // All updates and learning rates are written out.
    if (!kept.contains(ApplyOptimizerOp::getOperationName()))
      getOperation()->walk([](OptimizerDefOp definition) { definition.erase(); });
    if (!kept.contains(LearningRateOp::getOperationName()))
      getOperation()->walk([](ScheduleDefOp definition) { definition.erase(); });
  }
};

} // namespace
