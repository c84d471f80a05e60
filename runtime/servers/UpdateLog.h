// What a parameter server has applied since the last checkpoint, on disk, so that a server that dies comes back with all
// that it has acknowledged.
//
// DIR/updates-RRRRR-SSSSSSSSS-NNNN.log: of the server of rank R, behind the checkpoint of S steps; N numbers the logs of the server.
// It begins with a record that says of which run it is. A record is its length in bytes (8), the first 8 bytes of its SHA-256,
// and its bytes.
#pragma once

#include "runtime/base/Disk.h"

#include <functional>
#include <memory>
#include <string>

namespace dgc::rt {

/// The update of a step, as a worker has sent it.
struct Update {
  int64_t step = 0;
  int32_t valid = 0;    // examples of its batch that are real
  std::string received; // what the server has received of it, in the order of its program
  std::string outputs;  // what the worker has computed beside it: the loss and metrics; on the first server alone
};

/// Where the logs of one server are, and of which run.
struct UpdateLogPlace {
  std::string folder;
  uint32_t rank = 0;
  std::string run; // what a log has to say of its run to be one of this run
};

class UpdateLog {
public:
  /// Begins a log behind the checkpoint of `base` steps.
  static absl::StatusOr<std::unique_ptr<UpdateLog>> begin(Disk &disk, const UpdateLogPlace &place, int64_t base);

  /// OK: it survives the death of the process. After an error nothing more may be added.
  absl::Status add(const Update &update);
  /// OK: what was added survives that of the machine.
  absl::Status sync() { return file->sync(); }
  int64_t base() const { return baseStep; }

private:
  UpdateLog(std::unique_ptr<WritableFile> file, int64_t base) : file(std::move(file)), baseStep(base) {}
  std::unique_ptr<WritableFile> file;
  int64_t baseStep;
};

/// Calls `apply` with each update that is logged behind the checkpoint of `base` steps or a later one, in the order in which they
/// were applied. A record that is not whole ends a log: it was not acknowledged. Logs of another run are passed over;
/// returns whether there are such.
absl::StatusOr<bool> replayUpdates(Disk &disk, const UpdateLogPlace &place, int64_t base,
                                   const std::function<absl::Status(const Update &)> &apply);

/// Removes the logs of this server behind checkpoints of fewer steps than `base`.
absl::Status removeUpdateLogs(Disk &disk, const UpdateLogPlace &place, int64_t base);

} // namespace dgc::rt
