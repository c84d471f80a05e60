#include "passes/schedule/Phase.h"
#include "mlir/Pass/PassManager.h"
#include "passes/communicate/Passes.h"
#include "passes/schedule/Passes.h"

using namespace dgc;

void dgc::buildSchedulePhase(mlir::OpPassManager &manager, const ScheduleOptions &options) {
  if (options.overlap) {
    manager.addPass(createSplitCollectivesPass());
    manager.addPass(createOverlapCollectivesPass());
    manager.addPass(createVerifyCommunicatePass());
  }
  manager.addPass(createLowerToProgramsPass());
  manager.addPass(createPlanMemoryPass());
  manager.addPass(createVerifySchedulePass());
}
