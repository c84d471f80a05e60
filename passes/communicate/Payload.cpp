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
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    auto transfer = dyn_cast<TransferOpInterface>(op);
    if (!collective && !transfer)
      return;
    const LoopRuns runs = runsOf(op);
    traffic.isLowerBound |= runs.isLowerBound;
    if (collective)
      traffic.addCollective(payloadOf(collective), runs.times);
    else if (transfer.isSend())
      traffic.addSend(bytesOf(Type(transfer.getTransferType())), runs.times);
    else
      traffic.addReceive(bytesOf(Type(transfer.getTransferType())), runs.times);
  });
  return traffic;
}

} // namespace dgc
