// The traffic of the programs of a plan, as Traffic.h counts it.
#pragma once

#include "runtime/artifact/Traffic.h"
#include "runtime/artifact/dgcx_generated.h"

namespace dgc::rt {

/// The payload of a collective, in bytes; without the alignment between its values. The collective has been checked.
uint64_t payloadBytes(const artifact::Collective &collective);

/// What a rank that runs `program` communicates in one run of it. The steps have been checked.
Traffic trafficOf(const artifact::Program &program);

} // namespace dgc::rt
