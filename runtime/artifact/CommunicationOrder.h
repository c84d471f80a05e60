// Can the communication of a plan come to an end? A plain algorithm on what
// each worker does in order; it knows neither MLIR nor the artifact.
//
// Semantics: each worker goes through its list. A collective happens when all
// members of its group are at it. A transfer happens when the sender is at the
// send and the receiver at the matching receive (rendezvous: a send waits).
// Nobody ever has a choice of what to do next, so whether everybody comes to an
// end does not depend on timing, and one simulation decides it. A plan that
// ends under rendezvous ends as well where sends are buffered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dgc::rt {

/// One thing that a worker does.
struct Communication {
  enum class Kind : uint8_t { Collective, Send, Receive };
  Kind kind;
  uint32_t group = 0;     ///< Collective: index into CommunicationPlan::groups
  uint32_t signature = 0; ///< index into signatures; equal on all sides
  uint32_t channel = 0;   ///< Send, Receive
  uint32_t peer = 0;      ///< Send: to; Receive: from
  uint32_t place = 0;     ///< index into places, for messages
};

struct CommunicationPlan {
  std::vector<std::vector<uint32_t>> groups;       ///< ranks
  std::vector<std::string> signatures;             ///< what is done, with types
  std::vector<std::string> places;                 ///< where it is written
  std::vector<std::vector<Communication>> workers; ///< by rank, in order
};

/// A transfer between groups of workers: worker t of `targets` gets it from worker t modulo `sources`. So between groups
/// of one size each sends to the one at its place, one worker sends to all of a larger group, and of a larger group the
/// first ones send, or, where it is `gathered`, each sends a part to the only target; where a transfer to a larger group is
/// `gathered`, each gets a part. The workers that get it from worker `source`.
inline std::vector<uint32_t> targetsOf(uint32_t source, uint32_t sources, uint32_t targets, bool gathered) {
  if (gathered && targets == 1)
    return {0};
  std::vector<uint32_t> result;
  for (uint32_t target = source; target < targets; target += sources)
    result.push_back(target);
  return result;
}

/// Nothing when every worker comes to an end, having met its partners in
/// operations with equal signatures; else one line that says who waits where
/// for whom. Takes time linear in the operations of all workers.
std::optional<std::string> findCommunicationError(const CommunicationPlan &plan);

} // namespace dgc::rt
