// What one worker of a job does from the moment it knows the others: prepare,
// load, train or evaluate, save.
#pragma once

#include "runtime/artifact/Reader.h"
#include "runtime/base/Clock.h"
#include "runtime/base/ClockOffset.h"
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
class JobStatus;
struct Kept;
struct ServingEnd;

/// How a run ended that met no error.
struct RunEnd {
  std::optional<StepEvent> stopped; // before its end, with all that it had in a checkpoint
};

/// What was lost of a job that goes on.
struct WorkerLoss {
  std::string what;   ///< "rank 2 was killed by signal 9 (Killed) at step 12, op 3"
  TimeNs at = 0;      ///< by the clock of the machine
  int64_t number = 0; ///< how often the job has gone on after one
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
  /// For those who watch the job; of rank 0. Null: nobody does.
  JobStatus *status = nullptr;
  /// Gets what the worker tells of itself; null: nobody asks.
  WorkerFigures *figures = nullptr;
  /// Where this rank of a plan with asynchronous parameter servers serves workers; null: rank 0 computes the steps itself, one
  /// after the other.
  ServingEnd *serving = nullptr;
  /// From the clock of this worker to one that is the same for all; null: they have one clock.
  std::function<ClockOffset()> clockOffset = nullptr;
  /// Whether an error is the loss of another worker that the job survives: the caller runs the worker again then, with those
  /// that there are now. Null: it survives none.
  std::function<bool(const absl::Status &)> survives = nullptr;
  /// What the worker has from one such run to the next one; not null where `survives` is not.
  Kept *kept = nullptr;
  /// The loss after which this run goes on.
  std::optional<WorkerLoss> loss = std::nullopt;
};

/// Runs on the thread that calls it. Every rank calls it with equal options. An
/// error is this worker's own, or the one that `abort` was raised with.
absl::StatusOr<RunEnd> runWorker(const Artifact &artifact, const RunOptions &options, const WorkerContext &context);

/// Runs all ranks of the plan as threads of this process. Ctrl-C stops them. `status`: as in WorkerContext.
absl::StatusOr<RunEnd> runInProcess(const Artifact &artifact, const RunOptions &options,
                                    const WorkerContext::Print &print, int terminal, JobStatus *status = nullptr);

} // namespace dgc::rt
