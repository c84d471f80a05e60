// The phase `place`: which group of devices has each op of the model and each variable.

#ifndef DGC_PASSES_PLACE_PHASE_H
#define DGC_PASSES_PLACE_PHASE_H

#include "passes/analysis/OptionTypes.h"
#include "passes/place/PlacementRules.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace dgc {

struct PlaceOptions {
  int64_t stages = 0, servers = 0;
  bool repeat = false;
  DeviceKind kind = DeviceKind::Cpu, serverKind = DeviceKind::Cpu;
  PlacementRules placement;
  std::vector<int64_t> cuts;

  template <class Binder> void bind(Binder &b) {
    b("stages", stages, "groups of devices; 0: as the mesh of the module says");
    b("servers", servers, "how many of the last stages are parameter servers");
    b("repeat", repeat, "a group has several stages: stage s is that of group s modulo `stages`");
    b("kind", kind, "the device of each worker: cpu or gpu");
    b("server-kind", serverKind, "the device of each server: cpu or gpu");
    b("placement", placement, "where variables and ops are, as in w1=task:0,w2=task:1");
    b("cuts", cuts, "how many of the ops that follow from variables each stage has; none: a solver chooses");
  }
};

void buildPlacePhase(mlir::OpPassManager &manager, const PlaceOptions &options);

} // namespace dgc

#endif // DGC_PASSES_PLACE_PHASE_H
