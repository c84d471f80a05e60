// dgc-reassociate-all-reduces: adds first, and communicates then, once.

#include "passes/communicate/Passes.h"

#include "dialects/dgc/SumTerms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Iterators.h"
#include "llvm/ADT/MapVector.h"

namespace dgc {
#define GEN_PASS_DEF_REASSOCIATEALLREDUCESPASS
#include "passes/communicate/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

/// The all-reduce by sum of which `value` is the only result, and `use` the
/// only use; null when there is none.
static AllReduceOp soleAllReduce(Value value) {
  auto reduce = value.getDefiningOp<AllReduceOp>();
  bool fits = reduce && reduce->getNumResults() == 1 && reduce.getKind() == Reduction::Sum && value.hasOneUse();
  return fits ? reduce : AllReduceOp();
}

static Value addAs(OpBuilder &builder, Location location, Value a, Value b, Type type) {
  Value sum = AddOp::create(builder, location, a, b);
  sum.setType(type);
  recordEncodings(sum.getDefiningOp());
  return sum;
}

/// Adds the operands of all-reduces of one kind before they are combined.
/// Returns how many all-reduces that makes fewer.
static unsigned reassociate(AddOp last) {
  SmallVector<Value> terms = termsOf(last);
  llvm::MapVector<std::tuple<Attribute, Attribute, Type>, SmallVector<AllReduceOp>> groups;
  for (Value term : terms)
    if (AllReduceOp reduce = soleAllReduce(term))
      groups[{reduce.getMeshAttr(), reduce.getAxesAttr(), reduce.getInputs()[0].getType()}].push_back(reduce);
  unsigned fewer = 0;
  for (auto &[key, members] : groups)
    fewer += members.size() - 1;
  if (fewer == 0)
    return 0;

  OpBuilder builder(last);
  llvm::DenseMap<Value, Value> combined; // the result of the first of a group -> that of all; of the others -> null
  for (auto &[key, members] : groups) {
    if (members.size() < 2)
      continue;
    SmallVector<Value> inputs;
    ArrayAttr origins;
    SmallVector<Location> locations;
    for (AllReduceOp member : members) {
      inputs.push_back(member.getInputs()[0]);
      origins = mergeOrigins(origins, member.getOriginsAttr());
      locations.push_back(member.getLoc());
      combined[member.getResult(0)] = Value();
    }
    Value sum =
        addInPairs(inputs, [&](Value a, Value b) { return addAs(builder, last.getLoc(), a, b, std::get<2>(key)); });
    combined[members[0].getResult(0)] = AllReduceOp::create(builder, builder.getFusedLoc(locations), Reduction::Sum,
                                                            sum, members[0].getMesh(), members[0].getAxes(), origins)
                                            .getResult(0);
  }
  SmallVector<Value> left;
  for (Value term : terms) {
    auto it = combined.find(term);
    if (Value value = it == combined.end() ? term : it->second)
      left.push_back(value);
  }
  last.replaceAllUsesWith(
      addInPairs(left, [&](Value a, Value b) { return addAs(builder, last.getLoc(), a, b, last.getType()); }));
  return fewer;
}

namespace {
struct ReassociateAllReduces : dgc::impl::ReassociateAllReducesPassBase<ReassociateAllReduces> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<AddOp> sums;
      function.walk([&](AddOp add) {
        if (isWholeSum(add))
          sums.push_back(add);
      });
      for (AddOp add : sums)
        numFewer += reassociate(add);
      // What was replaced has no uses left; users come after what they use.
      function.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
        if (isa<AddOp, AllReduceOp>(op) && op->use_empty())
          op->erase();
      });
    }
  }
};
} // namespace
