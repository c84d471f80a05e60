//===- Bounds.cpp - indices that bodies compute -----------------------------===//

#include "compiler/codegen/KernelGraph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace dgc {

bool follows(const Bound &bound, ArrayRef<Bound> known) {
  return llvm::any_of(known,
                      [&](const Bound &other) { return other.index == bound.index && other.size <= bound.size; });
}

AffineExpr indexOf(Value value, ArrayRef<AffineExpr> loops, ArrayRef<Bound> within) {
  APInt fixed;
  if (matchPattern(value, m_ConstantInt(&fixed)))
    return getAffineConstantExpr(fixed.getSExtValue(), value.getContext());
  Operation *op = value.getDefiningOp();
  if (auto index = dyn_cast_if_present<linalg::IndexOp>(op))
    return loops[index.getDim()];
  if (!value.getType().isIndex() || !isa_and_present<arith::AddIOp, arith::SubIOp, arith::MaxSIOp, arith::MinSIOp>(op))
    return {};
  AffineExpr lhs = indexOf(op->getOperand(0), loops, within), rhs = indexOf(op->getOperand(1), loops, within);
  if (!lhs || !rhs)
    return {};
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return simplify(isa<arith::AddIOp>(op) ? lhs + rhs : lhs - rhs);
  auto limit = dyn_cast<AffineConstantExpr>(rhs);
  if (!limit)
    return {};
  int64_t size = isa<arith::MinSIOp>(op) ? limit.getValue() + 1 : std::numeric_limits<int64_t>::max();
  bool changesNothing = follows({lhs, size}, within) && (isa<arith::MinSIOp>(op) || limit.getValue() <= 0);
  return changesNothing ? lhs : AffineExpr();
}

std::optional<Bound> boundOf(Operation *inner, ArrayRef<AffineExpr> loops) {
  auto compare = dyn_cast<arith::CmpIOp>(inner);
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::ult || !compare.getLhs().getType().isIndex())
    return std::nullopt;
  AffineExpr index = indexOf(compare.getLhs(), loops);
  APInt size;
  if (!index || !matchPattern(compare.getRhs(), m_ConstantInt(&size)))
    return std::nullopt;
  return Bound{index, size.getSExtValue()};
}

} // namespace dgc
