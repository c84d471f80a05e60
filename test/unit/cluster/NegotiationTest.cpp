// The coordinator lets all workers agree on a step: by a fake clock and a fake network.
#include "FakeJob.h"

#include <csignal>
#include <gtest/gtest.h>

namespace dgc::rt::test {
namespace {

StepEvent eventAt(FakeJob &job, int rank, int64_t step) {
  Abort abort;
  return *job.workers[static_cast<size_t>(rank)]->gate.pass(step, abort);
}

TEST(Negotiation, TheLargestProposalIsAgreedOn) {
  FakeJob job(3);
  job.startAll();
  for (int rank = 0; rank < 3; ++rank)
    for (int64_t step = 0; step <= 4 + rank; ++step) // the last one is as far as step 6
      EXPECT_EQ(eventAt(job, rank, step), StepEvent());
  job.workers[1]->core->request({StepEvent::Checkpoint});
  job.deliver();
  for (int rank = 0; rank < 3; ++rank) {
    for (int64_t step = 5 + rank; step < 7; ++step)
      EXPECT_EQ(eventAt(job, rank, step), StepEvent()) << rank << ", step " << step;
    EXPECT_EQ(eventAt(job, rank, 7), StepEvent{StepEvent::Checkpoint}) << rank;
    EXPECT_EQ(eventAt(job, rank, 8), StepEvent()) << rank;
  }
}

// A signal comes to all workers, and to the launcher: the job stops once.
TEST(Negotiation, AJobIsStoppedOnce) {
  FakeJob job(2);
  job.startAll();
  job.coordinator->request({StepEvent::Stop, SIGTERM});
  job.workers[0]->core->request({StepEvent::Stop, SIGTERM});
  job.workers[1]->core->request({StepEvent::Stop, SIGTERM});
  job.deliver();
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(eventAt(job, rank, 0), (StepEvent{StepEvent::Stop, SIGTERM}));
    EXPECT_EQ(eventAt(job, rank, 1), StepEvent());
  }
}

TEST(Negotiation, RequestsFollowOneAnother) {
  FakeJob job(2);
  job.startAll();
  job.workers[0]->core->request({StepEvent::Checkpoint});
  job.workers[1]->core->request({StepEvent::Stop, SIGUSR1});
  job.deliver();
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_EQ(eventAt(job, rank, 0), (StepEvent{StepEvent::Stop, SIGUSR1}));
}

// What is asked for before all are there waits for them.
TEST(Negotiation, WaitsForTheJobToRun) {
  FakeJob job(2);
  job.startCoordinator();
  job.connect(job.add(job.joinOf(0)));
  job.coordinator->request({StepEvent::Stop, SIGTERM});
  job.deliver();
  EXPECT_EQ(eventAt(job, 0, 0), StepEvent());
  job.connect(job.add(job.joinOf(1)));
  EXPECT_EQ(eventAt(job, 1, 0), StepEvent()) << "rank 0 has begun step 0";
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_EQ(eventAt(job, rank, 1), (StepEvent{StepEvent::Stop, SIGTERM}));
}

// A worker that is done with its steps does not take part; the job ends as it would have.
TEST(Negotiation, NoneAtTheEnd) {
  FakeJob job(2);
  job.startAll();
  job.workers[0]->core->leave();
  job.deliver();
  job.workers[1]->core->request({StepEvent::Stop, SIGTERM});
  job.deliver();
  EXPECT_EQ(eventAt(job, 1, 0), StepEvent());
  job.workers[1]->core->leave();
  job.deliver();
  EXPECT_EQ(job.state(0), MemberCore::State::Left);
}

// A worker that dies before it has proposed ends the job as ever, and those that wait for it with the job.
TEST(Negotiation, ADeathEndsIt) {
  FakeJob job(2);
  job.startAll();
  job.workers[1]->frozen = true;
  job.workers[0]->core->request({StepEvent::Stop, SIGTERM});
  job.deliver();
  job.kill(1);
  EXPECT_EQ(job.state(0), MemberCore::State::Failed);
  EXPECT_EQ(job.exitCode(0), ExitCode::PeerFailed);
}

} // namespace
} // namespace dgc::rt::test
