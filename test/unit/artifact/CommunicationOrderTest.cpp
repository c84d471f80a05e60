// The checker against brute force: a search over all orders of events.
#include "runtime/artifact/CommunicationOrder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

using namespace dgc::rt;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Optional;
using Kind = Communication::Kind;

namespace {

/// Explores every state that workers can reach, one event at a time, straight
/// from the semantics; true when all reachable ends are complete ones.
class BruteForce {
public:
  explicit BruteForce(const CommunicationPlan &plan) : plan(plan) {}

  bool allEnd() { return explore(std::vector<size_t>(plan.workers.size(), 0)); }

private:
  const Communication *at(const std::vector<size_t> &state, uint32_t rank) {
    const auto &list = plan.workers[rank];
    return state[rank] < list.size() ? &list[state[rank]] : nullptr;
  }

  bool explore(const std::vector<size_t> &state) {
    if (!seen.insert(state).second)
      return true;
    bool complete = true, moved = false;
    for (uint32_t rank = 0; rank < state.size(); ++rank) {
      const Communication *c = at(state, rank);
      if (!c)
        continue;
      complete = false;
      std::vector<uint32_t> partners;
      bool possible = true;
      if (c->kind == Kind::Collective) {
        for (uint32_t member : plan.groups[c->group]) {
          const Communication *other = at(state, member);
          possible &=
              other && other->kind == Kind::Collective && other->group == c->group && other->signature == c->signature;
          partners.push_back(member);
        }
      } else if (c->kind == Kind::Send) {
        const Communication *other = at(state, c->peer);
        possible = other && other->kind == Kind::Receive && other->peer == rank && other->channel == c->channel &&
                   other->signature == c->signature;
        partners = {rank, c->peer};
      } else {
        continue; // The sender does it.
      }
      if (!possible)
        continue;
      moved = true;
      std::vector<size_t> after = state;
      for (uint32_t partner : partners)
        ++after[partner];
      if (!explore(after))
        return false;
    }
    return complete || moved;
  }

  const CommunicationPlan &plan;
  std::set<std::vector<size_t>> seen;
};

Communication collective(uint32_t group, uint32_t signature = 0) {
  return {Kind::Collective, group, signature, 0, 0, 0};
}
Communication send(uint32_t to, uint32_t channel = 0, uint32_t signature = 0) {
  return {Kind::Send, 0, signature, channel, to, 0};
}
Communication receive(uint32_t from, uint32_t channel = 0, uint32_t signature = 0) {
  return {Kind::Receive, 0, signature, channel, from, 0};
}

CommunicationPlan plan(std::vector<std::vector<uint32_t>> groups, std::vector<std::vector<Communication>> workers) {
  return {std::move(groups), {"a", "b"}, {""}, std::move(workers)};
}

/// Matches what says that one rank waits for another.
auto waits(int rank, int other) {
  return ContainsRegex("rank " + std::to_string(rank) + " [^;]*waits for rank " + std::to_string(other));
}

/// A plan that ends: events in a global order, each put to its workers.
CommunicationPlan randomValid(std::mt19937 &random, uint32_t world) {
  CommunicationPlan result = plan({}, {});
  result.workers.resize(world);
  for (uint32_t mask = 1; mask < 1u << world; ++mask) {
    std::vector<uint32_t> group;
    for (uint32_t rank = 0; rank < world; ++rank)
      if (mask >> rank & 1)
        group.push_back(rank);
    result.groups.push_back(group);
  }
  for (uint32_t event = random() % 8; event > 0; --event) {
    uint32_t signature = random() % 2;
    if (random() % 2) {
      uint32_t group = random() % result.groups.size();
      for (uint32_t rank : result.groups[group])
        result.workers[rank].push_back(collective(group, signature));
      continue;
    }
    uint32_t from = random() % world, to = random() % world;
    if (from == to)
      continue;
    uint32_t channel = random() % 2;
    result.workers[from].push_back(send(to, channel, signature));
    result.workers[to].push_back(receive(from, channel, signature));
  }
  return result;
}

TEST(CommunicationOrder, EmptyPlanEnds) {
  EXPECT_EQ(findCommunicationError(plan({}, {})), std::nullopt);
  EXPECT_EQ(findCommunicationError(plan({}, {{}, {}})), std::nullopt);
}

TEST(CommunicationOrder, SameOrderEnds) {
  auto p = plan({{0, 1}, {1, 2}}, {{collective(0)}, {collective(0), collective(1)}, {collective(1)}});
  EXPECT_EQ(findCommunicationError(p), std::nullopt);
}

TEST(CommunicationOrder, MemberThatNeverComes) {
  auto p = plan({{0, 1}}, {{collective(0)}, {}});
  EXPECT_THAT(findCommunicationError(p), Optional(ContainsRegex("rank 0 .*waits for rank 1,.*nothing left to do")));
}

TEST(CommunicationOrder, DifferentTypes) {
  auto p = plan({{0, 1}}, {{collective(0, 0)}, {collective(0, 1)}});
  EXPECT_THAT(findCommunicationError(p), Optional(HasSubstr("which is not the same")));
}

TEST(CommunicationOrder, CycleOfGroups) {
  auto p = plan({{0, 1}, {1, 2}, {0, 2}},
                {{collective(0), collective(2)}, {collective(1), collective(0)}, {collective(2), collective(1)}});
  EXPECT_THAT(findCommunicationError(p), Optional(AllOf(waits(0, 1), waits(1, 2), waits(2, 0))));
}

TEST(CommunicationOrder, SendsThatWaitForEachOther) {
  auto p = plan({}, {{send(1), receive(1)}, {send(0), receive(0)}});
  EXPECT_THAT(findCommunicationError(p), Optional(AllOf(waits(0, 1), waits(1, 0))));
}

TEST(CommunicationOrder, MalformedPlans) {
  EXPECT_TRUE(findCommunicationError(plan({{0, 0}}, {{collective(0)}})));
  EXPECT_TRUE(findCommunicationError(plan({{0, 5}}, {{collective(0)}})));
  EXPECT_TRUE(findCommunicationError(plan({{1}}, {{collective(0)}, {}})));
  EXPECT_TRUE(findCommunicationError(plan({}, {{send(0)}})));
  EXPECT_TRUE(findCommunicationError(plan({}, {{send(7)}})));
}

// 10,000 random plans of at most 4 workers, most of them with something moved,
// dropped or changed.
TEST(CommunicationOrder, AgreesWithBruteForce) {
  std::mt19937 random(20240501);
  int ended = 0, stuck = 0;
  for (int i = 0; i < 10000; ++i) {
    uint32_t world = 1 + random() % 4;
    CommunicationPlan p = randomValid(random, world);
    auto &list = p.workers[random() % world];
    if (!list.empty()) {
      size_t x = random() % list.size(), y = random() % list.size();
      switch (random() % 4) {
      case 0:
        std::swap(list[x], list[y]);
        break;
      case 1:
        list.erase(list.begin() + x);
        break;
      case 2:
        list[x].signature ^= 1;
        break;
      default:
        break;
      }
    }
    bool ends = BruteForce(p).allEnd();
    ++(ends ? ended : stuck);
    std::optional<std::string> error = findCommunicationError(p);
    ASSERT_EQ(!error, ends) << "plan " << i << ": " << error.value_or("ends");
  }
  EXPECT_GT(ended, 1000);
  EXPECT_GT(stuck, 1000);
}

// Every swap of two events of one worker that brute force finds harmful is
// found.
TEST(CommunicationOrder, FindsEverySwap) {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    CommunicationPlan p = randomValid(random, 4);
    ASSERT_EQ(findCommunicationError(p), std::nullopt);
    for (auto &list : p.workers)
      for (size_t x = 0; x < list.size(); ++x)
        for (size_t y = x + 1; y < list.size(); ++y) {
          std::swap(list[x], list[y]);
          ASSERT_EQ(!findCommunicationError(p), BruteForce(p).allEnd());
          std::swap(list[x], list[y]);
        }
  }
}

TEST(CommunicationOrder, TransfersBetweenGroups) {
  using Ranks = std::vector<uint32_t>;
  EXPECT_EQ(targetsOf(1, 3, 3, false), Ranks({1}));
  EXPECT_EQ(targetsOf(0, 1, 3, false), Ranks({0, 1, 2})); // all get the same
  EXPECT_EQ(targetsOf(0, 1, 3, true), Ranks({0, 1, 2}));  // each gets a part
  EXPECT_EQ(targetsOf(0, 3, 1, false), Ranks({0}));
  EXPECT_EQ(targetsOf(2, 3, 1, false), Ranks());   // the first one sends
  EXPECT_EQ(targetsOf(2, 3, 1, true), Ranks({0})); // each sends a part
}

} // namespace
