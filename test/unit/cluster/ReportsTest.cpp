// What heartbeats bring to rank 0 of all workers, and what they say of the clocks.
#include "FakeJob.h"
#include "runtime/cluster/Wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dgc::rt::test {
namespace {

TEST(Reports, GoToWhoWatches) {
  FakeJob job(2);
  job.startAll();
  job.workers[1]->position = {12, 3};
  job.workers[1]->awaited = 0;
  job.workers[1]->moved = 77;
  job.pass(1_s);
  ASSERT_EQ(job.workers[0]->reports.size(), 2u);
  const WorkerReport &other = job.workers[0]->reports[1];
  EXPECT_TRUE(other.isPresent);
  EXPECT_EQ(other.last.position, (Position{12, 3}));
  EXPECT_EQ(other.last.moved, 77u);
  EXPECT_EQ(other.last.awaited, 0);
  EXPECT_GE(other.heartbeats, 4u);
  EXPECT_GE(other.waits, other.heartbeats - 1) << "but for the first one";
  EXPECT_EQ(job.workers[0]->reports[0].waits, 0u);
  EXPECT_TRUE(job.workers[1]->reports.empty()) << "it did not ask";
}

TEST(Reports, SurviveTheWire) {
  HeartbeatReply reply{{1, 2}, 3, -4, {}};
  reply.workers.push_back({true, {{5, 6}, 7, 8, 9, 10, 14, 11, false}, 12, 13});
  const auto read = fromWire(toWire(ToWorker(reply)));
  ASSERT_TRUE(read);
  const auto &back = std::get<HeartbeatReply>(*read);
  EXPECT_EQ(back.sent, 3);
  EXPECT_EQ(back.received, -4);
  ASSERT_EQ(back.workers.size(), 1u);
  EXPECT_EQ(back.workers[0].last.exposed, 9u);
  EXPECT_EQ(back.workers[0].last.memory, 10u);
  EXPECT_EQ(back.workers[0].last.resident, 14u);
  EXPECT_EQ(back.workers[0].heartbeats, 12u);
  EXPECT_EQ(back.workers[0].waits, 13u);
  const auto asked = fromWire(toWire(FromWorker(HeartbeatMessage{{5, 6}, -1, 8, 9, 10, 14, -11, true})));
  ASSERT_TRUE(asked);
  EXPECT_EQ(std::get<HeartbeatMessage>(*asked).sent, -11);
  EXPECT_TRUE(std::get<HeartbeatMessage>(*asked).watches);
  EXPECT_EQ(std::get<HeartbeatMessage>(*asked).awaited, -1);
}

TEST(ClockOffset, IsWithinWhatRoundTripsSay) {
  // The other clock is 1,000 ahead. The way there takes 10 and 2, the way back 1 and 30.
  ClockOffset offset;
  EXPECT_FALSE(offset.isKnown());
  EXPECT_EQ(offset.estimate(), 0);
  offset.add(0, 1010, 11);
  EXPECT_EQ(offset.least(), 999);
  EXPECT_EQ(offset.most(), 1010);
  offset.add(100, 1102, 132);
  EXPECT_EQ(offset.least(), 999);
  EXPECT_EQ(offset.most(), 1002) << "both bounds of the two together";
  EXPECT_EQ(offset.estimate(), 1000);
  offset.add(200, 5000, 100); // an answer before the question
  EXPECT_EQ(offset.most(), 1002);
  offset.add(10'000, 11'300, 10'020); // the clocks have drifted
  EXPECT_EQ(offset.least(), 1280);
  EXPECT_EQ(offset.most(), 1300);
}

TEST(ClockOffset, IsZeroWhereThatMayBe) {
  ClockOffset offset;
  offset.add(0, 90, 100); // the answer came quickly, the question slowly
  EXPECT_EQ(offset.least(), -10);
  EXPECT_EQ(offset.most(), 90);
  EXPECT_EQ(offset.estimate(), 0);
}

TEST(ClockOffset, IsMeasuredByHeartbeats) {
  FakeClock clockOfCoordinator(5_s), clockOfWorker(900_s);
  CoordinatorCore::Options options;
  options.worldSize = 1;
  CoordinatorCore coordinator(options, clockOfCoordinator);
  MemberCore::Options o;
  o.join.worldSize = 1;
  MemberCore worker(o, clockOfWorker);
  auto pass = [&](TimeNs time) {
    clockOfCoordinator.advance(time);
    clockOfWorker.advance(time);
  };
  auto exchange = [&](TimeNs there, TimeNs back) {
    worker.tick();
    auto questions = worker.takeOutgoing();
    pass(there);
    for (const FromWorker &each : questions)
      coordinator.received(1, each);
    auto answers = coordinator.takeOutgoing();
    pass(back);
    for (const Outgoing &each : answers)
      worker.received(*each.message);
  };
  coordinator.opened(1);
  worker.connected();
  exchange(1_ms, 1_ms);
  for (auto [there, back] : {std::pair(40_ms, 3_ms), {2_ms, 60_ms}}) {
    pass(250_ms);
    exchange(there, back);
  }
  const ClockOffset &offset = worker.clockOffset();
  ASSERT_TRUE(offset.isKnown());
  EXPECT_LE(offset.least(), -895_s);
  EXPECT_GE(offset.most(), -895_s);
  EXPECT_LE(offset.most() - offset.least(), 5_ms);
}

} // namespace
} // namespace dgc::rt::test
