#include "passes/communicate/NumericsCopies.h"

#include "dialects/dgc/DGC.h"
#include "dialects/dist/Dist.h"
#include "passes/analysis/Checks.h"
#include "passes/communicate/CheckedValues.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

NumericsCopies::NumericsCopies(func::FuncOp function, llvm::DenseMap<Operation *, int64_t> &numbers)
    : numbers(numbers) {
  copy(function.getBody().front());
}

void NumericsCopies::copy(Block &block) {
  IRMapping mapping;
  SmallVector<Operation *> ops = llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; });
  for (Operation *op : ops) {
    for (Region &region : op->getRegions())
      copy(region.front());
    const bool isOfCopies = llvm::any_of(op->getOperands(), [&](Value operand) { return mapping.contains(operand); });
    if (op->getNumRegions() != 0 || isa<CollectiveOpInterface, TransferOpInterface, DoneOp>(op) ||
        op->hasTrait<OpTrait::ConstantLike>() || (!isOfCopies && llvm::none_of(op->getResults(), isFloatTensor)))
      continue;
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    Operation *made = builder.clone(*op, mapping);
    markCheck(made);
    numbers[made] = numbers.lookup(op);
    copies.insert(made);
    inOrder.push_back(made);
  }
}

void NumericsCopies::eraseUnused() {
  for (Operation *op : llvm::reverse(inOrder))
    if (op->use_empty())
      op->erase();
  inOrder.clear();
  copies.clear();
}
