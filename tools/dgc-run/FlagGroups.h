// Groups of flags of dgc-run that have files of their own, and what they share.
#pragma once

#include "CLI/CLI.hpp"
#include "tools/dgc-run/Flags.h"

#include <cstdint>
#include <limits>

namespace dgc::tool {

/// Accepts whole numbers of a range.
CLI::Validator wholeNumber(int64_t least, int64_t most = std::numeric_limits<int64_t>::max());

/// Those for watching a run, after those that they need.
void addCheckpointFlags(CLI::App &app, Flags &flags);
void addSecurityFlags(CLI::App &app, Flags &flags);
void addWatchFlags(CLI::App &app, Flags &flags);

} // namespace dgc::tool
