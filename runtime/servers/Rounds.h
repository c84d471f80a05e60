// How the programs of a plan with asynchronous parameter servers exchange values: in rounds, of which each begins with what the
// worker sends and ends with what it gets. The last round is an update, to which the server sends nothing.
#pragma once

#include "runtime/artifact/Reader.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <vector>

namespace dgc::rt {

/// What the worker sends to one server in a round, and what it gets then.
struct Round {
  uint32_t sends = 0, receives = 0; // transfers
  uint64_t sentBytes = 0, receivedBytes = 0;
  bool operator==(const Round &) const = default;
};

/// The rounds between the worker, rank 0, and the server of `rank` in the program `name`, as the one or the other has them.
/// An error says what is no exchange in rounds.
absl::StatusOr<std::vector<Round>> roundsOfWorker(const artifact::Plan &plan, std::string_view name, uint32_t rank);
absl::StatusOr<std::vector<Round>> roundsOfServer(const artifact::Plan &plan, std::string_view name, uint32_t rank);

/// The steps of a server's program that have to run, in this order, for what it sends in round `round`: those that compute it, and all
/// receives up to there. An error where one of them changes a variable.
absl::StatusOr<std::vector<uint32_t>> stepsOfAnswer(const artifact::Plan &plan, std::string_view name, uint32_t rank,
                                                    size_t round);

/// OK: a worker and the servers can run the program `train` of the plan in rounds, the last of which is the update.
absl::Status checkAsynchronous(const artifact::Plan &plan);

} // namespace dgc::rt
