//===- ScatterCalls.cpp - sums of slices by the device ---------------------===//

#include "passes/kernel/LibraryCalls.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-select-library-calls"

using namespace mlir;

namespace dgc {

Operation *selectScatterAdd(Operation *op) {
  auto scatter = dyn_cast<ScatterAddOp>(op);
  if (!scatter)
    return nullptr;
  auto type = cast<RankedTensorType>(scatter.getType());
  auto updates = cast<RankedTensorType>(scatter.getUpdates().getType());
  auto index = cast<RankedTensorType>(scatter.getIndices().getType()).getElementType();
  // Narrower floats are added up in f32, which the call does not.
  bool has = (type.getElementType().isF32() || type.getElementType().isF64()) && type.getNumElements() > 0 &&
             updates.getNumElements() > 0 && index.getIntOrFloatBitWidth() >= 8;
  if (!has) {
    LDBG() << "the device has no such sum of slices: " << *op;
    return nullptr;
  }
  OpBuilder builder(op);
  auto call = exec::ScatterAddOp::create(builder, op->getLoc(), type, scatter.getIndices(), scatter.getUpdates(),
                                         scatter.getOffset(), ValueRange(), scatter.getDimension());
  op->replaceAllUsesWith(call);
  op->erase();
  return call;
}

bool isLargeScatterAdd(Operation *op, SizeDecisions &decide) {
  constexpr int64_t kManyLooks = 1 << 18;
  auto scatter = dyn_cast<ScatterAddOp>(op);
  if (!scatter)
    return false;
  int64_t slices = cast<RankedTensorType>(scatter.getType()).getDimSize(scatter.getDimension());
  int64_t indices = cast<RankedTensorType>(scatter.getIndices().getType()).getNumElements();
  return decide(slices * indices > kManyLooks);
}

Operation *selectUpdateSlice(Operation *op) {
  auto update = dyn_cast<DynamicUpdateSliceOp>(op);
  if (!update || cast<RankedTensorType>(update.getUpdate().getType()).getNumElements() == 0)
    return nullptr;
  OpBuilder builder(op);
  auto call = exec::UpdateSliceOp::create(builder, op->getLoc(), update.getType(), update.getOperand(),
                                          update.getUpdate(), update.getStart(), ValueRange(), update.getDimension());
  op->replaceAllUsesWith(call);
  op->erase();
  return call;
}

} // namespace dgc
