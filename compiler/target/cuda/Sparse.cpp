//===- Sparse.cpp - sums of few addends -------------------------------------===//

#include "compiler/target/cuda/Sparse.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace dgc {

/// Sets the loops that a value of the body depends on; false where that is not known.
static bool dependences(linalg::LinalgOp op, Value value, llvm::BitVector &loops) {
  if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == op.getBlock()) {
    OpOperand *operand = op.getMatchingOpOperand(argument);
    if (op.isDpsInit(operand))
      return false;
    AffineMap map = op.getMatchingIndexingMap(operand);
    for (unsigned dim = 0; dim < map.getNumDims(); ++dim)
      if (map.isFunctionOfDim(dim))
        loops.set(dim);
    return true;
  }
  Operation *def = value.getDefiningOp();
  if (!def || def->getBlock() != op.getBlock())
    return true; // the same at all points
  if (auto index = dyn_cast<linalg::IndexOp>(def)) {
    loops.set(index.getDim());
    return true;
  }
  return def->getDialect()->getNamespace() == "arith" &&
         llvm::all_of(def->getOperands(), [&](Value operand) { return dependences(op, operand, loops); });
}

std::optional<SparseSum> sparseSumOf(const KernelGraph &graph, unsigned number) {
  const Root &root = graph.roots[number];
  linalg::LinalgOp op = root.reduction;
  if (!op || root.values.size() != 1)
    return std::nullopt;
  Operation *add = op.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_present<arith::AddFOp, arith::AddIOp>(add))
    return std::nullopt;
  Value running = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  if (!running.hasOneUse() || !llvm::is_contained(add->getOperands(), running))
    return std::nullopt;
  Value addend = add->getOperand(add->getOperand(0) == running ? 1 : 0);
  auto select = addend.getDefiningOp<arith::SelectOp>();
  if (!select ||
      !(matchPattern(select.getFalseValue(), m_AnyZeroFloat()) || matchPattern(select.getFalseValue(), m_Zero())))
    return std::nullopt;
  llvm::BitVector loops(op.getNumLoops());
  if (!dependences(op, select.getCondition(), loops))
    return std::nullopt;
  SparseSum sum{select.getCondition(), llvm::BitVector(root.space.size())};
  bool chooses = false; // among addends
  for (unsigned loop : loops.set_bits()) {
    sum.chooses.set(root.loopOfDim[loop]);
    chooses |= !root.parallel.test(root.loopOfDim[loop]);
  }
  return chooses ? std::optional(sum) : std::nullopt;
}

} // namespace dgc
