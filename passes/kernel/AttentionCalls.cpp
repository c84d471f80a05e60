//===- AttentionCalls.cpp - attention of the library ----------------------===//

#include "passes/kernel/LibraryCalls.h"

using namespace mlir;

namespace dgc {

template <typename Op> static bool isTaken(Op op) {
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  auto fits = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    int64_t features = type.getDimSize(2) / int64_t(op.getHeads());
    return features > 0 && features % 8 == 0 && features <= 128 && type.getNumElements() > 0;
  };
  return (query.getElementType().isBF16() || query.getElementType().isF16()) && fits(op.getQuery()) &&
         fits(op.getKey()) && fits(op.getValue());
}

bool gpuHasAttention(Operation *op) {
  if (auto forward = dyn_cast<FusedAttentionOp>(op))
    return isTaken(forward);
  auto gradient = dyn_cast<FusedAttentionGradOp>(op);
  return gradient && isTaken(gradient);
}

template <typename Op> static Operation *attentionCall(Op op, bool backward) {
  OpBuilder builder(op);
  auto call = exec::AttentionOp::create(builder, op.getLoc(), op->getResultTypes(), backward, op->getOperands(),
                                        ValueRange(), op.getHeads(), op.getCausal(), op.getScale());
  op->replaceAllUsesWith(call.getResults());
  op->erase();
  return call;
}

Operation *selectAttention(Operation *op) {
  if (!gpuHasAttention(op))
    return nullptr;
  if (auto forward = dyn_cast<FusedAttentionOp>(op))
    return attentionCall(forward, /*backward=*/false);
  return attentionCall(cast<FusedAttentionGradOp>(op), /*backward=*/true);
}

} // namespace dgc
