// What one worker of a job does from the moment it knows the others: prepare,
// load, train or evaluate, save.
#pragma once

#include "runtime/artifact/Reader.h"
#include "runtime/collective/StepGate.h"
#include "runtime/collective/Transport.h"
#include "runtime/driver/RunOptions.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dgc::rt {

class Dataset;

/// How a run ended that met no error.
struct RunEnd {
  std::optional<StepEvent> stopped; // before its end, with all that it had in a checkpoint
};

/// How a worker reaches the others, and the user.
struct WorkerContext {
  using Print = std::function<void(std::string_view)>;
  Transport &transport;
  Abort &abort;
  /// Every worker gives some bytes and gets those of all, by rank.
  std::function<absl::StatusOr<std::vector<std::string>>(const std::string &)> gather;
  /// Writes messages for the user; called on rank 0 only. Null: no output.
  Print print;
  /// The file descriptor that `print` writes to, to see whether it is a terminal; -1: none.
  int terminal = -1;
  /// Where workers agree on steps, and how to ask for that; null: they do not.
  StepGate *gate = nullptr;
  std::function<void(StepEvent)> request = nullptr;
};

/// Runs on the thread that calls it. Every rank calls it with equal options. An
/// error is this worker's own, or the one that `abort` was raised with.
absl::StatusOr<RunEnd> runWorker(const Artifact &artifact, const RunOptions &options, const WorkerContext &context);

/// Runs all ranks of the plan as threads of this process. Ctrl-C stops them.
absl::StatusOr<RunEnd> runInProcess(const Artifact &artifact, const RunOptions &options,
                                    const WorkerContext::Print &print, int terminal);

} // namespace dgc::rt
