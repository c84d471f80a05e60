// The proof, at load, that a plan's communication cannot deadlock. Independent
// of the compiler's checker: it looks at the artifact alone.
#pragma once

#include "runtime/artifact/dgcx_generated.h"

#include "absl/status/status.h"

namespace dgc::rt {

/// Per program: the collectives are numbered 0, 1, ... in the order of the
/// steps (every worker walks the same steps in that order, so every group meets
/// in the same order), each lies within the shared arena with counts that fit
/// its group, and every send has its receive: same channel, same place in the
/// channel's order, same bytes. Must follow checkPlan.
absl::Status checkCommunication(const artifact::Plan &plan);

} // namespace dgc::rt
