// Initial values, --load and --save.
#pragma once

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/OnnxWeights.h"
#include "runtime/driver/Gather.h"
#include "runtime/driver/RunOptions.h"
#include "runtime/driver/Worker.h"
#include "runtime/executor/Executor.h"

namespace dgc::rt {

/// The seed of the run: what --seed says, else that of the checkpoint that is loaded, else 0.
absl::StatusOr<uint64_t> seedOf(const RunOptions &options, Disk &disk);

/// What a run begins with.
struct Restored {
  std::optional<RunState> state;            // of the run that the checkpoint holds, if any
  std::string notice;                       // names what was not taken from it; may be empty
  std::map<std::string, std::string> extra; // what else the run has saved there
};

/// Gives every variable its value: from the checkpoint of options.load or options.loadWeights where it has one, else by
/// its initializer. `isVerified`: the digests of the checkpoint were compared already.
absl::StatusOr<Restored> restoreVariables(Executor &executor, const artifact::Plan &plan, const RunOptions &options,
                                          Disk &disk, bool isVerified = false);

/// The variables of the plan as wholes, of stacked ones the parts; elsewhere than on rank 0 none.
struct WholeVariables {
  std::vector<Tensor> tensors;                // in memory of the executor, or of this
  std::vector<std::vector<std::byte>> memory; // of those that came from others
};

/// Every rank calls it. The blocks of variables that are split over the workers and of other groups are gathered on rank 0.
absl::StatusOr<WholeVariables> gatherVariables(const Artifact &artifact, const Executor &executor, int rank,
                                               const GatherBytes &gather);

/// The variables of the plan, of all workers, that a checkpoint has; of stacked ones the parts.
std::vector<VariableSpec> variableSpecs(const artifact::Plan &plan);

/// How many entries of Plan.variables are of such variables, where a stacked one counts as its parts.
int64_t countSaved(const artifact::Plan &plan);

/// Writes a checkpoint, or, with `onnx`, the weights into that model: every rank calls it, and rank 0 writes `file`, which is null
/// elsewhere.
absl::Status saveVariables(const Artifact &artifact, const Executor &executor, int rank, OutputFile *file,
                           OnnxWeights *onnx, const RunState &state, const GatherBytes &gather);

} // namespace dgc::rt
