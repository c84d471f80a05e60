// --trace: what every worker timed, joined in one file.
#pragma once

#include "runtime/base/Disk.h"
#include "runtime/driver/Worker.h"
#include "runtime/executor/Executor.h"

namespace dgc::rt {

/// Every rank calls it; rank 0 writes `path`. With "-" the parts come to it as messages, else as files beside `path`.
absl::Status writeTraces(const Artifact &artifact, const Executor &executor, const OpTrace &trace,
                         const WorkerContext &context, const std::string &path, Disk &disk);

} // namespace dgc::rt
