// Ranks as forked processes, for tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace dgc::rt::test {

/// Gives this rank's bytes to all and returns those of all, by rank.
using Exchange = std::function<std::vector<std::string>(const std::string &)>;

/// Forks `worldSize` processes that each run `body`, and returns their results;
/// "error: died ..." for one that ended otherwise.
std::vector<std::string> forkRanks(int worldSize, const std::function<std::string(int rank, const Exchange &)> &body);

} // namespace dgc::rt::test
