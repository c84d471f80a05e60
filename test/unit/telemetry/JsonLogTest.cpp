// --log-json: every line parses as JSON and says what was put in.
#include "runtime/telemetry/JsonLog.h"
#include "test/unit/support/FakeDisk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>

using namespace dgc::rt;
using dgc::rt::test::FakeDisk;

static std::string lineOf(const LogEvent &event) {
  std::string out;
  appendJson(event, out);
  return out;
}

TEST(JsonLog, WritesTheDocumentedFields) {
  Metric metrics[] = {{"accuracy", 0.5}, {"top5", 1}};
  LogEvent event;
  event.event = "step";
  event.step = 12;
  event.epoch = 1;
  event.loss = 0.1;
  event.metrics = metrics;
  event.ms = 1.25;
  event.samplesPerSecond = 102400;
  event.rank = 0;
  event.message = "all is well";
  EXPECT_EQ(lineOf(event), "{\"event\":\"step\",\"step\":12,\"epoch\":1,\"loss\":0.1,"
                           "\"metrics\":{\"accuracy\":0.5,\"top5\":1},\"ms\":1.25,"
                           "\"samples_per_s\":102400,\"rank\":0,\"message\":\"all is "
                           "well\"}\n");
  EXPECT_EQ(lineOf({"end"}), "{\"event\":\"end\"}\n");
}

TEST(JsonLog, IsJsonWhateverIsInIt) {
  LogEvent event;
  event.event = "error";
  event.loss = std::numeric_limits<double>::quiet_NaN();
  event.ms = std::numeric_limits<double>::infinity();
  std::string message = "a \"quote\", a \\, a\nline, a \x01 and \xc3\xa9";
  event.message = message;
  std::string line = lineOf(event);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  auto parsed = nlohmann::json::parse(line);
  EXPECT_EQ(parsed["message"], message);
  EXPECT_TRUE(parsed["loss"].is_null());
  EXPECT_TRUE(parsed["ms"].is_null());
}

TEST(JsonLog, WritesTensorsAsListsInLists) {
  const int64_t matrix[] = {2, 3}, vector[] = {1};
  std::vector<Metric> metrics{{"accuracy", 0.5}};
  for (double value : {1, 0, 2, 4, 0, 9})
    metrics.push_back({"roots", value, std::nullopt, dgc::artifact::MetricFunction::SquareRoot, matrix});
  metrics.push_back(
      {"one", std::numeric_limits<double>::quiet_NaN(), std::nullopt, dgc::artifact::MetricFunction::Last, vector});
  metrics.push_back({"top5", 1});
  LogEvent event;
  event.event = "evaluate";
  event.metrics = metrics;
  EXPECT_EQ(nlohmann::json::parse(lineOf(event))["metrics"],
            nlohmann::json::parse(
                R"({"accuracy": 0.5, "roots": [[1, 0, 1.4142135623730951], [2, 0, 3]], "one": [null], "top5": 1})"));
}

TEST(JsonLog, NumbersComeBackBitByBit) {
  for (double value : {0.1, 1e-300, 123456789.123456789, 1.0 / 3, -0.0}) {
    LogEvent event;
    event.event = "step";
    event.loss = value;
    EXPECT_EQ(nlohmann::json::parse(lineOf(event))["loss"].get<double>(), value);
  }
}

TEST(JsonLog, HoldsStepsBackForHalfASecond) {
  FakeDisk disk;
  FakeClock clock;
  auto log = JsonLog::open(disk, clock, "d/log");
  ASSERT_TRUE(log.ok()) << log.status();
  LogEvent step;
  step.event = "step";
  ASSERT_TRUE((*log)->add(step).ok());
  EXPECT_EQ(*disk.get("d/log"), "");
  clock.advance(500_ms);
  ASSERT_TRUE((*log)->add(step).ok());
  EXPECT_EQ(*disk.get("d/log"), "{\"event\":\"step\"}\n{\"event\":\"step\"}\n");
  ASSERT_TRUE((*log)->add(step).ok());
  LogEvent epoch;
  epoch.event = "epoch";
  ASSERT_TRUE((*log)->add(epoch).ok());
  EXPECT_THAT(*disk.get("d/log"), testing::EndsWith("{\"event\":\"epoch\"}\n"));
  ASSERT_TRUE((*log)->add(step).ok());
  log->reset();
  EXPECT_THAT(*disk.get("d/log"), testing::EndsWith("{\"event\":\"step\"}\n"));
}

TEST(JsonLog, AnotherProcessGoesOnBehindTheLastWholeLine) {
  FakeDisk disk;
  FakeClock clock;
  disk.put("d/log", "{\"event\":\"step\",\"step\":1}\n{\"event\":\"st");
  LogEvent step;
  step.event = "step";
  {
    auto log = JsonLog::open(disk, clock, "d/log", {.isContinued = true, .holdsBack = false});
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_EQ(*disk.get("d/log"), "{\"event\":\"step\",\"step\":1}\n");
    ASSERT_TRUE((*log)->add(step).ok());
    EXPECT_EQ(*disk.get("d/log"), "{\"event\":\"step\",\"step\":1}\n{\"event\":\"step\"}\n") << "nothing is held back";
  }
  auto anew = JsonLog::open(disk, clock, "d/log");
  ASSERT_TRUE(anew.ok()) << anew.status();
  EXPECT_EQ(*disk.get("d/log"), "");
}

TEST(JsonLog, NoLineIsLostWhateverFailsWhenAnotherProcessBegins) {
  const std::string lines = "{\"event\":\"step\",\"step\":1}\n";
  for (int failAt = 0;; ++failAt) {
    FakeDisk disk;
    FakeClock clock;
    disk.put("d/log", lines);
    disk.error = ENOSPC;
    disk.failAt = disk.operations + failAt;
    const bool isOpen = JsonLog::open(disk, clock, "d/log", {.isContinued = true}).ok();
    EXPECT_EQ(*disk.get("d/log"), lines) << "operation " << failAt;
    if (isOpen)
      break;
    ASSERT_LT(failAt, 100);
  }
}

TEST(JsonLog, AFullDiskIsToldOnceAndForAll) {
  FakeDisk disk;
  FakeClock clock;
  auto log = JsonLog::open(disk, clock, "d/log");
  ASSERT_TRUE(log.ok()) << log.status();
  disk.error = ENOSPC;
  disk.failAt = disk.operations;
  LogEvent event;
  event.event = "epoch";
  absl::Status status = (*log)->add(event);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("--log-json: cannot write d/log"));
  size_t before = disk.get("d/log")->size();
  EXPECT_EQ((*log)->add(event), status);
  EXPECT_EQ(disk.get("d/log")->size(), before);
}

TEST(JsonLog, SaysWhatFileItCannotMake) {
  FakeDisk disk;
  FakeClock clock;
  disk.failAt = 0;
  disk.error = EACCES;
  auto log = JsonLog::open(disk, clock, "d/log");
  ASSERT_FALSE(log.ok());
  EXPECT_THAT(std::string(log.status().message()),
              testing::HasSubstr("--log-json: cannot write d/log: cannot create d/.log.dgc-lock"));
}
