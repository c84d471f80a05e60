//===- BodyEmitter.cpp - bodies of structured ops, as code ------------------===//

#include "compiler/codegen/ElementEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace dgc {

/// A scalar of the function outside all bodies.
Value ElementEmitter::scalar(Value value) {
  if (Value known = lookup(keyOf(value, {})))
    return known;
  Operation *op = value.getDefiningOp();
  Value result;
  if (auto extractOp = dyn_cast<tensor::ExtractOp>(op)) {
    IRMapping none;
    result = extract(extractOp, none, {});
  } else {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, scalar(operand));
    result = builder.clone(*op, mapping)->getResult(cast<OpResult>(value).getResultNumber());
  }
  remember(value, {}, result);
  return result;
}

Value ElementEmitter::extract(tensor::ExtractOp op, IRMapping &mapping, ArrayRef<AffineExpr> loops) {
  Index index;
  for (Value at : op.getIndices()) {
    AffineExpr known = indexOf(at, loops, within);
    index.push_back(
        known ? known : symbolFor(arith::IndexCastOp::create(builder, loc, indexType, mapping.lookupOrDefault(at))));
  }
  return element(op.getTensor(), index);
}

/// What may be done to floating-point ops. Contraction is the same on every run, but not in every kernel. Sums may be split into lanes, which is
/// fixed at compile time. Nothing may assume that there are no NaNs or infinities.
static void setFastMath(linalg::LinalgOp op, Operation &inner, Operation *copy, bool fixedArithmetic) {
  if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp, arith::MaximumFOp,
           arith::MinimumFOp>(copy))
    return;
  auto flags = fixedArithmetic ? arith::FastMathFlags::none : arith::FastMathFlags::contract;
  bool combines = llvm::any_of(inner.getOperands(), [&](Value operand) {
    auto argument = dyn_cast<BlockArgument>(operand);
    return argument && argument.getOwner() == op.getBlock() &&
           argument.getArgNumber() >= op->getNumOperands() - op.getNumDpsInits();
  });
  if (combines && isa<arith::AddFOp, arith::MulFOp>(inner) && op.getNumReductionLoops() > 0)
    flags = flags | arith::FastMathFlags::reassoc;
  // Which of two zeros is the larger one makes no difference to anyone, but three instructions.
  if (isa<arith::MaximumFOp, arith::MinimumFOp>(inner))
    flags = flags | arith::FastMathFlags::nsz;
  auto fast = cast<arith::ArithFastMathInterface>(copy);
  copy->setAttr(fast.getFastMathAttrName(), arith::FastMathFlagsAttr::get(op.getContext(), flags));
}

/// Copies the body of a structured op for one point of its loops; returns what it yields.
SmallVector<Value> ElementEmitter::body(linalg::LinalgOp op, ArrayRef<AffineExpr> loops, ValueRange accumulators,
                                        Value wanted) {
  IRMapping mapping;
  for (OpOperand &operand : op->getOpOperands()) {
    if (op.isDpsInit(&operand) || !op.payloadUsesValueFromOperand(&operand))
      continue;
    Value argument = op.getMatchingBlockArgument(&operand);
    mapping.map(argument, isa<RankedTensorType>(operand.get().getType())
                              ? element(operand.get(), applyMap(op.getMatchingIndexingMap(&operand), loops))
                              : scalar(operand.get()));
  }
  Block *block = op.getBlock();
  for (auto [init, accumulator] : llvm::zip(op.getDpsInitsMutable(), accumulators))
    if (accumulator)
      mapping.map(op.getMatchingBlockArgument(&init), accumulator);
  for (Operation &inner : block->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      mapping.map(index.getResult(),
                  arith::IndexCastOp::create(builder, loc, builder.getIndexType(), position(loops[index.getDim()]))
                      .getResult());
      continue;
    }
    if (auto extractOp = dyn_cast<tensor::ExtractOp>(inner)) {
      mapping.map(extractOp.getResult(), extract(extractOp, mapping, loops));
      continue;
    }
    if (std::optional<Bound> bound = within.empty() ? std::nullopt : boundOf(&inner, loops);
        bound && follows(*bound, within)) {
      mapping.map(inner.getResult(0), arith::ConstantIntOp::create(builder, loc, builder.getI1Type(), 1).getResult());
      continue;
    }
    for (Value operand : inner.getOperands())
      if (!mapping.contains(operand) && operand.getParentRegion() == &graph.func.getBody())
        mapping.map(operand, scalar(operand));
    Operation *copy = builder.clone(inner, mapping);
    setFastMath(op, inner, copy, graph.fixedArithmetic);
  }
  SmallVector<Value> results;
  for (Value value : wanted ? ValueRange(wanted) : ValueRange(block->getTerminator()->getOperands())) {
    if (!mapping.contains(value) && value.getParentRegion() == &graph.func.getBody())
      mapping.map(value, scalar(value));
    Value result = mapping.lookupOrDefault(value);
    // What has 16 bits is computed in 32, and roundings between two computations are left out; but not that of the
    // value of an op, which has the bits that its type says wherever it is used.
    if (auto type = dyn_cast<FloatType>(result.getType()); type && type.getWidth() == 16) {
      Value bits =
          LLVM::FreezeOp::create(builder, loc, LLVM::BitcastOp::create(builder, loc, builder.getI16Type(), result));
      result = LLVM::BitcastOp::create(builder, loc, type, bits);
    }
    results.push_back(result);
  }
  return results;
}

} // namespace dgc
