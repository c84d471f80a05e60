// What is in an artifact, for people and for programs.
#pragma once

#include "runtime/artifact/Reader.h"

#include <string>

namespace dgc::tool {

/// Text: one line for each thing. `steps`: the schedules as well.
std::string describeAsText(const rt::Artifact &artifact, bool steps);

/// Everything but the bytes of the sections, as one JSON object. The keys are the names in dgcx.fbs; enums are their
/// names in lower case.
std::string describeAsJson(const rt::Artifact &artifact);

} // namespace dgc::tool
