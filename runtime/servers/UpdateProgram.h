// The program of a parameter server, run for one worker after the other.
#pragma once

#include "runtime/executor/Executor.h"
#include "runtime/servers/Rounds.h"
#include "runtime/servers/ServerTransport.h"

#include <string>
#include <string_view>
#include <vector>

namespace dgc::rt {

/// What a server does for workers: an interface, so that the protocol is tested without programs.
class UpdateTarget {
public:
  virtual ~UpdateTarget() = default;
  virtual size_t rounds() const = 0;
  /// How many bytes a worker sends in a round.
  virtual uint64_t bytesOfRound(size_t round) const = 0;
  /// What the worker gets in `round`, which is not the last one, computed from what it has sent in the rounds so far and from the
  /// variables as they are. Changes nothing.
  virtual absl::StatusOr<std::string> answer(size_t round, int64_t step, int32_t valid, std::string_view received) = 0;
  /// Updates the variables by what a worker has sent in all rounds.
  virtual absl::Status apply(int64_t step, int32_t valid, std::string_view received) = 0;
};

class UpdateProgram : public UpdateTarget {
public:
  /// All must outlive it; the executor was made with `transport`. An error where the plan is none of checkAsynchronous().
  static absl::StatusOr<std::unique_ptr<UpdateProgram>> create(const artifact::Plan &plan, ProgramRunner &runner,
                                                               ServerTransport &transport);

  size_t rounds() const override { return exchanged.size(); }
  uint64_t bytesOfRound(size_t round) const override { return exchanged[round].sentBytes; }
  absl::StatusOr<std::string> answer(size_t round, int64_t step, int32_t valid, std::string_view received) override;
  absl::Status apply(int64_t step, int32_t valid, std::string_view received) override;

private:
  UpdateProgram(ProgramRunner &runner, ServerTransport &transport) : runner(runner), transport(transport) {}

  ProgramRunner &runner;
  ServerTransport &transport;
  std::vector<Round> exchanged;
  std::vector<std::vector<uint32_t>> answers; // the steps of the program that give them
};

} // namespace dgc::rt
