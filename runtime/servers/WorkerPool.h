// The workers of a job with asynchronous parameter servers, as the chief of the job sees them: they come and go, and each computes
// one step after the other.
#pragma once

#include "runtime/collective/Abort.h"
#include "runtime/servers/StepBoard.h"
#include "runtime/servers/UpdateServer.h"

#include <map>

namespace dgc::rt {

/// A step of the job, and the batch that it is computed from.
struct PooledStep {
  int64_t step = 0, epoch = 0, epochStep = 0;
};

/// What a worker needs to know of the job.
struct PoolFacts {
  std::string planDigest;           // of 32 bytes
  std::vector<std::string> servers; // HOST:PORT, by rank
  uint64_t seed = 0;
  std::string order; // of the samples: what makes it, as text
};

/// All methods are called by one thread.
class WorkerPool {
public:
  /// `abort` outlives it.
  WorkerPool(ServingEnd end, PoolFacts facts, Abort &abort);
  /// Closes all connections. Workers come again, to the chief that follows.
  ~WorkerPool();
  WorkerPool(const WorkerPool &) = delete;

  /// Waits until a worker has begun the step; steps are submitted in their order. The error is that of the job, that of a worker's
  /// program, or says that there is no worker.
  absl::Status submit(const PooledStep &step);
  /// Waits until all servers have applied the step. Returns the outputs of the program, one after the other.
  absl::StatusOr<std::string> collect(int64_t step);
  /// The step is applied, and has these outputs: no worker computes it. To be called before it is submitted.
  void skip(int64_t step, std::string outputs) {
    std::scoped_lock<std::mutex> lock(mutex);
    reports[step] = std::move(outputs);
  }

  /// The job is done: tells all workers, and waits for those that compute.
  void finish();

  /// How many updates were how stale: by the number of others that were applied between what a worker computed its update from, and
  /// that.
  std::map<int64_t, int64_t> staleness() {
    std::scoped_lock<std::mutex> lock(mutex);
    return stalenesses;
  }

private:
  void serve(FrameStream &stream, const std::string &peer);
  absl::Status welcome(FrameStream &stream, std::string &name);
  absl::Status work(FrameStream &stream, StepBoard::Worker worker);
  absl::StatusOr<std::optional<PooledStep>> nextStep(FrameStream &stream, StepBoard::Worker worker,
                                                     std::optional<int64_t> computed);
  absl::Status await(const std::function<bool()> &holds);
  void tell(const std::string &line) const {
    if (notice)
      notice(line);
  }

  const PoolFacts facts;
  const std::string address;
  const double joinSeconds;
  const std::function<void(std::string_view)> notice;
  Abort &abort;
  std::mutex mutex; // of what follows
  std::condition_variable changed;
  StepBoard board;
  std::map<int64_t, PooledStep> submitted; // that are not finished
  std::map<int64_t, std::string> reports;  // outputs, by step
  std::map<int64_t, int64_t> stalenesses;
  absl::Status failure; // of a worker's program
  size_t workers = 0;   // that are there
  StepBoard::Worker lastWorker = 0;
  TimeNs aloneSince, toldAlone;
  std::atomic<bool> isFinished{false}, isStopping{false};
  std::unique_ptr<FrameServer> connections;
};

} // namespace dgc::rt
