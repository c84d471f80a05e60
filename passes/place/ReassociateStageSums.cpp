// dgc-reassociate-stage-sums: adds what one stage has before it is sent to another.

#include "passes/place/Passes.h"
#include "passes/place/Stages.h"

#include "dialects/dgc/SumTerms.h"
#include "llvm/ADT/MapVector.h"

namespace dgc {
#define GEN_PASS_DEF_REASSOCIATESTAGESUMSPASS
#include "passes/place/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace mlir::dist;
using namespace ::dgc;
using mlir::dgc::AddOp;

/// The stage of a term; that of the sum for a value that any stage can compute.
static int64_t stageOfTerm(func::FuncOp function, Value term, int64_t otherwise) {
  if (Operation *op = term.getDefiningOp())
    return stageOf(op).value_or(otherwise);
  return argumentStage(function, cast<BlockArgument>(term).getArgNumber()).value_or(otherwise);
}

/// Adds the terms of each stage there, and then the sums of the stages where the whole sum was. Returns how many values
/// fewer are needed on another stage.
static int64_t reassociate(func::FuncOp function, AddOp last) {
  std::optional<int64_t> home = stageOf(last);
  if (!home)
    return 0;
  // What another stage has added up, or a micro-batch, is one term.
  auto isPart = [&](AddOp inner) {
    return inner->getDiscardableAttrDictionary() == last->getDiscardableAttrDictionary();
  };
  llvm::MapVector<int64_t, SmallVector<Value>> groups;
  for (Value term : mlir::dgc::termsOf(last, isPart))
    groups[stageOfTerm(function, term, *home)].push_back(term);
  int64_t fewer = 0;
  for (auto &[stage, terms] : groups)
    fewer += stage == *home ? 0 : terms.size() - 1;
  if (fewer == 0)
    return 0;
  OpBuilder builder(last);
  auto add = [&](Value a, Value b, int64_t stage) -> Value {
    auto sum = AddOp::create(builder, last.getLoc(), a, b);
    setStage(sum, stage);
    return sum;
  };
  Value whole;
  for (auto &[stage, terms] : groups) {
    Value sum = terms.front();
    for (Value term : ArrayRef(terms).drop_front())
      sum = add(sum, term, stage);
    whole = whole ? add(whole, sum, *home) : sum;
  }
  last.replaceAllUsesWith(whole);
  return fewer;
}

namespace {
struct ReassociateStageSums : ::dgc::impl::ReassociateStageSumsPassBase<ReassociateStageSums> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<AddOp> sums;
      function.walk([&](AddOp add) {
        if (add->getParentOp() == function && mlir::dgc::isWholeSum(add))
          sums.push_back(add);
      });
      for (AddOp add : sums)
        if (int64_t fewer = reassociate(function, add)) {
          numFewer += fewer;
          eraseUnused(add);
        }
    }
  }

  /// Erases a sum that is not needed any more, and those inside of it.
  static void eraseUnused(AddOp add) {
    SmallVector<AddOp> work{add};
    while (!work.empty()) {
      AddOp next = work.pop_back_val();
      SmallVector<Value> operands(next->getOperands());
      next.erase();
      for (Value operand : operands)
        if (auto inner = operand.getDefiningOp<AddOp>();
            inner && inner->use_empty() && !llvm::is_contained(work, inner))
          work.push_back(inner);
    }
  }
};
} // namespace
