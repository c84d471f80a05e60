#include "runtime/driver/Checkpoints.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/OutputFile.h"
#include "runtime/base/Sha256.h"
#include "runtime/base/Shape.h"
#include "runtime/base/Status.h"
#include "runtime/base/Task.h"
#include "runtime/driver/Shares.h"
#include "runtime/driver/State.h"

#include <algorithm>
#include <cstring>

#include <sys/resource.h>
#include <unistd.h>

using namespace dgc;
using namespace dgc::rt;

absl::StatusOr<std::unique_ptr<Checkpoints>> Checkpoints::create(const Artifact &artifact, Executor &executor,
                                                                 const RunOptions &options,
                                                                 const WorkerContext &context, Disk &disk) {
  std::unique_ptr<Checkpoints> made(new Checkpoints(artifact, executor, options, context, disk));
  absl::Status locked;
  std::string name;
  if (made->rank == 0) {
    auto lock = lockFolder(disk, options.checkpoint);
    locked = lock.status();
    if (lock.ok()) {
      made->lock = *std::move(lock);
      locked = removeLeftovers(disk, options.checkpoint, *made->lock);
    }
    if (locked.ok()) {
      auto token = randomToken();
      locked = token.status();
      name = token.value_or("");
    }
  }
  if (!locked.ok())
    return withExitCode(annotate(locked, "--checkpoint"), ExitCode::BadData);
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> names, context.gather(name));
  made->run = names[0];
  made->share = shareOf(artifact.plan(), executor, made->rank);
  size_t bytes = 0;
  for (const VariableView &view : made->share)
    bytes += static_cast<size_t>(view.slice.numElements()) * sizeOf(view.dtype);
  made->copy.resize(bytes); // its pages are there before the first step that is copied
  made->savedAt = realClock().now();
  return made;
}

Checkpoints::~Checkpoints() {
  isGivenUp = true;
  if (writer.joinable())
    writer.join();
}

bool Checkpoints::isDue(int64_t step) const {
  return options.checkpointSteps > 0 && step % options.checkpointSteps == 0 && step != lastSaved;
}

bool Checkpoints::isTimeUp() const {
  return options.checkpointPeriod > 0 && realClock().now() - savedAt >= options.checkpointPeriod;
}

ShardId Checkpoints::shardOf(int64_t step) const {
  Sha256 nonce;
  nonce.add(str(run, " ", step));
  return {step, nonce.finishHex().substr(0, 16), rank, artifact.plan().world_size()};
}

/// Copies what this worker gives, without padding, one after the other.
void Checkpoints::copyShare(std::vector<VariablePiece> &pieces) {
  size_t at = 0;
  for (const VariableView &view : share) {
    const size_t size = static_cast<size_t>(view.slice.numElements()) * sizeOf(view.dtype);
    const std::span<std::byte> to(copy.data() + at, size);
    std::vector<std::byte> block;
    std::memcpy(to.data(), elementsOf(view, block).data(), size);
    pieces.push_back({view.name, view.dtype, view.globalShape, view.slice.offsets, view.slice.sizes, to});
    at += size;
  }
}

absl::Status Checkpoints::save(const RunProgress &progress) {
  DGC_RETURN_IF_ERROR(settle());
  DGC_RETURN_IF_ERROR(executor.downloadVariables());
  std::vector<VariablePiece> pieces;
  copyShare(pieces);
  const ShardId shard = shardOf(progress.state.step);
  isUnderWay = true;
  underWay = lastSaved = progress.state.step;
  savedAt = realClock().now();
  std::set<int64_t> alsoKeep{shard.step};
  if (best >= 0)
    alsoKeep.insert(best);
  writer = std::thread(
      [this, shard, pieces = std::move(pieces), progress, alsoKeep] { write(shard, pieces, progress, alsoKeep); });
  return absl::OkStatus();
}

absl::Status Checkpoints::saveBest(const RunProgress &progress) {
  // The best one so far stays until this one is complete.
  if (!has(progress.state.step))
    DGC_RETURN_IF_ERROR(save(progress));
  best = progress.state.step;
  return absl::OkStatus();
}

/// On the thread that writes: it takes the time that computing leaves.
void Checkpoints::write(const ShardId &shard, const std::vector<VariablePiece> &pieces, const RunProgress &progress,
                        const std::set<int64_t> &alsoKeep) {
  Task::hideThisThread();
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 10);
  shardStatus = writeShard(disk, options.checkpoint, shard, pieces);
  if (rank == 0 && shardStatus.ok())
    shardStatus = commit(shard, progress, alsoKeep);
}

/// Rank 0: makes a checkpoint of the shares once all are there.
absl::Status Checkpoints::commit(const ShardId &shard, const RunProgress &progress, const std::set<int64_t> &alsoKeep) {
  while (true) {
    DGC_ASSIGN_OR_RETURN(const std::vector<uint32_t> missing, missingShards(disk, options.checkpoint, shard));
    if (missing.empty())
      break;
    if (isGivenUp || context.abort.raised())
      return absl::OkStatus(); // whose worker says why
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  DGC_RETURN_IF_ERROR(commitShards(disk, options.checkpoint, shard, progress.state, progress.extra));
  tell({str("checkpoint of step ", shard.step, " in ", options.checkpoint), shard.step,
        static_cast<double>(realClock().now() - savedAt) * 1e-6});
  if (options.checkpointKeep > 0)
    if (absl::Status pruned =
            pruneCheckpoints(disk, options.checkpoint, static_cast<size_t>(options.checkpointKeep), alsoKeep);
        !pruned.ok())
      tell({str("warning: an old checkpoint cannot be removed: ", std::string(pruned.message())), shard.step});
  return absl::OkStatus();
}

/// Waits for the checkpoint that is under way, and lets all workers know what became of it.
absl::Status Checkpoints::settle() {
  if (!isUnderWay)
    return absl::OkStatus();
  isUnderWay = false;
  std::string mine;
  if (rank != 0) {
    writer.join();
    mine = shardStatus.ok() ? "" : std::string(shardStatus.message());
  }
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> all, context.gather(mine));
  lastStatus = absl::OkStatus();
  for (size_t each = 1; each < all.size(); ++each)
    if (!all[each].empty() && lastStatus.ok())
      lastStatus = badData(str("rank ", each, ": ", all[each]));
  if (rank != 0)
    return absl::OkStatus();
  isGivenUp = !lastStatus.ok();
  writer.join();
  isGivenUp = false;
  if (lastStatus.ok() && !shardStatus.ok())
    lastStatus = all.size() == 1 ? shardStatus : badData(str("rank 0: ", std::string(shardStatus.message())));
  if (lastStatus.ok())
    return absl::OkStatus();
  tell({str("warning: no checkpoint of step ", underWay, ": ", std::string(lastStatus.message()),
            "; those before it stay"),
        underWay, std::nullopt, /*isLost=*/true});
  removeLeftovers(disk, options.checkpoint, *lock).IgnoreError(); // else the next job does it
  return absl::OkStatus();
}

absl::Status Checkpoints::finish() {
  const Task task("waiting for the last checkpoint", 0, Task::Things);
  DGC_RETURN_IF_ERROR(settle());
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> all,
                       context.gather(lastStatus.ok() ? "" : std::string(lastStatus.message())));
  return all[0].empty() ? absl::OkStatus() : badData(str("--checkpoint: ", all[0]));
}

void Checkpoints::tell(CheckpointNews each) {
  std::scoped_lock<std::mutex> guard(mutex);
  news.push_back(std::move(each));
}

std::vector<CheckpointNews> Checkpoints::takeNews() {
  std::scoped_lock<std::mutex> guard(mutex);
  return std::exchange(news, {});
}
