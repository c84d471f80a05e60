// The flight recorder of a worker: what it begins, and whom it waits for, in a file beside the checkpoints of its job.
#pragma once

#include "runtime/base/FlightRecorder.h"
#include "runtime/driver/Worker.h"
#include "runtime/executor/Executor.h"

#include <thread>

namespace dgc::rt {

/// Records while it lives. A thread looks ten times a second whom the worker waits for.
class FlightWatch {
public:
  /// Begins the file of this worker in `dir`, where that of the run before gets another name; so do those of ranks that this
  /// job does not have, on rank 0.
  static absl::StatusOr<std::unique_ptr<FlightWatch>> begin(const Artifact &artifact, Executor &executor,
                                                            const WorkerContext &context, Disk &disk,
                                                            const std::string &dir, Clock &clock);
  ~FlightWatch();
  FlightWatch(const FlightWatch &) = delete;
  FlightWatch &operator=(const FlightWatch &) = delete;

  /// The worker ends by itself, with this code.
  void end(int code) { recorder->end(code); }

private:
  FlightWatch(std::unique_ptr<FlightRecorder> recorder, Executor &executor, const WorkerContext &context, Clock &clock);
  void look();

  std::unique_ptr<FlightRecorder> recorder;
  Executor &executor;
  const WorkerContext &context;
  Clock &clock;
  std::mutex mutex;
  std::condition_variable changed;
  bool isEnding = false;
  std::thread thread;
};

} // namespace dgc::rt
