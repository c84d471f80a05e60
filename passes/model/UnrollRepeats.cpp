// dgc-unroll-repeats: writes out the rounds of repeats.

#include "dialects/dgc/DGC.h"
#include "mlir/IR/IRMapping.h"
#include "passes/model/Blocks.h"
#include "passes/model/Passes.h"

namespace dgc {
#define GEN_PASS_DEF_UNROLLREPEATSPASS
#include "passes/model/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

void dgc::unrollRepeat(RepeatOp repeat, SmallVectorImpl<RepeatOp> &inner) {
  OpBuilder builder(repeat);
  Block &body = repeat.getBody().front();
  SmallVector<Value> values(repeat.getInputs());
  for (int64_t round = 0, count = repeat.getCount(); round < count; ++round) {
    IRMapping mapping;
    mapping.map(body.getArguments(), values);
    for (Operation &op : body.without_terminator()) {
      Operation *copy = builder.clone(op, mapping);
      std::string name = (repeat.getName() + "." + Twine(round)).str();
      putInBlock(copy, name);
      if (auto each = dyn_cast<RepeatOp>(copy))
        inner.push_back(each);
    }
    values.clear();
    for (Value next : body.getTerminator()->getOperands())
      values.push_back(mapping.lookupOrDefault(next));
  }
  repeat.replaceAllUsesWith(values);
  repeat.erase();
}

namespace {
struct UnrollRepeatsPass : dgc::impl::UnrollRepeatsPassBase<UnrollRepeatsPass> {
  void runOnOperation() override {
    if (failed(checkWrittenOps(getOperation(), SymbolTable(getOperation()))))
      return signalPassFailure();
    SmallVector<RepeatOp> worklist;
    for (ModelOp model : getOperation().getOps<ModelOp>())
      llvm::append_range(worklist, model.getBody().getOps<RepeatOp>());
    for (size_t i = 0; i < worklist.size(); ++i) {
      RepeatOp repeat = worklist[i];
      numRounds += repeat.getCount();
      unrollRepeat(repeat, worklist);
    }
  }
};
} // namespace
