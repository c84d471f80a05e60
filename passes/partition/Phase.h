// The phase `partition`: from global shapes to one program for each kind of worker, with explicit communication.

#ifndef DGC_PASSES_PARTITION_PHASE_H
#define DGC_PASSES_PARTITION_PHASE_H

#include "passes/analysis/OptionTypes.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace dgc {

struct PartitionOptions {
  bool distributed = false;
  bool pipeline = false;
  PipelineScheduleKind schedule = PipelineScheduleKind::GPipe;
  int64_t servers = 0;
  bool hostServers = false;

  template <class Binder> void bind(Binder &b) {
    b("distributed", distributed, "there is a mesh; else nothing is done");
    b("pipeline", pipeline, "the micro-batches of stages run in the order of `schedule`");
    b("schedule", schedule, "gpipe, 1f1b, interleaved or zb-h1");
    b("servers", servers, "how many of the last positions are parameter servers");
    b("host-servers", hostServers, "the servers are on CPUs, the workers on GPUs");
  }
};

void buildPartitionPhase(mlir::OpPassManager &manager, const PartitionOptions &options);

} // namespace dgc

#endif // DGC_PASSES_PARTITION_PHASE_H
