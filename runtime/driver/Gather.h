// Bytes of all workers, brought together.
#pragma once

#include "absl/status/statusor.h"

#include <functional>
#include <string>
#include <vector>

namespace dgc::rt {

/// Gives some bytes and returns those of all workers, by rank. What all give at once must fit into a message.
using GatherBytes = std::function<absl::StatusOr<std::vector<std::string>>(const std::string &)>;

/// Brings bytes of any length to rank 0, piece by piece; elsewhere the result is empty.
absl::StatusOr<std::vector<std::string>> gatherLong(const GatherBytes &gather, int rank, const std::string &mine);

} // namespace dgc::rt
