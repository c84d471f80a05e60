// Folders of checkpoints that the workers of a job write together, each its part; see ShardNames.h for what is in them.
//
// A checkpoint is written in two phases. Each worker calls writeShard(), at any time and on any thread. When
// missingShards() is empty rank 0 calls commitShards(), which gives the folder its name. Until then readers see the
// checkpoints that were there before; whatever fails or dies in between, these stay as they are.
// Every error names the file or the folder.
#pragma once

#include "runtime/checkpoint/RunState.h"

#include <set>

namespace dgc::rt {

/// A block of a variable: `size` elements per dimension from `start` on, dense and row-major. The bytes belong to the
/// caller.
struct VariablePiece {
  std::string variable;
  DType dtype = DType::F32;
  std::vector<int64_t> globalShape, start, size;
  std::span<const std::byte> bytes;
};

/// Which part of which attempt to save.
struct ShardId {
  int64_t step = 0;             // training steps done
  std::string nonce;            // of randomToken(); equal on all workers, and another one for each attempt
  uint32_t rank = 0, world = 1; // of this worker; how many there are
};

//===-- Writing ---------------------------------------------------------===//

/// Makes this process the only one to write checkpoints to `dir`, which is created, for as long as the result lives: to be
/// called on rank 0 before anything is written there. An error of AlreadyExists names who writes there.
absl::StatusOr<std::unique_ptr<FileLock>> lockFolder(Disk &disk, const std::string &dir);

/// Writes the pieces of this worker. OK means that they are on the medium, and that the other workers can see that this
/// one is done; after it the worker does nothing more in the folder. Pieces without elements are left out, but for
/// those of variables that have none. `dir` must exist: workers of other machines than rank 0 have it in common.
absl::Status writeShard(Disk &disk, const std::string &dir, const ShardId &id, std::span<const VariablePiece> pieces);

/// The ranks that are not done with writeShard(), in order. Does not wait. `id.rank` does not count.
absl::StatusOr<std::vector<uint32_t>> missingShards(Disk &disk, const std::string &dir, const ShardId &id);

/// Makes a checkpoint of what all workers wrote; `extra`, in UTF-8, is for who opens it. OK means that it is on the medium
/// under its name. On an error it is not, unless the error is of the last sync of `dir`: then it may be. An older checkpoint of the
/// same step is replaced; what is no checkpoint is not, which is an error. Also an error: workers that contradict each
/// other, and variables that they do not cover or cover twice.
absl::Status commitShards(Disk &disk, const std::string &dir, const ShardId &id, const RunState &state,
                          const std::map<std::string, std::string> &extra);

//===-- Housekeeping, on rank 0 -----------------------------------------===//

struct FoundCheckpoint {
  int64_t step = 0;
  std::string path; // DIR/step-000000500
};

/// The checkpoints by their name and having a manifest, the newest (of most steps) first. Empty when there is no `dir`.
absl::StatusOr<std::vector<FoundCheckpoint>> listCheckpoints(Disk &disk, const std::string &dir);

/// Removes the oldest checkpoints: all but the newest `keep`, of which there is at least one, and those of the steps
/// `alsoKeep`.
absl::Status pruneCheckpoints(Disk &disk, const std::string &dir, size_t keep, const std::set<int64_t> &alsoKeep);

/// Removes a checkpoint, or what is left of one. From the beginning on it is no checkpoint any more. Files that are not of
/// dgc stay, and then the folder does.
absl::Status removeCheckpoint(Disk &disk, const std::string &path);

/// Removes what failed attempts, dead jobs and interrupted removals left; to be called when no worker of this job writes.
/// A checkpoint that was about to be replaced gets its name back. Does nothing where `lock` does not exclude others.
absl::Status removeLeftovers(Disk &disk, const std::string &dir, const FileLock &lock);

} // namespace dgc::rt
