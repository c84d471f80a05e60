// Jobs that do not advance, by a fake clock: who waits for whom decides whether that is an error, however long it
// takes.
#include "FakeJob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dgc::rt::test {
namespace {

using State = MemberCore::State;
using ::testing::HasSubstr;

/// A running job of which each rank says where it is and whom it waits for.
class Stall : public ::testing::Test {
protected:
  void start(int worldSize) {
    job = std::make_unique<FakeJob>(worldSize);
    job->startAll();
  }
  void at(int rank, Position position, int awaited) {
    job->workers[rank]->position = position;
    job->workers[rank]->awaited = awaited;
  }
  void expectRunning() {
    for (size_t r = 0; r < job->workers.size(); ++r)
      EXPECT_NE(job->state(static_cast<int>(r)), State::Failed) << job->error(static_cast<int>(r));
  }
  std::unique_ptr<FakeJob> job;
};

TEST_F(Stall, RanksThatWaitForEachOtherEndWithWhoWaitsForWhom) {
  start(2);
  at(0, {12, 3}, 1);
  at(1, {12, 3}, 0);
  job->pass(59_s);
  expectRunning();
  job->pass(2_s);
  for (int r : {0, 1}) {
    EXPECT_EQ(job->error(r),
              "ranks 0 and 1 have not advanced for 60 s (--stall-timeout) and wait for each other: see that nothing "
              "blocks the connections between their machines: rank 0 waits for rank 1 at step 12, op 3, rank 1 waits "
              "for rank 0 at step 12, op 3");
    EXPECT_EQ(job->exitCode(r), ExitCode::Network);
  }
}

TEST_F(Stall, ARankThatComputesExcusesAllThatWaitForIt) {
  start(4);
  at(0, {5, 8}, 1); // a chain: 0 waits for 1, which waits for 2, which waits for 3, which compiles for two hours
  at(1, {5, 8}, 2);
  at(2, {5, 8}, 3);
  at(3, {5, 2}, WaitRecord::kNoRank);
  job->pass(7200_s, 1_s);
  expectRunning();
  at(3, {5, 8}, 0); // it is done, and the circle is closed
  job->pass(59_s);
  expectRunning();
  job->pass(2_s);
  EXPECT_THAT(job->error(0), HasSubstr("rank 3 waits for rank 0 at step 5, op 8"));
}

TEST_F(Stall, RanksThatWaitForEachOtherAreFoundBesideOneThatComputes) {
  start(3);
  at(0, {5, 8}, 1);
  at(1, {5, 8}, 0);
  at(2, {5, 1}, WaitRecord::kNoRank);
  job->pass(61_s);
  EXPECT_THAT(job->error(2), HasSubstr("ranks 0 and 1 have not advanced"));
}

TEST_F(Stall, WhatAdvancesIsNoStall) {
  start(2);
  at(0, {1, 3}, 1);
  at(1, {1, 3}, 0);
  for (int i = 0; i < 20; ++i) { // a slow link: one op for 400 s, some bytes now and then
    job->pass(20_s);
    job->workers[0]->moved += 1;
    job->workers[1]->moved += 1;
  }
  expectRunning();
  for (uint64_t step = 0; step < 20; ++step) { // short steps: each sample finds both in the same op
    job->pass(20_s);
    at(0, {step, 3}, 1);
    at(1, {step, 3}, 0);
  }
  expectRunning();
}

TEST_F(Stall, OneSidedBytesAreAnAdvanceOfThatSideOnly) {
  start(2);
  at(0, {1, 3}, 1);
  at(1, {1, 3}, 0);
  for (int i = 0; i < 10; ++i) {
    job->pass(20_s);
    job->workers[0]->moved += 1; // rank 1 waits for a rank that advances
  }
  expectRunning();
}

TEST_F(Stall, ALongExchangeOrEndWaitsForTheRankThatComputes) {
  start(3);
  job->workers[0]->core->gather("ready"); // the others still load their data
  job->deliver();
  job->pass(3600_s, 1_s);
  expectRunning();
  for (int r : {1, 2})
    job->workers[r]->core->gather("ready");
  job->deliver();
  job->workers[1]->core->leave(); // the others still write their checkpoint
  at(2, {9, 1}, 0);
  job->deliver();
  job->pass(3600_s, 1_s);
  expectRunning();
}

TEST_F(Stall, ExchangesAndTransfersThatWaitForEachOtherAreFound) {
  start(3);
  at(2, {9, 1}, 0);
  job->pass(1_s);
  job->workers[0]->core->gather("ready");
  job->workers[1]->core->leave();
  job->deliver();
  job->pass(61_s);
  EXPECT_THAT(job->error(2), HasSubstr("ranks 0, 1 and 2 have not advanced for 60 s"));
  EXPECT_THAT(job->error(2), HasSubstr("rank 0 waits for rank 1 in an exchange over the control plane, rank 1 is done "
                                       "and waits for rank 0, rank 2 waits for rank 0 at step 9, op 1"));
}

TEST_F(Stall, TheTimeIsAChoice) {
  job = std::make_unique<FakeJob>(2);
  job->options.stallTimeout = 5_s;
  job->startAll();
  at(0, {1, 1}, 1);
  at(1, {1, 1}, 0);
  job->pass(6_s);
  EXPECT_THAT(job->error(0), HasSubstr("for 5 s (--stall-timeout)"));
}

TEST_F(Stall, AStoppedMachineIsNoStall) {
  start(2);
  at(0, {1, 1}, 1);
  at(1, {1, 1}, 0);
  job->pass(30_s);
  job->clock.advance(600_s); // nobody ran
  job->pass(20_s);
  expectRunning();
}

// A pause of the network: heartbeats of up to nine seconds come late, all at once, and nothing has happened.
TEST_F(Stall, ALatePauseOfTheNetworkIsNoFailure) {
  start(2);
  for (int i = 0; i < 3; ++i) {
    job->coordinatorFrozen = true;
    job->pass(9_s);
    job->coordinatorFrozen = false;
    job->pass(2_s);
  }
  expectRunning();
}

} // namespace
} // namespace dgc::rt::test
