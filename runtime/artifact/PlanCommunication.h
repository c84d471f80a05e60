// What the workers of a plan say to each other, in the form that the proof of CommunicationOrder.h takes.
#pragma once

#include "runtime/artifact/CommunicationOrder.h"
#include "runtime/artifact/dgcx_generated.h"

#include "absl/status/statusor.h"

#include <span>

namespace dgc::rt {

/// Operations of communication of all workers together that are gone through when a plan is loaded.
inline constexpr uint64_t maxCommunications = uint64_t{1} << 22;

/// Each worker's collectives, sends and receives in the order of its steps, rank r running `*programs[r]`. The steps
/// must have been checked one by one. Refused where it would be more than maxCommunications.
absl::StatusOr<CommunicationPlan> writeDownCommunication(const artifact::Plan &plan,
                                                         std::span<const artifact::Program *const> programs);

} // namespace dgc::rt
