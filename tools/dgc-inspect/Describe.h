// The content of an artifact, as text; which plans a range of them has, as text and as JSON.
#pragma once

#include "runtime/artifact/PlanRange.h"
#include "runtime/artifact/Reader.h"

#include <string>

namespace dgc::tool {

/// Text: one line for each thing. `steps`: the schedules as well.
std::string describeAsText(const rt::Artifact &artifact, bool steps);

/// One line for the range, and one for each plan: workers, bytes, digest.
std::string describeRangeAsText(const rt::PlanRange &range);
std::string describeRangeAsJson(const rt::PlanRange &range);

} // namespace dgc::tool
