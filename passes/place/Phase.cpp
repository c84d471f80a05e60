#include "passes/place/Phase.h"
#include "mlir/Pass/PassManager.h"
#include "passes/place/Passes.h"

using namespace dgc;

void dgc::buildPlacePhase(mlir::OpPassManager &manager, const PlaceOptions &options) {
  AssignStagesPassOptions assign;
  assign.stages = options.stages;
  assign.servers = options.servers;
  assign.repeat = options.repeat;
  assign.kind = options.kind;
  assign.serverKind = options.serverKind;
  assign.placement = options.placement;
  assign.cuts.assign(options.cuts.begin(), options.cuts.end());
  manager.addPass(createAssignStagesPass(assign));
  manager.addPass(createVerifyPlacePass());
}
