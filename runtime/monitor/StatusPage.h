// --status-port: a job as a page for a browser.
#pragma once

#include "runtime/monitor/JobFacts.h"
#include "runtime/telemetry/JobStatus.h"

#include <string>
#include <string_view>

namespace dgc::rt {

/// One HTML file that needs nothing but status.json, beside it, which it reads every second.
std::string_view statusPage();

/// What the page shows. Numbers that are not known, or not finite, are null. `wallTime`: seconds since 1970.
std::string statusJson(const JobFacts &facts, const JobState &state, double wallTime);

} // namespace dgc::rt
