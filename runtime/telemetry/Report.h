// A plan as a page for a browser.
#pragma once

#include "runtime/artifact/Reader.h"

#include <string>

namespace dgc::rt {

/// One HTML file that needs no network: mesh, variables, schedule, memory over the step, communication and its causes.
/// The plan itself is in it as JSON, in the element with the id "plan".
std::string reportAsHtml(const Artifact &artifact);

} // namespace dgc::rt
