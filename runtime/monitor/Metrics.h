// --metrics-port: a job in the text format of Prometheus.
#pragma once

#include "runtime/monitor/JobFacts.h"
#include "runtime/telemetry/JobStatus.h"

#include <string>

namespace dgc::rt {

/// One exposition of all metrics, as a scraper reads it. `wallTime`: seconds since 1970.
std::string expose(const JobFacts &facts, const JobState &state, double wallTime);

/// What the answer says that its text is.
inline constexpr const char *kExpositionType = "text/plain; version=0.0.4; charset=utf-8";

} // namespace dgc::rt
