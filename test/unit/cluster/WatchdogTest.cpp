// A process that does not end by itself after an error is ended, and has said what was wrong.
#include "runtime/cluster/Watchdog.h"
#include "runtime/base/ExitCode.h"

#include "gtest/gtest.h"

#include <chrono>
#include <thread>

using namespace dgc::rt;

static absl::Status peerFailed() { return withExitCode(absl::UnavailableError("rank 1 died"), ExitCode::PeerFailed); }

TEST(WatchdogDeathTest, AProcessThatHangsSaysTheError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Watchdog watchdog(0.05);
        watchdog.arm(peerFailed());
        std::this_thread::sleep_for(std::chrono::seconds(60));
      },
      testing::ExitedWithCode(6), "^dgc-run: error: rank 1 died\n$");
}

TEST(WatchdogDeathTest, AProcessThatEndsInTimeSaysItItself) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        {
          Watchdog(60).arm(peerFailed());
        }
        exit(0);
      },
      testing::ExitedWithCode(0), "^$");
}
