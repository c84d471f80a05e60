// Networks that fail between real processes: data that does not arrive while the coordinator is reachable, and pauses.
#include "../collective/TwoHosts.h"
#include "JobProcess.h"

#include <gmock/gmock.h>

namespace dgc::rt {
namespace {

using ::testing::AnyOf;
using ::testing::ContainsRegex;
using namespace test;

/// Two machines whose workers meet in one network and exchange data in another, over the same cable.
class TwoNetworks : public ::testing::Test {
protected:
  void SetUp() override {
    if (!hosts.usable)
      GTEST_SKIP() << TwoHosts::skipReason();
    for (int h = 0; h < 2; ++h)
      ASSERT_TRUE(shell("ip -n " + hosts.name(h) + " addr add " + data(h) + "/24 dev " + hosts.device[h]));
  }

  static std::string data(int host) { return "10.79.80." + std::to_string(host + 1); }
  /// Whether packets from `from` to the other host get through, to its address for the data or for the coordinator.
  void pass(int from, bool forData, bool open) {
    const std::string to = forData ? data(1 - from) : TwoHosts::address(1 - from);
    ASSERT_TRUE(shell("ip -n " + hosts.name(from) + " route " + (open ? "del" : "add") + " blackhole " + to));
  }

  std::vector<Process> start(const std::vector<std::string> &more) {
    std::vector<Process> p;
    for (int r : {0, 1}) {
      std::vector<std::string> arguments = {"--rank",         absl::StrCat(r),
                                            "--world-size",   "2",
                                            "--insecure",     "",
                                            "--coordinator",  TwoHosts::address(0) + ":29400",
                                            "--transport",    "tcp",
                                            "--data-address", data(r)};
      std::erase(arguments, "");
      arguments.insert(arguments.end(), more.begin(), more.end());
      p.emplace_back(arguments, std::vector<std::string>{}, [this, r] { return hosts.enter(r); });
    }
    return p;
  }

  TwoHosts hosts;
};

const int kNetwork = static_cast<int>(ExitCode::Network);

TEST_F(TwoNetworks, DataThatDoesNotArriveEndsTheJobWithWhoWaitsForWhom) {
  auto p = start({"--steps", "1000000000", "--step-us", "50", "--stall-timeout", "2"});
  ASSERT_TRUE(p[0].printed("first step done")) << p[0].output() << p[1].output();
  pass(0, true, false);
  pass(1, true, false);
  for (Process &each : p) {
    EXPECT_EQ(each.wait(20), kNetwork);
    EXPECT_THAT(each.output(), ContainsRegex("ranks 0 and 1 have not advanced for 2 s \\(--stall-timeout\\).*: rank 0 "
                                             "waits for rank 1 at step [0-9]+, op 1 \\(all_reduce\\), rank 1 waits for "
                                             "rank 0 at step [0-9]+, op 1 \\(all_reduce\\)"));
  }
}

TEST_F(TwoNetworks, RanksThatCannotConnectForDataEndInTheTimeToJoin) {
  pass(0, true, false); // what rank 0 answers is lost
  auto p = start({"--join-timeout", "2"});
  for (Process &each : p) {
    EXPECT_EQ(each.wait(20), kNetwork);
    EXPECT_THAT(each.output(),
                AnyOf(ContainsRegex("rank 1 could not connect to rank 0 at 10.79.80.1:[0-9]+ within 2 s"),
                      ContainsRegex("rank 1 did not connect to rank 0 at 10.79.80.1:[0-9]+ within 2 s")));
  }
}

// After three seconds without a way in either direction, TCP sends again after up to three more.
TEST_F(TwoNetworks, APauseOfThreeSecondsEndsNothing) {
  auto p = start({"--steps", "2000", "--step-us", "1000"});
  ASSERT_TRUE(p[0].printed("first step done")) << p[0].output() << p[1].output();
  for (bool open : {false, true}) {
    for (int from : {0, 1})
      for (bool forData : {false, true})
        pass(from, forData, open);
    if (!open)
      usleep(3'200'000);
  }
  for (Process &each : p)
    EXPECT_EQ(each.wait(60), 0) << each.output();
}

// A rank that computes for longer than the time for stalls is waited for.
TEST_F(TwoNetworks, ALongStepIsNoStall) {
  auto p = start({"--steps", "2", "--step-us", "2500000", "--slow-rank", "1", "--stall-timeout", "1"});
  for (Process &each : p)
    EXPECT_EQ(each.wait(60), 0) << each.output();
}

} // namespace
} // namespace dgc::rt
