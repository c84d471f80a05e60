// Takes trees of additions apart.

#include "dialects/dgc/SumTerms.h"

using namespace mlir;
using namespace dgc;

bool dgc::isWholeSum(AddOp add) { return !(add->hasOneUse() && isa<AddOp>(*add->getUsers().begin())); }

static void collect(AddOp add, llvm::function_ref<bool(AddOp)> isPart, SmallVectorImpl<Value> &terms) {
  for (Value operand : add->getOperands()) {
    auto inner = operand.getDefiningOp<AddOp>();
    if (inner && operand.hasOneUse() && inner->getBlock() == add->getBlock() && isPart(inner))
      collect(inner, isPart, terms);
    else
      terms.push_back(operand);
  }
}

SmallVector<Value> dgc::termsOf(AddOp add, llvm::function_ref<bool(AddOp)> isPart) {
  SmallVector<Value> terms;
  collect(add, isPart, terms);
  return terms;
}

Value dgc::addInPairs(ArrayRef<Value> values, llvm::function_ref<Value(Value, Value)> add) {
  if (values.size() == 1)
    return values.front();
  size_t half = (values.size() + 1) / 2;
  Value low = addInPairs(values.take_front(half), add);
  return add(low, addInPairs(values.drop_front(half), add));
}
