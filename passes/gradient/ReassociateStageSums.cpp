// dgc-reassociate-stage-sums: adds what one stage has before it is sent to another.

#include "passes/gradient/Passes.h"
#include "passes/place/Stages.h"

#include "dialects/dgc/SumTerms.h"
#include "llvm/ADT/MapVector.h"

namespace dgc {
#define GEN_PASS_DEF_REASSOCIATESTAGESUMSPASS
#include "passes/gradient/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

namespace {
/// The sums of one function.
class Sums {
public:
  Sums(func::FuncOp function, int64_t positions) : function(function), positions(positions) {}

  /// Adds the terms of each position there, and then the sums of the positions where the whole sum was. Returns how
  /// many values fewer are sent from one position to another.
  int64_t reassociate(AddOp last) {
    std::optional<int64_t> sumStage = stageOf(last);
    if (!sumStage)
      return 0;
    // What a micro-batch adds is a term: it is not taken out of its place.
    int64_t sent = 0;
    auto isPart = [&](AddOp inner) { return stageOf(inner) && attributesOf(inner) == attributesOf(last); };
    SmallVector<Value> terms = termsOf(last, isPart);
    countSent(last, isPart, sent);
    llvm::MapVector<int64_t, SmallVector<Value>> groups;
    llvm::DenseMap<int64_t, int64_t> stages{{positionOf(*sumStage), *sumStage}};
    for (Value term : terms) {
      int64_t stage = stageOfTerm(term, *sumStage), position = positionOf(stage);
      groups[position].push_back(term);
      auto [known, isNew] = stages.try_emplace(position, stage);
      known->second = std::max(known->second, stage);
    }
    int64_t fewer = sent - static_cast<int64_t>(groups.size()) + groups.count(positionOf(*sumStage));
    if (fewer <= 0)
      return 0;
    OpBuilder builder(last);
    auto add = [&](Value a, Value b, int64_t stage) -> Value {
      auto sum = AddOp::create(builder, last.getLoc(), a, b);
      setStage(sum, stage);
      return sum;
    };
    SmallVector<Value> sums;
    for (auto &[position, members] : groups) {
      int64_t stage = stages[position];
      sums.push_back(addInPairs(members, [&](Value a, Value b) { return add(a, b, stage); }));
    }
    last.replaceAllUsesWith(addInPairs(sums, [&](Value a, Value b) { return add(a, b, *sumStage); }));
    return fewer;
  }

private:
  int64_t positionOf(int64_t stage) const { return positions ? stage % positions : stage; }

  /// The stage of a term; that of the sum for a value that any stage can compute.
  int64_t stageOfTerm(Value term, int64_t otherwise) const {
    if (Operation *op = term.getDefiningOp())
      return stageOf(op).value_or(otherwise);
    return argumentStage(function, cast<BlockArgument>(term).getArgNumber()).value_or(otherwise);
  }

  /// What an op says of itself, but for its stage.
  static DictionaryAttr attributesOf(Operation *op) {
    NamedAttrList attributes(op->getDiscardableAttrDictionary());
    attributes.erase(kStageAttr);
    return attributes.getDictionary(op->getContext());
  }

  /// Counts the operands of a sum and of its parts that are at another position.
  void countSent(AddOp add, llvm::function_ref<bool(AddOp)> isPart, int64_t &sent) const {
    int64_t here = positionOf(*stageOf(add));
    for (Value operand : add->getOperands()) {
      sent += positionOf(stageOfTerm(operand, *stageOf(add))) != here;
      auto inner = operand.getDefiningOp<AddOp>();
      if (inner && operand.hasOneUse() && isPart(inner))
        countSent(inner, isPart, sent);
    }
  }

  func::FuncOp function;
  int64_t positions;
};

struct ReassociateStageSums : dgc::impl::ReassociateStageSumsPassBase<ReassociateStageSums> {
  using ReassociateStageSumsPassBase::ReassociateStageSumsPassBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<AddOp> sums;
      function.walk([&](AddOp add) {
        if (add->getParentOp() == function && isWholeSum(add))
          sums.push_back(add);
      });
      for (AddOp add : sums)
        if (int64_t fewer = Sums(function, positions).reassociate(add)) {
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
