// What is computed from what, and what uses it.

#include "compiler/import/raise/Expression.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dgc::import::raise {

bool dependsOn(Value x, Value of) {
  constexpr size_t kMost = 1024;
  Operation *source = of.getDefiningOp();
  llvm::SetVector<Value> seen;
  SmallVector<Value> left{x};
  while (!left.empty()) {
    Value next = left.pop_back_val();
    if (next == of || seen.size() > kMost)
      return true;
    Operation *op = next.getDefiningOp();
    // What comes before it is not computed from it.
    const bool isBefore = op && source && op->getBlock() == source->getBlock() && op->isBeforeInBlock(source);
    if (!op || isBefore || !seen.insert(next))
      continue;
    op->walk([&](Operation *inner) { llvm::append_range(left, inner->getOperands()); });
  }
  return false;
}

bool isClosed(ArrayRef<Operation *> roots, ValueRange inputs) {
  constexpr size_t kMostValues = 1024; // far more than a composite has
  llvm::DenseMap<Value, bool> depends; // on inputs
  for (Value input : inputs)
    depends[input] = true;
  llvm::SetVector<Operation *> inside; // what depends on inputs, operands first
  auto visit = [&](auto &self, Value value) -> bool {
    if (auto known = depends.find(value); known != depends.end())
      return known->second;
    Operation *op = value.getDefiningOp();
    bool any = false;
    depends[value] = false;
    if (op && depends.size() < kMostValues && op->getBlock() == roots.front()->getBlock())
      for (Value operand : op->getOperands())
        any |= self(self, operand);
    if (any)
      inside.insert(op);
    return depends[value] = any;
  };
  for (Operation *root : roots)
    for (Value operand : root->getOperands())
      visit(visit, operand);
  return depends.size() < kMostValues && llvm::all_of(
                                             inside,
                                             [&](Operation *op) {
                                               return llvm::is_contained(roots, op) ||
                                                      llvm::all_of(op->getUsers(), [&](Operation *user) {
                                                        return inside.contains(user) || llvm::is_contained(roots, user);
                                                      });
                                             });
}

} // namespace dgc::import::raise
