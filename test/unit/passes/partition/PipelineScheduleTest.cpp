// The schedules of pipelines: bubble and activations are those of the publications.
#include "passes/partition/PipelineSchedule.h"

#include <gtest/gtest.h>

#include <random>

using namespace dgc;
using Kind = PipelineSlot::Kind;

namespace {

constexpr int p[] = {1, 2, 3, 4, 6, 8};

/// Calls f(positions, microbatches) for pipelines that are full, and for some that are not.
template <typename F> void forPipelines(F f) {
  for (int positions : p)
    for (int microbatches : {1, 2, positions, positions + 1, 2 * positions, 4 * positions + 3})
      f(positions, microbatches);
}

const PipelineCosts costs[] = {{1, 1, 1}, {1, 2, 2}, {3, 4, 2}};

TEST(PipelineSchedule, GPipe) {
  forPipelines([](int positions, int m) {
    PipelineSchedule schedule = scheduleGPipe(positions, m);
    ASSERT_EQ(schedule.verify(), "");
    for (PipelineCosts c : costs) {
      PipelineTimes times = *simulate(schedule, c);
      double f = c.forward, b = c.backwardInput + c.backwardWeight;
      EXPECT_DOUBLE_EQ(times.bubble(), (positions - 1) * (f + b)) << positions << " " << m;
      EXPECT_DOUBLE_EQ(times.end, (m + positions - 1) * (f + b));
      for (int held : times.peakActivations)
        EXPECT_EQ(held, m);
    }
  });
}

TEST(PipelineSchedule, OneForwardOneBackward) {
  forPipelines([](int positions, int m) {
    PipelineSchedule schedule = scheduleOneForwardOneBackward(positions, m);
    ASSERT_EQ(schedule.verify(), "");
    for (PipelineCosts c : costs) {
      PipelineTimes times = *simulate(schedule, c);
      EXPECT_DOUBLE_EQ(times.bubble(), (positions - 1) * (c.forward + c.backwardInput + c.backwardWeight))
          << positions << " " << m;
      for (int i = 0; i < positions; ++i)
        EXPECT_EQ(times.peakActivations[i], std::min(positions - i, m));
    }
  });
}

TEST(PipelineSchedule, Interleaved) {
  for (int positions : p)
    for (int v : {1, 2, 3})
      for (int m : {positions, 2 * positions, 5 * positions}) {
        PipelineSchedule schedule = scheduleInterleaved(positions, m, v);
        ASSERT_EQ(schedule.verify(), "") << positions << " " << m << " " << v;
        for (PipelineCosts c : costs) {
          PipelineTimes times = *simulate(schedule, c);
          // The costs are those of one stage, 1/v of the work of a position.
          double f = v * c.forward, b = v * (c.backwardInput + c.backwardWeight);
          EXPECT_NEAR(times.bubble(), (positions - 1) * (f + b) / v, 1e-9) << positions << " " << m << " " << v;
          for (int i = 0; i < positions; ++i)
            EXPECT_EQ(times.peakActivations[i], std::min(2 * (positions - 1 - i) + (v - 1) * positions + 1, v * m));
        }
      }
}

// With equal times of the three passes, as in the publication.
TEST(PipelineSchedule, ZeroBubbleH1) {
  for (int positions : p)
    for (int m : {positions, positions + 1, 2 * positions, 4 * positions + 3}) {
      PipelineSchedule schedule = scheduleZeroBubbleH1(positions, m);
      ASSERT_EQ(schedule.verify(), "");
      PipelineTimes times = *simulate(schedule, {1, 1, 1});
      double f = 1, b = 2, w = 1;
      EXPECT_DOUBLE_EQ(times.bubble(), (positions - 1) * (f + b - 2 * w)) << positions << " " << m;
      for (int i = 0; i < positions; ++i)
        EXPECT_EQ(times.peakActivations[i], std::min(positions, m));
    }
}

// A third of the bubble of 1F1B, and interleaving divides it by the number of stages at a position.
TEST(PipelineSchedule, BubblesCompare) {
  double base = simulate(scheduleOneForwardOneBackward(4, 8), {})->bubble();
  EXPECT_DOUBLE_EQ(simulate(scheduleZeroBubbleH1(4, 8), {})->bubble(), base / 3);
  EXPECT_DOUBLE_EQ(simulate(scheduleInterleaved(4, 8, 2), {.5, .5, .5})->bubble(), base / 2);
}

TEST(PipelineSchedule, VerifyNoticesEveryDefect) {
  PipelineSchedule good = scheduleZeroBubbleH1(3, 4);
  PipelineSchedule bad = good;
  bad.slots[1].pop_back();
  EXPECT_NE(bad.verify().find("does not do all passes"), std::string::npos);
  bad = good;
  bad.slots[0].push_back({Kind::Forward, 0, 1});
  EXPECT_NE(bad.verify().find("happens twice"), std::string::npos);
  bad = good;
  bad.slots[2].insert(bad.slots[2].begin(), {Kind::BackwardWeight, 0, 3});
  EXPECT_NE(bad.verify().find("comes before what it needs"), std::string::npos);
  bad = good;
  bad.slots[2][0].microbatch = 9;
  EXPECT_NE(bad.verify().find("which there is not"), std::string::npos);
  bad = scheduleOneForwardOneBackward(2, 2);
  std::swap(bad.slots[0][0],
            bad.slots[0][1]); // F0 F1 B0 B1 -> F1 F0 B0 B1: the second position wants 0 and has it late
  EXPECT_EQ(bad.verify(), "");
  std::swap(bad.slots[0][1], bad.slots[0][2]); // F1 B0 F0 B1
  EXPECT_NE(bad.verify(), "");
}

TEST(PipelineSchedule, NamesAreCheckedWithTheirConditions) {
  std::string error;
  EXPECT_TRUE(schedulePipeline(PipelineScheduleKind::OneForwardOneBackward, 4, 8, 1, error));
  EXPECT_FALSE(schedulePipeline(PipelineScheduleKind::GPipe, 2, 8, 2, error));
  EXPECT_NE(error.find("use interleaved"), std::string::npos);
  EXPECT_FALSE(schedulePipeline(PipelineScheduleKind::Interleaved, 4, 6, 2, error));
  EXPECT_NE(error.find("multiple of 4"), std::string::npos);
}

TEST(PipelineSchedule, SteadyState) {
  for (auto kind : {PipelineScheduleKind::OneForwardOneBackward, PipelineScheduleKind::ZeroBubbleH1,
                    PipelineScheduleKind::Interleaved, PipelineScheduleKind::GPipe}) {
    for (int positions : {2, 3, 4}) {
      const int chunks = kind == PipelineScheduleKind::Interleaved ? 2 : 1, microbatches = 8 * positions;
      std::string error;
      PipelineSchedule schedule = *schedulePipeline(kind, positions, microbatches, chunks, error);
      std::optional<SteadyState> steady = findSteadyState(schedule, *simulate(schedule, {}));
      ASSERT_TRUE(steady) << positions;
      // All forward passes of gpipe come before all backward passes.
      ASSERT_EQ(steady->loops.size(), kind == PipelineScheduleKind::GPipe ? 2 : 1);
      EXPECT_TRUE(steady->canUnroll(2));
      size_t outside = steady->slots.size(), length = 0;
      for (const PipelineRounds &loop : steady->loops) {
        EXPECT_EQ(loop.period, chunks > 1 ? positions : 1);
        for (int times : {1, 2}) {
          for (size_t delay : {size_t{0}, loop.length - 1}) {
            std::optional<PipelineRounds> rounds = loop.unrolled(times);
            ASSERT_TRUE(rounds);
            rounds = rounds->delayed(delay);
            ASSERT_TRUE(rounds);
            EXPECT_GE(rounds->rounds, 2);
            ASSERT_LE(rounds->end(), steady->slots.size());
            // The slots of each round are those of the first one, later micro-batches.
            for (size_t at = 0; at < rounds->length * rounds->rounds; ++at) {
              SteadyState::Slot first = steady->slots[rounds->first + at % rounds->length];
              first.microbatch += static_cast<int>(at / rounds->length) * rounds->period;
              EXPECT_TRUE(steady->slots[rounds->first + at] == first) << at;
            }
          }
        }
        outside -= loop.length * loop.rounds;
        length += loop.length;
      }
      // No more rounds would fit.
      EXPECT_LT(outside, 3 * positions * length);
    }
  }
}

TEST(PipelineSchedule, NoSteadyState) {
  auto steady = [](const PipelineSchedule &schedule) { return findSteadyState(schedule, *simulate(schedule, {})); };
  EXPECT_FALSE(steady(scheduleGPipe(2, 2)));
  EXPECT_FALSE(steady(scheduleOneForwardOneBackward(2, 2)));
  for (const PipelineSchedule &schedule : {scheduleOneForwardOneBackward(2, 4), scheduleGPipe(2, 4)}) {
    std::optional<SteadyState> few = steady(schedule);
    ASSERT_TRUE(few);
    EXPECT_FALSE(few->canUnroll(2));
    EXPECT_FALSE(few->loops.front().delayed(2 * few->loops.front().length));
  }
}

TEST(PipelineSchedule, Chart) {
  EXPECT_EQ(chartOf(scheduleOneForwardOneBackward(2, 2), {}),
            "  stage 0 |F0F1    B0B0  B1B1| holds 2\n"
            "  stage 1 |  F0B0B0F1B1B1    | holds 1\n"
            "  F forward, B backward, W gradient of weights alone; idle 33 % of the time\n");
}

} // namespace
