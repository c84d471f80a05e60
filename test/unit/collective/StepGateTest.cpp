// Workers that agree on a step while they run.
#include "runtime/collective/StepGate.h"

#include "absl/random/random.h"

#include <barrier>
#include <deque>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace dgc::rt {
namespace {

TEST(StepGate, NothingIsAgreedOn) {
  StepGate gate;
  Abort abort;
  for (int64_t step = 0; step < 5; ++step)
    EXPECT_EQ(*gate.pass(step, abort), StepEvent());
}

TEST(StepGate, TheEventComesBeforeItsStep) {
  StepGate gate;
  Abort abort;
  EXPECT_EQ(gate.propose(), 0);
  gate.agree(2, {StepEvent::Checkpoint});
  EXPECT_EQ(*gate.pass(0, abort), StepEvent());
  EXPECT_EQ(*gate.pass(1, abort), StepEvent());
  EXPECT_EQ(*gate.pass(2, abort), StepEvent{StepEvent::Checkpoint});
  EXPECT_EQ(*gate.pass(3, abort), StepEvent());
  EXPECT_EQ(gate.propose(), 4);
}

TEST(StepGate, AStopCountsForMoreThanACheckpoint) {
  StepGate gate;
  Abort abort;
  gate.agree(3, {StepEvent::Stop, 15});
  gate.agree(3, {StepEvent::Checkpoint});
  EXPECT_EQ(*gate.pass(3, abort), (StepEvent{StepEvent::Stop, 15}));
}

TEST(StepGate, AnAbortEndsTheWait) {
  StepGate gate;
  Abort abort;
  EXPECT_EQ(*gate.pass(0, abort), StepEvent());
  EXPECT_EQ(gate.propose(), 1);
  std::thread raises([&] { abort.raise(absl::CancelledError("lost")); });
  EXPECT_EQ(gate.pass(1, abort).status(), absl::CancelledError("lost"));
  raises.join();
}

// Workers that meet in each step, as in a collective, and somebody who negotiates at any moment: all see the same events before
// the same steps, and nobody waits for ever. `slack`: how many steps a worker may be ahead of the others.
void expectOneStep(size_t workers, int events, bool meet) {
  std::deque<StepGate> gates(workers);
  Abort abort;
  std::barrier<> together(static_cast<std::ptrdiff_t>(workers));
  std::vector<std::vector<std::pair<int64_t, int32_t>>> seen(workers);
  std::vector<std::thread> threads;
  for (size_t w = 0; w < workers; ++w)
    threads.emplace_back([&, w] {
      for (int64_t step = 0;; ++step) {
        const StepEvent event = *gates[w].pass(step, abort);
        if (event.kind != StepEvent::None)
          seen[w].emplace_back(step, event.signal);
        if (event.kind == StepEvent::Stop)
          return;
        if (meet)
          together.arrive_and_wait();
      }
    });
  for (int event = 1; event <= events; ++event) {
    int64_t step = 0;
    for (StepGate &gate : gates)
      step = std::max(step, gate.propose());
    for (StepGate &gate : gates)
      gate.agree(step, {event == events ? StepEvent::Stop : StepEvent::Checkpoint, event});
  }
  for (std::thread &thread : threads)
    thread.join();
  ASSERT_FALSE(seen[0].empty());
  for (size_t w = 1; w < workers; ++w)
    EXPECT_EQ(seen[w], seen[0]) << "worker " << w;
  EXPECT_EQ(seen[0].back().second, events);
}

TEST(StepGate, AllWorkersAgreeWhileTheyRun) {
  for (int round = 0; round < 20; ++round) {
    expectOneStep(2, 30, /*meet=*/true);
    expectOneStep(5, 7, /*meet=*/true);
  }
}

TEST(StepGate, WorkersThatDoNotMeetAgreeAsWell) {
  for (int round = 0; round < 20; ++round)
    expectOneStep(3, 5, /*meet=*/false);
}

} // namespace
} // namespace dgc::rt
