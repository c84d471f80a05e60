#include "passes/partition/Phase.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/gradient/Passes.h"
#include "passes/partition/Passes.h"

using namespace dgc;

void dgc::buildPartitionPhase(mlir::OpPassManager &manager, const PartitionOptions &options) {
  if (options.distributed) {
    manager.addPass(createPartitionPass());
    manager.addPass(mlir::createCanonicalizerPass());
    manager.addPass(mlir::createCSEPass());
    manager.addPass(createCompleteStagesPass());
    if (options.pipeline)
      manager.addPass(createOrderMicrobatchesPass({.name = options.schedule}));
    if (options.servers)
      manager.addPass(createSendRowsPass({.servers = options.servers}));
    manager.addPass(createCutProgramsPass({.servers = options.servers, .hostServers = options.hostServers}));
  }
  manager.addPass(createVerifyPartitionPass());
}
