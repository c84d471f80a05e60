// The phase `schedule`: programs on buffers, each at its offset, whose steps run in one order.

#ifndef DGC_PASSES_SCHEDULE_PHASE_H
#define DGC_PASSES_SCHEDULE_PHASE_H

#include "passes/analysis/OptionTypes.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace dgc {

struct ScheduleOptions {
  bool overlap = false;

  template <class Binder> void bind(Binder &b) {
    b("overlap", overlap, "collectives overlap with work that does not need them");
  }
};

void buildSchedulePhase(mlir::OpPassManager &manager, const ScheduleOptions &options);

} // namespace dgc

#endif // DGC_PASSES_SCHEDULE_PHASE_H
