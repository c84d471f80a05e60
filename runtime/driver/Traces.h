// --trace: what every worker timed, joined in one file.
#pragma once

#include "runtime/base/OutputFile.h"
#include "runtime/driver/Worker.h"
#include "runtime/executor/Executor.h"

namespace dgc::rt {

/// Every rank calls it; rank 0 gets the parts of all as messages and writes `file`, which is null elsewhere.
absl::Status writeTraces(const Artifact &artifact, const OpTrace &trace, const WorkerContext &context,
                         OutputFile *file);

} // namespace dgc::rt
