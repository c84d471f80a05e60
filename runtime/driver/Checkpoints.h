// --checkpoint: what a job has at a step, saved while it goes on.
//
// Before the step each worker copies its share of the variables, and a thread writes the copy while the worker computes. Rank 0
// makes a checkpoint of the shares once all are on the medium (checkpoint/ShardedCheckpoint.h), and removes older ones.
#pragma once

#include "runtime/checkpoint/ShardedCheckpoint.h"
#include "runtime/driver/RunOptions.h"
#include "runtime/driver/Worker.h"
#include "runtime/executor/Executor.h"

#include <map>
#include <optional>
#include <set>
#include <thread>

namespace dgc::rt {

/// What a checkpoint has beside variables: where the run is, and what the worker adds, as text.
struct RunProgress {
  RunState state;
  std::map<std::string, std::string> extra;
};

/// What has become of a checkpoint, or of an older one that was to be removed.
struct CheckpointNews {
  std::string line;         // for people
  int64_t step = 0;         // of the checkpoint
  std::optional<double> ms; // of one that is complete: since its step
  bool isLost = false;      // it could not be written
};

/// Every rank has one, and calls its methods at the same steps.
class Checkpoints {
public:
  /// Rank 0 locks the folder, and removes what dead jobs have left in it. All arguments must outlive the result.
  static absl::StatusOr<std::unique_ptr<Checkpoints>> create(const Artifact &artifact, Executor &executor,
                                                             const RunOptions &options, const WorkerContext &context,
                                                             Disk &disk);
  ~Checkpoints();

  /// The run has `step` steps behind it, of a checkpoint or none, and its best one is that of step `best`, or -1.
  void beginsAt(int64_t step, int64_t best) {
    lastSaved = step;
    this->best = best;
  }
  /// Whether the last one is of this step.
  bool has(int64_t step) const { return step == lastSaved; }

  /// Whether one is due before this step, by --checkpoint-every STEPS.
  bool isDue(int64_t step) const;
  /// Whether so much time has passed since the last one, by --checkpoint-every TIME. Asks rank 0's clock.
  bool isTimeUp() const;

  /// Takes the variables as they are now, no step being under way, and begins to write them. Waits for the one before. An
  /// error is one of the job; a checkpoint that cannot be written is none, and is told by takeNews().
  absl::Status save(const RunProgress &progress);

  /// As save(), and the checkpoint stays until a better one comes.
  absl::Status saveBest(const RunProgress &progress);

  /// Waits for the last one. An error where it could not be written.
  absl::Status finish();

  /// On rank 0: what has become of checkpoints since the last call.
  std::vector<CheckpointNews> takeNews();

private:
  Checkpoints(const Artifact &artifact, Executor &executor, const RunOptions &options, const WorkerContext &context,
              Disk &disk)
      : artifact(artifact), executor(executor), options(options), context(context), disk(disk),
        rank(static_cast<uint32_t>(context.transport.rank())) {}
  ShardId shardOf(int64_t step) const;
  void copyShare(std::vector<VariablePiece> &pieces);
  /// `alsoKeep`: steps whose checkpoints stay, however old.
  void write(const ShardId &shard, const std::vector<VariablePiece> &pieces, const RunProgress &progress,
             const std::set<int64_t> &alsoKeep);
  absl::Status commit(const ShardId &shard, const RunProgress &progress, const std::set<int64_t> &alsoKeep);
  absl::Status settle();
  void tell(CheckpointNews each);

  const Artifact &artifact;
  Executor &executor;
  const RunOptions &options;
  const WorkerContext &context;
  Disk &disk;
  uint32_t rank;
  std::string run;                 // a random name that the workers share
  std::unique_ptr<FileLock> lock;  // rank 0
  std::vector<VariableView> share; // what this worker gives
  std::vector<std::byte> copy;     // of it
  std::thread writer;
  absl::Status shardStatus;           // of the writer, once it has ended
  absl::Status lastStatus;            // of the last checkpoint
  std::atomic<bool> isGivenUp{false}; // rank 0: the shares of others are not waited for any more
  bool isUnderWay = false;
  int64_t underWay = 0, lastSaved = -1, best = -1;
  TimeNs savedAt = 0;
  mutable std::mutex mutex; // of `news`
  std::vector<CheckpointNews> news;
};

} // namespace dgc::rt
