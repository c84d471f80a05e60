// Metrics that are tensors, as text: nested lists of JSON, tables for people.
#pragma once

#include "runtime/telemetry/Progress.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace dgc::rt {

/// Calls `use` for each metric, with its elements in row-major order: one of a scalar.
void forEachMetric(std::span<const Metric> metrics, const std::function<void(std::span<const Metric>)> &use);

/// The metric with these elements as a number, or as lists in lists.
void appendNested(std::span<const Metric> elements, const std::function<void(double)> &number, std::string &out);

/// Each metric that is a tensor in lines of its own, with a line feed before each of them: a table, or the shape of what is
/// too large for one, and where it is: in the file of --log-json, `log`.
std::string formatTables(std::span<const Metric> metrics, std::string_view log);

} // namespace dgc::rt
