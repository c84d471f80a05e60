// The JSON that the page reads, and that the page needs nothing else.
#include "runtime/monitor/StatusPage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <regex>

using namespace dgc::rt;
using nlohmann::json;

TEST(StatusPage, JsonHasTheJob) {
  JobFacts facts;
  facts.model = "m";
  facts.options = {{"mesh", "data=2"}};
  facts.flopsPerStep = 1e9;
  facts.workers.resize(2);
  facts.workers[0].traffic["all_gather"] = {10, 20};
  JobState state;
  state.step = 30;
  state.firstStep = 10;
  state.lastStep = 50;
  state.stepsPerSecond = 4;
  state.peakFlops = 16e9;
  state.samplesPerSecond = 256;
  state.tokensPerSample = 8;
  state.loss = std::numeric_limits<double>::quiet_NaN();
  state.losses = {{11, 2}, {12, 1}};
  state.workers.resize(2);
  state.workers[1] = {true, 30, 0, 1000, 9000, 2'000'000'000, 0, 10, 4};
  const json job = json::parse(statusJson(facts, state, 100));
  EXPECT_EQ(job["loss"], nullptr);
  EXPECT_EQ(job["losses"], json::parse("[[11.0, 2.0], [12.0, 1.0]]"));
  EXPECT_EQ(job["seconds_left"], 5.0);
  EXPECT_EQ(job["tokens_per_second"], 2048.0);
  EXPECT_EQ(job["flops_per_second"], 4e9);
  EXPECT_EQ(job["share_of_peak"], 0.25);
  EXPECT_EQ(job["checkpoint"], nullptr);
  EXPECT_EQ(job["plan"]["options"], json::parse(R"([["mesh", "data=2"]])"));
  EXPECT_EQ(job["workers"][0]["bytes_per_step"]["all_gather"], 20);
  EXPECT_EQ(job["workers"][0]["memory_used"], nullptr);
  EXPECT_EQ(job["workers"][1]["waits_for"], 0);
  EXPECT_EQ(job["workers"][1]["waiting_share"], 0.4);
  EXPECT_EQ(job["workers"][1]["exposed_seconds"], 2.0);
  state.checkpoints.count = 1;
  state.checkpoints.writtenAt = 90;
  EXPECT_EQ(json::parse(statusJson(facts, state, 100))["checkpoint"]["age"], 10.0);
}

TEST(StatusPage, TimesOfStepsAreWithinTheirBuckets) {
  JobState state;
  for (int i = 0; i < 99; ++i)
    state.stepSeconds.add(0.003);
  state.stepSeconds.add(0.2);
  const json job = json::parse(statusJson({}, state, 0));
  EXPECT_GT(job["step_seconds"]["median"], 0.0025);
  EXPECT_LE(job["step_seconds"]["median"], 0.005);
  EXPECT_LE(job["step_seconds"]["p95"], 0.005);
}

TEST(StatusPage, LoadsNothingFromElsewhere) {
  const std::string page(statusPage());
  const std::regex address(R"((https?:)?//[\w.]+[\w./-]*)"), field(R"(\bjob\.(\w+))");
  for (std::sregex_iterator it(page.begin(), page.end(), address), end; it != end; ++it)
    EXPECT_EQ(it->str(), "http://www.w3.org/2000/svg") << "which is a name alone";
  EXPECT_FALSE(std::regex_search(page, std::regex(R"((src|@import|url\())"))) << "no other file";
  // Each field that the page reads is one that is there.
  const json job = json::parse(statusJson({}, {}, 0));
  for (std::sregex_iterator it(page.begin(), page.end(), field), end; it != end; ++it)
    EXPECT_TRUE(job.contains((*it)[1].str())) << (*it)[1].str();
}
