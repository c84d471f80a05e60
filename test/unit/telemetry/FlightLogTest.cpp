#include "runtime/telemetry/FlightLog.h"

#include "runtime/base/Status.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>

#include <sys/wait.h>
#include <unistd.h>

using namespace dgc::rt;
using testing::HasSubstr;
using testing::Not;

namespace {

const std::vector<std::string> names{"'matmul' of train (m.mlir:3:8)", "'all_reduce' of train (m.mlir:5:8)"};

class FlightRecorders : public testing::Test {
protected:
  ~FlightRecorders() override { std::filesystem::remove_all(folder); }
  std::string path(uint32_t rank) { return folder + "/" + flightFileName(rank); }
  std::unique_ptr<FlightRecorder> make(uint32_t rank, uint32_t world, uint64_t capacity = 8) {
    auto made = FlightRecorder::create(path(rank), {rank, world, "alpha", "0123456789abcdef", capacity}, names, clock);
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }
  std::vector<FlightLog> read() {
    auto logs = readFlightLogs(realDisk(), folder, false);
    EXPECT_TRUE(logs.ok()) << logs.status();
    return logs.ok() ? *std::move(logs) : std::vector<FlightLog>();
  }
  std::string bytesOf(uint32_t rank) {
    std::ifstream file(path(rank), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  absl::StatusOr<FlightLog> parse(const std::string &bytes) {
    return parseFlightLog(std::as_bytes(std::span(bytes)), "flight-0");
  }

  void SetUp() override {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }

  std::string folder = testing::TempDir() + "flight-" + std::to_string(getpid()) +
                       testing::UnitTest::GetInstance()->current_test_info()->name();
  FakeClock clock{1_s};
};

TEST_F(FlightRecorders, KeepTheLastEvents) {
  auto recorder = make(1, 3);
  for (uint64_t step = 0; step < 10; ++step)
    for (uint32_t op : {0, 1})
      recorder->begin(step, op, 1_s + static_cast<TimeNs>(2 * step + op) * 1_ms);
  const std::vector<FlightLog> logs = read(); // while it is written
  ASSERT_EQ(logs.size(), 1);
  const FlightLog &log = logs[0];
  EXPECT_EQ(log.rank, 1);
  EXPECT_EQ(log.world, 3);
  EXPECT_EQ(log.pid, getpid());
  EXPECT_EQ(log.host, "alpha");
  EXPECT_EQ(log.plan, "0123456789abcdef");
  EXPECT_EQ(log.names, names);
  EXPECT_EQ(log.written, 20);
  ASSERT_EQ(log.events.size(), 8);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(log.events[i].step, 6 + i / 2);
    EXPECT_EQ(log.events[i].op, i % 2);
    EXPECT_EQ(log.events[i].real - log.events[0].real, static_cast<int64_t>(i) * 1'000'000);
  }
  EXPECT_EQ(log.nameOf(log.events[7]), "op 1, " + names[1]);
  EXPECT_FALSE(log.awaited || log.exitCode || log.sampled);
}

TEST_F(FlightRecorders, OutliveTheirProcess) {
  const pid_t child = fork();
  if (child == 0) {
    auto recorder = make(0, 1);
    recorder->begin(7, 1, 2_s);
    recorder->sample(0, 3_s);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const std::vector<FlightLog> logs = read();
  ASSERT_EQ(logs.size(), 1);
  EXPECT_EQ(logs[0].pid, child);
  ASSERT_EQ(logs[0].events.size(), 1);
  EXPECT_EQ(logs[0].events[0].step, 7);
  EXPECT_FALSE(logs[0].exitCode);
  EXPECT_EQ(*logs[0].sampled - logs[0].events[0].real, 1'000'000'000);
}

TEST_F(FlightRecorders, SayWhoWaitedForWhom) {
  auto zero = make(0, 3), one = make(1, 3), two = make(2, 3);
  zero->begin(119, 1, 5_s);
  zero->sample(2, 15_s);
  one->begin(119, 1, 5_s + 1_ms);
  one->sample(2, 15_s);
  two->begin(119, 0, 5_s);
  two->sample(-1, 5_s + 50_ms);
  zero->end(6);
  one->end(6);
  const std::string text = describeFlight(read(), 2);
  EXPECT_THAT(text, HasSubstr("3 workers of 3, plan 0123456789ab"));
  EXPECT_THAT(text, HasSubstr("rank 0  alpha, process " + std::to_string(getpid()) + ": ended with 6; last seen at "));
  EXPECT_THAT(text,
              HasSubstr("at step 119, op 1, 'all_reduce' of train (m.mlir:5:8), for 10.000 s, waiting for rank 2\n"));
  EXPECT_THAT(text, HasSubstr("has not ended by itself; last seen at "));
  EXPECT_THAT(text,
              HasSubstr("who waited for whom: rank 0 for rank 2, rank 1 for rank 2\nfirst to stop: rank 2, which was "
                        "killed, runs still, or is on a machine that went down\nthe last 2 ops that began:\n"));
  EXPECT_THAT(text, HasSubstr("rank 1  step 119  op 1, 'all_reduce'"));
  EXPECT_THAT(flightAsJson(read(), 2), HasSubstr("\"first_to_stop\": 2"));

  // The one with the error, where all have ended by themselves; nobody, where there is none.
  two->end(7);
  EXPECT_THAT(describeFlight(read(), 0), HasSubstr("first to stop: rank 2, which ended with 7"));
  for (FlightRecorder *each : {&*zero, &*one, &*two})
    each->end(0);
  EXPECT_THAT(describeFlight(read(), 0), HasSubstr("all have ended by themselves, with 0"));
  EXPECT_THAT(describeFlight(read(), 0), Not(HasSubstr("who waited")));
}

TEST_F(FlightRecorders, OfAnotherFolderAreNotFound) {
  std::ofstream(folder + "/flight-x") << "text";
  std::ofstream(folder + "/flight-07") << "text";
  auto logs = readFlightLogs(realDisk(), folder, false);
  EXPECT_TRUE(absl::IsNotFound(logs.status())) << logs.status();
  EXPECT_THAT(std::string(logs.status().message()), HasSubstr("dgc-run --checkpoint"));
}

TEST_F(FlightRecorders, WithoutPlaceAreAnError) {
  auto made = FlightRecorder::create(folder + "/none/flight-0", {}, names, clock);
  EXPECT_THAT(std::string(made.status().message()), HasSubstr("cannot create " + folder + "/none/flight-0"));
  auto large = FlightRecorder::create(path(0), {.capacity = uint64_t{1} << 55}, names, clock);
  EXPECT_FALSE(large.ok());
  EXPECT_FALSE(realDisk().exists(path(0)));
}

// Whatever the bytes are, it is an error or a log.
TEST_F(FlightRecorders, MayBeDamaged) {
  {
    auto recorder = make(0, 2);
    for (uint64_t step = 0; step < 12; ++step)
      recorder->begin(step, 0, 1_s);
  }
  const std::string good = bytesOf(0);
  ASSERT_TRUE(parse(good).ok());
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(parse(good.substr(0, size)).ok()) << size;
  EXPECT_FALSE(parse(good + "x").ok());
  for (size_t at = 0; at < good.size(); ++at)
    for (char value : {'\0', '\xff', '\x80'}) {
      std::string bad = good;
      bad[at] = value;
      if (auto log = parse(bad); log.ok()) {
        std::vector<FlightLog> logs{*log};
        EXPECT_FALSE(describeFlight(logs, 5).empty());
        EXPECT_FALSE(flightAsJson(logs, 5).empty());
      }
    }
  std::string torn = good; // the entry that is being overwritten
  torn[flight::kEntriesAt + offsetof(flight::Entry, number)] = 0;
  EXPECT_EQ(parse(torn)->events.size(), parse(good)->events.size() - 1);
}

} // namespace
