// dgc-cse-collectives: communicates the same thing once.

#include "passes/communicate/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>

namespace dgc {
#define GEN_PASS_DEF_CSECOLLECTIVESPASS
#include "passes/communicate/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

/// What two collectives must have in common to be the same: all but their
/// causes. Pointers only tell keys apart; nothing depends on their order.
using Key = std::pair<const void *, SmallVector<const void *>>;

static Key keyOf(CollectiveOpInterface op) {
  NamedAttrList attributes(op->getAttrDictionary());
  attributes.erase("origins");
  SmallVector<const void *> values;
  values.push_back(attributes.getDictionary(op->getContext()).getAsOpaquePointer());
  for (Value operand : op->getOperands())
    values.push_back(operand.getAsOpaquePointer());
  for (Type type : op->getResultTypes())
    values.push_back(type.getAsOpaquePointer());
  return {op->getName().getAsOpaquePointer(), values};
}

/// Adds the causes of `other` to those of `op`.
static void addCauses(CollectiveOpInterface op, CollectiveOpInterface other) {
  if (ArrayAttr causes = mergeOrigins(op.getOriginsAttr(), other.getOriginsAttr()))
    op->setAttr("origins", causes);
}

namespace {
struct CSECollectives : dgc::impl::CSECollectivesPassBase<CSECollectives> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) // its body, and loops and branches in it
      function.walk([&](Block *block) { runOnBlock(*block); });
  }

  void runOnBlock(Block &block) {
    std::map<Key, CollectiveOpInterface> first;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto collective = dyn_cast<CollectiveOpInterface>(op);
      if (!collective || !isPure(&op))
        continue;
      auto [it, isNew] = first.try_emplace(keyOf(collective), collective);
      if (isNew)
        continue;
      addCauses(it->second, collective);
      op.replaceAllUsesWith(it->second);
      op.erase();
      ++numErased;
    }
  }
};
} // namespace
