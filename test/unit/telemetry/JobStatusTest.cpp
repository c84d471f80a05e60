// What is kept of a job for those who watch it, by a clock that only the test advances.
#include "runtime/telemetry/JobStatus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dgc::rt;

namespace {
struct Watched : testing::Test {
  FakeClock clock{7_s};
  double wall = 1000;
  JobStatus status{2, clock, [this] { return wall; }};

  void step(int64_t number, double loss, double ms, double samples) {
    LogEvent event{"step"};
    event.step = number;
    event.epoch = number / 10;
    event.loss = loss;
    event.ms = ms;
    event.samplesPerSecond = samples / ms * 1e3;
    status.add(event);
  }
};
using JobStatusTest = Watched;
} // namespace

TEST_F(JobStatusTest, CountsStepsAndSamples) {
  status.beginsAt(100, 200, 16);
  step(100, 2.5, 3, 128);
  step(101, 1.5, 0.05, 7);
  const JobState state = status.state();
  EXPECT_EQ(state.steps, 2u);
  EXPECT_EQ(state.samples, 135u);
  EXPECT_EQ(state.step, 102);
  EXPECT_EQ(state.lastStep, 200);
  EXPECT_EQ(state.epoch, 10);
  EXPECT_EQ(*state.loss, 1.5);
  EXPECT_EQ(state.tokensPerSample, 16);
  EXPECT_EQ(state.stepSeconds.count, 2u);
  EXPECT_DOUBLE_EQ(state.stepSeconds.sum, 0.00305);
  EXPECT_EQ(state.stepSeconds.counts[0], 1u) << "50 us are below 100 us";
  EXPECT_EQ(state.stepSeconds.counts[5], 1u) << "3 ms are below 5 ms";
}

TEST_F(JobStatusTest, TheBoundOfABucketIsInIt) {
  TimeHistogram histogram;
  histogram.add(TimeHistogram::bounds[3]);
  histogram.add(1e6);
  EXPECT_EQ(histogram.counts[3], 1u);
  EXPECT_EQ(histogram.counts.back(), 1u);
}

TEST_F(JobStatusTest, RatesAreOfTheLastSeconds) {
  status.beginsAt(0, 1000, 0);
  std::vector<WorkerState> workers(2);
  for (int i = 0; i < 30; ++i) { // a second each, in which worker 1 waits for 0.4 s
    clock.advance(1_s);
    workers[1].exposed += 400'000'000;
    status.setWorkers(workers);
    step(i, 1, 1000, i < 15 ? 10 : 30);
  }
  JobState state = status.state();
  EXPECT_NEAR(state.stepsPerSecond, 1, 0.05);
  EXPECT_NEAR(state.samplesPerSecond, 30, 1.5);
  EXPECT_NEAR(state.exposedShare, 0.2, 0.02) << "the mean of both workers";
  clock.advance(11_s);
  EXPECT_EQ(status.state().stepsPerSecond, 0) << "nothing happens any more";
}

TEST_F(JobStatusTest, LongStepsHaveARate) {
  status.beginsAt(0, 1000, 0);
  for (int i = 0; i < 5; ++i) {
    clock.advance(60_s);
    step(i, 1, 60000, 6);
  }
  clock.advance(50_s);
  EXPECT_NEAR(status.state().samplesPerSecond, 6.0 / 60, 0.05);
}

TEST_F(JobStatusTest, CurvesAreThinnedOut) {
  Curve curve;
  for (int i = 1; i <= 100000; ++i)
    curve.add(i, i * 2.0);
  const auto points = curve.points();
  EXPECT_LE(points.size(), Curve::most + 1);
  EXPECT_GE(points.size(), Curve::most / 2);
  for (size_t i = 0; i < points.size(); ++i) {
    EXPECT_DOUBLE_EQ(points[i].value, 2 * points[i].step) << "both are means of the same steps";
    if (i > 0) {
      EXPECT_GT(points[i].step, points[i - 1].step);
    }
  }
  EXPECT_GT(points.back().step, 99000);
}

TEST_F(JobStatusTest, KnowsCheckpointsWarningsAndTheEnd) {
  LogEvent saved{"checkpoint"};
  saved.step = 40;
  saved.ms = 1500;
  status.add(saved);
  LogEvent lost{"warning"};
  lost.message = "no checkpoint of step 60";
  lost.isLostCheckpoint = true;
  status.add(lost);
  LogEvent other{"warning"};
  other.message = "the loss is nan";
  status.add(other);
  JobState state = status.state();
  EXPECT_EQ(state.checkpoints.count, 1u);
  EXPECT_EQ(state.checkpoints.failures, 1u);
  EXPECT_EQ(state.checkpoints.step, 40);
  EXPECT_EQ(state.checkpoints.seconds, 1.5);
  EXPECT_EQ(state.checkpoints.writtenAt, 1000);
  EXPECT_THAT(state.warnings, testing::ElementsAre("no checkpoint of step 60", "the loss is nan"));
  status.add(LogEvent{"end"});
  EXPECT_EQ(status.state().phase, "ended");
}

TEST_F(JobStatusTest, AsksForWorkersWhereTheyAreThreads) {
  int asked = 0;
  status.sampleWorkersBy([&] { return std::vector<WorkerState>(2, {true, ++asked}); });
  EXPECT_EQ(status.state().workers[1].step, 1);
  EXPECT_EQ(status.state().workers[0].step, 2);
  status.sampleWorkersBy(nullptr);
  EXPECT_EQ(status.state().workers[0].step, 2) << "what was seen last stays";
  status.name(1, 0.9, 0.4);
  status.name(7, 0.9, 0.4); // no such worker
  EXPECT_EQ(status.state().stragglers[1].count, 1u);
}
