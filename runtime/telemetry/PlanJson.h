// An artifact as JSON, for programs.
#pragma once

#include "runtime/artifact/Reader.h"

#include <string>

namespace dgc::rt {

/// Everything but the bytes of the sections, as one JSON object. The keys are the names in dgcx.fbs; enums are their
/// names in lower case. `indent`: blanks per level; -1: all in one line.
std::string describeAsJson(const Artifact &artifact, int indent = 2);

} // namespace dgc::rt
