// The traffic of the programs of a plan, as Traffic.h counts it.
#pragma once

#include "runtime/artifact/Traffic.h"
#include "runtime/artifact/dgcx_generated.h"

#include <functional>

namespace dgc::rt {

/// The payload of a collective, in bytes; without the alignment between its values. The collective has been checked.
uint64_t payloadBytes(const artifact::Collective &collective);

/// How often a step runs for each run of its program, from the rounds of the loops around it.
struct StepRuns {
  uint64_t times = 1;        ///< saturates
  bool isLowerBound = false; ///< the number of rounds of some loop is unknown, and counts as one
};

/// Visits the steps of a program, which have been checked, in their order.
void forEachStep(const artifact::Program &program, const std::function<void(const artifact::Step &, StepRuns)> &visit);

/// What a rank that runs `program` communicates in one run of it. The steps have been checked.
Traffic trafficOf(const artifact::Program &program);

} // namespace dgc::rt
