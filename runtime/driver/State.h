// Initial values, --load and --save.
#pragma once

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/driver/RunOptions.h"
#include "runtime/driver/Worker.h"
#include "runtime/executor/Executor.h"

namespace dgc::rt {

/// The seed of the run: what --seed says, else that of the checkpoint that is loaded, else 0.
absl::StatusOr<uint64_t> seedOf(const RunOptions &options, Disk &disk);

/// Gives every variable its value: from options.load where it has one, else by
/// its initializer. Returns the state of the run that the checkpoint holds, if
/// any.
absl::StatusOr<std::optional<RunState>> restoreVariables(Executor &executor, const artifact::Plan &plan,
                                                         const RunOptions &options, Disk &disk);

/// Whether saveVariables will be able to write them: an error names a variable
/// that no worker holds as a whole. To be called before the run.
absl::Status checkSaveable(const Executor &executor);

/// Writes options.save on rank 0; called on every rank, as those that hold a variable that rank 0 does not hold send it.
absl::Status saveVariables(const Executor &executor, const artifact::Plan &plan, const RunOptions &options,
                           const RunState &state, Disk &disk, const WorkerContext &context);

} // namespace dgc::rt
