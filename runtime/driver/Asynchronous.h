// Training with asynchronous parameter servers, as the ranks of the plan take part in it.
//
// Rank 0 is the chief. It computes no step: it gives the steps to workers, which are processes beside the ranks of the plan
// (PoolWorker.h), and does what rank 0 does in any job: evaluates, logs, decides on checkpoints. The servers, the other ranks, apply
// the updates of the workers. Where the chief and the servers have collected all steps that are submitted, no update is
// under way: so evaluations and checkpoints are those of a step of the job, as in a synchronous one.
#pragma once

#include "runtime/driver/RunOptions.h"
#include "runtime/driver/Worker.h"
#include "runtime/executor/Executor.h"
#include "runtime/servers/WorkerPool.h"

namespace dgc::rt {

/// Takes the place of the runner of the program `train`: submit() and collect() as its, in the same order on all ranks.
class AsynchronousSteps {
public:
  struct Begin {
    int64_t step = 0; // that the run begins with
    uint64_t seed = 0;
    std::string order;  // of the samples
    bool isNew = false; // no run is continued: what older ones have logged is removed
    Disk *disk = nullptr;
  };
  /// Called on all ranks, with the arguments that outlive it. `transport` is that of the executor; null on rank 0.
  static absl::StatusOr<std::unique_ptr<AsynchronousSteps>> create(const Artifact &artifact, Executor &executor,
                                                                   ServerTransport *transport,
                                                                   const RunOptions &options,
                                                                   const WorkerContext &context, Begin begin);

  /// Returns when a worker has begun the step.
  absl::Status submit(int64_t step, const Cursor &at);
  /// Returns when all servers have applied it. On rank 0 the outputs of the program are those of the step then.
  absl::Status collect(int64_t step);
  /// How many steps may be submitted and not collected.
  size_t depth() const;

  /// The first step that there may be a checkpoint of: servers that have come back from their logs have updates of the steps before it,
  /// which the run goes through again. The same on all ranks.
  int64_t firstCut() const { return first; }
  /// A checkpoint of the step begins, no step being under way.
  absl::Status cut(int64_t step);
  /// The training is over: tells the workers.
  void finish();
  /// The last checkpoint has all of it: nothing that was logged is needed any more.
  absl::Status removeLogs();
  /// "0: 120, 1: 7": how many updates missed how many others; empty on servers.
  std::string staleness() const;

private:
  AsynchronousSteps(const Artifact &artifact, ProgramRunner &runner, const RunOptions &options,
                    const WorkerContext &context)
      : artifact(artifact), runner(runner), options(options), context(context) {}
  absl::Status beginServer(ServerTransport &transport, const Begin &begin);
  absl::StatusOr<std::string> recover(const Begin &begin);
  absl::Status beginChief(const Begin &begin);
  absl::Status meet(int64_t applied);

  const Artifact &artifact;
  ProgramRunner &runner;
  const RunOptions &options;
  const WorkerContext &context;
  Disk *disk = nullptr;
  int64_t first = 0;
  UpdateLogPlace place;
  std::unique_ptr<UpdateProgram> program;
  std::unique_ptr<UpdateShard> shard;
  std::unique_ptr<UpdateServer> server; // on servers
  std::unique_ptr<WorkerPool> pool;     // on the chief
};

/// The outputs of a program, one after the other.
std::string packOutputs(const ProgramRunner &runner);
uint64_t outputBytes(const ProgramRunner &runner);

} // namespace dgc::rt
