// Traces, read back with a JSON parser.
#include "runtime/telemetry/Trace.h"
#include "test/unit/support/FakeDisk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace dgc::rt;
using dgc::rt::test::FakeDisk;
using nlohmann::json;

static const std::vector<TraceName> names = {{"dense \"1\"", "train", "m.mlir:3:4"}, {"all_reduce", "train", ""}};

static std::string traceOf(int rank) {
  const std::vector<TraceEvent> events = {{5000000, 5001500, 7, 0, 0}, {5002000, 5012000, 7, 1, 1}};
  return formatTrace(events, rank, names, 5000000);
}

TEST(Trace, HasATrackPerWorkerAndQueue) {
  json events = json::parse(traceOf(3));
  ASSERT_TRUE(events.is_array());
  std::vector<json> ran, tracks;
  for (const json &event : events) {
    EXPECT_EQ(event["pid"], 3);
    (event["ph"] == "X" ? ran : tracks).push_back(event);
  }
  ASSERT_EQ(ran.size(), 2u);
  EXPECT_EQ(ran[0]["name"], "dense \"1\"");
  EXPECT_EQ(ran[0]["cat"], "train");
  EXPECT_EQ(ran[0]["tid"], 0);
  EXPECT_EQ(ran[0]["ts"], 0.0);
  EXPECT_EQ(ran[0]["dur"], 1.5);
  EXPECT_EQ(ran[0]["args"]["step"], 7);
  EXPECT_EQ(ran[0]["args"]["location"], "m.mlir:3:4");
  EXPECT_EQ(ran[1]["tid"], 1);
  EXPECT_EQ(ran[1]["ts"], 2.0);
  std::map<std::string, std::string> named;
  for (const json &track : tracks)
    if (track["args"].contains("name"))
      named[track["name"].get<std::string>() + std::to_string(int(track["tid"]))] = track["args"]["name"];
  EXPECT_EQ(named["process_name0"], "worker 3");
  EXPECT_EQ(named["thread_name0"], "compute");
  EXPECT_EQ(named["thread_name1"], "communicate");
}

TEST(Trace, HasALabelForTheWorker) {
  const std::string text = formatTrace({}, 0, names, 0, "3 \"later\" events left out");
  EXPECT_THAT(text, testing::HasSubstr("process_labels"));
  EXPECT_THAT(text, testing::HasSubstr("3 \\\"later\\\" events left out"));
  EXPECT_TRUE(json::accept(text));
  EXPECT_THAT(formatTrace({}, 0, names), testing::Not(testing::HasSubstr("process_labels")));
}

TEST(Trace, JoinsThePartsOfAllWorkers) {
  FakeDisk disk;
  disk.put("d/trace.rank0", "a file of the user");
  auto file = OutputFile::reserve(disk, "d/trace");
  ASSERT_TRUE(file.ok());
  std::vector<std::string> parts = {traceOf(0), traceOf(1), "", traceOf(3)};
  ASSERT_TRUE(writeTrace(*file, parts).ok());
  EXPECT_EQ(*disk.get("d/trace.rank0"), "a file of the user");
  std::set<int> workers;
  for (const json &event : json::parse(*disk.get("d/trace")))
    if (event["ph"] == "X")
      workers.insert(int(event["pid"]));
  EXPECT_EQ(workers, (std::set<int>{0, 1, 3}));
  parts[1] = "[\n{";
  EXPECT_THAT(std::string(writeTrace(*file, parts).message()), testing::HasSubstr("the part of a worker is not whole"));
}

TEST(Trace, AnEmptyTraceIsJson) { EXPECT_TRUE(json::accept(formatTrace({}, 0, {}))); }
