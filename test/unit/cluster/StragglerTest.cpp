// Which worker is slower than the others, by samples of who waits.
#include "FakeJob.h"
#include "runtime/cluster/StragglerWatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dgc::rt::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A window of a hundred samples, in which each rank computes so many per cent of the time.
std::optional<StragglerWatch::Straggler> window(StragglerWatch &watch, const std::vector<int> &busy, TimeNs end) {
  for (int sample = 0; sample < 100; ++sample)
    for (uint32_t rank = 0; rank < busy.size(); ++rank) {
      const bool waits = sample * 37 % 100 >= busy[rank];
      const auto other = static_cast<int32_t>((rank + 1) % busy.size());
      watch.add(rank, {{static_cast<uint64_t>(sample), sample % 4 ? 7U : 2U}, waits ? other : WaitRecord::kNoRank});
    }
  return watch.look(end);
}

TEST(StragglerWatch, IsNamedAfterTwoWindows) {
  StragglerWatch watch(4, {}, 0);
  const std::vector<int> slow = {40, 45, 95, 50};
  EXPECT_FALSE(window(watch, slow, 10_s)) << "the window is not over";
  EXPECT_FALSE(window(watch, slow, 31_s)) << "once is no habit";
  auto found = window(watch, slow, 62_s);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 2u);
  EXPECT_NEAR(found->busy, 0.95, 0.01);
  EXPECT_NEAR(found->median, 0.45, 0.01);
  EXPECT_EQ(found->position.op, 7u);
  EXPECT_FALSE(window(watch, slow, 93_s)) << "it was named";
  EXPECT_TRUE(window(watch, slow, 700_s));
}

TEST(StragglerWatch, IsNobodyAmongEquals) {
  StragglerWatch watch(3, {}, 0);
  for (int i = 1; i < 20; ++i) {
    EXPECT_FALSE(window(watch, {90, 70, 80}, i * 31_s));
    EXPECT_FALSE(window(watch, {40, 20, 25}, i * 31_s + 1)) << "all of them wait: for the network";
  }
}

TEST(StragglerWatch, AnotherOneEachTimeIsNone) {
  StragglerWatch watch(2, {}, 0);
  for (int i = 1; i < 20; ++i)
    EXPECT_FALSE(window(watch, i % 2 ? std::vector{95, 40} : std::vector{40, 95}, i * 31_s));
}

TEST(StragglerWatch, CanBeSwitchedOff) {
  StragglerWatch watch(2, {.factor = 0}, 0);
  for (int i = 1; i < 9; ++i)
    EXPECT_FALSE(window(watch, {95, 10}, i * 31_s));
}

// Rank 0 says who it is, on which host, and where.
TEST(StragglerWatch, RankZeroSaysIt) {
  FakeJob job(3);
  job.options.stallTimeout = 100000_s;
  job.startAll();
  for (int rank : {0, 2})
    job.workers[static_cast<size_t>(rank)]->awaited = 1;
  job.workers[1]->position = {12, 3};
  job.pass(59_s);
  EXPECT_THAT(job.workers[0]->notices, IsEmpty());
  job.pass(3_s);
  EXPECT_THAT(
      job.workers[0]->notices,
      ElementsAre("rank 1 on host1 is slower than the others: it computed 100 % of the last 30 s, the median of the "
                  "others 0 %; most often at step 12, op 3"));
  EXPECT_THAT(job.workers[1]->notices, IsEmpty());
}

} // namespace
} // namespace dgc::rt::test
