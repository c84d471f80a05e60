// Rendezvous, failure detection and every message about them, by a fake clock
// and a fake network.
#include "FakeJob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dgc::rt::test {
namespace {

using State = MemberCore::State;

TEST(Membership, AllJoinAndGetTheRoster) {
  FakeJob job(3);
  job.startAll();
  for (int r = 0; r < 3; ++r) {
    ASSERT_EQ(job.state(r), State::Running);
    const RosterMessage &roster = *job.workers[r]->core->roster();
    ASSERT_EQ(roster.members.size(), 3u);
    EXPECT_EQ(roster.members[2].hostName, "host2");
    EXPECT_EQ(roster.members[2].pid, 1002u);
  }
  EXPECT_EQ(job.clock.now(), 0) << "joining needs no waiting";
}

TEST(Membership, AHealthyJobStaysHealthyAndLeaves) {
  FakeJob job(4);
  job.startAll();
  job.pass(600_s);
  for (int r = 0; r < 4; ++r)
    EXPECT_EQ(job.state(r), State::Running) << job.error(r);
  for (int r = 0; r < 4; ++r) {
    EXPECT_EQ(job.state(0), r == 0 ? State::Running : State::Leaving);
    job.workers[r]->core->leave();
    job.deliver();
    job.pass(10_s);
  }
  for (int r = 0; r < 4; ++r)
    EXPECT_EQ(job.state(r), State::Left);
  EXPECT_EQ(job.coordinator->state(), CoordinatorCore::State::Done);
  for (int r = 0; r < 4; ++r)
    job.kill(r); // the ends of the processes are no errors any more
  EXPECT_EQ(job.coordinator->state(), CoordinatorCore::State::Done);
}

TEST(Membership, MissingWorkersAreListedAndGivenUp) {
  FakeJob job(4);
  job.options.joinTimeout = 12_s;
  job.startCoordinator();
  job.connect(job.add(job.joinOf(0)));
  job.connect(job.add(job.joinOf(2)));
  job.pass(11_s);
  for (int i : {0, 1})
    EXPECT_EQ(job.workers[i]->notices, (std::vector<std::string>{"waiting for ranks 1 and 3 of 4 (5 s)",
                                                                 "waiting for ranks 1 and 3 of 4 (10 s)"}));
  job.pass(2_s);
  for (int i : {0, 1}) {
    EXPECT_EQ(job.error(i), "ranks 1 and 3 of 4 did not join within 12 s; start them, or raise --join-timeout");
    EXPECT_EQ(job.exitCode(i), ExitCode::Cluster);
  }
}

TEST(Membership, NoCoordinatorIsSaidAndGivenUp) {
  FakeJob job(2);
  job.add(job.joinOf(1));
  job.pass(121_s);
  EXPECT_EQ(job.workers[0]->notices.front(), "waiting for the coordinator at 10.0.0.1:29400 (5 s)");
  EXPECT_EQ(job.error(0), "no coordinator at 10.0.0.1:29400 within 120 s; start rank 0, and check the address and "
                          "the network between");
  EXPECT_EQ(job.exitCode(0), ExitCode::Cluster);
}

// Each misfit, and what every rank is told: those that have joined and the one
// that does not fit.
struct Misfit {
  const char *name;
  void (*change)(JoinMessage &);
  const char *message;
};
class MisfitTest : public ::testing::TestWithParam<Misfit> {};

TEST_P(MisfitTest, EveryRankIsTold) {
  FakeJob job(4);
  job.options.authenticated = true;
  job.startCoordinator();
  job.connect(job.add(job.joinOf(0)));
  job.connect(job.add(job.joinOf(1)));
  JoinMessage wrong = job.joinOf(2);
  GetParam().change(wrong);
  job.connect(job.add(wrong));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(job.error(i), GetParam().message) << "worker " << i;
    EXPECT_EQ(job.exitCode(i), ExitCode::Cluster);
  }
  // Who comes later learns it as well.
  int late = job.add(job.joinOf(3));
  job.connect(late);
  EXPECT_EQ(job.error(late), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Membership, MisfitTest,
    ::testing::Values(
        Misfit{"WorldSize", [](JoinMessage &m) { m.worldSize = 8; },
               "rank 2 (process 1002 on host2) was started for 8 workers, the coordinator for 4; give all of them "
               "the same --world-size"},
        Misfit{"DuplicateRank", [](JoinMessage &m) { m.rank = 1; },
               "two workers say that they are rank 1: process 1001 on host1 and process 1002 on host2; give every "
               "worker its own --rank"},
        Misfit{"OtherPlan", [](JoinMessage &m) { m.planDigest = std::string(32, '\x7f'); },
               "rank 2 (process 1002 on host2) runs another plan (SHA-256 7f7f7f7f7f7f..., the others "
               "707070707070...); copy one .dgcx to all machines"},
        Misfit{"OtherProducer", [](JoinMessage &m) { m.producer = "dgc 2"; },
               "rank 2 (process 1002 on host2) runs dgc 2, rank 0 (process 1000 on host0) runs dgc 1; run the same "
               "dgc-run on all machines"},
        Misfit{"OtherProtocol", [](JoinMessage &m) { m.protocol = 9; },
               "rank 2 (process 1002 on host2) speaks version 9 of the cluster protocol, the coordinator version 6; "
               "run the same dgc-run on all machines"},
        Misfit{"RankTooLarge", [](JoinMessage &m) { m.rank = 4; },
               "rank 4 (process 1002 on host2) does not exist among 4 workers; ranks are 0 to 3"}),
    [](const auto &info) { return info.param.name; });

TEST(Membership, ARefusalIsSaid) {
  FakeJob job(2);
  job.add(job.joinOf(1));
  job.workers[0]->core->refused("has a certificate of\nnobody");
  EXPECT_EQ(job.error(0), "the coordinator at 10.0.0.1:29400 has a certificate of\\nnobody");
  EXPECT_EQ(job.exitCode(0), ExitCode::Cluster);
}

// Without credentials only who knows the plan is a worker. What somebody else says is shown and ends nothing.
TEST(Membership, AnUnauthenticatedMisfitIsTurnedAwayAlone) {
  FakeJob job(2);
  job.options.planDigest = std::string(32, 'p');
  job.options.joinTimeout = 12_s;
  job.startCoordinator();
  job.connect(job.add(job.joinOf(0)));
  for (int i = 0; i < 20; ++i) {
    JoinMessage stranger = job.joinOf(i % 3);
    stranger.planDigest = "who knows";
    stranger.worldSize = 7;
    stranger.hostName = "evil\x1b[2Jhost";
    job.connect(job.add(stranger));
    EXPECT_EQ(job.state(i + 1), State::Failed);
  }
  EXPECT_EQ(job.state(0), State::Joining);
  EXPECT_EQ(job.workers[0]->notices.size(), 5u) << "not one for each";
  EXPECT_EQ(job.workers[0]->notices[0],
            "turned away: rank 0 (process 1000 on evil\\x1b[2Jhost) was started for 7 workers, "
            "the coordinator for 2; give all of them the same --world-size");
  FakeJob late(2); // who joins afterwards is told as well
  late.options.planDigest = std::string(32, 'p');
  late.startCoordinator();
  JoinMessage early = late.joinOf(1);
  early.planDigest = "another plan";
  late.connect(late.add(early));
  int first = late.add(late.joinOf(0));
  late.connect(first);
  EXPECT_THAT(late.workers[first]->notices,
              ::testing::ElementsAre(::testing::HasSubstr("turned away: rank 1 (process 1001 on host1) runs another")));

  job.pass(13_s);
  EXPECT_THAT(job.error(0),
              ::testing::HasSubstr("rank 1 of 2 did not join within 12 s; start them, or raise "
                                   "--join-timeout. Turned away: rank 1 (process 1001 on evil\\x1b[2Jhost)"));

  FakeJob knowing(2); // who knows the plan is believed
  knowing.options.planDigest = std::string(32, 'p');
  knowing.startCoordinator();
  knowing.connect(knowing.add(knowing.joinOf(0)));
  JoinMessage wrong = knowing.joinOf(1);
  wrong.worldSize = 3;
  knowing.connect(knowing.add(wrong));
  EXPECT_THAT(knowing.error(0), ::testing::HasSubstr("was started for 3 workers, the coordinator for 2"));
}

TEST(Membership, TextOfPeersIsEscaped) {
  FakeJob job(2);
  job.startAll();
  JobError e;
  e.exitCode = ExitCode::BadData;
  e.message = "bad\x1b]0;title\x07 line\nforged: line\xff";
  job.workers[1]->core->fail(e);
  job.deliver();
  EXPECT_EQ(job.error(0), "rank 1 failed: bad\\x1b]0;title\\x07 line\\nforged: line\\xff");
}

TEST(Membership, ALateComerDoesNotDisturbARunningJob) {
  FakeJob job(2);
  job.startAll();
  int late = job.add(job.joinOf(1));
  job.connect(late);
  EXPECT_EQ(job.error(late), "rank 1 (process 1001 on host1) came too late: the job has 2 workers and is running");
  EXPECT_EQ(job.state(0), State::Running);
  EXPECT_EQ(job.state(1), State::Running);
}

TEST(Membership, ASilentStrangerIsClosed) {
  FakeJob job(2);
  job.startCoordinator();
  job.coordinator->opened(77);
  job.pass(9_s);
  EXPECT_TRUE(job.closedByCoordinator.empty()) << "a worker on a busy machine takes its time";
  job.pass(2_s);
  EXPECT_EQ(job.closedByCoordinator, std::vector<ConnectionId>{77});
  job.coordinator->opened(78); // one that talks before it has joined
  job.coordinator->received(78, LeaveMessage{});
  job.deliver();
  EXPECT_EQ(job.closedByCoordinator, (std::vector<ConnectionId>{77, 78}));
  EXPECT_EQ(job.coordinator->state(), CoordinatorCore::State::Joining);
}

TEST(Membership, ADeadWorkerIsNamedWithItsExactPosition) {
  FakeJob job(3);
  job.startAll();
  job.exact[1] = {12, 3};
  job.kill(1);
  for (int r : {0, 2}) {
    EXPECT_EQ(job.error(r), "rank 1 (process 1001 on host1) died at step 12, op 3");
    EXPECT_EQ(job.exitCode(r), ExitCode::PeerFailed);
  }
  EXPECT_EQ(job.clock.now(), 0) << "noticed at once";
}

TEST(Membership, AcrossHostsThePositionIsThatOfTheLastHeartbeat) {
  FakeJob job(2);
  job.startAll();
  job.workers[1]->position = {7, 4};
  job.pass(300_ms);
  job.workers[1]->position = {7, 5};
  job.kill(1);
  EXPECT_EQ(job.error(0), "rank 1 (process 1001 on host1) died at step 7, op 4");
}

TEST(Membership, TheLauncherSaysHowAWorkerEnded) {
  FakeJob job(2, 250_ms);
  job.startAll();
  job.exact[1] = {5, Position::kNoOp};
  job.kill(1);
  EXPECT_EQ(job.state(0), State::Running) << "the report is awaited";
  job.coordinator->processEnded(1, 0, 9);
  job.deliver();
  EXPECT_EQ(job.error(0), "rank 1 was killed by signal 9 (Killed) at step 5, between programs");

  FakeJob silent(2, 250_ms);
  silent.startAll();
  silent.kill(1);
  silent.pass(300_ms);
  EXPECT_EQ(silent.error(0), "rank 1 (process 1001 on host1) died at step 0, between programs");

  FakeJob early(2, 250_ms);
  early.startCoordinator();
  early.connect(early.add(early.joinOf(0), true));
  early.coordinator->processEnded(1, 4, 0);
  early.deliver();
  EXPECT_EQ(early.error(0), "rank 1 ended early with exit code 4 before all workers had joined");
}

TEST(Membership, ASilentWorkerIsLostAfterItsTime) {
  FakeJob job(3);
  job.startAll();
  job.workers[2]->position = {40, 1};
  job.pass(1_s);
  job.workers[2]->frozen = true; // SIGSTOP, or a cut cable
  job.pass(9900_ms);
  EXPECT_EQ(job.state(0), State::Running);
  job.pass(400_ms);
  EXPECT_EQ(job.error(0), "rank 2 (process 1002 on host2) has not been heard of for 10 s: stopped, or its machine or "
                          "network is down; last seen at step 40, op 1");
}

TEST(Membership, AFrozenCoordinatorIsNoticedByAll) {
  FakeJob job(3);
  job.startAll();
  job.workers[0]->position = {8, 2};
  job.pass(1_s);
  job.coordinatorFrozen = true;
  job.pass(10500_ms);
  for (int r : {1, 2}) {
    EXPECT_EQ(job.error(r), "rank 0, which has the coordinator 10.0.0.1:29400, has not been heard of for 10 s: "
                            "stopped, or its machine or network is down; last seen at step 8, op 2");
    EXPECT_EQ(job.exitCode(r), ExitCode::PeerFailed);
  }

  FakeJob launched(2);
  launched.startCoordinator();
  for (int r : {0, 1})
    launched.connect(launched.add(launched.joinOf(r), /*launched=*/true));
  launched.pass(1_s);
  launched.coordinatorFrozen = true;
  launched.pass(10500_ms);
  for (int r : {0, 1})
    EXPECT_EQ(launched.error(r),
              "the launcher has not been heard of for 10 s: stopped, or its machine or network is down");
}

TEST(Membership, ADeadCoordinatorIsNamed) {
  FakeJob job(3);
  job.startAll();
  job.exact[0] = {9, 9};
  job.killCoordinator();
  EXPECT_EQ(job.error(1), "rank 0, which has the coordinator 10.0.0.1:29400, died at step 9, op 9");

  FakeJob launched(2);
  launched.startCoordinator();
  for (int r : {0, 1})
    launched.connect(launched.add(launched.joinOf(r), /*launched=*/true));
  launched.killCoordinator();
  EXPECT_EQ(launched.error(0), "the launcher died");
  EXPECT_EQ(launched.error(1), "the launcher died");
}

TEST(Membership, APauseOfTheWholeMachineIsNoFailure) {
  FakeJob job(3);
  job.startAll();
  job.pass(1_s);
  job.clock.advance(60_s); // nobody ran
  job.pass(5_s);
  for (int r = 0; r < 3; ++r)
    EXPECT_EQ(job.state(r), State::Running) << job.error(r);
}

TEST(Membership, TheFirstErrorWinsAndReachesAll) {
  FakeJob job(3);
  job.startAll();
  JobError first, second;
  first.code = absl::StatusCode::kDataLoss;
  first.exitCode = ExitCode::BadData;
  first.message = "the data file is damaged";
  second.message = "what came of it";
  job.workers[1]->core->fail(first);
  job.workers[2]->core->fail(second);
  job.deliver();
  EXPECT_EQ(job.error(0), "rank 1 failed: the data file is damaged");
  EXPECT_EQ(job.exitCode(0), ExitCode::PeerFailed);
  EXPECT_EQ(job.error(1), "the data file is damaged");
  EXPECT_EQ(job.exitCode(1), ExitCode::BadData);
  EXPECT_EQ(job.coordinator->error().rank, 1);
  job.kill(1);
  EXPECT_EQ(job.error(0), "rank 1 failed: the data file is damaged");
}

TEST(Membership, AnInterruptionStopsAllWithItsCode) {
  JobError e;
  e.code = absl::StatusCode::kCancelled;
  e.exitCode = ExitCode::Interrupted;
  e.message = "interrupted (Ctrl-C)";
  FakeJob job(2);
  job.startAll();
  job.workers[1]->core->fail(e);
  job.deliver();
  EXPECT_EQ(job.error(0), "rank 1 was interrupted (Ctrl-C)");
  EXPECT_EQ(job.exitCode(0), ExitCode::Interrupted);

  FakeJob launched(2);
  launched.startAll();
  launched.coordinator->fail(e);
  launched.deliver();
  EXPECT_EQ(launched.error(0), "interrupted (Ctrl-C)");
  EXPECT_EQ(launched.exitCode(1), ExitCode::Interrupted);
}

TEST(Membership, DeathWhileJoiningEndsTheJob) {
  FakeJob job(3);
  job.startCoordinator();
  job.connect(job.add(job.joinOf(0)));
  job.connect(job.add(job.joinOf(1)));
  job.kill(1);
  EXPECT_EQ(job.error(0), "rank 1 (process 1001 on host1) died before all workers had joined");
}

TEST(Membership, GatherIsByRankAndInRounds) {
  FakeJob job(3);
  job.startAll();
  for (int round = 0; round < 3; ++round) {
    for (int r : {2, 0, 1}) {
      EXPECT_FALSE(job.workers[0]->core->takeGathered());
      job.workers[r]->core->gather(std::to_string(round) + "/" + std::to_string(r));
      job.deliver();
    }
    for (int r = 0; r < 3; ++r) {
      std::string n = std::to_string(round);
      EXPECT_EQ(job.workers[r]->core->takeGathered(), (std::vector<std::string>{n + "/0", n + "/1", n + "/2"}));
    }
  }
}

TEST(Membership, SomethingElseAtTheAddress) {
  FakeJob job(2);
  job.add(job.joinOf(1));
  job.workers[0]->core->closed();
  EXPECT_EQ(job.error(0), "what answers at 10.0.0.1:29400 is not a dgc coordinator; check --coordinator");
}

TEST(Membership, LongListsOfRanksAreShortened) {
  std::vector<uint32_t> many(20);
  for (uint32_t i = 0; i < 20; ++i)
    many[i] = i;
  EXPECT_EQ(ranksText(many), "ranks 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 and 4 more");
  EXPECT_EQ(ranksText({3}), "rank 3");
}

} // namespace
} // namespace dgc::rt::test
