// Counts the bytes of communication.

#include "passes/communicate/Payload.h"
#include "dialects/dgc/LoopRuns.h"

using namespace mlir;
using namespace dgc::dist;

namespace dgc {

int64_t payloadOf(CollectiveOpInterface op) {
  return rt::payloadBytes(bytesOf(op->getOperandTypes()), bytesOf(op->getResultTypes()));
}

rt::Traffic trafficOf(func::FuncOp function) {
  rt::Traffic traffic;
  function.walk([&](Operation *op) {
    if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
      const LoopRuns runs = runsOf(op);
      traffic.addCollective(payloadOf(collective), runs.times);
      traffic.isLowerBound |= runs.isLowerBound;
    } else if (auto transfer = dyn_cast<TransferOpInterface>(op)) {
      transfer.isSend() ? traffic.addSend(bytesOf(Type(transfer.getTransferType())))
                        : traffic.addReceive(bytesOf(Type(transfer.getTransferType())));
    }
  });
  return traffic;
}

} // namespace dgc
