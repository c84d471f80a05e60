#include "passes/communicate/ServerTransfers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace dgc::dist;

namespace dgc {

bool isSendToServer(Operation *op) {
  auto send = dyn_cast<SendOp>(op);
  return send && lookupMesh(send, send.getTargetAttr()).getNumDevices() == 1;
}

Receives findReceives(ModuleOp module) {
  using Key = std::tuple<Attribute, Attribute, Attribute, uint64_t>;
  llvm::MapVector<Key, std::pair<SmallVector<SendOp>, SmallVector<RecvOp>>> transfers;
  for (auto function : module.getOps<func::FuncOp>())
    for (auto transfer : function.getOps<TransferOpInterface>()) {
      auto &[sends, receives] = transfers[{function->getAttr(kStepAttr), transfer.getSourceAttr(),
                                           transfer.getTargetAttr(), transfer.getChannel()}];
      if (auto send = dyn_cast<SendOp>(*transfer))
        sends.push_back(send);
      else
        receives.push_back(cast<RecvOp>(*transfer));
    }
  Receives result;
  for (auto &[key, ends] : transfers)
    for (auto [send, receive] : llvm::zip(ends.first, ends.second))
      result[send] = receive;
  return result;
}

} // namespace dgc
