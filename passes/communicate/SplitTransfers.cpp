// dgc-split-transfers: each worker sends a parameter server its part of a value, and gets its part of one.

#include "passes/communicate/Passes.h"
#include "passes/communicate/ServerTransfers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-split-transfers"

namespace dgc {
#define GEN_PASS_DEF_SPLITTRANSFERSPASS
#include "passes/communicate/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

/// True where axes are all of a mesh of several devices, in its order: the parts along them are in the order of the ranks.
static bool areAllAxes(MeshAttr mesh, ArrayAttr axes) {
  SmallVector<Attribute> all;
  for (MeshAxisAttr axis : mesh.getAxes())
    if (axis.getSize() > 1)
      all.push_back(axis.getName());
  return !all.empty() && llvm::equal(all, llvm::make_filter_range(axes, [&](Attribute name) {
                                       return mesh.getAxisSize(cast<StringAttr>(name).getValue()) > 1;
                                     }));
}

/// True where all that the workers put together is for servers.
static bool isForServers(AllGatherOp gather, const Receives &receives) {
  if (gather->getNumResults() != 1 || gather.getDim() != 0 || gather->use_empty() ||
      !areAllAxes(lookupMesh(gather, gather.getMeshAttr()), gather.getAxes()))
    return false;
  for (Operation *user : gather->getUsers())
    if (!isSendToServer(user) || cast<SendOp>(user).getGathered() || !receives.contains(user)) {
      LDBG() << "is needed by the workers: " << gather;
      return false;
    }
  return true;
}

/// True where a device takes nothing but its part of what a server sends to all.
static bool isTakenInParts(SendOp send, RecvOp receive) {
  MeshAttr source = lookupMesh(send, send.getSourceAttr()), target = lookupMesh(send, send.getTargetAttr());
  if (source.getNumDevices() != 1 || send.getGathered() || receive->use_empty())
    return false;
  return llvm::all_of(receive->getUsers(), [&](Operation *user) {
    auto part = dyn_cast<dist::SliceOp>(user);
    auto index = part ? part.getIndex().getDefiningOp<AxisIndexOp>() : AxisIndexOp();
    return index && part.getDim() == 0 && static_cast<int64_t>(part.getParts()) == target.getNumDevices() &&
           index.getMeshAttr() == receive.getTargetAttr() && areAllAxes(target, index.getAxesAttr());
  });
}

namespace {
struct SplitTransfers : dgc::impl::SplitTransfersPassBase<SplitTransfers> {
  void runOnOperation() override {
    const Receives receives = findReceives(getOperation());
    SmallVector<AllGatherOp> gathers;
    SmallVector<SendOp> sends;
    getOperation().walk([&](Operation *op) {
      if (auto gather = dyn_cast<AllGatherOp>(op); gather && isForServers(gather, receives))
        gathers.push_back(gather);
      else if (auto send = dyn_cast<SendOp>(op))
        if (RecvOp receive = receives.lookup(send); receive && isTakenInParts(send, receive))
          sends.push_back(send);
    });
    for (AllGatherOp gather : gathers)
      sendParts(gather, receives);
    for (SendOp send : sends)
      receivePart(send, receives.lookup(send));
  }

private:
  void setSplit(SendOp send, RecvOp receive) {
    send.setGathered(true);
    receive.setGathered(true);
    ++numSplit;
  }

  void sendParts(AllGatherOp gather, const Receives &receives) {
    for (OpOperand &use : llvm::make_early_inc_range(gather->getUses())) {
      auto send = cast<SendOp>(use.getOwner());
      use.set(gather.getInputs()[0]);
      setSplit(send, receives.lookup(send));
    }
    gather.erase();
  }

  void receivePart(SendOp send, RecvOp receive) {
    auto parts = llvm::to_vector_of<Operation *>(receive->getUsers());
    receive.getResult().setType(cast<RankedTensorType>(parts.front()->getResult(0).getType()));
    for (Operation *part : parts) {
      Operation *index = cast<dist::SliceOp>(part).getIndex().getDefiningOp();
      part->replaceAllUsesWith(ValueRange(receive.getResult()));
      part->erase();
      if (index->use_empty())
        index->erase();
    }
    setSplit(send, receive);
  }
};
} // namespace
