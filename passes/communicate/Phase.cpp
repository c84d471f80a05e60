#include "passes/communicate/Phase.h"
#include "mlir/Pass/PassManager.h"
#include "passes/communicate/Passes.h"

using namespace dgc;

void dgc::buildCommunicatePhase(mlir::OpPassManager &manager, const CommunicateOptions &options) {
  if (options.distributed) {
    manager.addPass(createSimplifyCollectivesPass());
    manager.addPass(createCSECollectivesPass());
    manager.addPass(createReassociateAllReducesPass());
    manager.addPass(createCreateReduceScattersPass());
    if (options.scatterToServers) {
      manager.addPass(createSplitTransfersPass());
      manager.addPass(createScatterToServersPass());
    }
    if (!options.forbid.empty() || options.maxReplicatedBytes >= 0) {
      LimitCommunicationPassOptions limits;
      limits.forbid.assign(options.forbid.begin(), options.forbid.end());
      limits.maxReplicatedBytes = options.maxReplicatedBytes;
      manager.addPass(createLimitCommunicationPass(limits));
    }
    manager.addPass(createFlattenCollectivesPass());
    // A collective that overlaps with other work must not wait for the last addend.
    CombineCollectivesPassOptions combine;
    combine.limited = options.overlap;
    combine.links = options.links;
    manager.addPass(createCombineCollectivesPass(combine));
    if (!options.links.empty())
      manager.addPass(createHierarchicalAllReducePass({.links = options.links}));
    manager.addPass(createOrderCollectivesPass());
  }
  if (options.checkNumerics != NumericsChecks::Off)
    manager.addPass(createCheckNumericsPass({.values = options.checkNumerics}));
  manager.addPass(createVerifyCommunicatePass());
}
