// Jobs whose number of workers changes: losses that nobody replaces, and workers more; by a fake clock and a fake network.
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

class ElasticJob : public FakeJob {
public:
  ElasticJob(int worldSize, int least, int most, std::vector<int> between = {}) : FakeJob(worldSize) {
    options.elastic = {least, most, std::move(between)};
  }

  /// A worker more; returns its index in `workers`.
  int join() {
    JoinMessage join = joinOf(0);
    join.rank = JoinMessage::kAnyRank;
    join.worldSize = 0;
    join.pid = 1000 + workers.size();
    join.hostName = "more";
    const int index = add(join);
    connect(index);
    return index;
  }

  /// What the cluster does with RegroupMessage.
  void rejoin(int index) {
    MemberCore &core = *workers[index]->core;
    JoinMessage join = joinOf(static_cast<int>(core.assigned().rank));
    join.worldSize = core.assigned().worldSize;
    join.pid = 1000 + index;
    core.rejoin(join, &workers[index]->gate);
  }
  /// Until the epochs are over that began.
  void rejoinAll() {
    for (bool more = true; more;) {
      more = false;
      for (size_t w = 0; w < workers.size(); ++w)
        if (workers[w]->linked && !workers[w]->frozen && state(static_cast<int>(w)) == State::Regrouping) {
          rejoin(static_cast<int>(w));
          more = true;
        }
      deliver();
    }
  }

  /// The processes of the job by rank, as this worker knows it.
  std::vector<uint64_t> pids(int index) {
    std::vector<uint64_t> all;
    for (const RosterMessage::Member &each : workers[index]->core->roster()->members)
      all.push_back(each.pid);
    return all;
  }
  uint32_t epochOf(int index) { return workers[index]->core->roster()->epoch; }
};

TEST(Elastic, TheOthersGoOnWithoutTheLost) {
  ElasticJob job(4, 2, 4);
  job.startAll();
  EXPECT_TRUE(job.workers[0]->core->roster()->survives);
  job.kill(1);
  for (int w : {0, 2, 3})
    EXPECT_EQ(job.state(w), State::Regrouping);
  EXPECT_EQ(job.workers[2]->core->assigned().rank, 1u);
  EXPECT_EQ(job.workers[2]->core->assigned().worldSize, 3u);
  EXPECT_THAT(job.workers[0]->core->loss().message, HasSubstr("rank 1 (process 1001 on host1) died"));
  job.rejoinAll();
  for (int w : {0, 2, 3}) {
    EXPECT_EQ(job.state(w), State::Running);
    EXPECT_EQ(job.epochOf(w), 1u);
    EXPECT_THAT(job.pids(w), ElementsAre(1000, 1002, 1003));
  }
  const auto lost = job.coordinator->takeLost();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].pid, 1001u);
}

TEST(Elastic, WorkersMoreGetTheLastRanks) {
  ElasticJob job(2, 2, 4);
  job.startAll();
  const int third = job.join();
  EXPECT_EQ(job.state(0), State::Regrouping);
  job.rejoinAll();
  const int fourth = job.join();
  job.rejoinAll();
  for (int w : {0, 1, third, fourth}) {
    EXPECT_EQ(job.state(w), State::Running);
    EXPECT_THAT(job.pids(w), ElementsAre(1000, 1001, 1002, 1003));
  }
  EXPECT_EQ(job.workers[0]->core->roster()->lost.message, "process 1003 on more has joined as rank 3");
  job.kill(0); // as of a job that the launcher has begun
  job.rejoinAll();
  EXPECT_THAT(job.pids(third), ElementsAre(1001, 1002, 1003));
}

TEST(Elastic, TooFewWorkersEndTheJob) {
  ElasticJob job(3, 2, 3);
  job.startAll();
  job.kill(2);
  job.rejoinAll();
  job.kill(1);
  EXPECT_THAT(job.error(0), HasSubstr("rank 1 (process 1001 on host1) died"));
  EXPECT_THAT(job.workers[0]->notices,
              ElementsAre("1 worker is left, and --elastic asks for 2 at least: the job ends"));
}

TEST(Elastic, WorkersForWhomThereIsNoRoomAreTurnedAwayAlone) {
  ElasticJob job(2, 1, 2);
  job.startAll();
  const int third = job.join();
  EXPECT_EQ(job.error(third), "process 1002 on more cannot join: the job has 2 workers, as many as --elastic allows");
  EXPECT_EQ(job.state(0), State::Running);
  EXPECT_EQ(job.epochOf(0), 0u);
}

TEST(Elastic, AJobOfAFixedSizeTakesNone) {
  FakeJob job(2);
  job.startAll();
  JoinMessage join = job.joinOf(0);
  join.rank = JoinMessage::kAnyRank;
  const int third = job.add(join);
  job.connect(third);
  EXPECT_THAT(job.error(third), HasSubstr("the job has a fixed number of workers, 2: give each its --rank"));
  EXPECT_EQ(job.state(0), State::Running);
}

TEST(Elastic, AWorkerWithAnotherPlanIsTurnedAwayAlone) {
  ElasticJob job(2, 1, 4);
  job.startAll();
  JoinMessage join = job.joinOf(0);
  join.rank = JoinMessage::kAnyRank;
  join.planDigest = std::string(32, 'q');
  const int third = job.add(join);
  job.connect(third);
  EXPECT_THAT(job.error(third), HasSubstr("runs another plan"));
  EXPECT_EQ(job.state(0), State::Running);
}

TEST(Elastic, WhoComesBeforeTheFirstAreThereWaits) {
  ElasticJob job(2, 2, 4);
  job.startCoordinator();
  job.connect(job.add(job.joinOf(0)));
  const int more = job.join();
  job.pass(20_s);
  EXPECT_EQ(job.state(more), State::Joining);
  JoinMessage second = job.joinOf(1);
  second.pid = 1002;
  job.connect(job.add(second));
  job.rejoinAll();
  EXPECT_THAT(job.pids(0), ElementsAre(1000, 1002, 1001));
  EXPECT_EQ(job.state(more), State::Running);
}

TEST(Elastic, ALossWhileWorkersJoinBeginsAnotherEpoch) {
  ElasticJob job(4, 1, 4);
  job.startAll();
  job.kill(1);
  job.rejoin(3); // on its way when another one dies
  job.kill(2);
  EXPECT_EQ(job.state(3), State::Regrouping) << "what it has said is of no epoch any more";
  EXPECT_EQ(job.workers[3]->core->assigned().rank, 1u);
  job.rejoinAll();
  EXPECT_EQ(job.epochOf(0), 2u);
  EXPECT_THAT(job.pids(0), ElementsAre(1000, 1003));
  EXPECT_THAT(job.pids(3), ElementsAre(1000, 1003));
}

TEST(Elastic, AWorkerThatDoesNotJoinAgainIsLost) {
  ElasticJob job(3, 1, 3);
  job.options.joinTimeout = 12_s;
  job.startAll();
  job.kill(1);
  job.rejoin(0);
  job.pass(13_s);
  job.rejoinAll();
  ASSERT_EQ(job.state(0), State::Running) << job.error(0);
  EXPECT_THAT(job.pids(0), ElementsAre(1000));
}

TEST(Elastic, AProcessThatEndedIsFoundByItsNumber) {
  ElasticJob job(3, 1, 3);
  job.options.exitReportGrace = 250_ms;
  job.startAll();
  job.coordinator->processEnded(0, 0, 9, 1000);
  job.kill(0);
  job.rejoinAll();
  EXPECT_THAT(job.pids(1), ElementsAre(1001, 1002));
  job.coordinator->processEnded(1, 0, 9, 1001); // rank 0 by now
  job.kill(1);
  job.rejoinAll();
  EXPECT_THAT(job.pids(2), ElementsAre(1002));
  EXPECT_EQ(job.state(2), State::Running);
  job.coordinator->processEnded(0, 0, 9, 4711);
  EXPECT_EQ(job.state(2), State::Running);
}

TEST(Elastic, WhereThereIsNoPlanForSoManySomeWait) {
  ElasticJob job(4, 1, 4, {1, 2, 4});
  job.startAll();
  job.workers[3]->core->gather("old"); // on its way when it is to wait
  job.kill(1);
  EXPECT_EQ(job.workers[3]->core->assigned().rank, JoinMessage::kAnyRank);
  job.rejoinAll();
  EXPECT_THAT(job.pids(0), ElementsAre(1000, 1002));
  EXPECT_EQ(job.state(2), State::Running);
  EXPECT_EQ(job.state(3), State::Joining);
  job.pass(30_s);
  EXPECT_EQ(job.state(3), State::Joining);
  job.kill(2); // the one that waits takes its place
  job.rejoinAll();
  EXPECT_THAT(job.pids(3), ElementsAre(1000, 1003));
  const int more = job.join();
  EXPECT_EQ(job.state(0), State::Running) << "there is no plan for three";
  EXPECT_THAT(job.workers[more]->notices,
              ElementsAre("the job has 2 workers, and there is no plan for 3: waiting for more of them"));
  const int another = job.join();
  job.rejoinAll();
  EXPECT_THAT(job.pids(another), ElementsAre(1000, 1003, 1000 + more, 1000 + another));
  const int late = job.join();
  EXPECT_THAT(job.error(late), HasSubstr("the job has 4 workers, as many as --elastic allows"));
}

TEST(Elastic, WhoWaitsEndsWithTheJob) {
  ElasticJob job(3, 1, 4, {1, 3, 4});
  job.startAll();
  job.kill(2);
  job.rejoinAll();
  EXPECT_THAT(job.pids(0), ElementsAre(1000));
  EXPECT_EQ(job.state(1), State::Joining);
  job.workers[0]->core->leave();
  job.deliver();
  EXPECT_EQ(job.state(0), State::Left);
  EXPECT_EQ(job.state(1), State::Left);
}

TEST(Elastic, AnErrorOfANewWorkerIsItsOwn) {
  for (const bool isSaid : {true, false}) {
    ElasticJob job(2, 2, 4);
    job.startAll();
    const int more = job.join();
    job.rejoinAll();
    if (isSaid) {
      JobError error;
      error.exitCode = ExitCode::BadData;
      error.message = "there is no data";
      job.workers[more]->core->fail(error);
      job.deliver();
      EXPECT_THAT(job.workers[0]->core->loss().message, HasSubstr("rank 2 could not take part: there is no data"));
    } else {
      job.coordinator->processEnded(2, static_cast<int>(ExitCode::BadData), 0, 1002);
      job.deliver();
    }
    job.rejoinAll();
    ASSERT_EQ(job.state(0), State::Running) << job.error(0);
    EXPECT_THAT(job.pids(0), ElementsAre(1000, 1001));
  }
  ElasticJob job(2, 2, 4); // one that has taken part ends the job, as ever
  job.startAll();
  const int more = job.join();
  job.rejoinAll();
  job.workers[more]->position = {7, 1};
  job.pass(1_s);
  JobError error;
  error.exitCode = ExitCode::BadData;
  error.message = "the disk is full";
  job.workers[more]->core->fail(error);
  job.deliver();
  EXPECT_THAT(job.error(0), HasSubstr("rank 2 failed: the disk is full"));
}

TEST(Elastic, WhoComesWithARankIsTurnedAwayAlone) {
  ElasticJob job(3, 1, 4);
  job.startAll();
  const auto comeWithRank = [&](int rank, int world) {
    JoinMessage join = job.joinOf(rank);
    join.worldSize = static_cast<uint32_t>(world);
    join.pid = 5000;
    const int index = job.add(join);
    job.connect(index);
    EXPECT_THAT(job.error(index),
                HasSubstr("start it with --elastic and --coordinator, without --rank and --world-size"));
  };
  comeWithRank(1, 3);
  job.kill(1);
  job.rejoin(0);
  job.deliver();
  comeWithRank(1, 3); // as it was started at first
  comeWithRank(1, 2); // the rank of one that is still to join again
  job.rejoinAll();
  ASSERT_EQ(job.state(0), State::Running) << job.error(0);
  EXPECT_THAT(job.pids(2), ElementsAre(1000, 1002));
}

TEST(Elastic, ALostWorkerThatLivesIsTold) {
  ElasticJob job(3, 1, 4);
  job.startAll();
  job.workers[1]->frozen = true;
  job.pass(11_s);
  job.rejoinAll();
  EXPECT_THAT(job.pids(0), ElementsAre(1000, 1002));
  ASSERT_EQ(job.closedByCoordinator.size(), 1u);
  EXPECT_EQ(job.closedByCoordinator[0], job.workers[1]->id);
}

TEST(Elastic, LossesThatTheJobDoesNotGetBeyondEndIt) {
  ElasticJob job(2, 1, 2);
  job.startAll();
  int losses = 0;
  for (int last = 1; job.state(0) != State::Failed && losses < 100; ++losses) {
    job.exact[0] = {100 - static_cast<uint64_t>(losses % 3), 0}; // again and again from a step before
    job.kill(last);
    job.rejoinAll();
    if (job.state(0) == State::Failed)
      break;
    last = job.join();
    job.rejoinAll();
  }
  EXPECT_EQ(losses, CoordinatorCore::kMostFruitless - 1);
}

TEST(Elastic, WhatACoordinatorCannotMeanEndsTheWorker) {
  for (const RegroupMessage &wrong : {RegroupMessage{{}, 1, 3, 3}, RegroupMessage{{}, 1, 0, 0},
                                      RegroupMessage{{}, 1, 0, MemberCore::kMostWorkers + 1}}) {
    ElasticJob job(3, 1, 3);
    job.startAll();
    job.workers[2]->core->received(wrong);
    EXPECT_THAT(job.error(2), HasSubstr(" makes this worker rank "));
    EXPECT_THAT(job.error(2), HasSubstr("what answers there is no dgc of this version"));
  }
  GatheredMessage few;
  few.data.resize(2);
  RosterMessage roster;
  roster.members.resize(4);
  for (const ToWorker &wrong : {ToWorker(few), ToWorker(roster)}) {
    ElasticJob job(3, 1, 3);
    job.startAll();
    job.workers[2]->core->received(wrong);
    EXPECT_THAT(job.error(2), HasSubstr("workers, and there are 3; what answers there is no dgc of this version"));
  }
}

TEST(Elastic, WhateverDiesAndComesInTheEndAllAreInOneEpoch) {
  const uint32_t seeds = simulationSeeds();
  for (uint32_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const bool isAny = seed % 8 < 4;
    const std::vector<int> between = isAny ? std::vector<int>() : std::vector<int>{1, 2, 3, 5};
    ElasticJob job(2 + static_cast<int>(seed % 4), 1, 6, between);
    job.startAll();
    std::set<std::pair<int, uint32_t>> asked; // by worker and epoch
    for (int action = 0; action < 60; ++action) {
      const auto index = static_cast<int>(random() % job.workers.size());
      FakeJob::Worker &worker = *job.workers[index];
      const bool lives = worker.linked && !worker.frozen;
      int alive = 0;
      for (const auto &each : job.workers)
        alive += each->linked && !each->frozen;
      job.exact[0] = {static_cast<uint64_t>(action) + 1, 0}; // the job advances
      switch (random() % 6) {
      case 0:
        if (lives && alive > 1)
          job.kill(index);
        break;
      case 1:
        job.join();
        break;
      case 2:
      case 3:
        if (lives)
          job.rejoin(index); // its word may come late
        break;
      case 4:
        // An exchange that not all come to.
        if (lives && job.state(index) == State::Running && random() % 4 == 0 &&
            asked.insert({index, job.epochOf(index)}).second)
          worker.core->gather("x");
        break;
      default:
        job.pass(100_ms);
      }
      ASSERT_NE(job.coordinator->state(), CoordinatorCore::State::Failed) << job.coordinator->error().message;
    }
    job.rejoinAll();
    if (job.coordinator->state() == CoordinatorCore::State::Running) { // a new epoch, as exchanges may be under way
      int first = 0;
      while (!job.workers[first]->linked)
        ++first;
      JobError broken;
      broken.exitCode = ExitCode::Network;
      broken.message = "the connection is lost";
      job.exact[0] = {1000, 0};
      job.workers[first]->core->report(broken);
      job.deliver();
      job.rejoinAll();
    }
    std::vector<int> members;
    size_t alive = 0;
    for (size_t w = 0; w < job.workers.size(); ++w) {
      const bool lives = job.workers[w]->linked;
      alive += lives;
      if (lives && job.state(static_cast<int>(w)) == State::Running)
        members.push_back(static_cast<int>(w));
      else if (lives)
        ASSERT_EQ(job.state(static_cast<int>(w)), State::Joining) << "worker " << w << job.error(static_cast<int>(w));
    }
    const size_t expected = isAny || alive < 4 ? alive : alive == 4 ? 3 : 5;
    ASSERT_EQ(members.size(), expected) << "of " << alive;
    for (int w : members) {
      EXPECT_EQ(job.epochOf(w), job.epochOf(members[0]));
      EXPECT_EQ(job.pids(w), job.pids(members[0]));
      EXPECT_EQ(job.pids(w).size(), members.size());
      job.workers[w]->core->gather("y");
    }
    job.deliver();
    for (int w : members) {
      const auto got = job.workers[w]->core->takeGathered();
      ASSERT_TRUE(got.has_value());
      EXPECT_EQ(*got, std::vector<std::string>(members.size(), "y"));
    }
  }
}

} // namespace
} // namespace dgc::rt::test
