// The placement problem and its solvers, against trying everything.
#include "passes/place/Placement.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

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

/// The bytes of results that other devices read, each device once.
uint64_t bytesSent(const PlacementProblem &problem, const std::vector<int> &devices) {
  std::set<std::pair<int, int>> sent; // op, device
  for (size_t i = 0; i < devices.size(); ++i)
    for (int operand : problem.ops[i].operands)
      if (devices[operand] != devices[i])
        sent.insert({operand, devices[i]});
  uint64_t bytes = 0;
  for (auto [op, device] : sent)
    bytes += problem.ops[op].resultBytes;
  return bytes;
}

/// Of the placements that `accept` takes and whose costs are within the slack of the cheapest, the fewest bytes, and
/// the cost then.
struct Best {
  bool found = false;
  uint64_t bytes = 0;
  double cost = 0, cheapest = 0;
};

Best exhaustive(
    const PlacementProblem &problem,
    const std::function<bool(const std::vector<int> &)> &accept = [](const auto &) { return true; }) {
  struct Valid {
    double cost;
    uint64_t bytes;
  };
  std::vector<Valid> valid;
  Best best;
  forPlacements(problem, [&](const std::vector<int> &devices) {
    Placement placement{devices, placementCost(problem, devices), bytesSent(problem, devices)};
    if (!placement.verify(problem).empty() || !accept(devices))
      return;
    best.cheapest = valid.empty() ? placement.cost : std::min(best.cheapest, placement.cost);
    valid.push_back({placement.cost, placement.bytes});
  });
  for (const Valid &each : valid)
    if (each.cost <= best.cheapest * (1 + problem.slack) &&
        (!best.found || std::pair(each.bytes, each.cost) < std::pair(best.bytes, best.cost)))
      best = {true, each.bytes, each.cost, best.cheapest};
  return best;
}

struct Shape {
  bool chain, tight;
};

PlacementProblem randomProblem(std::mt19937 &rng, int ops, int devices, Shape shape) {
  auto below = [&](int n) { return static_cast<int>(rng() % n); };
  PlacementProblem problem;
  problem.slack = 0.15 * below(3);
  for (int d = 0; d < devices; ++d)
    problem.devices.push_back({shape.tight ? 8u + below(30) : UINT64_MAX, 1.0 + below(3)});
  if (below(2))
    for (int i = 0; i < devices; ++i) {
      problem.bandwidth.emplace_back();
      for (int j = 0; j < devices; ++j)
        problem.bandwidth.back().push_back(1.0 + below(4));
    }
  for (int i = 0; i < ops; ++i) {
    PlacementProblem::Op op;
    op.flops = below(20);
    op.bytes = below(10);
    op.resultBytes = below(8);
    op.anchor = below(2);
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
  int solved = 0, impossible = 0, traded = 0;
  for (int i = 0; i < 400; ++i) {
    int devices = 1 + static_cast<int>(rng() % 3), ops = 1 + static_cast<int>(rng() % (devices < 3 ? 10 : 8));
    PlacementProblem problem = randomProblem(rng, ops, devices, {false, i % 2 == 0});
    if (!problem.check().empty())
      continue;
    Best best = exhaustive(problem);
    Placement exact = placeExact(problem);
    ASSERT_EQ(static_cast<bool>(exact), best.found) << i;
    ++(exact ? solved : impossible);
    if (!exact)
      continue;
    EXPECT_EQ(exact.verify(problem), "") << i;
    EXPECT_EQ(exact.bytes, best.bytes) << i;
    EXPECT_DOUBLE_EQ(exact.cost, best.cost) << i;
    traded += best.cost > best.cheapest;
    if (Placement greedy = placeGreedy(problem)) {
      EXPECT_EQ(greedy.verify(problem), "") << i;
      EXPECT_GE(greedy.cost, best.cheapest - 1e-9) << i;
    }
  }
  EXPECT_GT(solved, 100);
  EXPECT_GT(impossible, 10);
  EXPECT_GT(traded, 10); // a higher cost for fewer bytes
}

// Two chains of about the same work: by cost alone each next op is where less is, so that all results are sent. With
// slack each device has what reads its own results.
TEST(Placement, GreedySendsLessWithinTheSlack) {
  PlacementProblem problem;
  problem.devices.resize(2);
  problem.defaultBandwidth = 1000;
  problem.slack = 0.1;
  auto add = [&](double flops, uint64_t bytes, std::vector<int> operands) {
    PlacementProblem::Op op;
    op.flops = flops;
    op.resultBytes = bytes;
    op.operands = std::move(operands);
    problem.ops.push_back(op);
  };
  add(10, 5, {});
  add(10.5, 5, {});
  add(12, 5, {1});
  add(8, 5, {0});
  Placement greedy = placeGreedy(problem);
  EXPECT_EQ(greedy.devices, (std::vector<int>{0, 1, 1, 0}));
  EXPECT_EQ(greedy.bytes, 0u);
  EXPECT_DOUBLE_EQ(greedy.cost, 22.5);
  EXPECT_EQ(greedy.verify(problem), "");
  problem.slack = 0;
  greedy = placeGreedy(problem);
  EXPECT_EQ(greedy.devices, (std::vector<int>{0, 1, 0, 1}));
  EXPECT_EQ(greedy.bytes, 10u);
}

/// Whether the ops are cut into ranges, each of which has an op that `counts`.
bool isCut(const std::vector<int> &placed, int devices, const std::function<bool(int)> &counts) {
  std::set<int> have;
  for (size_t i = 0; i < placed.size(); ++i)
    if (counts(static_cast<int>(i)))
      have.insert(placed[i]);
  return std::is_sorted(placed.begin(), placed.end()) && static_cast<int>(have.size()) == devices;
}

TEST(Placement, ChainIsTheBestCutIntoRanges) {
  std::mt19937 rng(5);
  int solved = 0, traded = 0, anchored = 0;
  for (int i = 0; i < 300; ++i) {
    int devices = 1 + static_cast<int>(rng() % 3), ops = devices + static_cast<int>(rng() % 6);
    PlacementProblem problem = randomProblem(rng, ops, devices, {true, i % 3 == 0});
    Best best = exhaustive(problem, [&](const std::vector<int> &placed) {
      return isCut(placed, devices, [&](int op) { return problem.ops[op].anchor; });
    });
    anchored += best.found;
    if (!best.found)
      best = exhaustive(
          problem, [&](const std::vector<int> &placed) { return isCut(placed, devices, [](int) { return true; }); });
    Placement chain = placeChain(problem);
    ASSERT_EQ(static_cast<bool>(chain), best.found) << i;
    if (!chain)
      continue;
    ++solved;
    traded += best.cost > best.cheapest;
    EXPECT_EQ(chain.verify(problem), "") << i;
    EXPECT_EQ(chain.bytes, best.bytes) << i;
    EXPECT_DOUBLE_EQ(chain.cost, best.cost) << i;
  }
  EXPECT_GT(solved, 200);
  EXPECT_GT(anchored, 100);
  EXPECT_GT(traded, 10);
}

// Two ranges may be next to ops that are colocated, not between them.
TEST(Placement, ChainKeepsColocationsTogether) {
  std::mt19937 rng(8);
  int solved = 0;
  for (int i = 0; i < 200; ++i) {
    PlacementProblem problem = randomProblem(rng, 7, 2, {true, false});
    size_t first = rng() % 6;
    problem.ops[first].colocation = problem.ops[first + 1 + rng() % (6 - first)].colocation = 3;
    for (auto &op : problem.ops)
      op.anchor = true;
    Best best =
        exhaustive(problem, [&](const std::vector<int> &placed) { return isCut(placed, 2, [](int) { return true; }); });
    Placement chain = placeChain(problem);
    ASSERT_EQ(static_cast<bool>(chain), best.found) << i;
    solved += best.found;
    EXPECT_EQ(chain.bytes, best.bytes) << i;
    EXPECT_DOUBLE_EQ(chain.cost, best.cost) << i;
  }
  EXPECT_GT(solved, 100);
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
      {[](auto &p) { p.slack = -0.1; }, "the slack is below 0"},
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
  EXPECT_EQ((Placement{{0, 1}, 5, 2}).verify(problem), "");
  EXPECT_EQ((Placement{{0, 1}, 4, 2}).verify(problem), "the cost is 5.000000, not 4.000000");
  EXPECT_EQ((Placement{{0, 1}, 5, 3}).verify(problem), "2 bytes are sent, not 3");
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
  EXPECT_EQ(placementBytes(problem, {0, 1, 1, 1}), 7u);
}

} // namespace
