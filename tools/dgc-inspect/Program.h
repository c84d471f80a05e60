// Programs that are not compiled yet: the compiler describes them.
#pragma once

#include "absl/status/status.h"

#include <string>
#include <vector>

namespace dgc::tool {

/// Whether the file is a program of StableHLO or ONNX, and no artifact. False where it cannot be read.
bool isProgram(const std::string &path);

/// Lets dgc-compile, which is beside this program, describe the file in place of this process. Returns only where there is
/// none.
absl::Status describeProgram(const std::string &path, const std::vector<std::string> &flags);

} // namespace dgc::tool
