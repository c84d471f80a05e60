// What becomes of a job that survives the loss of workers: epochs of the coordinator, by a fake clock and a fake network.
#include "FakeJob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace dgc::rt::test {
namespace {

using State = MemberCore::State;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A job that survives losses, and the index in FakeJob::workers of each rank's process.
class SurvivingJob : public FakeJob {
public:
  explicit SurvivingJob(int worldSize, int restarts = 5) : FakeJob(worldSize) {
    options.restarts = restarts;
    for (int r = 0; r < worldSize; ++r)
      at.push_back(r);
  }

  Worker &of(int rank) { return *workers[at[rank]]; }
  State stateOf(int rank) { return state(at[rank]); }

  void killRank(int rank) { kill(at[rank]); }

  /// Another process takes the place of a rank.
  void replace(int rank) {
    JoinMessage join = joinOf(rank);
    join.pid = 2000 + workers.size();
    at[rank] = add(join);
    connect(at[rank]);
  }

  void rejoin(int rank) {
    of(rank).core->rejoin(joinOf(rank), &of(rank).gate);
    deliver();
  }

  /// What all workers get that exchange these bytes.
  std::vector<std::string> exchange(const std::string &bytes) {
    for (size_t r = 0; r < at.size(); ++r)
      of(static_cast<int>(r)).core->gather(bytes + std::to_string(r));
    deliver();
    std::vector<std::string> first;
    for (size_t r = 0; r < at.size(); ++r) {
      std::optional<std::vector<std::string>> got = of(static_cast<int>(r)).core->takeGathered();
      EXPECT_TRUE(got.has_value()) << "rank " << r;
      if (got && r == 0)
        first = *got;
      EXPECT_EQ(got.value_or(first), first) << "rank " << r;
    }
    return first;
  }

  std::vector<int> takeLost() {
    std::vector<int> ranks;
    for (const CoordinatorCore::Lost &each : coordinator->takeLost())
      ranks.push_back(each.rank);
    return ranks;
  }

  std::vector<int> at;
};

TEST(Regroup, TheOthersJoinAgainWithTheOneThatTakesThePlaceOfTheLost) {
  SurvivingJob job(3);
  job.startAll();
  EXPECT_EQ(job.of(0).core->roster()->epoch, 0u);
  EXPECT_TRUE(job.of(0).core->roster()->survives);
  job.exact[1] = {7, 3};
  job.killRank(1);
  EXPECT_EQ(job.coordinator->state(), CoordinatorCore::State::Joining);
  EXPECT_THAT(job.takeLost(), ElementsAre(1));
  EXPECT_THAT(job.takeLost(), IsEmpty()) << "each is said once";
  for (int r : {0, 2}) {
    EXPECT_EQ(job.stateOf(r), State::Regrouping);
    EXPECT_EQ(jobStatus(job.of(r).core->loss(), nullptr).message(),
              "rank 1 (process 1001 on host1) died at step 7, op 3");
  }
  job.rejoin(0);
  job.pass(300_ms);
  job.replace(1);
  EXPECT_EQ(job.stateOf(0), State::Joining) << "rank 2 is not there yet";
  job.rejoin(2);
  for (int r = 0; r < 3; ++r) {
    ASSERT_EQ(job.stateOf(r), State::Running);
    const RosterMessage &roster = *job.of(r).core->roster();
    EXPECT_EQ(roster.epoch, 1u);
    EXPECT_EQ(roster.members[0].pid, 1000u);
    EXPECT_EQ(roster.members[1].pid, 2003u);
    EXPECT_EQ(roster.sinceLoss, 300_ms);
    EXPECT_THAT(roster.lost.message, HasSubstr("rank 1"));
  }
  EXPECT_THAT(job.exchange("x"), ElementsAre("x0", "x1", "x2"));
  job.pass(60_s);
  for (int r = 0; r < 3; ++r)
    EXPECT_EQ(job.stateOf(r), State::Running);
  EXPECT_EQ(job.coordinator->restarts(), 1);
}

TEST(Regroup, WhatWasSentBeforeTheLossWasKnownCountsNoMore) {
  SurvivingJob job(3);
  job.startAll();
  job.of(0).core->gather("old");
  job.deliver();
  job.of(2).core->gather("old"); // on its way when rank 1 dies
  job.of(2).core->leave();
  job.killRank(1);
  job.rejoin(0);
  job.rejoin(2);
  job.replace(1);
  EXPECT_THAT(job.exchange("new"), ElementsAre("new0", "new1", "new2"));
  EXPECT_EQ(job.coordinator->state(), CoordinatorCore::State::Running);
}

TEST(Regroup, MoreLossesWhileWorkersJoinBeginNoOtherEpoch) {
  SurvivingJob job(4);
  job.startAll();
  job.killRank(1);
  job.rejoin(0);
  job.killRank(0); // has joined
  job.killRank(3); // has not
  EXPECT_THAT(job.takeLost(), ElementsAre(1, 0, 3));
  job.replace(0);
  job.replace(1);
  job.killRank(1); // the replacement itself
  EXPECT_THAT(job.takeLost(), ElementsAre(1));
  job.replace(1);
  job.replace(3);
  job.rejoin(2);
  for (int r = 0; r < 4; ++r)
    EXPECT_EQ(job.stateOf(r), State::Running);
  EXPECT_EQ(job.of(2).core->roster()->epoch, 1u);
  EXPECT_EQ(job.coordinator->restarts(), 4);
}

TEST(Regroup, ALossTooManyEndsTheJob) {
  SurvivingJob job(3, /*restarts=*/1);
  job.startAll();
  job.killRank(1);
  job.rejoin(0);
  job.rejoin(2);
  job.replace(1);
  job.killRank(2);
  for (int r : {0, 1}) {
    EXPECT_THAT(job.error(job.at[r]), HasSubstr("rank 2 (process 1002 on host2) died"));
    EXPECT_EQ(job.exitCode(job.at[r]), ExitCode::PeerFailed);
  }
  EXPECT_THAT(job.of(0).notices, ElementsAre("1 restart was all that --max-restarts allows: the job ends"));
  EXPECT_THAT(job.takeLost(), ElementsAre(1)) << "nobody is to take the place of rank 2";
}

TEST(Regroup, AWorkerThatDiesAgainAndAgainAtOneStepEndsTheJob) {
  SurvivingJob job(2, /*restarts=*/1000);
  job.startAll();
  int losses = 0;
  for (; job.stateOf(0) != State::Failed && losses < 100; ++losses) {
    job.exact[1] = {losses < 20 ? static_cast<uint64_t>(losses) : 77, 0}; // it advances at first
    job.killRank(1);
    if (job.stateOf(0) == State::Failed)
      break;
    job.rejoin(0);
    job.replace(1);
  }
  EXPECT_EQ(losses, 20 + CoordinatorCore::kMostFruitless - 1);
  EXPECT_THAT(job.of(0).notices, ElementsAre("10 workers were lost and the job has not come beyond step 77: it ends"));
}

TEST(Regroup, AnErrorOfAWorkerItselfEndsTheJob) {
  for (const bool isSaid : {true, false}) {
    SurvivingJob job(2);
    job.startAll();
    if (isSaid) {
      JobError error;
      error.exitCode = ExitCode::BadData;
      error.message = "the disk is full";
      job.of(1).core->fail(error);
      job.deliver();
    } else {
      job.coordinator->processEnded(1, static_cast<int>(ExitCode::BadData), 0);
      job.deliver();
    }
    EXPECT_EQ(job.stateOf(0), State::Failed) << isSaid;
    EXPECT_THAT(job.takeLost(), IsEmpty());
  }
}

TEST(Regroup, ALostConnectionIsMadeAnewWithTheSameWorkers) {
  SurvivingJob job(3);
  job.startAll();
  for (int r : {0, 2}) { // both ends of it say so
    JobError error;
    error.exitCode = ExitCode::Network;
    error.message = "the connection is lost";
    job.of(r).core->report(error);
  }
  job.deliver();
  EXPECT_THAT(job.takeLost(), IsEmpty());
  for (int r = 0; r < 3; ++r) {
    EXPECT_EQ(job.stateOf(r), State::Regrouping);
    job.rejoin(r);
  }
  for (int r = 0; r < 3; ++r)
    EXPECT_EQ(job.stateOf(r), State::Running);
  EXPECT_EQ(job.coordinator->restarts(), 1);
}

TEST(Regroup, WhoeverIsAwaitedTooLongEndsTheJob) {
  SurvivingJob job(2);
  job.options.joinTimeout = 12_s;
  job.startAll();
  job.pass(60_s); // the time to join counts from the loss
  job.killRank(1);
  job.rejoin(0);
  job.pass(11_s);
  EXPECT_EQ(job.stateOf(0), State::Joining);
  job.pass(2_s);
  EXPECT_EQ(job.error(0), "rank 1 of 2 did not join within 12 s; start them, or raise --join-timeout");
}

TEST(Regroup, ASilentWorkerIsLostToo) {
  SurvivingJob job(2);
  job.startAll();
  job.of(1).frozen = true;
  job.pass(11_s);
  EXPECT_EQ(job.stateOf(0), State::Regrouping);
  EXPECT_THAT(job.takeLost(), ElementsAre(1));
  job.rejoin(0);
  job.replace(1);
  EXPECT_EQ(job.stateOf(0), State::Running);
}

TEST(Regroup, AWorkerMayComeBeforeTheLossOfTheOneBeforeItIsNoticed) {
  SurvivingJob job(2);
  job.startAll();
  job.of(1).frozen = true; // its machine is down
  const ConnectionId before = job.of(1).id;
  job.pass(3_s);
  job.replace(1);
  EXPECT_EQ(job.stateOf(0), State::Regrouping);
  EXPECT_THAT(job.of(0).core->loss().message, HasSubstr("was started again, as process 2002 on host1"));
  EXPECT_THAT(job.closedByCoordinator, ElementsAre(before));
  job.rejoin(0);
  EXPECT_EQ(job.stateOf(0), State::Running);
  EXPECT_EQ(job.stateOf(1), State::Running);
}

TEST(Regroup, AStopThatWasAskedForIsOfTheNextEpochToo) {
  SurvivingJob job(2);
  job.startAll();
  Abort abort;
  ASSERT_TRUE(job.of(0).gate.pass(4, abort).ok());
  ASSERT_TRUE(job.of(1).gate.pass(4, abort).ok());
  job.coordinator->request({StepEvent::Stop, 15});
  job.deliver();
  job.killRank(1); // before the step that was agreed on
  StepGate gate;
  job.of(0).core->rejoin(job.joinOf(0), &gate);
  job.replace(1);
  absl::StatusOr<StepEvent> event = gate.pass(3, abort);
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(*event, (StepEvent{StepEvent::Stop, 15}));
  event = job.of(1).gate.pass(3, abort);
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(*event, (StepEvent{StepEvent::Stop, 15}));
}

TEST(Regroup, WhateverDiesWheneverInTheEndAllAreInOneEpoch) {
  const uint32_t seeds = simulationSeeds();
  for (uint32_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const int world = 2 + static_cast<int>(seed % 4);
    SurvivingJob job(world, /*restarts=*/1'000'000);
    job.startAll();
    std::set<int> dead;
    std::vector<int64_t> asked(world, -1);
    for (int action = 0; action < 60; ++action) {
      const int rank = static_cast<int>(random() % static_cast<uint32_t>(world));
      job.exact[0] = {static_cast<uint64_t>(action) + 1, 0}; // the job advances
      switch (random() % 5) {
      case 0:
        if (dead.insert(rank).second)
          job.killRank(rank);
        break;
      case 1:
        if (dead.erase(rank))
          job.replace(rank);
        break;
      case 2:
        if (!dead.contains(rank))
          job.rejoin(rank);
        break;
      case 3: // an exchange that not all come to
        if (job.stateOf(rank) == State::Running && asked[rank] < job.of(rank).core->roster()->epoch) {
          asked[rank] = job.of(rank).core->roster()->epoch;
          job.of(rank).core->gather("x");
        }
        break;
      default:
        job.pass(100_ms);
      }
    }
    for (int rank = 0; rank < world; ++rank)
      if (dead.contains(rank))
        job.replace(rank);
    for (int rank = 0; rank < world; ++rank)
      job.rejoin(rank);
    // A new epoch, as exchanges may be under way that not all have begun.
    job.exact[0] = {1000, 0};
    job.killRank(0);
    job.replace(0);
    for (int rank = 1; rank < world; ++rank)
      job.rejoin(rank);
    const uint32_t epoch = job.of(0).core->roster() ? job.of(0).core->roster()->epoch : 0;
    for (int rank = 0; rank < world; ++rank) {
      ASSERT_EQ(job.stateOf(rank), State::Running) << "seed " << seed << ", rank " << rank << job.error(job.at[rank]);
      EXPECT_EQ(job.of(rank).core->roster()->epoch, epoch) << "seed " << seed;
      EXPECT_EQ(job.of(rank).core->roster()->members[0].pid, job.of(0).core->roster()->members[0].pid);
    }
    EXPECT_EQ(job.exchange("y").size(), static_cast<size_t>(world)) << "seed " << seed;
  }
}

} // namespace
} // namespace dgc::rt::test
