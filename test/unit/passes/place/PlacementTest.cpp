// The placement problem and its solvers, against trying everything.
#include "passes/place/Placement.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

using namespace dgc;

namespace {

/// Calls f with every placement.
void forPlacements(const PlacementProblem &problem, const std::function<void(const std::vector<int> &)> &f) {
  std::vector<int> devices(problem.ops.size(), 0);
  while (true) {
    f(devices);
    size_t i = 0;
    while (i < devices.size() && ++devices[i] == static_cast<int>(problem.devices.size()))
      devices[i++] = 0;
    if (i == devices.size())
      return;
  }
}

/// The cost of the cheapest placement that `accept` takes; negative when there is none.
double exhaustive(
    const PlacementProblem &problem,
    const std::function<bool(const std::vector<int> &)> &accept = [](const auto &) { return true; }) {
  double best = -1;
  forPlacements(problem, [&](const std::vector<int> &devices) {
    double cost = placementCost(problem, devices);
    if ((best < 0 || cost < best) && Placement{devices, cost}.verify(problem).empty() && accept(devices))
      best = cost;
  });
  return best;
}

struct Shape {
  bool chain, tight;
};

PlacementProblem randomProblem(std::mt19937 &rng, int ops, int devices, Shape shape) {
  auto below = [&](int n) { return static_cast<int>(rng() % n); };
  PlacementProblem problem;
  for (int d = 0; d < devices; ++d)
    problem.devices.push_back({shape.tight ? 8u + below(30) : UINT64_MAX, 1.0 + below(3)});
  if (below(2))
    for (int i = 0; i < devices; ++i) {
      problem.bandwidth.push_back({});
      for (int j = 0; j < devices; ++j)
        problem.bandwidth.back().push_back(1.0 + below(4));
    }
  for (int i = 0; i < ops; ++i) {
    PlacementProblem::Op op;
    op.flops = below(20);
    op.bytes = below(10);
    op.resultBytes = below(8);
    if (shape.chain) {
      if (i > 0)
        op.operands.push_back(i - 1);
    } else {
      for (int k = 0; k < i; ++k)
        if (below(3) == 0)
          op.operands.push_back(k);
      if (below(6) == 0)
        op.device = below(devices);
      if (below(4) == 0)
        op.colocation = below(2);
    }
    problem.ops.push_back(op);
  }
  return problem;
}

TEST(Placement, ExactIsTheBestOfAll) {
  std::mt19937 rng(3);
  int solved = 0, impossible = 0;
  for (int i = 0; i < 400; ++i) {
    int devices = 1 + static_cast<int>(rng() % 3), ops = 1 + static_cast<int>(rng() % (devices < 3 ? 10 : 8));
    PlacementProblem problem = randomProblem(rng, ops, devices, {false, i % 2 == 0});
    if (!problem.check().empty())
      continue;
    double best = exhaustive(problem);
    Placement exact = placeExact(problem);
    ASSERT_EQ(static_cast<bool>(exact), best >= 0) << i;
    ++(exact ? solved : impossible);
    if (!exact)
      continue;
    EXPECT_EQ(exact.verify(problem), "") << i;
    EXPECT_DOUBLE_EQ(exact.cost, best) << i;
    if (Placement greedy = placeGreedy(problem)) {
      EXPECT_EQ(greedy.verify(problem), "") << i;
      EXPECT_GE(greedy.cost, best - 1e-9) << i;
    }
  }
  EXPECT_GT(solved, 100);
  EXPECT_GT(impossible, 10);
}

TEST(Placement, ChainIsTheBestCutIntoRanges) {
  std::mt19937 rng(5);
  int solved = 0;
  for (int i = 0; i < 300; ++i) {
    int devices = 1 + static_cast<int>(rng() % 3), ops = devices + static_cast<int>(rng() % 6);
    PlacementProblem problem = randomProblem(rng, ops, devices, {true, i % 3 == 0});
    double best = exhaustive(problem, [&](const std::vector<int> &placed) {
      return std::is_sorted(placed.begin(), placed.end()) && placed.front() == 0 && placed.back() == devices - 1 &&
             std::adjacent_find(placed.begin(), placed.end(), [](int a, int b) { return b > a + 1; }) == placed.end();
    });
    Placement chain = placeChain(problem);
    ASSERT_EQ(static_cast<bool>(chain), best >= 0) << i;
    if (!chain)
      continue;
    ++solved;
    EXPECT_EQ(chain.verify(problem), "") << i;
    EXPECT_DOUBLE_EQ(chain.cost, best) << i;
  }
  EXPECT_GT(solved, 200);
}

PlacementProblem twoOps() {
  PlacementProblem problem;
  problem.devices.resize(2);
  problem.ops.resize(2);
  problem.ops[1].operands = {0};
  return problem;
}

TEST(Placement, CheckNamesWhatIsWrong) {
  struct Case {
    std::function<void(PlacementProblem &)> change;
    const char *message;
  };
  const Case cases[] = {
      {[](auto &p) { p.devices.clear(); }, "there are no devices"},
      {[](auto &p) { p.devices[1].rate = 0; }, "device 1 has a rate that is not above 0"},
      {[](auto &p) { p.bandwidth = {{1, 1}}; }, "there are rows of bandwidth for 1 of 2 devices"},
      {[](auto &p) { p.bandwidth = {{1, 0}, {1, 1}}; }, "the bandwidth from device 0 to device 1 is not above 0"},
      {[](auto &p) { p.ops[0].flops = -1; }, "op 0 has less than no work"},
      {[](auto &p) { p.ops[1].device = 2; }, "op 1 must be on device 2, which there is not"},
      {[](auto &p) { p.ops[0].operands = {1}; }, "op 0 reads op 1, which is not before it"},
      {[](auto &p) {
         p.ops[0].colocation = p.ops[1].colocation = 0;
         p.ops[0].device = 0;
         p.ops[1].device = 1;
       },
       "op 1 must be on device 1 and with one that must be on device 0"},
  };
  EXPECT_EQ(twoOps().check(), "");
  for (const Case &c : cases) {
    PlacementProblem problem = twoOps();
    c.change(problem);
    EXPECT_EQ(problem.check(), c.message);
  }
}

TEST(Placement, VerifyNamesWhatIsWrong) {
  PlacementProblem problem = twoOps();
  problem.ops[0].bytes = problem.ops[1].bytes = 6;
  problem.ops[0].flops = 3;
  problem.ops[0].resultBytes = 2;
  problem.devices[0].capacity = 10;
  EXPECT_EQ((Placement{{0, 1}, 5}).verify(problem), "");
  EXPECT_EQ((Placement{{0, 1}, 4}).verify(problem), "the cost is 5.000000, not 4.000000");
  EXPECT_EQ((Placement{{0, 0}, 3}).verify(problem), "a device has less memory than its ops need");
  EXPECT_EQ((Placement{{0}, 3}).verify(problem), "there are devices for 1 of 2 ops");
  EXPECT_EQ((Placement{{0, 2}, 3}).verify(problem), "op 1 is on a device that there is not");
  problem.ops[0].device = 1;
  EXPECT_EQ((Placement{{0, 1}, 5}).verify(problem), "op 0 is not on the device that it must be on");
  problem.ops[0].device = -1;
  problem.ops[0].colocation = problem.ops[1].colocation = 4;
  EXPECT_EQ((Placement{{0, 1}, 5}).verify(problem), "op 1 is not with the others of its colocation");
}

// A result that three ops on one device read is sent there once.
TEST(Placement, AResultIsSentOnceToADevice) {
  PlacementProblem problem;
  problem.devices.resize(2);
  problem.ops.resize(4);
  problem.ops[0].resultBytes = 7;
  for (int i = 1; i < 4; ++i)
    problem.ops[i].operands = {0};
  EXPECT_DOUBLE_EQ(placementCost(problem, {0, 1, 1, 1}), 7);
  EXPECT_DOUBLE_EQ(placementCost(problem, {0, 1, 0, 1}), 7);
}

} // namespace
