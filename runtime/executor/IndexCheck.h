// Whether the numbers that choose rows of a table do choose one.
#pragma once

#include "runtime/executor/Executor.h"

namespace dgc::rt {

/// Checks that every element of an input with an index limit is below it, padding left out. The error names the first
/// that is not, and where in the global batch it is.
absl::Status checkIndices(const InputView &input);

} // namespace dgc::rt
