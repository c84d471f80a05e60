// The proof, at load, that the communication of a plan comes to an end. It looks at the artifact alone, whoever
// wrote it.
#pragma once

#include "runtime/artifact/dgcx_generated.h"

#include "absl/status/status.h"

#include <span>

namespace dgc::rt {

/// All programs: the collectives are numbered 0, 1, ... in the order of the steps, each lies within the shared arena
/// with counts that fit its group, and the workers, each running the program of its group, come to an end
/// (checkTogether). Must follow checkPlan.
absl::Status checkCommunication(const artifact::Plan &plan);

/// That the workers come to an end when rank r runs `*programs[r]`, all at the same time: every collective is entered
/// by all of its group with the same type, place and numbering of members, every send meets its receive, and nobody
/// waits in a circle, sends waiting for their receivers. There is a program for each rank; the collectives of all have
/// been checked by themselves.
absl::Status checkTogether(const artifact::Plan &plan, std::span<const artifact::Program *const> programs);

} // namespace dgc::rt
