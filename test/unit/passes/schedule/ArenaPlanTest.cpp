// Arena planning: solutions are valid, near the lower bound, and broken plans are rejected.

#include "passes/schedule/ArenaPlan.h"
#include <gtest/gtest.h>
#include <random>

using namespace dgc;

static ArenaProblem randomProblem(uint32_t seed, int count) {
  std::mt19937 rng(seed);
  ArenaProblem problem;
  for (int i = 0; i < count; ++i) {
    int64_t begin = rng() % 100;
    problem.requests.push_back({1 + rng() % 10000, begin, begin + static_cast<int64_t>(rng() % 20)});
  }
  return problem;
}

TEST(ArenaPlan, DisjointLifetimesShareBytes) {
  ArenaProblem problem{{{100, 0, 1}, {100, 2, 3}, {100, 4, 4}}};
  EXPECT_EQ(planArena(problem).size, 128u);
}

TEST(ArenaPlan, LifetimesAreInclusive) {
  ArenaProblem problem{{{64, 0, 1}, {64, 1, 2}}};
  EXPECT_EQ(planArena(problem).size, 128u);
}

TEST(ArenaPlan, EmptyProblem) {
  EXPECT_EQ(planArena({}).size, 0u);
  EXPECT_EQ(liveBytes({}), 0u);
}

TEST(ArenaPlan, RandomProblemsAreSolvedNearTheBound) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    ArenaProblem problem = randomProblem(seed, 200);
    ASSERT_EQ(problem.check(), "");
    ArenaPlan plan = planArena(problem);
    EXPECT_EQ(plan.verify(problem), "") << "seed " << seed;
    EXPECT_GE(plan.size, liveBytes(problem));
    EXPECT_LE(plan.size, liveBytes(problem) * 5 / 4) << "seed " << seed;
  }
}

TEST(ArenaPlan, BrokenPlansAreRejected) {
  ArenaProblem problem{{{100, 0, 5}, {100, 5, 9}}};
  ArenaPlan overlapping{{0, 64}, 256}, unaligned{{0, 130}, 256}, small{{0, 128}, 200}, incomplete{{0}, 256};
  EXPECT_EQ(overlapping.verify(problem), "requests 0 and 1 overlap");
  EXPECT_NE(unaligned.verify(problem), "");
  EXPECT_NE(small.verify(problem), "");
  EXPECT_NE(incomplete.verify(problem), "");
  EXPECT_EQ(planArena(problem).verify(problem), "");
}

TEST(ArenaPlan, BadProblemsAreNamed) {
  EXPECT_NE((ArenaProblem{{{8, 3, 2}}}).check(), "");
  EXPECT_NE((ArenaProblem{{}, 48}).check(), "");
}
