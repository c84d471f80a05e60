// Every update is applied once, though messages are lost, repeated and reordered, and processes die: in many random jobs, and in
// all small ones.
#include "test/unit/servers/FakeServers.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>

using namespace dgc::rt;
using namespace dgc::rt::test;

namespace {

/// A number that the environment may say instead, for campaigns: DGC_SIMULATION_SEEDS=100000.
int64_t numberOf(const char *variable, int64_t usual) {
  const char *given = std::getenv(variable);
  return given ? std::atoll(given) : usual;
}

std::string runSeed(uint64_t seed, int faults) {
  std::mt19937_64 random(seed);
  FakeServers::Options options;
  options.workers = static_cast<int>(1 + random() % 3);
  options.servers = static_cast<int>(1 + random() % 3);
  options.steps = static_cast<int64_t>(1 + random() % 6);
  options.staleness = static_cast<int64_t>(random() % 4);
  options.faults = faults;
  return FakeServers(options, [&](uint32_t n) { return static_cast<uint32_t>(random() % n); }).run();
}

TEST(AsynchronousServers, ApplyEachUpdateOnce) {
  const auto first = static_cast<uint64_t>(numberOf("DGC_SIMULATION_FIRST", 0));
  const auto seeds = static_cast<uint64_t>(numberOf("DGC_SIMULATION_SEEDS", 2000));
  for (uint64_t seed = first; seed < first + seeds; ++seed)
    ASSERT_EQ(runSeed(seed, static_cast<int>(seed % 12)), "") << "seed " << seed;
}

/// Goes through all sequences of choices, one after the other.
class AllChoices {
public:
  uint32_t choose(uint32_t n) {
    if (at == path.size())
      path.push_back({0, n});
    return path[at++].first;
  }
  /// To the next sequence; false: there is none.
  bool next() {
    at = 0;
    while (!path.empty() && path.back().first + 1 == path.back().second)
      path.pop_back();
    if (path.empty())
      return false;
    ++path.back().first;
    return true;
  }

private:
  std::vector<std::pair<uint32_t, uint32_t>> path; // what was chosen, of how many
  size_t at = 0;
};

/// All jobs, or the first `most`.
void runAll(const FakeServers::Options &options, int64_t most = INT64_MAX) {
  AllChoices all;
  int64_t jobs = 0;
  do {
    const std::string wrong = FakeServers(options, [&](uint32_t n) { return all.choose(n); }).run();
    ASSERT_EQ(wrong, "") << "job " << jobs;
  } while (++jobs < most && all.next());
  std::cout << jobs << " jobs of " << options.workers << " workers, " << options.servers << " servers, "
            << options.steps << " steps, " << options.faults << " faults\n";
}

TEST(AsynchronousServers, ApplyEachUpdateOnceInAllSmallJobs) {
  // One worker and one server: every place of two faults.
  runAll({.workers = 1, .servers = 1, .steps = 1, .staleness = 0, .faults = 2, .faultOdds = 2});
  // Two workers: every order without a fault, and of one step with one.
  runAll({.workers = 2, .servers = 1, .steps = 2, .staleness = 1, .faults = 0});
  runAll({.workers = 2, .servers = 1, .steps = 1, .staleness = 1, .faults = 1, .faultOdds = 2});
}

/// What a campaign checks of larger ones.
TEST(AsynchronousServers, ApplyEachUpdateOnceInAllJobs) {
  const int64_t most = numberOf("DGC_SIMULATION_JOBS", 3000);
  runAll({.workers = 1, .servers = 2, .steps = 1, .staleness = 0, .faults = 1, .faultOdds = 2}, most);
  runAll({.workers = 2, .servers = 2, .steps = 2, .staleness = 1, .faults = 2, .faultOdds = 2}, most);
}

/// The simulation notices a server that applies an update of which it does not know whether it has it.
TEST(AsynchronousServers, ASimulationWithoutALogFails) {
  int found = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    FakeServers::Options options{.workers = 2, .servers = 2, .steps = 4, .staleness = 2, .faults = 4};
    FakeServers job(options, [&](uint32_t n) { return static_cast<uint32_t>(random() % n); });
    job.forgetsLogs = true;
    found += !job.run().empty();
  }
  EXPECT_GT(found, 20);
}

} // namespace
