// The content of an artifact, as text.
#pragma once

#include "runtime/artifact/Reader.h"

#include <string>

namespace dgc::tool {

/// Text: one line for each thing. `steps`: the schedules as well.
std::string describeAsText(const rt::Artifact &artifact, bool steps);

} // namespace dgc::tool
