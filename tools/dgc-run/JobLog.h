// The file of --log-json where no worker writes it: before the workers begin, and after one was killed.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace dgc::tool {

using Notice = std::function<void(std::string_view)>;

/// Replaces the log by `text` and a line with an error.
void writeLog(const std::string &path, std::string text, const std::string &message, const Notice &notice);

/// Replaces the log by an empty one, so that nothing of an earlier job is left when the workers cannot begin. The
/// worker that writes it reports why that is not possible.
void emptyLog(const std::string &path);

/// Sees to it that the log of this job ends with an error when the worker that writes it was killed.
void endLog(const std::string &path, const std::string &message, const Notice &notice);

} // namespace dgc::tool
