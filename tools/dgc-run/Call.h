// dgc-run PLAN --call PROGRAM --input NAME=FILE.npy ... --output-dir DIR
#pragma once

#include "absl/status/status.h"
#include "tools/dgc-run/Flags.h"

namespace dgc::tool {

/// Runs one program once, every rank as a thread, on whole arrays from .npy
/// files, and writes each output as DIR/NAME.npy. Inputs whose name is that of
/// a variable replace its initial value.
absl::Status callProgram(Flags flags);

} // namespace dgc::tool
