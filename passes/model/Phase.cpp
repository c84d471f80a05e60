#include "passes/model/Phase.h"
#include "mlir/Pass/PassManager.h"
#include "passes/model/Passes.h"

using namespace dgc;

void dgc::buildModelPhase(mlir::OpPassManager &manager, const ModelOptions &options) {
  manager.addPass(createUnifyMeshesPass());
  manager.addPass(createInlineCallsPass());
  if (options.loopRepeats)
    manager.addPass(createLoopRepeatsPass(
        {.batch = options.batch, .rounds = options.loopRepeats, .unrollDisable = options.keepLoopedRepeats}));
  manager.addPass(createUnrollRepeatsPass());
  manager.addPass(createInferTypesPass({.batch = options.batch}));
  manager.addPass(createBuildEntryPointsPass());
  manager.addPass(createBoundIndicesPass());
  manager.addPass(createMaskPaddingPass());
  if (options.precision != Precision::F32)
    manager.addPass(createMixedPrecisionPass({.to = options.precision}));
  if (options.precision == Precision::F16)
    manager.addPass(createScaleLossPass());
  if (options.fuseAttention)
    manager.addPass(
        createFuseAttentionPass({.elements = {options.attentionElements.begin(), options.attentionElements.end()},
                                 .multiple = options.attentionMultiple,
                                 .most = options.attentionMost}));
  manager.addPass(createVerifyModelPass());
}
