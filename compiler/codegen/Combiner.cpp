//===- Combiner.cpp -------------------------------------------------------===//

#include "compiler/codegen/Combiner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dgc {

Operation *combinerOf(linalg::LinalgOp op, unsigned number) {
  Operation *combiner = op.getBlock()->getTerminator()->getOperand(number).getDefiningOp();
  if (!isa_and_present<arith::AddFOp, arith::MulFOp, arith::MaximumFOp, arith::MinimumFOp, arith::AddIOp, arith::MulIOp,
                       arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp, arith::AndIOp, arith::OrIOp,
                       arith::XOrIOp>(combiner))
    return nullptr;
  Value running = op.getMatchingBlockArgument(op.getDpsInitOperand(number));
  bool isOperand = running == combiner->getOperand(0) || running == combiner->getOperand(1);
  return isOperand && running.hasOneUse() ? combiner : nullptr;
}

Value addendOf(linalg::LinalgOp op, unsigned number) {
  Operation *combiner = combinerOf(op, number);
  Value running = op.getMatchingBlockArgument(op.getDpsInitOperand(number));
  return combiner->getOperand(combiner->getOperand(0) == running ? 1 : 0);
}

TypedAttr identityOf(Operation *combiner) {
  Type type = combiner->getResult(0).getType();
  Builder b(combiner->getContext());
  if (auto floating = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floating.getFloatSemantics();
    return TypeSwitch<Operation *, TypedAttr>(combiner)
        .Case<arith::AddFOp>([&](auto) { return b.getFloatAttr(type, 0.0); })
        .Case<arith::MulFOp>([&](auto) { return b.getFloatAttr(type, 1.0); })
        .Case<arith::MaximumFOp>([&](auto) { return b.getFloatAttr(type, APFloat::getInf(semantics, true)); })
        .Default([&](Operation *) { return b.getFloatAttr(type, APFloat::getInf(semantics)); });
  }
  unsigned width = type.getIntOrFloatBitWidth();
  return TypeSwitch<Operation *, TypedAttr>(combiner)
      .Case<arith::MulIOp>([&](auto) { return b.getIntegerAttr(type, APInt(width, 1)); })
      .Case<arith::MaxSIOp>([&](auto) { return b.getIntegerAttr(type, APInt::getSignedMinValue(width)); })
      .Case<arith::MinSIOp>([&](auto) { return b.getIntegerAttr(type, APInt::getSignedMaxValue(width)); })
      .Case<arith::MinUIOp, arith::AndIOp>([&](auto) { return b.getIntegerAttr(type, APInt::getAllOnes(width)); })
      .Default([&](Operation *) { return b.getIntegerAttr(type, APInt::getZero(width)); });
}

bool isFloatSum(const Root &root) {
  linalg::LinalgOp op = root.reduction;
  return op && llvm::all_of(llvm::seq<unsigned>(0, root.values.size()), [&](unsigned number) {
           Operation *combiner = combinerOf(op, number);
           return isa_and_present<arith::AddFOp>(combiner) &&
                  combiner->getResult(0).getType().getIntOrFloatBitWidth() >= 32;
         });
}

Value combine(OpBuilder &builder, linalg::LinalgOp op, unsigned number, Value a, Value b) {
  Operation *combiner = combinerOf(op, number);
  IRMapping mapping;
  mapping.map(combiner->getOperand(0), a);
  mapping.map(combiner->getOperand(1), b);
  Operation *copy = builder.clone(*combiner, mapping);
  if (auto fast = dyn_cast<arith::ArithFastMathInterface>(copy); fast && isa<FloatType>(a.getType()))
    copy->setAttr(fast.getFastMathAttrName(),
                  arith::FastMathFlagsAttr::get(builder.getContext(), arith::FastMathFlags::contract));
  return copy->getResult(0);
}

Value totalOf(OpBuilder &builder, linalg::LinalgOp op, unsigned number, ArrayRef<Value> addends) {
  constexpr size_t kChain = 4;
  Value total;
  for (; !addends.empty(); addends = addends.drop_front(std::min(kChain, addends.size()))) {
    Value chain = addends.front();
    for (Value addend : addends.take_front(kChain).drop_front())
      chain = combine(builder, op, number, addend, chain);
    total = total ? combine(builder, op, number, total, chain) : chain;
  }
  return total;
}

SmallVector<Value> identitiesOf(OpBuilder &builder, Location loc, const Root &root) {
  SmallVector<Value> identities;
  for (unsigned number = 0; number < root.values.size(); ++number)
    identities.push_back(arith::ConstantOp::create(builder, loc, identityOf(combinerOf(root.reduction, number))));
  return identities;
}

} // namespace dgc
