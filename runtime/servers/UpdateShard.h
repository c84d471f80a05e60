// One parameter server's side of the protocol: every update is applied once, whatever is lost, repeated or reordered. Knows
// neither threads nor connections: the server (UpdateServer) and the simulation use it.
//
// An update is that of a step of the job, by whichever worker has computed it. A worker sends what the program of the server
// receives in rounds; with the last one the update is written to the log, applied and acknowledged. One of a step that is
// applied is acknowledged again. A worker that does not hear of it sends the step again from its first round on, to a server
// that may have died meanwhile and come back from its log.
#pragma once

#include "runtime/servers/AppliedSteps.h"
#include "runtime/servers/UpdateLog.h"
#include "runtime/servers/UpdateProgram.h"

#include <map>

namespace dgc::rt {

/// What a worker has sent of a step so far; one for each worker.
struct UpdateSession {
  int64_t step = -1;
  size_t rounds = 0; // that are complete
  std::string received;
  int64_t seen = 0; // updates that were applied before its first round
};

/// One round as a worker sends it.
struct UpdateRound {
  int64_t step = 0;
  size_t round = 0;
  int32_t valid = 0;
  std::string_view sent;
  std::string_view outputs; // with the last round, to the first server
};

struct UpdateAnswer {
  std::string sent;      // what the worker gets
  int64_t staleness = 0; // of an update: those that were applied since its first round
};

class UpdateShard {
public:
  /// All steps before `first` are applied. `target` outlives it.
  UpdateShard(UpdateTarget &target, int64_t first) : target(target), applied_(first) {}

  /// From now on updates are logged before they are applied.
  void setLog(std::unique_ptr<UpdateLog> log) { this->log = std::move(log); }
  UpdateLog *updateLog() { return log.get(); }

  /// Applies an update that is logged. Once, too.
  absl::Status restore(const Update &update);

  /// InvalidArgument: the worker has sent something else than a round that is next; what was there before stays. Any other error
  /// is one of the server, whose variables are not to be used any more.
  absl::StatusOr<UpdateAnswer> handle(UpdateSession &session, const UpdateRound &round);

  size_t rounds() const { return target.rounds(); }
  uint64_t bytesOfRound(size_t round) const { return target.bytesOfRound(round); }

  const AppliedSteps &applied() const { return applied_; }
  /// The last step that any worker has begun; -1: none.
  int64_t lastBegun() const { return begun; }
  /// The outputs of steps that were applied, by step; those before `step` are forgotten.
  const std::map<int64_t, std::string> &outputs() const { return outputs_; }
  void forgetOutputs(int64_t step) { outputs_.erase(outputs_.begin(), outputs_.lower_bound(step)); }

private:
  absl::Status apply(const Update &update);

  UpdateTarget &target;
  AppliedSteps applied_;
  std::unique_ptr<UpdateLog> log; // null: nothing is logged
  std::map<int64_t, std::string> outputs_;
  int64_t begun = -1;
};

} // namespace dgc::rt
