// What the CPU of this machine can do, by the names that LLVM gives to it.
#pragma once

#include "absl/status/status.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dgc::rt {

/// Those of `features` ("avx2" or "+avx2") that are not in `flags`, the text of
/// the line "flags" of /proc/cpuinfo; names starting with '-' are skipped.
std::vector<std::string> missingFeatures(std::span<const std::string> features, std::string_view flags);

/// An error with ExitCode::Machine that names every feature this machine lacks.
absl::Status checkCpuFeatures(std::span<const std::string> features);

} // namespace dgc::rt
