#include "passes/shard/Phase.h"
#include "mlir/Pass/PassManager.h"
#include "passes/shard/Passes.h"

using namespace dgc;

void dgc::buildShardPhase(mlir::OpPassManager &manager, const ShardOptions &options) {
  if (!options.mesh.empty()) {
    AddMeshPassOptions mesh;
    mesh.mesh = options.mesh;
    manager.addPass(createAddMeshPass(mesh));
    // What one strategy has annotated the next leaves alone.
    if (options.tensorParallel)
      manager.addPass(createTensorParallelPass({.cut = options.cut}));
    if (options.dataParallel)
      manager.addPass(createDataParallelPass());
    if (options.sequenceParallel)
      manager.addPass(createSequenceParallelPass());
    manager.addPass(createPropagateShardingsPass());
    if (options.zero)
      manager.addPass(createZeroPass({.stage = static_cast<int>(options.zero), .pairwise = options.pairwise}));
    manager.addPass(createInsertReshardsPass());
  }
  manager.addPass(createVerifyShardPass({.noPadding = options.noPadding}));
}
