// Tuples, which dgc has not: elements that are taken out of a tuple are the values that were put in.

#include "compiler/import/Patterns.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Iterators.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::import;

/// The tuple that a value is, behind barriers; null where its elements are not known.
static stablehlo::TupleOp tupleOf(Value value) {
  while (auto barrier = value.getDefiningOp<stablehlo::OptimizationBarrierOp>())
    value = barrier.getOperand()[cast<OpResult>(value).getResultNumber()];
  return value.getDefiningOp<stablehlo::TupleOp>();
}

static bool hasTuple(Operation *op) { return llvm::any_of(op->getResultTypes(), llvm::IsaPred<TupleType>); }

void dgc::import::resolveTuples(func::FuncOp function) {
  function.walk([](stablehlo::GetTupleElementOp element) {
    auto tuple = tupleOf(element.getOperand());
    if (!tuple)
      return;
    element.replaceAllUsesWith(tuple.getVal()[element.getIndex()]);
    element.erase();
  });
  function.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isa<stablehlo::TupleOp, stablehlo::OptimizationBarrierOp>(op) && hasTuple(op) && op->use_empty())
      op->erase();
  });
}
