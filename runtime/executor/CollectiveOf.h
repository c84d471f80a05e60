// The collectives of a plan, as transports want them.
#pragma once

#include "runtime/artifact/dgcx_generated.h"
#include "runtime/collective/Transport.h"

namespace dgc::rt {

/// A collective of the plan as `rank`, which takes part in it, sees it.
CollectiveDesc describeCollective(const artifact::Plan &plan, const artifact::Collective &collective, uint32_t rank);

} // namespace dgc::rt
