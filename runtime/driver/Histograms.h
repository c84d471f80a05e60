// --tensorboard-histograms: how the elements of the variables are spread.
#pragma once

#include "runtime/driver/Shares.h"
#include "runtime/driver/Worker.h"
#include "runtime/telemetry/ValueHistogram.h"

#include <map>
#include <string>

namespace dgc::rt {

/// Every rank counts what it gives of each variable, and rank 0 gets all of them by name; the others get none. No step is under
/// way.
absl::StatusOr<std::map<std::string, ValueHistogram>> variableHistograms(const Artifact &artifact, Executor &executor,
                                                                         const WorkerContext &context);

} // namespace dgc::rt
