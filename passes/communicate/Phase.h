// The phase `communicate`: from communication that is correct to communication that is good, and the proof that it
// comes to an end.

#ifndef DGC_PASSES_COMMUNICATE_PHASE_H
#define DGC_PASSES_COMMUNICATE_PHASE_H

#include "passes/communicate/LinkModel.h"
#include "passes/communicate/NumericsChecks.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace dgc {

struct CommunicateOptions {
  bool distributed = false;
  LinkModel links;
  bool overlap = false;
  bool scatterToServers = false;
  std::vector<std::string> forbid;
  int64_t maxReplicatedBytes = -1;
  NumericsChecks checkNumerics = NumericsChecks::Off;

  template <class Binder> void bind(Binder &b) {
    b("distributed", distributed, "there is a mesh; else nothing is done");
    b("links", links, "AXIS=LATENCY:BANDWIDTH,..: how fast the links along axes are");
    b("overlap", overlap, "collectives overlap with work that does not need them");
    b("scatter-to-servers", scatterToServers, "each worker sends parameter servers its part of the gradients");
    b("forbid", forbid, "collectives that must not be needed");
    b("max-replicated-bytes", maxReplicatedBytes, "the largest value that may become whole on all devices; -1: any");
    b("check-numerics", checkNumerics, "results or every-op: programs check values for numbers that are not finite");
  }
};

void buildCommunicatePhase(mlir::OpPassManager &manager, const CommunicateOptions &options);

} // namespace dgc

#endif // DGC_PASSES_COMMUNICATE_PHASE_H
