// What a plan will do, as text: --dry-run.
#pragma once

#include "runtime/artifact/dgcx_generated.h"

#include <string>

namespace dgc::rt {

/// Workers and mesh, memory of a worker, variables, and for each program its
/// steps, its collectives and the bytes that they carry in a step. `plan` was
/// checked by load().
std::string summarize(const artifact::Plan &plan);

/// "2 workers, mesh data=2, global batch 128".
std::string workersText(const artifact::Plan &plan);

/// Memory of one worker while the plan runs: both arenas, constants and
/// machine code; data sets come on top.
uint64_t workerBytes(const artifact::Plan &plan);

} // namespace dgc::rt
