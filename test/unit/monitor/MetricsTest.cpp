// The text of metrics, against what the format says.
#include "runtime/monitor/Metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dgc::rt;
using testing::HasSubstr;
using testing::Not;

static JobFacts twoWorkers() {
  JobFacts facts;
  facts.model = "a \"model\"\\";
  facts.digest = std::string(64, 'a');
  facts.workers.resize(2);
  facts.workers[1].plannedBytes = 4096;
  facts.workers[1].traffic["all_reduce"] = {100, 100};
  facts.workers[1].traffic["send"] = {7, 0};
  return facts;
}

TEST(Metrics, HistogramsAreCumulative) {
  JobState state;
  state.stepSeconds.add(0.0002);
  state.stepSeconds.add(0.003);
  state.stepSeconds.add(100);
  const std::string text = expose(twoWorkers(), state, 0);
  EXPECT_THAT(text, HasSubstr("# TYPE dgc_step_seconds histogram\ndgc_step_seconds_count 3\n"));
  EXPECT_THAT(text, HasSubstr("dgc_step_seconds_bucket{le=\"0.0001\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("dgc_step_seconds_bucket{le=\"0.005\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("dgc_step_seconds_bucket{le=\"60\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("dgc_step_seconds_bucket{le=\"+Inf\"} 3\n"));
}

TEST(Metrics, BytesAreThoseOfTheStepsThatWereDone) {
  JobState state;
  state.steps = 12;
  const std::string text = expose(twoWorkers(), state, 0);
  EXPECT_THAT(
      text, HasSubstr("dgc_communication_bytes_total{worker=\"1\",kind=\"all_reduce\",direction=\"received\"} 1200\n"));
  EXPECT_THAT(text, HasSubstr("dgc_communication_bytes_total{worker=\"1\",kind=\"send\",direction=\"sent\"} 84\n"));
  EXPECT_THAT(text, Not(HasSubstr("kind=\"send\",direction=\"received\"")));
  EXPECT_THAT(text, HasSubstr("dgc_memory_planned_bytes{worker=\"1\"} 4096\n"));
}

TEST(Metrics, WhatHasNoValueIsLeftOut) {
  JobState state;
  EXPECT_THAT(expose(twoWorkers(), state, 50), Not(HasSubstr("dgc_loss")));
  EXPECT_THAT(expose(twoWorkers(), state, 50), Not(HasSubstr("dgc_checkpoint_age_seconds")));
  state.loss = 0.5;
  state.checkpoints.count = 1;
  state.checkpoints.writtenAt = 20;
  EXPECT_THAT(expose(twoWorkers(), state, 50), HasSubstr("\ndgc_loss 0.5\n"));
  EXPECT_THAT(expose(twoWorkers(), state, 50), HasSubstr("\ndgc_checkpoint_age_seconds 30\n"));
}

TEST(Metrics, TextOfThePlanIsQuoted) {
  EXPECT_THAT(expose(twoWorkers(), {}, 0), HasSubstr("dgc_run_info{model=\"a \\\"model\\\"\\\\"));
}
