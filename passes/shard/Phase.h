// The phase `shard`: how every value is cut over the mesh.

#ifndef DGC_PASSES_SHARD_PHASE_H
#define DGC_PASSES_SHARD_PHASE_H

#include "passes/analysis/OptionTypes.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace dgc {

struct ShardOptions {
  MeshShape mesh;
  bool dataParallel = false;
  int64_t zero = 0;
  bool tensorParallel = false;
  WeightCuts cut; // empty: the default of the pass
  bool sequenceParallel = false;
  bool pairwise = false, noPadding = false;

  template <class Binder> void bind(Binder &b) {
    b("mesh", mesh, "axes with their sizes, as in data=4,model=2; empty: one worker, nothing is cut");
    b("tensor-parallel", tensorParallel, "dimensions of weights are cut over the axis `model`");
    b("cut", cut, "which: PATTERN:DIM or names of dimensions; empty: heads and mlp");
    b("data-parallel", dataParallel, "the batch is cut over the axis `data`");
    b("sequence-parallel", sequenceParallel, "activations are cut along the sequence");
    b("zero", zero, "the stage of ZeRO: 0 to 3");
    b("pairwise", pairwise, "ZeRO adds the gradients of micro-batches up before it cuts them");
    b("no-padding", noPadding, "refuse a dimension that its axes do not divide");
  }
};

void buildShardPhase(mlir::OpPassManager &manager, const ShardOptions &options);

} // namespace dgc

#endif // DGC_PASSES_SHARD_PHASE_H
